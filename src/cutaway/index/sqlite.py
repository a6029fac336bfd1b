"""The store in one SQLite file, through the one library in this process."""

from __future__ import annotations

import ctypes
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path

import apsw

from cutaway.config import Settings
from cutaway.errors import IndexBusy, IndexMismatch, IndexMissing
from cutaway.index.effects import Effects
from cutaway.index.fts5 import Fts5
from cutaway.index.schema import (
    COUNT_CHANGE,
    DERIVED,
    DERIVED_TABLES,
    LASTING,
    LASTING_TABLES,
    OCCURRENCES,
    PROJECT_COLUMNS,
    SCHEMA_VERSION,
)

_BUSY_SECONDS = 5.0


def index_file(home: Path) -> Path:
    """The file that holds a home's index."""
    return home / "index.sqlite"


class SqliteStore(apsw.Connection):
    """A connection to an index in a file."""

    settings: Settings
    home: Path
    kept = unclaimed = ""  # there is one writer

    @cached_property
    def effects(self) -> Effects:
        return Effects()

    @classmethod
    def for_writing(cls, home: Path, settings: Settings) -> SqliteStore:
        """Create the index, or rebuild it to the current schema, where needed."""
        home.mkdir(parents=True, exist_ok=True)
        store = cls._opened(home, settings, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        # A reader may then open the file even where it cannot create the log beside it.
        persist = ctypes.c_int(1)
        store.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, ctypes.addressof(persist))
        store.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 1048576")
        with store.transaction():
            store._make_current()
        return store

    @classmethod
    def for_reading(cls, home: Path, settings: Settings) -> SqliteStore:
        """Open it read only. Raises IndexMissing, IndexMismatch."""
        file = index_file(home)
        if not file.is_file():
            raise IndexMissing(f"nothing is indexed in {home} yet. Run: cutaway index FOLDER")
        store = cls._opened(home, settings, apsw.SQLITE_OPEN_READONLY)
        store.require_current()
        store.execute(OCCURRENCES)
        store.execute("PRAGMA query_only = ON")
        return store

    @classmethod
    def _opened(cls, home: Path, settings: Settings, flags: int) -> SqliteStore:
        store = cls(str(index_file(home)), flags=flags)
        store.home, store.settings = home, settings
        store.set_busy_timeout(int(_BUSY_SECONDS * 1000))
        return store

    def require_current(self) -> None:
        found = self.pragma("user_version")
        if found != SCHEMA_VERSION:
            raise IndexMismatch(
                f"{self.place} has schema {found}; this version reads schema {SCHEMA_VERSION}. "
                "Run: cutaway index (the index is rebuilt from the files; nothing is embedded twice)."
            )

    @property
    def place(self) -> str:
        return str(index_file(self.home))

    @cached_property
    def lexical(self) -> Fts5:
        return Fts5(self)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            self.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            message = "another process is writing this index. Wait for it to end, then run this again."
            raise IndexBusy(message) from None
        try:
            yield
        except BaseException:
            self.execute("ROLLBACK")
            self.effects.ended(committed=False)
            raise
        self.execute("COMMIT")
        self.effects.ended(committed=True)

    def claiming(self) -> AbstractContextManager[None]:
        """Nothing to do: there is one writer, and a transaction would keep it from all else."""
        return nullcontext()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self.execute("BEGIN")
        try:
            yield
        finally:
            self.execute("COMMIT")

    def lock(self, *name: object) -> None:
        """Nothing to do: there is one writer."""

    def clear(self) -> None:
        self._derive()
        for table in LASTING_TABLES:
            self.execute(f"DELETE FROM {table}")

    def number_on(self) -> None:
        """Nothing to do: a new row's number is one more than the highest."""

    def faults(self) -> list[str]:
        """What SQLite finds wrong with the file, the lexical index included."""
        return [fault for (fault,) in self.execute("PRAGMA integrity_check") if fault != "ok"]

    def size(self) -> int:
        file = index_file(self.home)
        return sum(part.stat().st_size for part in file.parent.glob(f"{file.name}*"))

    def close(self, force: bool = False) -> None:
        """Close; a writer folds its log into the file where no reader is in the way."""
        self.effects.closed()
        with suppress(apsw.ConnectionClosedError):
            if not self.readonly("main"):
                self.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            super().close(force)

    def _make_current(self) -> None:
        """The current schema, whatever the file held."""
        self.execute(LASTING)
        held = {column[1] for column in self.execute("PRAGMA table_info(projects)")}
        for name, kind in PROJECT_COLUMNS.items():
            if name not in held:
                self.execute(f"ALTER TABLE projects ADD COLUMN {name} {kind}")
        self.execute("INSERT INTO meta VALUES ('cursor_key', ?) ON CONFLICT DO NOTHING", (secrets.token_hex(16),))
        if self.pragma("user_version") != SCHEMA_VERSION:
            self._derive()
            self.pragma("user_version", SCHEMA_VERSION)
            self.execute(COUNT_CHANGE)

    def _derive(self) -> None:
        """All that is derived, made anew and empty."""
        from cutaway.index.sqlite_vec import drop_tables  # only where tables are made anew

        drop_tables(self)
        for table in DERIVED_TABLES:
            self.execute(f"DROP TABLE IF EXISTS {table}")
        self.execute(DERIVED)


@contextmanager
def alone_in(home: Path) -> Iterator[None]:
    """Hold the writers' lock of a home: two syncs at once would embed everything twice. Raises IndexBusy."""
    from filelock import FileLock, Timeout  # a search does without

    home.mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / "index.lock", timeout=0)
    try:
        with lock:
            yield
    except Timeout:
        raise IndexBusy("another `cutaway index` is running on this index. Wait for it to end.") from None
