"""The part of a passage that is shown where there is no room for all of it."""

from __future__ import annotations

from cutaway.faces.schemas import HitOut


def densest(hit: HitOut, most: int) -> tuple[int, int]:
    """The stretch of the passage, of at most so many characters, that holds most matched terms."""
    length, lead = len(hit.passage.rstrip()), first_word(hit)
    if length - lead <= most or not hit.highlights:
        return lead, min(length, lead + most)
    starts = [max(lead, first - 40) for first, _ in hit.highlights]
    inside = [sum(start <= first and last <= start + most for first, last in hit.highlights) for start in starts]
    start = starts[inside.index(max(inside))]
    space = hit.passage.find(" ", start, start + 30) if start > lead else -1
    start = space + 1 if space >= 0 else start
    return start, min(length, start + most)


def first_word(hit: HitOut) -> int:
    """Where the passage's first word begins."""
    return len(hit.passage) - len(hit.passage.lstrip())


def excerpt(hit: HitOut, most: int) -> str:
    """That stretch on one line, with a mark where something is left out."""
    start, end = densest(hit, most)
    left = "…" if start > first_word(hit) else ""
    return left + flat(hit.passage[start:end]) + ("…" if end < len(hit.passage.rstrip()) else "")


def flat(text: str) -> str:
    """One line: runs of white space become one space."""
    words = " ".join(text.split())
    return (" " if text[:1].isspace() else "") + words + (" " if text[-1:].isspace() and words else "")
