"""The store in Postgres: the same tables and statements, in its dialect."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from hashlib import blake2b
from typing import Any

from cutaway.config import Settings
from cutaway.errors import IndexBusy, IndexMismatch, IndexMissing, ModelUnavailable, StoreUnavailable
from cutaway.index.dialect import BESIDES, bound, statements, table_names, translated, typed
from cutaway.index.effects import Effects
from cutaway.index.postings import POSTINGS, Postings
from cutaway.index.schema import DERIVED, LASTING, LASTING_TABLES, PROJECT_COLUMNS, SCHEMA_VERSION

try:
    import psycopg
    from psycopg import sql
    from psycopg.pq import TransactionStatus
    from psycopg_pool import ConnectionPool

    from cutaway.index.pool import CONNECTION, address_of, pool_of
    from cutaway.index.pool import pooled as pooled
except ImportError:  # an extra
    raise ModelUnavailable("a store in Postgres needs: pip install 'cutaway[postgres]'") from None


# The server, too, gives up a worker whose machine is gone, or that hangs, and with it what it had claimed.
_WORKING = (
    *("SET tcp_keepalives_idle = 30", "SET tcp_keepalives_interval = 10", "SET tcp_keepalives_count = 3"),
    "SET idle_in_transaction_session_timeout = '10min'",
)


class Found:
    """The rows of a statement, as the store gives them."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    @property
    def get(self) -> Any:
        if not self._rows:
            return None
        first = self._rows[0]
        return first[0] if len(first) == 1 else first

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows)


