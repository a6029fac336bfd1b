"""What a home for vectors promises, whatever stands behind it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cutaway.errors import BadVector
from cutaway.model import ChunkId

Vector = NDArray[np.float32]
_DIGITS = 9
_BLOCK = 4_096  # vectors that are held at once where all are looked at


class Space(NamedTuple):
    """What vectors must share to be compared: the model that made them, and the home that holds them."""

    id: int
    embedding: str
    """The embedding identity."""
    home: str
    """The identity of the vector index."""
    dimension: int


class Record(NamedTuple):
    """A chunk's vector, ready to be stored. Vectors have length one."""

    id: ChunkId
    project: int
    vector: Vector


class Near(NamedTuple):
    """A stored chunk and its cosine similarity to the query."""

    id: ChunkId
    similarity: float


class Nearest(NamedTuple):
    """What an index found, best first."""

    hits: tuple[Near, ...]
    exact: bool = True
    """Whether no closer chunk can have been missed."""
    remark: str | None = None
    """What the index has to say of how it looked."""


class VectorIndex(Protocol):
    """The vectors of one scope in one space.

    Scores are cosine similarity, best first; equal scores are ordered by id. While the answer is
    exact, ``nearest(q, k)`` is a prefix of ``nearest(q, k + 1)``. Nothing outside the scope is ever
    returned. An upsert replaces, a delete is final. *within* asks among these chunks only, as if no
    other were stored.
    """

    identity: str

    def upsert(self, records: Sequence[Record]) -> None: ...

    def delete(self, ids: Sequence[ChunkId]) -> None: ...

    def nearest(self, query: Vector, k: int, within: Sequence[int] | None = None) -> Nearest: ...

    def drop(self) -> None:
        """Forget the whole space, in every project."""

    def close(self) -> None: ...


@runtime_checkable
class StoredVectors(Protocol):
    """An index that gives back what it stores."""

    def stored_ids(self) -> frozenset[ChunkId]:
        """Every chunk of the scope that has a vector, whatever the manifest says of it."""

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Vector]:
        """The vectors of those among *ids* that are stored, at length one: what ``nearest`` compares with."""


@runtime_checkable
class Maintained(Protocol):
    """An index that has work to do when a run has stored all it will."""

    def settle(self) -> bool:
        """Do it; whether answers may be others now."""


@runtime_checkable
class Apart(Protocol):
    """An index outside the store's transactions: a stop at the wrong moment leaves more in it than is ready."""

    def count(self) -> int:
        """How many vectors the space has, in any project."""

    def all_ids(self) -> frozenset[ChunkId]:
        """Every chunk that has a vector, in any project."""

    def delete(self, ids: Sequence[ChunkId]) -> None: ...


def at_length_one(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """What every home compares with: the numbers that half precision holds, at length one."""
    held = vectors.astype(np.float16).astype(np.float32)
    held /= np.sqrt(np.vecdot(held, held))[..., None]
    return held


def cosine(rows: NDArray[np.float32], query: Vector) -> NDArray[np.float64]:
    """Cosine in double precision, rounded so that equal vectors score equally on any machine."""
    exact, asked = rows.astype(np.float64), query.astype(np.float64)
    lengths = np.sqrt(np.vecdot(exact, exact) * np.vecdot(asked, asked))
    scores: NDArray[np.float64] = np.round(np.vecdot(exact, asked) / lengths, _DIGITS)
    return scores


def ranked(ids: NDArray[np.int64], rows: NDArray[np.float32], query: Vector, k: int) -> tuple[Near, ...]:
    """The k best of these chunks, whatever order they come in."""
    scores = cosine(rows, query)
    order = np.lexsort((ids, -scores))[:k]
    return tuple(Near(ChunkId(int(ids[place])), float(scores[place])) for place in order)


def similarities(index: StoredVectors, query: Vector, ids: Sequence[ChunkId]) -> dict[ChunkId, float]:
    """The same numbers ``nearest`` gives, for the chunks among *ids* that are stored."""
    held = index.vectors(ids)
    if not held:
        return {}
    return dict(zip(held, cosine(np.stack(list(held.values())), query).tolist(), strict=True))


def histogram(
    index: StoredVectors, ids: Sequence[ChunkId], queries: Sequence[Vector], edges: Sequence[float]
) -> list[int]:
    """How many of these chunks have a similarity in each range from one edge to the next.

    The numbers are those ``nearest`` gives; of several queries, that to the one most like the chunk.
    An edge belongs to the range above it, the last one also to the last range.
    """
    counts = np.zeros(len(edges) - 1, np.int64)
    for rows in _blocks(index, ids):
        best = np.max([cosine(rows, query) for query in queries], axis=0)
        counts += np.histogram(best, edges)[0]
    return [int(count) for count in counts]


def check_vectors(records: Collection[Record], dimension: int) -> None:
    """Raise BadVector for a vector that no index may hold; nothing is stored then."""
    for record in records:
        if record.vector.shape != (dimension,):
            raise BadVector(f"a vector of shape {record.vector.shape} does not fit {dimension} dimensions.")
        if not np.isfinite(record.vector).all() or not record.vector.any():
            raise BadVector("a vector that is not finite or is zero cannot be stored.")


def _blocks(index: StoredVectors, ids: Sequence[ChunkId]) -> Iterator[NDArray[np.float32]]:
    for start in range(0, len(ids), _BLOCK):
        if held := index.vectors(ids[start : start + _BLOCK]):
            yield np.stack(list(held.values()))
