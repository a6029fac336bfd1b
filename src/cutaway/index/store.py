"""The store: one schema and one set of statements, in SQLite or in Postgres.

Statements are written in what both understand, with ``?`` for a value and
``IN (SELECT value FROM json_each(?))`` for a JSON list of them; `dialect.py` says them as Postgres does.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cutaway.config import Settings
from cutaway.errors import IndexUnfinished, UsageError
from cutaway.index.effects import Effects
from cutaway.index.schema import COUNT_CHANGE
from cutaway.index.sqlite import SqliteStore, alone_in
from cutaway.model import NoteId

Ints = NDArray[np.int64]


class Rows(Protocol):
    """The rows of a statement."""

    @property
    def get(self) -> Any:
        """The first row: its value where it has but one, else all of them; None where there is no row."""

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Lexical(Protocol):
    """The lexical index: where each term stands, in which field of which row."""

    def add(self, project: int, row: int, fields: Sequence[Sequence[str]]) -> None:
        """The terms of a row, by field, in order."""

    def remove(self, note: NoteId) -> None:
        """Forget the rows of a note, before they go."""

    def occurrences(self, word: str, prefix: bool, scope: Sequence[int]) -> Ints:
        """Where a word stands, or any that begins with it: (row, field, count), shape (n, 3).

        Neither this nor ``holding`` need keep to the scope: who asks sees to that.
        """

    def holding(self, words: Sequence[str], fields: Sequence[str], prefix: bool, scope: Sequence[int]) -> list[int]:
        """The rows with these words one after the other in one of the fields."""


class Store(Protocol):
    """A connection to an index, for one thread."""

    settings: Settings
    """Those it was opened under."""
    kept: str
    """Ends a query whose rows, called ``c``, nobody else may change or claim until the transaction ends."""
    unclaimed: str
    """The same, without those that somebody else has: it waits for nobody."""

    @property
    def place(self) -> str:
        """Where it is, as a user may be told."""

    @property
    def lexical(self) -> Lexical: ...

    @property
    def effects(self) -> Effects:
        """What is to happen outside the database, when a transaction or the connection ends."""

    @property
    def in_transaction(self) -> bool: ...

    def require_current(self) -> None:
        """Raises IndexMissing, IndexMismatch where there is no index of this version (any more)."""

    def execute(self, statement: str, values: Any = ()) -> Rows: ...

    def executemany(self, statement: str, values: Iterable[Any]) -> Any: ...

    def transaction(self) -> AbstractContextManager[None]:
        """One write transaction: all of it or none. Raises IndexBusy."""

    def claiming(self) -> AbstractContextManager[None]:
        """What is claimed inside is nobody else's until the end."""

    def snapshot(self) -> AbstractContextManager[None]:
        """All reads inside see one state of the index, whatever is written meanwhile."""

    def lock(self, *name: object) -> None:
        """Keep others from changing what goes by this name until the transaction ends."""

    def clear(self) -> None:
        """Leave nothing but empty tables. Belongs into a transaction."""

    def number_on(self) -> None:
        """Let new rows have numbers after those that rows were written with."""

    def faults(self) -> list[str]:
        """What the engine finds wrong with the index."""

    def size(self) -> int:
        """Bytes on disk."""

    def close(self) -> None: ...


def open_writer(home: Path, settings: Settings | None = None, unfinished: bool = False) -> Store:
    """The index of *home*, created or rebuilt to the current schema where needed.

    Raises IndexUnfinished, unless an *unfinished* copy will do.
    """
    chosen = settings or Settings.model_validate({})
    if chosen.store is None:
        return _finished(SqliteStore.for_writing(home, chosen), unfinished)
    from cutaway.index.postgres import PostgresStore  # only where it is used

    return _finished(PostgresStore.for_writing(chosen), unfinished)


def open_reader(home: Path, settings: Settings | None = None, unfinished: bool = False) -> Store:
    """The index of *home*, read only. Raises IndexMissing, IndexMismatch; IndexUnfinished as a writer does."""
    chosen = settings or Settings.model_validate({})
    if chosen.store is None:
        return _finished(SqliteStore.for_reading(home, chosen), unfinished)
    from cutaway.index.postgres import PostgresStore

    return _finished(PostgresStore.for_reading(chosen), unfinished)


def copied_from(store: Store) -> str | None:
    """Of which index this is a copy that was not finished; None where it is whole."""
    place: str | None = store.execute("SELECT value FROM meta WHERE key = 'migrating'").get
    return place


def _finished(store: Store, unfinished: bool) -> Store:
    source = None if unfinished else copied_from(store)
    if source is None:
        return store
    place = store.place
    store.close()
    raise IndexUnfinished(
        f"{place} is a copy of {source} that was not finished. Use that index, and run cutaway migrate again."
    )


def keeping_connections(settings: Settings) -> AbstractContextManager[None]:
    """Inside, readers of an index in Postgres take over each other's connections: for who answers many."""
    if settings.store is None:
        return nullcontext()
    from cutaway.index.postgres import pooled  # which says what to install

    return pooled(settings)


def open_worker(settings: Settings) -> Store:
    """An index in Postgres as it is, for one of several that write it at once. Raises UsageError where it is a file.

    Raises IndexMissing, IndexMismatch, StoreUnavailable.
    """
    if settings.store is None:
        raise UsageError(
            "workers need an index in Postgres; this one is a file, which has one writer at a time: `cutaway index` "
            "embeds there by itself. For workers, set store = 'postgresql://…' and vectors = 'pgvector'."
        )
    if settings.vectors == "exact":
        raise UsageError("vectors = 'exact' are kept in a file. For workers, set vectors = 'pgvector'.")
    from cutaway.index.postgres import PostgresStore

    return _finished(PostgresStore.for_working(settings), unfinished=False)


def alone(home: Path, settings: Settings) -> AbstractContextManager[None]:
    """Hold the writers' lock: two runs at once would embed everything twice. Raises IndexBusy."""
    if settings.store is None:
        return alone_in(home)
    from cutaway.index.postgres import PostgresStore

    return PostgresStore.alone(settings)


def generation(store: Store) -> int:
    """A number that grows with every change to the index."""
    return int(store.execute("SELECT value FROM meta WHERE key = 'generation'").get or 0)


def bump_generation(store: Store) -> None:
    """Count one more change, inside the transaction that makes it."""
    store.execute(COUNT_CHANGE)


def now() -> str:
    """The time in UTC, to the second, as it is stored."""
    return timestamp(time.time())


def timestamp(seconds: float) -> str:
    """Seconds since 1970 as a time in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
