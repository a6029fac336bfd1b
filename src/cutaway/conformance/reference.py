"""The reference: a dictionary and a loop. Every home answers as this one does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cutaway.index.vectors import Near, Nearest, Record, Vector, at_length_one, check_vectors, cosine
from cutaway.model import ChunkId


class ReferenceIndex:
    """The vectors of one space, which is the dictionary given."""

    identity = "reference/v1"

    def __init__(self, held: dict[ChunkId, Record], dimension: int, scope: Iterable[int]) -> None:
        self._held = held
        self._dimension = dimension
        self._scope = frozenset(scope)

    def upsert(self, records: Sequence[Record]) -> None:
        check_vectors(records, self._dimension)
        self._held.update({record.id: record for record in records})

    def delete(self, ids: Sequence[ChunkId]) -> None:
        for chunk in ids:
            self._held.pop(chunk, None)

    def nearest(self, query: Vector, k: int, within: Sequence[int] | None = None) -> Nearest:
        admitted = None if within is None else frozenset(within)
        found = []
        for chunk, vector in self.vectors(list(self._held)).items():
            if admitted is None or chunk in admitted:
                found.append(Near(chunk, float(cosine(vector, query))))
        return Nearest(tuple(sorted(found, key=lambda near: (-near.similarity, near.id))[:k]))

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Vector]:
        records = [self._held[chunk] for chunk in ids if chunk in self._held]
        return {record.id: at_length_one(record.vector) for record in records if record.project in self._scope}

    def stored_ids(self) -> frozenset[ChunkId]:
        return frozenset(self.vectors(list(self._held)))

    def drop(self) -> None:
        self._held.clear()

    def close(self) -> None:
        """The dictionary stays."""
