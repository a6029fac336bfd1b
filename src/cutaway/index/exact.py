"""The default vector index: an exact scan in process, its vectors in the manifest's own file.

Vectors are kept as half-precision numbers in segments of 256 slots, so a search reads a few large
blobs and an update writes a few pages. The scan uses ``np.vecdot``, whose result for a row depends
on that row alone (a matrix product's does not), then ranks near the cut in double precision.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from cutaway.errors import BadVector
from cutaway.index.vectors import Near, Record, Vector
from cutaway.model import ChunkId

SEGMENT = 256
_FREE = -1
# Two float32 products of the same vectors differ by less; all within it of the cut are rescored.
_SLACK = 2e-6
_DIGITS = 9
_BLOCK = 4_096  # rows that are scored at once in double precision where all of them are


class ExactIndex:
    """Vectors of one scope (a set of project ids), loaded when first needed.

    Writes belong to the caller's transaction; if it is rolled back, discard this object.
    """

    identity = "exact-f16/v1"

    def __init__(self, connection: apsw.Connection, dimension: int, scope: Collection[int]) -> None:
        self._connection = connection
        self._dimension = dimension
        self._scope = np.array(sorted(scope), np.int32)

    # Reading

    def nearest(self, query: Vector, k: int, within: Sequence[int] | None = None) -> list[Near]:
        ids, rows = self._admitted(within)
        if k <= 0 or not len(ids):
            return []
        rough = np.vecdot(rows, query)
        if k < len(ids):
            floor = np.partition(rough, len(ids) - k)[len(ids) - k] - _SLACK
            kept = np.flatnonzero(rough >= floor)
            ids, rows = ids[kept], rows[kept]
        scores = _cosine(rows, query)
        order = np.lexsort((ids, -scores))[:k]
        return [Near(ChunkId(int(ids[place])), float(scores[place])) for place in order]

    def count(self, within: Sequence[int] | None = None) -> int:
        """How many vectors there are, or how many of these chunks have one."""
        ids, _ = self._scoped
        return len(ids) if within is None else int(np.count_nonzero(np.isin(ids, np.array(within, np.int64))))

    def similarities(self, query: Vector, ids: Sequence[ChunkId]) -> dict[ChunkId, float]:
        known, rows = self._scoped
        wanted = np.array(sorted(set(ids)), np.int64)
        places = np.flatnonzero(np.isin(known, wanted, assume_unique=True))
        scores = _cosine(rows[places], query)
        return {ChunkId(int(known[place])): float(score) for place, score in zip(places, scores, strict=True)}

    def mean_similarity(self, query: Vector) -> tuple[float, int]:
        ids, _ = self._scoped
        return round(float(np.vecdot(self._mean, query.astype(np.float64))), _DIGITS), len(ids)

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Vector]:
        known, rows = self._admitted(ids)
        return {ChunkId(int(chunk)): row for chunk, row in zip(known, rows, strict=True)}

    def histogram(
        self, queries: Sequence[Vector], edges: Sequence[float], within: Sequence[int] | None = None
    ) -> list[int]:
        _, rows = self._admitted(within)
        counts = np.zeros(len(edges) - 1, np.int64)
        for start in range(0, len(rows), _BLOCK):
            best = np.max([_cosine(rows[start : start + _BLOCK], query) for query in queries], axis=0)
            counts += np.histogram(best, edges)[0]
        return [int(count) for count in counts]

    def _admitted(self, within: Sequence[int] | None) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The scope's chunk ids and vectors, or those of these chunks."""
        ids, rows = self._scoped
        if within is None:
            return ids, rows
        admitted = np.isin(ids, np.array(within, np.int64))
        return ids[admitted], rows[admitted]

    @cached_property
    def _scoped(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The scope's chunk ids, ascending, and their vectors at length one."""
        ids, projects, rows = self._read()
        used = np.flatnonzero((ids != _FREE) & np.isin(projects, self._scope))
        used = used[np.argsort(ids[used])]
        vectors = rows[used].astype(np.float32)
        vectors /= np.sqrt(np.vecdot(vectors, vectors))[:, None]
        return ids[used], vectors

    @cached_property
    def _mean(self) -> NDArray[np.float64]:
        _, rows = self._scoped
        return rows.mean(axis=0, dtype=np.float64) if len(rows) else np.zeros(self._dimension)

    def _read(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float16]]:
        query = "SELECT ids, projects, vectors FROM segments ORDER BY id"
        stored: list[tuple[Any, ...]] = self._connection.execute(query).fetchall()
        if any(len(vectors) != SEGMENT * self._dimension * 2 for *_, vectors in stored):
            held = len(stored[0][2]) // (SEGMENT * 2)
            raise BadVector(f"the index holds vectors of {held} dimensions; this model has {self._dimension}.")
        ids, projects, vectors = (b"".join(column) for column in zip(*stored, strict=True)) if stored else (b"",) * 3
        rows = np.frombuffer(vectors, np.float16).reshape(-1, self._dimension)
        return np.frombuffer(ids, np.int64), np.frombuffer(projects, np.int32), rows

    # Writing

    def upsert(self, records: Sequence[Record]) -> None:
        for record in records:
            if record.vector.shape != (self._dimension,):
                raise BadVector(f"a vector of shape {record.vector.shape} does not fit {self._dimension} dimensions.")
            if not np.isfinite(record.vector).all() or not record.vector.any():
                raise BadVector("a vector that is not finite or is zero cannot be stored.")
        for record in records:
            slot = self._slots.pop(record.id, None)
            slot = self._take() if slot is None else slot
            self._slots[record.id] = slot
            self._write(slot, record.id, record.project, record.vector.astype(np.float16).tobytes())
        self._forget()

    def delete(self, ids: Sequence[ChunkId]) -> None:
        free = self._free  # listed before anything is freed, or a slot would stand in it twice
        for chunk in ids:
            slot = self._slots.pop(chunk, None)
            if slot is not None:
                self._write(slot, _FREE, 0, b"")
                free.append(slot)
        free.sort(reverse=True)
        self._forget()

    def stored_ids(self) -> frozenset[ChunkId]:
        """Every chunk of the scope that has a vector, whatever the manifest says of it."""
        stored = self._connection.execute("SELECT ids, projects FROM segments")
        pairs = ((np.frombuffer(ids, np.int64), np.frombuffer(projects, np.int32)) for ids, projects in stored)
        held = (ids[(ids != _FREE) & np.isin(projects, self._scope)] for ids, projects in pairs)
        return frozenset(ChunkId(int(chunk)) for ids in held for chunk in ids)

    @cached_property
    def _slots(self) -> dict[ChunkId, int]:
        return {ChunkId(chunk): slot for slot, chunk in enumerate(self._stored_slots()) if chunk != _FREE}

    @cached_property
    def _free(self) -> list[int]:
        """Empty slots, the lowest last."""
        return [slot for slot, chunk in enumerate(self._stored_slots()) if chunk == _FREE][::-1]

    def _stored_slots(self) -> list[int]:
        blobs = self._connection.execute("SELECT ids FROM segments ORDER BY id")
        return [int(chunk) for (blob,) in blobs for chunk in np.frombuffer(blob, np.int64)]

    def _take(self) -> int:
        if not self._free:
            count = int(self._connection.execute("SELECT count(*) FROM segments").get)
            self._connection.execute(
                "INSERT INTO segments VALUES (?, ?, zeroblob(?), zeroblob(?))",
                (count, np.full(SEGMENT, _FREE, np.int64).tobytes(), SEGMENT * 4, SEGMENT * self._dimension * 2),
            )
            self._free.extend(range((count + 1) * SEGMENT - 1, count * SEGMENT - 1, -1))
        return self._free.pop()

    def _write(self, slot: int, chunk: int, project: int, vector: bytes) -> None:
        segment, place = divmod(slot, SEGMENT)
        values = (
            ("ids", place * 8, np.int64(chunk).tobytes()),
            ("projects", place * 4, np.int32(project).tobytes()),
            ("vectors", place * self._dimension * 2, vector),
        )
        for column, offset, value in values:
            with self._connection.blob_open("main", "segments", column, segment, True) as blob:
                blob.seek(offset)
                blob.write(value)

    def _forget(self) -> None:
        for name in ("_scoped", "_mean"):
            self.__dict__.pop(name, None)


def _cosine(rows: NDArray[np.float32], query: Vector) -> NDArray[np.float64]:
    """Cosine in double precision, rounded so that equal vectors score equally on any machine."""
    exact, asked = rows.astype(np.float64), query.astype(np.float64)
    lengths = np.sqrt(np.vecdot(exact, exact) * np.vecdot(asked, asked))
    scores: NDArray[np.float64] = np.round(np.vecdot(exact, asked) / lengths, _DIGITS)
    return scores
