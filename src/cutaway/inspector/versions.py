"""The two versions of a note whose file has moved on: what the index holds, what the file says, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from itertools import islice
from typing import NamedTuple

from cutaway.index.cards import NoteCard
from cutaway.notes.files import content_hash, locate

MOST_LINES, MOST_CHARS = 200, 500
"""Lines of difference that are told, and how much of each."""
_COMPARED = 3_000
"""Lines that are compared, of each version, from the first that differs: the cost grows with their square."""
_AROUND = 2


class Version(NamedTuple):
    """A state of a note's source."""

    at: str
    bytes: int
    lines: int
    hash: str


class Versions(NamedTuple):
    """What the index holds of a note and what its file has become; *changes* are a unified diff from one to the other.

    ``truncated`` says that it goes on.
    """

    indexed: Version
    file: Version
    changes: tuple[str, ...]
    truncated: bool


def versions(note: NoteCard) -> Versions | None:
    """Both versions of a note; None where they are the same, or its file cannot be read."""
    file = locate(note.project.root, note.path)
    try:
        source, changed = file.read_bytes(), file.stat().st_mtime
    except OSError:
        return None
    if source == note.source:
        return None
    at = datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    shown, truncated = _changes(_lines(note.source), _lines(source))
    return Versions(_version(note.source, note.indexed_at), _version(source, at), shown, truncated)


def _version(source: bytes, at: str) -> Version:
    return Version(at, len(source), source.count(b"\n") + 1, content_hash(source).hex())


def _changes(before: Sequence[str], after: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """A unified diff, with line numbers of the whole, and whether there is more of it."""
    same = next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None)
    first = max((min(len(before), len(after)) if same is None else same) - _AROUND, 0)
    parts = before[first : first + _COMPARED], after[first : first + _COMPARED]
    told = list(islice(_numbered(*parts, first), MOST_LINES + 1))
    more = max(len(before), len(after)) - first > _COMPARED
    return tuple(line[:MOST_CHARS] for line in told[:MOST_LINES]), more or len(told) > MOST_LINES


def _numbered(before: Sequence[str], after: Sequence[str], first: int) -> Iterator[str]:
    """The diff of two parts that begin behind so many lines, without its two lines of names."""
    for line in islice(unified_diff(before, after, n=_AROUND, lineterm=""), 2, None):
        yield _shifted(line, first) if line.startswith("@@") else line


def _shifted(hunk: str, first: int) -> str:
    _, old, new, _ = hunk.split(" ")
    moved = []
    for part in (old, new):
        start, comma, length = part[1:].partition(",")
        moved.append(f"{part[0]}{int(start) + first}{comma}{length}")
    return f"@@ {moved[0]} {moved[1]} @@"


def _lines(source: bytes) -> list[str]:
    return source.decode("utf-8", "replace").split("\n")
