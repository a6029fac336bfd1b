"""What a home for vectors promises, whatever stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cutaway.model import ChunkId

Vector = NDArray[np.float32]


class Record(NamedTuple):
    """A chunk's vector, ready to be stored. Vectors have length one."""

    id: ChunkId
    project: int
    vector: Vector


class Near(NamedTuple):
    """A stored chunk and its cosine similarity to the query."""

    id: ChunkId
    similarity: float


class VectorIndex(Protocol):
    """The vectors of one scope under one embedding identity.

    Scores are cosine similarity, best first; equal scores are ordered by id. ``nearest(q, k)`` is
    always a prefix of ``nearest(q, k + 1)``. Nothing outside the scope is ever returned. An upsert
    replaces, a delete is final. *within* asks among these chunks only, as if no other were stored.
    """

    identity: str

    def upsert(self, records: Sequence[Record]) -> None: ...

    def delete(self, ids: Sequence[ChunkId]) -> None: ...

    def nearest(self, query: Vector, k: int, within: Sequence[int] | None = None) -> list[Near]: ...


class ExactScores(Protocol):
    """An index that can also score chunks by id, and knows the mean of its vectors."""

    def similarities(self, query: Vector, ids: Sequence[ChunkId]) -> dict[ChunkId, float]:
        """The same numbers ``nearest`` gives, for the chunks among *ids* that are stored."""

    def mean_similarity(self, query: Vector) -> tuple[float, int]:
        """The query's product with the mean of the scope's vectors, and how many they are."""


@runtime_checkable
class StoredVectors(Protocol):
    """An index that gives back what it stores, and says how similar all of it is to something."""

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Vector]:
        """The vectors of those among *ids* that are stored, at length one: what ``nearest`` compares with."""

    def histogram(
        self, queries: Sequence[Vector], edges: Sequence[float], within: Sequence[int] | None = None
    ) -> list[int]:
        """How many chunks have a similarity in each range from one edge to the next.

        The numbers are those ``nearest`` gives; of several queries, that to the one most like the chunk.
        An edge belongs to the range above it, the last one also to the last range.
        """
