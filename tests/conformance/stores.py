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
from cutaway.index.sqlite import SqliteStore, index_file
from cutaway.index.vectors import Nearest, Record, Space, StoredVectors, Vector
from cutaway.model import ChunkId


class Committed:
    """An index whose changes are transactions, as those of the product are; closed with its connection."""

    def __init__(self, store: SqliteStore, index: StoredVectors) -> None:
        self._store, self._index = store, index
        self.identity = index.identity

    def upsert(self, records: Sequence[Record]) -> None:
        with self._store.transaction():
            self._index.upsert(records)

    def delete(self, ids: Sequence[ChunkId]) -> None:
        with self._store.transaction():
            self._index.delete(ids)

    def drop(self) -> None:
        with self._store.transaction():
            self._index.drop()

    def nearest(self, query: Vector, k: int, within: Sequence[int] | None = None) -> Nearest:
        with self._store.snapshot():
            return self._index.nearest(query, k, within)

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Vector]:
        return self._index.vectors(ids)

    def stored_ids(self) -> frozenset[ChunkId]:
        return self._index.stored_ids()

    def close(self) -> None:
        self._index.close()
        apsw.Connection.close(self._store)  # the log is folded in by no one: others may read


@contextmanager
def in_sqlite(home: Home) -> Iterator[Open]:
    """An empty index file, and how vectors in it are opened."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        SqliteStore.for_writing(folder, Settings()).close()

        def open_index(space: Space, scope: Iterable[int]) -> Committed:
            store = SqliteStore(str(index_file(folder)))
            store.set_busy_timeout(5_000)
            store.execute("PRAGMA synchronous = OFF")
            index = Committed(store, home(Opening(store, space, tuple(scope), Settings())))
            opened.callback(index.close)
            return index

        yield open_index
