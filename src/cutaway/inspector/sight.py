"""The vectors that may be looked at: those of the manifest's ready chunks, under the identity in use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cutaway.errors import CutawayError, IndexMismatch, ModelUnavailable, UsageError
from cutaway.index.cards import Entry
from cutaway.index.reader import Reader
from cutaway.index.vectors import StoredVectors, Vector, VectorIndex, cosine
from cutaway.model import ChunkId, embedded_text
from cutaway.models.embedder import Embedder, embedded


class Sight(NamedTuple):
    """What the steps of a look at the vectors share."""

    reader: Reader
    vectors: VectorIndex
    identity: str
    embedder: Embedder | str
    served: list[ChunkId]
    """Every chunk of the scope that may be served; no other is looked at."""


def sight(reader: Reader, embedder: Embedder | str) -> Sight:
    """Open the vectors. Without an embedder, those are in use that the index holds.

    Raises IndexMismatch where the index was embedded under another identity than the one in use, and
    UsageError where there is no vector at all.
    """
    held = sorted({space for standing in reader.standings if standing.state == "ready" and (space := standing.space)})
    if not held:
        names = ", ".join(project.name for project in reader.scope)
        raise UsageError(f"no passage of {names} has a vector. {_way(embedder)}")
    identity = held[0].embedding if isinstance(embedder, str) else embedder.identity
    space = reader.space(identity)
    if space is None:
        said = " and ".join(f"{held_in.embedding} in {held_in.home}" for held_in in held)
        raise IndexMismatch(
            f"the index was embedded as {said}; in use is {identity} in {reader.home.identity}. "
            "Their vectors cannot be compared. Run: cutaway index, or choose the others in the settings."
        )
    return Sight(reader, reader.vectors(space), identity, embedder, reader.served_chunks(space))


def vectors_of(view: Sight, entries: Sequence[Entry]) -> dict[ChunkId, Vector]:
    """The stored vectors of chunks; made anew from their texts where the index does not give them out."""
    if isinstance(view.vectors, StoredVectors):
        return view.vectors.vectors([entry.id for entry in entries])
    return made_anew(view, entries)


def closeness(
    reader: Reader, embedder: Embedder | str, entries: Sequence[Entry], query: str
) -> tuple[dict[ChunkId, float], str | None]:
    """How close chunks are to a query, by their stored vectors; or why nobody knows."""
    try:
        view = sight(reader, embedder)
        (asked,) = embedded_now(embedder, [query], query=True)
        held = vectors_of(view, [entry for entry in entries if entry.id in set(view.served)])
    except CutawayError as reason:
        return {}, f"similarity to the query is not known: {reason}"
    if not held:
        return {}, None
    return dict(zip(held, cosine(np.stack(list(held.values())), asked).tolist(), strict=True)), None


def made_anew(view: Sight, entries: Sequence[Entry]) -> dict[ChunkId, Vector]:
    """Vectors of the chunks' texts as they are embedded. Raises UsageError, ModelUnavailable."""
    notes = view.reader.notes({entry.note for entry in entries})
    texts = [
        embedded_text(entry.context, notes[entry.note].source[entry.start : entry.end].decode("utf-8"))
        for entry in entries
    ]
    return dict(zip((entry.id for entry in entries), embedded_now(view.embedder, texts), strict=True))


def embedded_now(embedder: Embedder | str, texts: Sequence[str], query: bool = False) -> list[Vector]:
    """Vectors of passages, or of a query. Raises UsageError without an embedder, ModelUnavailable if it has none."""
    if isinstance(embedder, str):
        raise UsageError(f"text cannot be embedded: {embedder}")
    vectors, faults = embedded(embedder, texts, query)
    if fault := next(filter(None, faults), None):
        raise ModelUnavailable(f"nothing can be compared: {fault}")
    return list(vectors)


def _way(embedder: Embedder | str) -> str:
    return f"{embedder} Then run: cutaway index" if isinstance(embedder, str) else "Run: cutaway index"