class PostgresStore:
    """A connection to an index in Postgres. Each statement commits for itself outside a transaction."""

    kept = " FOR UPDATE OF c"
    unclaimed = " FOR UPDATE OF c SKIP LOCKED"

    def __init__(self, settings: Settings, pool: ConnectionPool | None = None) -> None:
        self.settings, self._pool = settings, pool
        self._schema = sql.Identifier(settings.store_schema)
        with _reported():
            if pool is not None:
                self.connection = pool.getconn()
            else:
                self.connection = psycopg.connect(address_of(settings), **CONNECTION)

    @classmethod
    def for_writing(cls, settings: Settings) -> PostgresStore:
        """Create the index, or rebuild it to the current schema, where needed."""
        with cls._opening(settings) as store:
            with store.transaction():
                store.lock("schema")
                store.connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(store._schema))
            store._enter()
            with store.transaction():
                store.lock("schema")
                store._make_current()
            return store

    @classmethod
    def for_reading(cls, settings: Settings) -> PostgresStore:
        """Open it read only. Raises IndexMissing, IndexMismatch, StoreUnavailable."""
        with cls._current(settings, pool_of(settings)) as store:
            store.connection.execute("SET default_transaction_read_only = on")
            return store

    @classmethod
    @contextmanager
    def for_state(cls, settings: Settings) -> Iterator[PostgresStore]:
        """A connection to the schema, whatever is in it, for a moment. Raises StoreUnavailable."""
        store = cls(settings, pool_of(settings))
        try:
            store._enter()
            store.connection.execute("SET default_transaction_read_only = off")
            yield store
        finally:
            store.close()

    @classmethod
    def for_working(cls, settings: Settings) -> PostgresStore:
        """Open it to write into it as it is. Raises IndexMissing, IndexMismatch, StoreUnavailable."""
        with cls._current(settings) as store:
            for statement in _WORKING:
                store.connection.execute(statement.encode())
            return store

    @classmethod
    @contextmanager
    def _current(cls, settings: Settings, pool: ConnectionPool | None = None) -> Iterator[PostgresStore]:
        """A connection to an index that is there, and of this version."""
        with cls._opening(settings, pool) as store:
            store._enter()
            store.require_current()
            yield store

    @classmethod
    @contextmanager
    def _opening(cls, settings: Settings, pool: ConnectionPool | None = None) -> Iterator[PostgresStore]:
        """A connection that is closed again where it turns out to be of no use."""
        store = cls(settings, pool)
        try:
            yield store
        except BaseException:
            store.close()
            raise

    @classmethod
    @contextmanager
    def alone(cls, settings: Settings) -> Iterator[None]:
        """Hold the writers' lock, on any machine. Raises IndexBusy."""
        store, name = cls(settings), (_key(settings.store_schema, "alone"),)
        try:
            if not store.execute("SELECT pg_try_advisory_lock(?)", name).get:
                raise IndexBusy("another `cutaway index` is running on this index. Wait for it to end.")
            try:
                yield
            finally:  # the server would let go by itself, but only once it notices that the connection is gone
                with suppress(StoreUnavailable):
                    store.execute("SELECT pg_advisory_unlock(?)", name)
        finally:
            store.close()

    def require_current(self) -> None:
        if self.execute("SELECT to_regclass(?)", (f"{self.settings.store_schema}.meta",)).get is None:
            raise IndexMissing(f"nothing is indexed in {self.place} yet. Run: cutaway index FOLDER")
        found = self.execute("SELECT value FROM meta WHERE key = 'schema'").get
        if found != str(SCHEMA_VERSION):
            raise IndexMismatch(
                f"{self.place} has schema {found}; this version reads schema {SCHEMA_VERSION}. "
                "Run: cutaway index (the index is rebuilt from the files; nothing is embedded twice)."
            )

    @property
    def place(self) -> str:
        info = self.connection.info
        return f"postgresql://{info.host}:{info.port}/{info.dbname} ({self.settings.store_schema})"

    @cached_property
    def lexical(self) -> Postings:
        return Postings(self)

    def execute(self, statement: str, values: Any = ()) -> Found:
        said, plain = translated(statement)
        with _reported():
            cursor = self.connection.execute(said, [bound(*pair) for pair in zip(values, plain, strict=True)])
            return Found(cursor.fetchall() if cursor.description else [])

    def executemany(self, statement: str, values: Iterable[Any]) -> None:
        said, plain = translated(statement)
        rows = [[bound(*pair) for pair in zip(row, plain, strict=True)] for row in values]
        with _reported(), self.connection.cursor() as cursor:
            cursor.executemany(said, rows)

    @cached_property
    def effects(self) -> Effects:
        return Effects()

    @property
    def in_transaction(self) -> bool:
        return self.connection.info.transaction_status != TransactionStatus.IDLE

    @contextmanager
    def transaction(self) -> Iterator[None]:
        committed = False
        try:
            with _reported(), self.connection.transaction():
                yield
            committed = True
        finally:
            self.effects.ended(committed)

    def claiming(self) -> AbstractContextManager[None]:
        """A transaction: claims end with it, and with the connection."""
        return self.transaction()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with _reported(), self.connection.transaction():
            self.connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield

    def lock(self, *name: object) -> None:
        self.execute("SELECT pg_advisory_xact_lock(?)", (_key(self.settings.store_schema, *name),))

    def clear(self) -> None:
        own = "schemaname = ? AND tablename ~ '^vectors_[0-9]+$'"
        for (table,) in self.execute(f"SELECT tablename FROM pg_tables WHERE {own}", (self.settings.store_schema,)):
            self.connection.execute(f"DROP TABLE {table}".encode())
        self._derive()
        for table in LASTING_TABLES:
            others = " WHERE key <> 'schema'" if table == "meta" else ""
            self.connection.execute(f"DELETE FROM {table}{others}".encode())

    def number_on(self) -> None:
        query = "SELECT table_name FROM information_schema.columns WHERE table_schema = ? AND is_identity = 'YES'"
        for (table,) in self.execute(query, (self.settings.store_schema,)):
            last = f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table} HAVING count(*) > 0"
            self.connection.execute(last.encode())

    def faults(self) -> list[str]:
        """Postgres looks after its own files."""
        return []

    def size(self) -> int:
        """Of the tables of this index, with their indexes."""
        query = (
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = to_regnamespace(?)"
        )
        return int(self.execute(query, (self.settings.store_schema,)).get)

    def close(self) -> None:
        self.effects.closed()
        if self._pool is None:
            self.connection.close()
        else:
            self._pool.putconn(self.connection)

    def _enter(self) -> None:
        """Look for tables in the schema of this index; in public for the extensions."""
        self.connection.execute(sql.SQL("SET search_path = {}, public").format(self._schema))

    def _make_current(self) -> None:
        for statement in statements(LASTING):
            self.connection.execute(statement.encode())
        for name, kind in PROJECT_COLUMNS.items():
            self.connection.execute(f"ALTER TABLE projects ADD COLUMN IF NOT EXISTS {name} {typed(kind)}".encode())
        self.execute("INSERT INTO meta VALUES ('cursor_key', ?) ON CONFLICT DO NOTHING", (secrets.token_hex(16),))
        if self.execute("SELECT value FROM meta WHERE key = 'schema'").get == str(SCHEMA_VERSION):
            return
        self._derive()
        self.execute(
            "INSERT INTO meta VALUES ('schema', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (str(SCHEMA_VERSION),),
        )

    def _derive(self) -> None:
        """All that is derived, made anew and empty."""
        # Spaces are numbered anew: what an old one held would be taken for a new one's.
        spaces = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename ~ '^vectors_[0-9]+'"
        vectors = [table for (table,) in self.execute(spaces)]
        for table in (*table_names(DERIVED), "postings", *vectors):
            drop = sql.SQL("DROP TABLE IF EXISTS {}.{} CASCADE")  # never one in public, which another index may have
            self.connection.execute(drop.format(self._schema, sql.Identifier(table)))
        for statement in (*statements(DERIVED), *BESIDES, *POSTINGS):
            self.connection.execute(statement.encode())


def _key(*name: object) -> int:
    """What stands for a name among advisory locks."""
    digest = blake2b("\0".join(map(str, ("cutaway", *name))).encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


@contextmanager
def _reported() -> Iterator[None]:
    """Errors of the connection, and what the server does not allow, as ours; those of statements as they are."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreUnavailable(f"Postgres does not allow it: {error.diag.message_primary}") from None
    except (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction) as error:  # or it is a standby now
        said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise StoreUnavailable(f"Postgres did not answer: {said}") from None
