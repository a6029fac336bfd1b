"""Homes that live in the store's own SQLite file: each index on a connection of its own, each change a transaction."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cutaway.config import Settings
from cutaway.conformance import Open
from cutaway.index.homes import Home, Opening
from cutaway.index.sqlite import SqliteStore
from cutaway.index.store import Store, open_writer
from cutaway.index.vectors import Nearest, Record, Space, StoredVectors, Vector
from cutaway.model import ChunkId


class Committed:
    """An index whose changes are transactions, as those of the product are; closed with its connection."""

    def __init__(self, connection: Store, index: StoredVectors) -> None:
        self._connection, self._index = connection, index
        self.identity = index.identity

    def upsert(self, records: Sequence[Record]) -> None:
        with self._connection.transaction():
            self._index.upsert(records)

    def delete(self, ids: Sequence[ChunkId]) -> None:
        with self._connection.transaction():
            self._index.delete(ids)

    def drop(self) -> None:
        with self._connection.transaction():
            self._index.drop()

    def nearest(self, query: Vector, k: int, within: Sequence[int] | None = None) -> Nearest:
        with self._connection.snapshot():
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
            connection = SqliteStore(str(folder / "index.sqlite"))
            connection.set_busy_timeout(5_000)
            connection.execute("PRAGMA synchronous = OFF")
            opened.callback(connection.close)
            return Committed(connection, home(Opening(connection, space, tuple(scope), Settings())))

        yield open_index
