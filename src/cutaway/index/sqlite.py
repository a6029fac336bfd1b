"""SQLite, through the one library in this process: opening, transactions, the schema."""

from __future__ import annotations

import ctypes
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from cutaway.config import Settings
from cutaway.errors import IndexBusy, IndexMismatch, IndexMissing
from cutaway.index.schema import DERIVED, DERIVED_TABLES, LASTING, OCCURRENCES, PROJECT_COLUMNS, SCHEMA_VERSION

_BUSY_SECONDS = 5.0


class SqliteStore(apsw.Connection):
    """A connection to an index, the settings it was opened under, and what is to follow outside the file."""

    settings: Settings
    home: Path

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._following: list[Callable[[], None]] = []
        self._closing: list[Callable[[], None]] = []

    def after_commit(self, effect: Callable[[], None]) -> None:
        """Do this once the open transaction is committed; never, where it is rolled back."""
        self._following.append(effect)

    def at_close(self, effect: Callable[[], None]) -> None:
        """Do this when the connection is closed."""
        self._closing.append(effect)

    def settle(self, committed: bool) -> None:
        """A transaction has ended."""
        following, self._following = self._following, []
        for effect in following if committed else ():
            effect()

    def close(self, force: bool = False) -> None:
        closing, self._closing = self._closing, []
        for effect in closing:
            effect()
        super().close(force)


def index_file(home: Path) -> Path:
    """The file that holds a home's index."""
    return home / "index.sqlite"


def open_writer(home: Path, settings: Settings | None = None) -> SqliteStore:
    """The index of *home*, created or rebuilt to the current schema where needed."""
    home.mkdir(parents=True, exist_ok=True)
    connection = SqliteStore(str(index_file(home)))
    _prepare(connection, home, settings)
    # A reader may then open the file even where it cannot create the log beside it.
    persist = ctypes.c_int(1)
    connection.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, ctypes.addressof(persist))
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 1048576")
    with transaction(connection):
        connection.execute(LASTING)
        _complete_projects(connection)
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('cursor_key', ?)", (secrets.token_hex(16),))
        if connection.pragma("user_version") != SCHEMA_VERSION:
            for table in DERIVED_TABLES:
                connection.execute(f"DROP TABLE IF EXISTS {table}")
            connection.execute(DERIVED)
            connection.pragma("user_version", SCHEMA_VERSION)
            bump_generation(connection)
    return connection


def close_writer(connection: apsw.Connection) -> None:
    """Close, with the log folded into the file where no reader is in the way."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def open_reader(home: Path, settings: Settings | None = None) -> SqliteStore:
    """The index of *home*, read only. Raises IndexMissing, IndexMismatch."""
    file = index_file(home)
    if not file.is_file():
        raise IndexMissing(f"nothing is indexed in {home} yet. Run: cutaway index FOLDER")
    connection = SqliteStore(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    _prepare(connection, home, settings)
    found = connection.pragma("user_version")
    if found != SCHEMA_VERSION:
        raise IndexMismatch(
            f"{file} has schema {found}; this version reads schema {SCHEMA_VERSION}. "
            "Run: cutaway index (the index is rebuilt from the files; nothing is embedded twice)."
        )
    connection.execute(OCCURRENCES)
    connection.execute("PRAGMA query_only = ON")
    return connection


@contextmanager
def transaction(connection: SqliteStore) -> Iterator[None]:
    """One write transaction: all of it or none. Raises IndexBusy."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except apsw.BusyError:
        raise IndexBusy("another process is writing this index. Wait for it to end, then run this again.") from None
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        connection.settle(committed=False)
        raise
    connection.execute("COMMIT")
    connection.settle(committed=True)


@contextmanager
def snapshot(connection: apsw.Connection) -> Iterator[None]:
    """All reads inside see one state of the index, whatever is written meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


def generation(connection: apsw.Connection) -> int:
    """A number that grows with every change to the index."""
    return int(connection.execute("SELECT value FROM meta WHERE key = 'generation'").get or 0)


def bump_generation(connection: apsw.Connection) -> int:
    """Count one more change, inside the transaction that makes it."""
    following = generation(connection) + 1
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('generation', ?)", (str(following),))
    return following


def now() -> str:
    """The time in UTC, to the second, as it is stored."""
    return timestamp(time.time())


def timestamp(seconds: float) -> str:
    """Seconds since 1970 as a time in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _complete_projects(connection: apsw.Connection) -> None:
    """Add the columns that an older index lacks."""
    held = {column[1] for column in connection.execute("PRAGMA table_info(projects)")}
    for name, kind in PROJECT_COLUMNS.items():
        if name not in held:
            connection.execute(f"ALTER TABLE projects ADD COLUMN {name} {kind}")


def _prepare(connection: SqliteStore, home: Path, settings: Settings | None) -> None:
    connection.home = home
    connection.settings = settings or Settings.model_validate({})
    connection.set_busy_timeout(int(_BUSY_SECONDS * 1000))
