"""Homes that live in the store's own SQLite file: each index on a connection of its own, each change a transaction."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import apsw

from cutaway.config import Settings
from cutaway.conformance import Open
from cutaway.index.homes import Home, Opening
from cutaway.index.milvus import MilvusIndex
from cutaway.index.sqlite import open_reader, open_writer, snapshot, transaction
from cutaway.index.vectors import Nearest, Record, Space, StoredVectors, Vector
from cutaway.model import ChunkId


class Committed:
    """An index whose changes are transactions, as those of the product are; closed with its connection."""

    def __init__(self, connection: apsw.Connection, index: StoredVectors) -> None:
        self._connection, self._index = connection, index
        self.identity = index.identity

    def upsert(self, records: Sequence[Record]) -> None:
        with transaction(self._connection):
            self._index.upsert(records)

    def delete(self, ids: Sequence[ChunkId]) -> None:
        with transaction(self._connection):
            self._index.delete(ids)

    def drop(self) -> None:
        with transaction(self._connection):
            self._index.drop()

    def nearest(self, query: Vector, k: int, within: Sequence[int] | None = None) -> Nearest:
        with snapshot(self._connection):
            return self._index.nearest(query, k, within)

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Vector]:
        return self._index.vectors(ids)

    def stored_ids(self) -> frozenset[ChunkId]:
        return self._index.stored_ids()

    def close(self) -> None:
        self._index.close()
        self._connection.close()


@contextmanager
def in_sqlite(home: Home) -> Iterator[Open]:
    """An empty index file, and how vectors in it are opened."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        open_writer(folder).close()

        def open_index(space: Space, scope: Iterable[int]) -> Committed:
            connection = apsw.Connection(str(folder / "index.sqlite"))
            connection.set_busy_timeout(5_000)
            connection.execute("PRAGMA synchronous = OFF")
            opened.callback(connection.close)
            return Committed(connection, home(Opening(connection, space, tuple(scope), Settings())))

        yield open_index


@contextmanager
def in_milvus(file: str) -> Iterator[Open]:
    """A new index's collections in a Milvus Lite file, dropped at the end."""
    settings = Settings(vectors="milvus", milvus_uri=file, milvus_timeout=300)
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        open_writer(folder).close()
        spaces: set[Space] = set()

        def open_index(space: Space, scope: Iterable[int]) -> MilvusIndex:
            connection = open_reader(folder, settings)
            opened.callback(connection.close)
            spaces.add(space)
            return MilvusIndex(Opening(connection, space, tuple(scope), settings))

        yield open_index
        for space in spaces:
            open_index(space, ()).drop()
