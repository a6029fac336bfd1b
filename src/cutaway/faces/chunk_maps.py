"""The JSON of the inspector: notes as the index holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from cutaway.errors import NotIndexed
from cutaway.faces.asked import ChunksIn
from cutaway.faces.schemas import Out
from cutaway.faces.sessions import Session
from cutaway.index.cards import Entry, NoteCard, Readiness
from cutaway.inspector.chunk_map import ChunkMap, chunk_map
from cutaway.inspector.sight import closeness
from cutaway.inspector.versions import versions
from cutaway.model import ChunkId


class ChunkOut(Out):
    """A chunk as the manifest holds it."""

    id: int
    locator: str
    ordinal: int
    start: int
    end: int
    lines: tuple[int, int]
    heading_path: tuple[str, ...]
    tokens: int | None
    text: str
    context: str
    text_hash: str
    state: str
    error: str | None
    embedding_identity: str | None
    index_identity: str | None
    updated_at: str
    similarity: float | None = Field(None, description="Cosine to the words given, where words were.")

    @classmethod
    def of(cls, note: NoteCard, entry: Entry, similarity: float | None = None) -> ChunkOut:
        same = ("id", "ordinal", "start", "end", "lines", "heading_path", "tokens", "context", "state", "error")
        identity = ("embedding_identity", "index_identity", "updated_at")
        return cls(
            locator=f"{note.path}#{entry.ordinal}",
            text=note.source[entry.start : entry.end].decode("utf-8"),
            text_hash=entry.text_hash.hex(),
            similarity=similarity,
            **{name: getattr(entry, name) for name in (*same, *identity)},
        )


class MapRowOut(Out):
    kind: str
    id: int
    title: str
    start: int
    end: int
    chunks: tuple[ChunkOut, ...]


class SkipOut(Out):
    start: int
    end: int
    reason: str


class NoteOut(Out):
    """A note and what its frontmatter says."""

    id: int
    project: str
    path: str
    title: str
    aliases: tuple[str, ...]
    permalink: str | None
    type: str | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    bytes: int
    problem: str | None
    indexed_at: str

    @classmethod
    def of(cls, note: NoteCard) -> NoteOut:
        same = ("id", "path", "title", "aliases", "permalink", "type", "tags", "metadata", "problem", "indexed_at")
        values = {name: getattr(note, name) for name in same}
        return cls(project=note.project.name, bytes=len(note.source), **values)


class ReadinessOut(Out):
    ready: int
    pending: int
    failed: int
    total: int

    @classmethod
    def of(cls, readiness: Readiness) -> ReadinessOut:
        return cls(**readiness._asdict(), total=readiness.total)


class VersionOut(Out):
    """A state of a note's source."""

    at: str = Field(description="When it was indexed, or the file last changed, in UTC.")
    bytes: int
    lines: int = Field(description="How many lines.")
    hash: str = Field(description="What tells it from others.")


class VersionsOut(Out):
    """A note whose file has moved on: what the index holds, and what the file says now."""

    indexed: VersionOut = Field(description="What the index holds.")
    file: VersionOut = Field(description="What the file is now.")
    changes: tuple[str, ...] = Field(description="A unified diff from one to the other, its longest lines cut.")
    truncated: bool = Field(description="Whether the differences go on.")

    @classmethod
    def of(cls, note: NoteCard) -> VersionsOut | None:
        found = versions(note)
        if found is None:
            return None
        told = {name: VersionOut(**getattr(found, name)._asdict()) for name in ("indexed", "file")}
        return cls(changes=found.changes, truncated=found.truncated, **told)


class ChunkMapOut(Out):
    """A note as the index sees it."""

    note: NoteOut
    freshness: str
    reason: str | None
    readiness: ReadinessOut
    covered: int = Field(description="Bytes that are in a chunk; the others are listed as skipped.")
    rows: tuple[MapRowOut, ...]
    skipped: tuple[SkipOut, ...]
    remark: str | None = Field(None, description="Why similarities are not given, where they were asked for.")
    versions: VersionsOut | None = Field(None, description="Where the file has moved on: the two versions.")

    @classmethod
    def of(
        cls, found: ChunkMap, close: Mapping[ChunkId, float] | None = None, remark: str | None = None
    ) -> ChunkMapOut:
        return cls(
            note=NoteOut.of(found.note),
            freshness=found.freshness,
            reason=found.reason,
            readiness=ReadinessOut.of(found.readiness),
            covered=found.covered,
            rows=tuple(
                MapRowOut(
                    kind=row.id.kind,
                    id=row.id.number,
                    title=row.title,
                    start=row.start,
                    end=row.end,
                    chunks=tuple(
                        ChunkOut.of(found.note, entry, (close or {}).get(entry.id)) for entry in found.chunks[row.id]
                    ),
                )
                for row in found.rows
            ),
            skipped=tuple(SkipOut(**skip._asdict()) for skip in found.note.skips),
            remark=remark,
            versions=VersionsOut.of(found.note) if found.freshness == "rows_behind_file" else None,
        )


class NotIndexedOut(Out):
    """A file that the index does not hold, in the shape of a chunk map."""

    note: dict[str, str]
    freshness: str = "not_indexed"
    reason: str
    readiness: ReadinessOut = ReadinessOut(ready=0, pending=0, failed=0, total=0)
    rows: tuple[MapRowOut, ...] = ()
    skipped: tuple[SkipOut, ...] = ()

    @classmethod
    def of(cls, missing: NotIndexed) -> NotIndexedOut:
        return cls(note={"project": missing.project, "path": missing.path}, reason=missing.reason)


def mapped(session: Session, asked: ChunksIn) -> ChunkMapOut:
    """A note as the index sees it. Raises NoteNotFound, NotIndexed, AmbiguousNote."""
    embedder = session.embedder()
    identity = None if isinstance(embedder, str) else embedder.identity
    found = chunk_map(session.reader, asked.note, identity)
    if not asked.query:
        return ChunkMapOut.of(found)
    entries = [entry for held in found.chunks.values() for entry in held]
    return ChunkMapOut.of(found, *closeness(session.reader, embedder, entries, asked.query))
