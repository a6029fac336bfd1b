"""Vectors in the store's own PostgreSQL, with pgvector: scanned exactly while they are few, found by HNSW when many.

Each space has a table of its own, as an HNSW index belongs to vectors of one size. The database only
proposes, by a query in half precision; scores and order are computed here from the stored numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutaway.errors import SettingsError, VectorsUnavailable
from cutaway.index.homes import Opening
from cutaway.index.vectors import Nearest, Record, Vector, at_length_one, check_vectors, ranked
from cutaway.model import ChunkId

try:
    import psycopg
except ImportError as missing:
    raise SettingsError(
        f"vectors = 'pgvector' needs psycopg ({missing}). Install it with: pip install 'cutaway[postgres]'"
    ) from None

MOST_DIMENSIONS = 4_000  # as many as pgvector indexes in half precision; 8,000 bytes also just fit a page
_MARGIN = 50  # read beyond k, so that the cut is nearly always decided by one query
# pgvector adds up in single precision; two cosines of the same vectors differ by less.
_SLACK = 1e-5
# What an HNSW search may visit before it is given up for a scan: pgvector's own default.
_MOST_VISITED = 20_000


class _Sought(NamedTuple):
    """A query as the database is asked it, and how far its distances may be from the true ones."""

    text: str
    slack: float
    condition: str
    values: tuple[list[int], ...]


class _Tables(NamedTuple):
    """What there is of a space: its table, for vectors of this size, and an HNSW index over it."""

    held: bool
    graph: bool


class PgVectorIndex:
    """The vectors of one space and scope. Writes belong to the caller's transaction."""

    identity = "pgvector-halfvec/v1"

    def __init__(self, opening: Opening) -> None:
        connection = getattr(opening.database, "connection", None)
        if not isinstance(connection, psycopg.Connection):
            raise SettingsError(
                "vectors = 'pgvector' keeps them in the PostgreSQL that holds the index: "
                "set store = 'postgresql://…' too, or vectors = 'exact'."
            )
        self._connection: psycopg.Connection[Any] = connection
        self._space = opening.space
        self._scope = sorted(opening.scope)
        self._exact_below = opening.settings.pgvector_exact_below
        self._ef_search = opening.settings.pgvector_ef_search
        self._name = f"vectors_{opening.space.id}"

    # Reading

    def nearest(self, query: Vector, k: int, within: Sequence[int] | None = None) -> Nearest:
        if k <= 0 or not self._scope or (within is not None and not len(within)):
            return Nearest(())
        sought = self._sought(query, within)
        with self._reading():
            held, graph = self._tables()
            if not held:
                return Nearest(())
            rows = self._reach(sought, k) if graph else 0
            if rows > self._exact_below:
                found = self._by_graph(sought, k)
                if len(found) >= min(k, rows):
                    remark = f"HNSW, ef_search = {self._depth(k)}: a closer passage may have been missed"
                    return Nearest(self._ranked(found, query, k), exact=False, remark=remark)
            return Nearest(self._ranked(self._by_scan(sought, k), query, k))

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Vector]:
        with self._reading():
            if not self._tables().held:
                return {}
            condition, values = self._admitted(ids)
            found = self._run(f"SELECT id, vector FROM {self._table} WHERE {condition} ORDER BY id", *values)
            return {ChunkId(chunk): row for (chunk, _), row in zip(found, self._rows(found), strict=True)}

    def stored_ids(self) -> frozenset[ChunkId]:
        """Every chunk of the scope that has a vector, whatever the manifest says of it."""
        with self._reading():
            if not self._tables().held:
                return frozenset()
            condition, values = self._admitted(None)
            return frozenset(
                ChunkId(row[0]) for row in self._run(f"SELECT id FROM {self._table} WHERE {condition}", *values)
            )

    def _by_scan(self, sought: _Sought, k: int) -> list[tuple[Any, ...]]:
        """Every row that may be among the k nearest, ties at the cut included."""
        # No index knows a sum, so this is never answered from one.
        distance = "(vector <=> %s::halfvec) + 0"
        query = f"SELECT id, vector, {distance} AS distance FROM {self._table} WHERE {sought.condition}"
        near = self._run(f"{query} ORDER BY distance LIMIT %s", sought.text, *sought.values, k + _MARGIN)
        if len(near) < k + _MARGIN:
            return near
        furthest = near[k - 1][2] + sought.slack
        if near[-1][2] > furthest:
            return near
        return self._run(f"{query} AND {distance} <= %s", sought.text, *sought.values, sought.text, furthest)

    def _by_graph(self, sought: _Sought, k: int) -> list[tuple[Any, ...]]:
        """Rows that are near, by the HNSW index whatever the planner thinks of it."""
        chosen = {
            "hnsw.ef_search": self._depth(k),
            "hnsw.iterative_scan": "strict_order",
            "hnsw.max_scan_tuples": _MOST_VISITED,
            "enable_indexscan": "on",
            "enable_sort": "off",
        }
        setting = "SELECT set_config(name, value, true) FROM unnest(%s::text[], %s::text[]) AS chosen (name, value)"
        query = f"SELECT id, vector FROM {self._table} WHERE {sought.condition} ORDER BY vector <=> %s::halfvec"
        self._run(setting, list(chosen), [str(value) for value in chosen.values()])
        return self._run(f"{query} LIMIT %s", *sought.values, sought.text, k + _MARGIN)

    def _depth(self, k: int) -> int:
        """How many candidates HNSW keeps at once: enough for k, at most what pgvector allows."""
        return min(max(self._ef_search, k), 1_000)

    def _reach(self, sought: _Sought, k: int) -> int:
        """How many rows there are to choose from, counted no further than it matters."""
        some, most = f"SELECT FROM {self._table} WHERE {sought.condition} LIMIT %s", max(self._exact_below, k) + 1
        ((rows,),) = self._run(f"SELECT count(*) FROM ({some}) AS counted", *sought.values, most)
        return int(rows)

    def _sought(self, query: Vector, within: Sequence[int] | None) -> _Sought:
        asked = query.astype(np.float64) / np.linalg.norm(query)
        half = asked.astype(np.float16).astype(np.float64)
        # By the triangle inequality no cosine moves further than the rounded query did.
        moved = float(np.linalg.norm(half / np.linalg.norm(half) - asked))
        text = f"[{','.join(f'{number:.9g}' for number in half.tolist())}]"
        return _Sought(text, 2 * (moved + _SLACK), *self._admitted(within))

    def _admitted(self, within: Sequence[int] | None) -> tuple[str, tuple[list[int], ...]]:
        scoped = "project_id = ANY(%s::bigint[])"
        if within is None:
            return scoped, (self._scope,)
        return f"{scoped} AND id = ANY(%s::bigint[])", (self._scope, [int(chunk) for chunk in within])

    def _ranked(self, found: Sequence[tuple[Any, ...]], query: Vector, k: int) -> tuple[Any, ...]:
        return ranked(np.array([row[0] for row in found], np.int64), self._rows(found), query, k)

    def _rows(self, found: Sequence[tuple[Any, ...]]) -> NDArray[np.float32]:
        """The vectors of these rows, as pgvector sends them: two small numbers, then the half-precision ones."""
        sent = np.frombuffer(b"".join(row[1] for row in found), ">f2")
        return at_length_one(sent.reshape(len(found), 2 + self._space.dimension)[:, 2:])

    # Writing

    def upsert(self, records: Sequence[Record]) -> None:
        check_vectors(records, self._space.dimension)
        if not records:
            return
        by_id = {record.id: record for record in records}
        head = np.array([self._space.dimension, 0], ">i2").tobytes()
        with self._answering(), self._connection.transaction():
            self._make()
            self._run(f"DELETE FROM {self._table} WHERE id = ANY(%s::bigint[])", list(by_id))
            storing = f"COPY {self._table} (id, project_id, vector) FROM STDIN (FORMAT BINARY)".encode()
            with self._connection.cursor().copy(storing) as copy:
                copy.set_types(["int8", "int8", "bytea"])
                for record in by_id.values():
                    copy.write_row((record.id, record.project, head + record.vector.astype(">f2").tobytes()))

    def delete(self, ids: Sequence[ChunkId]) -> None:
        with self._answering(), self._connection.transaction():
            if self._tables().held:
                self._run(f"DELETE FROM {self._table} WHERE id = ANY(%s::bigint[])", list(ids))

    def drop(self) -> None:
        with self._answering():
            self._run(f"DROP TABLE IF EXISTS {self._table}")

    def settle(self) -> bool:
        """Build the HNSW index where there are enough vectors for it; drop it where there are far too few."""
        with self._answering(), self._connection.transaction():
            held, graph = self._tables()
            if not held:
                return False
            some = f"SELECT FROM {self._table} LIMIT %s"
            ((rows,),) = self._run(f"SELECT count(*) FROM ({some}) AS counted", self._exact_below + 1)
            if rows > self._exact_below and not graph:
                self._run(f"CREATE INDEX {self._name}_hnsw ON {self._table} USING hnsw (vector halfvec_cosine_ops)")
            elif rows <= self._exact_below // 2 and graph:
                self._run(f"DROP INDEX {self._table}_hnsw")
            else:
                return False
            return True

    def close(self) -> None:
        """Nothing to let go of: the connection is another's."""

    def _make(self) -> None:
        """The space's table, where there is none, or one that another space has left behind."""
        if self._tables().held:
            return
        dimension = self._space.dimension
        if dimension > MOST_DIMENSIONS:
            raise SettingsError(
                f"pgvector holds at most {MOST_DIMENSIONS:,} dimensions in half precision; this model has "
                f"{dimension:,}. Set vectors = 'exact', or choose a smaller model."
            )
        self._run("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", "cutaway: tables of vectors")
        if self._tables().held:  # another worker has made it meanwhile
            return
        self._require_pgvector()
        self._run(f"DROP TABLE IF EXISTS {self._table}")
        self._run(f"CREATE TABLE {self._table} (id bigint PRIMARY KEY, project_id bigint NOT NULL,"
                  f" vector halfvec({dimension}) NOT NULL)")  # fmt: skip
        # Otherwise rows over 2 kB are moved out of the table, and a scan takes five times as long.
        self._run(f"ALTER TABLE {self._table} ALTER COLUMN vector SET STORAGE PLAIN")
        self._run(f"CREATE INDEX ON {self._table} (project_id)")

    def _require_pgvector(self) -> None:
        known = "SELECT extversion, to_regtype('halfvec') IS NOT NULL FROM pg_extension WHERE extname = 'vector'"
        try:
            if not self._run(known):
                self._run("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
            ((version, visible),) = self._run(known)
        except (psycopg.errors.InsufficientPrivilege, psycopg.NotSupportedError, psycopg.errors.UndefinedFile) as error:
            raise SettingsError(
                f"vectors = 'pgvector' needs the PostgreSQL extension `vector`, 0.8 or later: {_said(error)}. Have it"
                " installed and run CREATE EXTENSION vector as its administrator, or set vectors = 'exact'."
            ) from None
        if tuple(map(int, version.split(".")[:2])) < (0, 8) or not visible:
            way = "UPDATE" if visible else "SET SCHEMA public"
            raise SettingsError(
                f"vectors = 'pgvector' needs the PostgreSQL extension `vector`, 0.8 or later, in a schema of the "
                f"search_path; found {version}{'' if visible else ' in another'}. "
                f"Run ALTER EXTENSION vector {way}, or set vectors = 'exact'."
            )

    # Asking

    @cached_property
    def _table(self) -> str:
        """In the schema of this index alone: another one's may be searched after it."""
        ((schema,),) = self._run("SELECT quote_ident(current_schema())")
        return f"{schema}.{self._name}"

    def _tables(self) -> _Tables:
        table = "attrelid = to_regclass(%s) AND attname = 'vector' AND atttypmod = %s"
        query = f"SELECT EXISTS (SELECT FROM pg_attribute WHERE {table}), to_regclass(%s) IS NOT NULL"
        return _Tables(*self._run(query, self._table, self._space.dimension, f"{self._table}_hnsw")[0])

    def _run(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        # Not prepared: each query is planned for what it asks.
        cursor = self._connection.cursor(binary=bool(values))
        cursor.execute(query.encode(), values or None, prepare=False)
        return cursor.fetchall() if cursor.description else []

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """What fails in here, or is set, leaves nothing behind in the caller's transaction."""
        with self._answering(), self._connection.transaction(force_rollback=True):
            yield

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.OperationalError, psycopg.errors.UndefinedTable) as error:
            raise VectorsUnavailable(f"the vectors in PostgreSQL do not answer: {_said(error)}.") from error


def _said(error: psycopg.Error) -> str:
    return (error.diag.message_primary or str(error)).strip().rstrip(".")
