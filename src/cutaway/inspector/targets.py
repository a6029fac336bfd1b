"""What a person points at: a chunk, a line of a note, or a whole note, as other views print it."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from cutaway.errors import NoteNotFound, NotIndexed, UsageError
from cutaway.index.cards import Entry, NoteCard
from cutaway.index.reader import Reader
from cutaway.inspector.chunk_map import find_note
from cutaway.model import ChunkId
from cutaway.notes.source import Source

_ID = re.compile(r"[0-9]{1,18}")
_LOCATOR = re.compile(r"(?P<note>.+)#(?P<number>[0-9]{1,9})", re.DOTALL)
_LINE = re.compile(r"(?P<note>.+):(?P<number>[0-9]{1,9})", re.DOTALL)


class Target(NamedTuple):
    """A note, and those of its chunks that are meant. Their state is not judged here."""

    kind: Literal["chunk", "line", "note"]
    note: NoteCard
    entries: tuple[Entry, ...]


def locator(reader: Reader, note: NoteCard, entry: Entry) -> str:
    """How a chunk is printed and typed: ``path#n``, ``project:path#n`` where the scope has several projects."""
    return f"{f'{note.project.name}:' if len(reader.scope) > 1 else ''}{note.path}#{entry.ordinal}"


def find_target(reader: Reader, name: str) -> Target:
    """What a locator, a chunk's id, ``NOTE:LINE`` or a note's name points at.

    A name that has the shape of a locator and belongs to a note is that note's, unless the locator leads
    somewhere. Raises NoteNotFound, AmbiguousNote, UsageError.
    """
    if _ID.fullmatch(name) and (entry := reader.entries([ChunkId(int(name))]).get(ChunkId(int(name)))):
        return Target("chunk", reader.notes([entry.note])[entry.note], (entry,))
    whole = _note(reader, name)
    if (found := _LOCATOR.fullmatch(name)) and (note := _note(reader, found["note"])):
        if entry := _numbered(reader, note, int(found["number"])):
            return Target("chunk", note, (entry,))
        if whole is None:
            raise _no_such_chunk(reader, note, found["number"])
    if whole is None and (found := _LINE.fullmatch(name)) and (note := _note(reader, found["note"])):
        return Target("line", note, _at_line(reader, note, int(found["number"])))
    if whole is None and _ID.fullmatch(name):
        raise NoteNotFound(f"no chunk here has the id {name}, and no note is called so. {_LISTS}")
    note = whole or find_note(reader, name)
    return Target("note", note, tuple(reader.entries_of_note(note.id)))


_LISTS = "See a note's chunks with: cutaway inspect chunks NOTE"


def _note(reader: Reader, name: str) -> NoteCard | None:
    try:
        return find_note(reader, name)
    except NotIndexed:  # a file of the project: that is what was meant
        raise
    except NoteNotFound:
        return None


def _numbered(reader: Reader, note: NoteCard, number: int) -> Entry | None:
    return next((entry for entry in reader.entries_of_note(note.id) if entry.ordinal == number), None)


def _no_such_chunk(reader: Reader, note: NoteCard, number: str) -> UsageError:
    count = len(reader.entries_of_note(note.id))
    held = "no chunks" if not count else "one chunk, #1" if count == 1 else f"{count} chunks, #1 to #{count}"
    return UsageError(f"{note.path} has no chunk #{number}: it has {held}. {_LISTS}")


def _at_line(reader: Reader, note: NoteCard, line: int) -> tuple[Entry, ...]:
    """The chunks that cover a line: by its text, or, where it is blank, by its bytes. A long line may have several."""
    source = Source(note.source)
    count = source.line(len(source) - 1) if len(source) else 0
    if not 1 <= line <= count:
        raise UsageError(f"{note.path} has {count:,} lines as indexed; there is no line {line:,}.")
    entries = reader.entries_of_note(note.id)
    if covering := tuple(entry for entry in entries if entry.lines[0] <= line <= entry.lines[1]):
        return covering
    start, end = source.range_of_line(line)
    if within := tuple(entry for entry in entries if entry.start < end and start < entry.end):
        return within
    skips = [skip.reason for skip in note.skips if skip.start < end and start < skip.end]
    why = ", ".join(dict.fromkeys(skips)) or "it is empty"
    raise UsageError(f"line {line:,} of {note.path} is in no chunk; it was left out as: {why}. {_LISTS}")
