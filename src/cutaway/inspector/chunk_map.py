"""A note as the index sees it: its rows and chunks, what was skipped, and how fresh that is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cutaway.errors import AmbiguousNote, NoteNotFound, NotIndexed
from cutaway.index.cards import Entry, NoteCard, Readiness, RowCard
from cutaway.index.reader import Reader
from cutaway.model import NoteId, Project, RowId
from cutaway.notes.files import content_hash, locate

Freshness = Literal["fresh", "index_behind_rows", "rows_behind_file"]
"""How an indexed note stands to its file; of a file that is not indexed, ``NotIndexed`` is raised."""


@dataclass(frozen=True, slots=True)
class ChunkMap:
    """One note, read back whole."""

    note: NoteCard
    rows: tuple[RowCard, ...]
    chunks: dict[RowId, tuple[Entry, ...]]
    freshness: Freshness
    reason: str | None

    @property
    def readiness(self) -> Readiness:
        states = [entry.state for entries in self.chunks.values() for entry in entries]
        return Readiness(*(states.count(state) for state in Readiness._fields))

    @property
    def covered(self) -> int:
        """Bytes that are in a chunk."""
        return sum(entry.end - entry.start for entries in self.chunks.values() for entry in entries)


def chunk_map(reader: Reader, name: str, embedding_identity: str | None) -> ChunkMap:
    """Everything the index holds of a note. Raises NoteNotFound, NotIndexed, AmbiguousNote.

    Freshness is judged against the file on disk and against the embedding identity in use.
    """
    note = find_note(reader, name)
    entries = reader.entries_of_note(note.id)
    rows = tuple(reader.rows_of_note(note.id))
    chunks = {row.id: tuple(entry for entry in entries if entry.row == row.id) for row in rows}
    freshness, reason = freshness_of(note, entries, embedding_identity)
    return ChunkMap(note, rows, chunks, freshness, reason)


def find_note(reader: Reader, name: str) -> NoteCard:
    """The one note that answers to a path, title, permalink or alias; ``project:path`` names one project's."""
    found = list(reader.notes(_answering(reader, name)).values())
    if len(found) > 1:
        prefix = len(reader.scope) > 1
        paths = sorted(f"{note.project.name}:{note.path}" if prefix else note.path for note in found)
        raise AmbiguousNote(name, tuple(paths))
    if not found:
        raise _not_found(reader, name)
    return found[0]


def _answering(reader: Reader, name: str) -> list[NoteId]:
    names: list[tuple[Project | None, str]] = [(None, name)]
    for project in reader.scope:
        if name.startswith(f"{project.name}:"):
            names.append((project, name.removeprefix(f"{project.name}:")))
        if (path := _inside(project, name, reader.here)) is not None:
            names.append((project, path))
    return next((found for project, path in names if (found := reader.named(path, project))), [])


def _inside(project: Project, name: str, here: Path | None) -> str | None:
    """The path within a project that a file's own path means, if it lies there; of a relative one, from *here*."""
    try:
        given = Path(name).expanduser() if here else Path(name)
        if here is None and not given.is_absolute():
            return None
        file = Path(os.path.normpath((here or given) / given))  # also of a file that is gone
        file = file if file.is_relative_to(project.root) else file.resolve()
    except (OSError, RuntimeError, ValueError):  # no such user, a name too long, a NUL
        return None
    return file.relative_to(project.root).as_posix() if file.is_relative_to(project.root) else None


def _not_found(reader: Reader, name: str) -> NoteNotFound:
    for project in reader.scope:
        path = _inside(project, name, reader.here) or name
        if _is_file(project, path):
            held = [problem.message for owner, problem in reader.problems() if (owner, problem.path) == (project, path)]
            why = held[0] if held else "it is new, ignored, or no Markdown file. Run: cutaway index"
            return NotIndexed(project.name, path, why)
    names = ", ".join(project.name for project in reader.scope)
    return NoteNotFound(f"no note in {names} has the path, title, permalink or alias {name!r}.")


def _is_file(project: Project, path: str) -> bool:
    """Whether a path leads to a file of the project; nothing is said of files beside its folder."""
    inside = Path(os.path.normpath(project.root / path)).is_relative_to(project.root)
    try:
        return inside and locate(project.root, path).is_file()
    except (OSError, ValueError):
        return False


def freshness_of(note: NoteCard, entries: list[Entry], identity: str | None) -> tuple[Freshness, str | None]:
    """How a note stands to its file and to the embedding identity in use, and why it is not fresh."""
    file = locate(note.project.root, note.path)
    try:
        on_disk = content_hash(file.read_bytes())
    except OSError as error:
        return "rows_behind_file", f"the file cannot be read: {error.strerror}"
    if on_disk != note.hash:
        return "rows_behind_file", "the file has changed since it was indexed. Run: cutaway index"
    lagging = [entry for entry in entries if entry.state != "ready"]
    if lagging:
        return "index_behind_rows", f"{len(lagging)} of {len(entries)} chunks are not ready. Run: cutaway index"
    foreign = {entry.embedding_identity for entry in entries} - {identity}
    if identity is not None and foreign:
        return "index_behind_rows", f"embedded as {', '.join(map(str, foreign))}; in use is {identity}"
    return "fresh", None
