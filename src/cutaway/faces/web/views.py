"""What pages need beyond the API's views: a page of results with each one's own way, and a note in stretches."""

from __future__ import annotations

from typing import NamedTuple

from cutaway.config import AT_SEARCH, Settings, project_value
from cutaway.errors import UsageError
from cutaway.faces.asked import SearchIn
from cutaway.faces.chunk_maps import ChunkMapOut, ChunkOut, MapRowOut
from cutaway.faces.schemas import Out, SearchOut
from cutaway.faces.sessions import Session
from cutaway.faces.traces import CandidateOut
from cutaway.inspector.journeys import candidates


class PageOut(Out):
    """A page of results, and beside each its way through the stages."""

    found: SearchOut
    ways: tuple[CandidateOut, ...]


def paged(session: Session, asked: SearchIn) -> PageOut:
    """One search: what the page shows of it, and no candidate that is not on the page."""
    answer = session.answer(asked)
    shown = {hit.id for hit in answer.page}
    seen = {one.row: one for one in candidates(answer) if one.row in shown}
    notes = session.reader.notes({one.note for one in seen.values()})
    ways = tuple(CandidateOut.of(answer, seen[hit.id], notes[seen[hit.id].note]) for hit in answer.page)
    return PageOut(found=SearchOut.of(answer), ways=ways)


def changed(settings: Settings, pairs: list[str]) -> Settings:
    """Settings with NAME=VALUE pairs over them, as far as they rank. Raises UsageError."""
    values: dict[str, object] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name not in AT_SEARCH:
            raise UsageError(f"a page cannot change {name!r}. It may change: {', '.join(AT_SEARCH)}.")
        values[name] = project_value(name, value, "this page")
    return settings.model_copy(update=values)


class Stretch(NamedTuple):
    """A part of a note's source: in a chunk, or skipped, or neither."""

    text: str
    chunk: ChunkOut | None
    row: MapRowOut | None
    skipped: str | None
    line: int


def stretches(source: bytes, found: ChunkMapOut) -> list[Stretch]:
    """A note's source from end to end, cut where its chunks and its skipped bytes begin and end."""
    pieces: list[tuple[int, int, ChunkOut | None, MapRowOut | None, str | None]] = [
        *((chunk.start, chunk.end, chunk, row, None) for row in found.rows for chunk in row.chunks),
        *((skip.start, skip.end, None, None, skip.reason) for skip in found.skipped),
    ]
    parts, at, line = list[Stretch](), 0, 1
    for start, end, chunk, row, reason in sorted(pieces, key=lambda piece: piece[:2]):
        for first, last, held in ((at, start, False), (start, end, True)):
            if first < last:
                text = source[first:last].decode("utf-8")
                parts.append(Stretch(text, *((chunk, row, reason) if held else (None, None, None)), line))
                line += text.count("\n")
        at = max(at, end)
    if at < len(source):
        parts.append(Stretch(source[at:].decode("utf-8"), None, None, None, line))
    return parts
