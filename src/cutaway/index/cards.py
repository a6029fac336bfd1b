"""What the store gives out: chunks, rows and notes as they are stored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from cutaway.model import ChunkId, NoteId, Project, RowId, Skip


class Entry(NamedTuple):
    """A chunk as the manifest holds it."""

    id: ChunkId
    row: RowId
    note: NoteId
    ordinal: int
    start: int
    end: int
    lines: tuple[int, int]
    headings: str
    context: str
    tokens: int | None
    text_hash: bytes
    state: str
    error: str | None
    embedding_identity: str | None
    index_identity: str | None
    updated_at: str

    @property
    def heading_path(self) -> tuple[str, ...]:
        """The headings over the chunk. Unpacked only when asked for: a search reads hundreds of entries."""
        return tuple(json.loads(self.headings))


class RowCard(NamedTuple):
    """A row as stored."""

    id: RowId
    note: NoteId
    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NoteCard:
    """A note as stored."""

    id: NoteId
    project: Project
    path: str
    title: str
    aliases: tuple[str, ...]
    permalink: str | None
    type: str | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    source: bytes
    hash: bytes
    form: str
    skips: tuple[Skip, ...]
    problem: str | None
    indexed_at: str


class NoteNames(NamedTuple):
    """What a note is called."""

    note: NoteId
    project: int
    path: str
    title: str
    permalink: str | None
    aliases: tuple[str, ...]

    @property
    def others(self) -> list[str]:
        """Every name but the path: without its ending, the file's name, title, permalink, aliases."""
        bare = self.path.rsplit(".", 1)[0]
        files = [bare, bare.rsplit("/", 1)[-1], self.path.rsplit("/", 1)[-1]]
        return [*files, self.title, *self.aliases, *filter(None, [self.permalink])]


class Known(NamedTuple):
    """What the index holds of a note: its id, the content it was read from, and how."""

    id: NoteId
    hash: bytes
    form: str


class Unserved(NamedTuple):
    """Chunks of one note that may not be served, and all there is to say why."""

    path: str
    state: str
    error: str | None
    embedding_identity: str | None
    index_identity: str | None
    chunks: int


class Readiness(NamedTuple):
    """How many chunks are in each state."""

    ready: int = 0
    pending: int = 0
    failed: int = 0
    foreign: int = 0
    """Ready, but under another model or in another home than is in use: not served."""

    @property
    def total(self) -> int:
        return sum(self)
