"""The JSON of a note's text, whole or in part, as the index holds it."""

from __future__ import annotations

from pydantic import Field

from cutaway.faces.asked import NoteIn
from cutaway.faces.schemas import Out
from cutaway.faces.sessions import Session
from cutaway.inspector.chunk_map import find_note, freshness_of
from cutaway.notes.source import Source


class NoteTextOut(Out):
    """A stretch of a note's source."""

    project: str
    path: str
    title: str
    freshness: str = Field(description="`fresh`, or how the index lags behind the file; the text is the index's.")
    reason: str | None = Field(description="Why it is not fresh.")
    bytes: int = Field(description="Size of the whole note.")
    lines: int = Field(description="How many lines the whole note has.")
    start: int = Field(description="First byte of what is given.")
    end: int = Field(description="Byte behind it.")
    first_line: int
    last_line: int
    text: str
    next: int | None = Field(description="Give it as `start` for what follows; null where this is the end.")


def read(session: Session, asked: NoteIn) -> NoteTextOut:
    """The lines asked for, as many characters of them as may be given. Raises NoteNotFound, AmbiguousNote."""
    note = find_note(session.reader, asked.note)
    embedder = session.embedder()
    identity = None if isinstance(embedder, str) else embedder.identity
    freshness, reason = freshness_of(note, session.reader.entries_of_note(note.id), identity)
    source = Source(note.source)
    start, until = _chosen(source, asked)
    end = _within(source, start, until, asked.max_chars)
    return NoteTextOut(
        project=note.project.name,
        path=note.path,
        title=note.title,
        freshness=freshness,
        reason=reason,
        bytes=len(source),
        lines=source.line(max(len(source) - 1, 0)),
        start=start,
        end=end,
        first_line=source.line(start),
        last_line=source.line(max(end - 1, start)),
        text=source.slice(start, end),
        next=end if end < until else None,
    )


def _chosen(source: Source, asked: NoteIn) -> tuple[int, int]:
    """The bytes of the lines asked for, from *start* on; none where the note is shorter."""
    lines = source.line(max(len(source) - 1, 0))
    if asked.first_line > lines:
        return len(source), len(source)
    first = source.range_of_line(asked.first_line)[0]
    until = max(first, source.range_of_line(min(asked.last_line or lines, lines))[1])
    start = min(max(first, asked.start), until)
    return source.byte(source.char(start)) if start < len(source) else start, until


def _within(source: Source, start: int, until: int, most: int) -> int:
    """Where to stop: at the last line's end within *most* characters, or inside a line that is longer."""
    first = source.char(start)
    if source.char(until) - first <= most:
        return until
    cut = source.byte(first + most)
    line = source.line_start(cut)
    return line if line > start else cut
