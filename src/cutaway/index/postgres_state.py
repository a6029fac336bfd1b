"""The state in Postgres, beside the index: tables that no rebuild, and no migration, takes away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from cutaway.config import Settings
from cutaway.errors import StateUnavailable, StoreUnavailable
from cutaway.index.dialect import statements
from cutaway.index.postgres import PostgresStore
from cutaway.index.state import TABLES


class PostgresState:
    """Judgments and remembered scores in the schema of the index. Each use has a connection of its own."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def rows(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._connected() as store:
            there = f"{self._settings.store_schema}.judgments"
            if store.execute("SELECT to_regclass(?)", (there,)).get is None:
                return []
            return store.execute(query, values).fetchall()

    @contextmanager
    def writing(self, patience: int, create: bool = True) -> Iterator[PostgresStore]:  # noqa: ARG002 - it is there
        with self._connected() as store, store.transaction():
            store.connection.execute(f"SET LOCAL lock_timeout = {patience}".encode())
            if store.execute("SELECT to_regclass(?)", (f"{self._settings.store_schema}.judgments",)).get is None:
                store.lock("state")
                for statement in statements(TABLES):
                    store.connection.execute(statement.encode())
            yield store

    @contextmanager
    def _connected(self) -> Iterator[PostgresStore]:
        try:
            with PostgresStore.for_state(self._settings) as store:
                yield store
        except (StoreUnavailable, psycopg.Error) as error:
            said = str(error).strip().splitlines()[0]
            raise StateUnavailable(f"what is remembered in Postgres cannot be used: {said}") from None
