"""The default vector index: an exact scan in process, its vectors in the manifest's own file.

Vectors are kept as half-precision numbers in segments of 256 slots, so a search reads a few large
blobs and an update writes a few pages. The scan uses ``np.vecdot``, whose result for a row depends
on that row alone (a matrix product's does not), then ranks near the cut in double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from cutaway.errors import SettingsError
from cutaway.index.homes import Opening
from cutaway.index.kept import Kept
from cutaway.index.vectors import Nearest, Record, Vector, at_length_one, check_vectors, ranked
from cutaway.model import ChunkId

SEGMENT = 256
_FREE = -1
# Two float32 products of the same vectors differ by less; all within it of the cut are rescored.
_SLACK = 2e-6


class ExactIndex:
    """The vectors of one space and scope, loaded when first needed.

    Writes belong to the caller's transaction; if it is rolled back, discard this object.
    """

    identity = "exact-f16/v1"

    def __init__(self, opening: Opening) -> None:
        if not isinstance(opening.database, apsw.Connection):
            raise SettingsError(
                "vectors = 'exact' keeps them in the index's own file, and this index is in Postgres: "
                "set vectors = 'pgvector', or 'milvus' with milvus_uri."
            )
        self._connection = opening.database
        self._space = opening.space
        self._scope = np.array(sorted(opening.scope), np.int32)
        self._kept, self._name = opening.kept or Kept(), ("exact", opening.space.id)

    # Reading

    def nearest(self, query: Vector, k: int, within: Sequence[int] | None = None) -> Nearest:
        ids, rows = self._admitted(within)
        if k <= 0 or not len(ids):
            return Nearest(())
        rough = np.vecdot(rows, query)
        if k < len(ids):
            floor = np.partition(rough, len(ids) - k)[len(ids) - k] - _SLACK
            kept = np.flatnonzero(rough >= floor)
            ids, rows = ids[kept], rows[kept]
        return Nearest(ranked(ids, rows, query, k))

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Vector]:
        known, rows = self._admitted(ids)
        return {ChunkId(chunk): row for chunk, row in zip(known.tolist(), rows, strict=True)}

    def _admitted(self, within: Sequence[int] | None) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The scope's chunk ids and vectors, or those of these chunks."""
        ids, rows = self._scoped
        if within is None:
            return ids, rows
        admitted = np.isin(ids, np.array(within, np.int64))
        return ids[admitted], rows[admitted]

    @property
    def _scoped(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The scope's chunk ids, ascending, and their vectors at length one."""
        return self._kept.once(self._name, self._load)

    def _load(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        ids, projects, rows = self._read()
        used = np.flatnonzero((ids != _FREE) & np.isin(projects, self._scope))
        used = used[np.argsort(ids[used])]
        return ids[used], at_length_one(rows[used])

    def _read(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float16]]:
        query = "SELECT ids, projects, vectors FROM segments WHERE space_id = ? ORDER BY id"
        stored: list[tuple[Any, ...]] = self._connection.execute(query, (self._space.id,)).fetchall()
        ids, projects, vectors = (b"".join(column) for column in zip(*stored, strict=True)) if stored else (b"",) * 3
        rows = np.frombuffer(vectors, np.float16).reshape(-1, self._space.dimension)
        return np.frombuffer(ids, np.int64), np.frombuffer(projects, np.int32), rows

    # Writing

    def upsert(self, records: Sequence[Record]) -> None:
        check_vectors(records, self._space.dimension)
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

    def drop(self) -> None:
        self._connection.execute("DELETE FROM segments WHERE space_id = ?", (self._space.id,))

    def close(self) -> None:
        """Nothing to let go of: the connection is another's."""

    def stored_ids(self) -> frozenset[ChunkId]:
        """Every chunk of the scope that has a vector, whatever the manifest says of it."""
        query = "SELECT ids, projects FROM segments WHERE space_id = ?"
        stored = self._connection.execute(query, (self._space.id,))
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

    @cached_property
    def _segments(self) -> list[int]:
        """The keys of the space's segments; a slot's segment is found by its place in this list."""
        held = self._connection.execute("SELECT id FROM segments WHERE space_id = ? ORDER BY id", (self._space.id,))
        return [key for (key,) in held]

    def _stored_slots(self) -> list[int]:
        query = "SELECT ids FROM segments WHERE space_id = ? ORDER BY id"
        blobs = self._connection.execute(query, (self._space.id,))
        return [int(chunk) for (blob,) in blobs for chunk in np.frombuffer(blob, np.int64)]

    def _take(self) -> int:
        if not self._free:
            first = len(self._segments) * SEGMENT
            ids = np.full(SEGMENT, _FREE, np.int64).tobytes()
            key = self._connection.execute(
                "INSERT INTO segments (space_id, ids, projects, vectors) VALUES (?, ?, zeroblob(?), zeroblob(?))"
                " RETURNING id",
                (self._space.id, ids, SEGMENT * 4, SEGMENT * self._space.dimension * 2),
            ).get
            self._segments.append(key)
            self._free.extend(range(first + SEGMENT - 1, first - 1, -1))
        return self._free.pop()

    def _write(self, slot: int, chunk: int, project: int, vector: bytes) -> None:
        segment, place = divmod(slot, SEGMENT)
        values = (
            ("ids", place * 8, np.int64(chunk).tobytes()),
            ("projects", place * 4, np.int32(project).tobytes()),
            ("vectors", place * self._space.dimension * 2, vector),
        )
        for column, offset, value in values:
            with self._connection.blob_open("main", "segments", column, self._segments[segment], True) as blob:
                blob.seek(offset)
                blob.write(value)

    def _forget(self) -> None:
        self._kept.forget(self._name)
