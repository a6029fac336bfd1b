"""Vectors in the store's own file, searched by sqlite-vec: one vec0 table a space, a partition a project.

vec0 gives at most 4,096 neighbours of a partition, its ties follow where a vector happens to lie, and an order by
key is only repeatable over all that it gives. So each search asks for that many, whatever k is, and cuts here.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from cutaway.errors import ModelUnavailable, UsageError
from cutaway.index.homes import Opening
from cutaway.index.vectors import Near, Nearest, Record, Vector, at_length_one, check_vectors, ranked
from cutaway.model import ChunkId

UNIVERSE = 4_096
"""How many neighbours vec0 gives of a project."""

# A chunk holds vectors of one project, and takes its whole size: so a small project should fill one. From 64 to 256
# a search of 50,000 takes the same 60 ms; at 1,024 it takes three times as long.
_CHUNK = 64
_GIVEN = "IN (SELECT value FROM json_each(?))"
_REMARK = f"sqlite-vec gives {UNIVERSE:,} neighbours of a project: others may be as close"


class SqliteVecIndex:
    """The vectors of one space and scope.

    Writes belong to the caller's transaction. The table is made by whoever first stores a vector in it.
    """

    identity = "sqlite-vec-f32/v1"

    def __init__(self, opening: Opening) -> None:
        self._connection = loaded(opening.database)
        self._space = opening.space
        self._scope = json.dumps(sorted(opening.scope))
        # A space's number may be given out again; what another model left behind must not be taken for its own.
        self._table = f"vec_{self._space.id}_{zlib.crc32(self._space.embedding.encode()):08x}"
        # A distance is three sums in single precision, each wrong by less than dimension · 2⁻²⁴; two are compared.
        self._slack = self._space.dimension * 2.0**-21

    # Reading

    def nearest(self, query: Vector, k: int, within: Sequence[int] | None = None) -> Nearest:
        if k <= 0 or not self._exists():
            return Nearest(())
        if within is not None:
            return self._among(query, k, within)
        ids, projects, distances = self._universe(query)
        sizes = zip(*np.unique(projects, return_counts=True), strict=True)
        end = min((distances[projects == project].max() for project, size in sizes if size >= UNIVERSE), default=np.inf)
        if k < len(ids):
            cut = np.partition(distances, k - 1)[k - 1] + self._slack
            exact = bool(cut < end)
            ids = ids[distances <= cut]
        else:
            exact = bool(end == np.inf)
        held = self.vectors(ids.tolist())
        if not held:
            return Nearest(())
        hits = ranked(np.array(list(held), np.int64), np.stack(list(held.values())), query, k)
        return Nearest(hits, exact, None if exact else _REMARK)

    def _among(self, query: Vector, k: int, within: Sequence[int]) -> Nearest:
        """The nearest of some chunks, whose vectors are read and compared here.

        vec0's own test (``id IN``) compares ids as small numbers, and loses chunks whose ids are large.
        """
        best: tuple[Near, ...] = ()
        for start in range(0, len(within), UNIVERSE):
            held = self.vectors([ChunkId(chunk) for chunk in within[start : start + UNIVERSE]])
            if held:
                best += ranked(np.array(list(held), np.int64), np.stack(list(held.values())), query, k)
        once = {near.id: near for near in best}
        return Nearest(tuple(sorted(once.values(), key=lambda near: (-near.similarity, near.id))[:k]))

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Vector]:
        if not self._exists():
            return {}
        query = f"SELECT id, vector FROM {self._table} WHERE id {_GIVEN} AND project {_GIVEN}"
        found = self._connection.execute(query, (json.dumps(list(ids)), self._scope))
        return {ChunkId(chunk): np.frombuffer(vector, np.float32) for chunk, vector in found}

    def stored_ids(self) -> frozenset[ChunkId]:
        if not self._exists():
            return frozenset()
        found = self._connection.execute(f"SELECT id FROM {self._table} WHERE project {_GIVEN}", (self._scope,))
        return frozenset(ChunkId(chunk) for (chunk,) in found)

    def _universe(self, query: Vector) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """All that vec0 gives of the scope: ids, their projects, and how far they are."""
        statement = f"SELECT id, project, distance FROM {self._table} WHERE vector MATCH ? AND k = {UNIVERSE}"
        values = (query.astype(np.float32).tobytes(), self._scope)
        found: list[tuple[Any, ...]] = self._connection.execute(f"{statement} AND project {_GIVEN}", values).fetchall()
        ids, projects, distances = zip(*found, strict=True) if found else ((), (), ())
        return np.array(ids, np.int64), np.array(projects, np.int64), np.array(distances, np.float64)

    # Writing

    def upsert(self, records: Sequence[Record]) -> None:
        check_vectors(records, self._space.dimension)
        if not records:
            return
        self._connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {self._table} USING vec0 (id INTEGER PRIMARY KEY, project INTEGER"
            f" PARTITION KEY, vector FLOAT[{self._space.dimension}] DISTANCE_METRIC=cosine, CHUNK_SIZE={_CHUNK})"
        )
        last = {record.id: record for record in records}  # vec0 knows no upsert
        rows = [(record.id, record.project, at_length_one(record.vector).tobytes()) for record in last.values()]
        with self._connection:  # a savepoint: an insert that fails leaves half of its row behind
            self.delete(list(last))
            self._connection.executemany(f"INSERT INTO {self._table} (id, project, vector) VALUES (?, ?, ?)", rows)

    def delete(self, ids: Sequence[ChunkId]) -> None:
        if self._exists():
            self._connection.execute(f"DELETE FROM {self._table} WHERE id {_GIVEN}", (json.dumps(list(ids)),))

    def drop(self) -> None:
        self._connection.execute(f"DROP TABLE IF EXISTS {self._table}")

    def close(self) -> None:
        """Nothing to let go of: the connection is another's."""

    def _exists(self) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE name = ?"
        return self._connection.execute(query, (self._table,)).get is not None


def loaded(database: Any) -> apsw.Connection:
    """The connection, with vec0 in it. Raises ModelUnavailable, and UsageError where the store is no file."""
    if not isinstance(database, apsw.Connection):
        raise UsageError("vectors = 'sqlite-vec' needs an index in a file. With a store in Postgres, use 'pgvector'.")
    if database.execute("SELECT 1 FROM pragma_module_list WHERE name = 'vec0'").get is None:
        try:
            import sqlite_vec
        except ImportError:
            message = "vectors = 'sqlite-vec' needs a package. Run: pip install 'cutaway[sqlite-vec]'"
            raise ModelUnavailable(message) from None
        database.enable_load_extension(True)
        try:
            database.load_extension(sqlite_vec.loadable_path())
        except apsw.ExtensionLoadingError as error:
            raise ModelUnavailable(f"sqlite-vec cannot be loaded: {error}. Use: vectors = 'exact'") from None
        finally:
            database.enable_load_extension(False)
    return database


def drop_tables(database: apsw.Connection) -> None:
    """Drop every space. Where sqlite-vec is gone, nothing can open the tables, and they stay until it is back."""
    query = "SELECT name FROM sqlite_master WHERE name GLOB 'vec_*' AND sql LIKE 'CREATE VIRTUAL TABLE % USING vec0%'"
    tables = [name for (name,) in database.execute(query)]
    try:
        connection = loaded(database) if tables else database
    except ModelUnavailable:
        return
    for table in tables:
        connection.execute(f"DROP TABLE {table}")
