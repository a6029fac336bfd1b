"""Connections to Postgres: how they are made, and kept open by a process that answers many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import conninfo
from psycopg_pool import ConnectionPool

from cutaway.config import Settings
from cutaway.errors import SettingsError

CONNECTION: Any = {
    "autocommit": True,
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
_MOST, _TURN_SECONDS = 16, 5.0
"""How many a process keeps, and how long one waits for its turn."""
_pools: dict[str, ConnectionPool] = {}


@contextmanager
def pooled(settings: Settings) -> Iterator[None]:
    """Inside, connections of readers are kept for the next one.

    One that has died, as after a restart of the server, is noticed when it is taken, and replaced.
    """
    address = address_of(settings)
    if address in _pools:  # who was first keeps them for both
        yield
        return
    with ConnectionPool(
        address,
        min_size=0,
        max_size=_MOST,
        kwargs=CONNECTION,
        timeout=_TURN_SECONDS,
        reconnect_timeout=_TURN_SECONDS,
        check=ConnectionPool.check_connection,
        open=True,
    ) as pool:
        _pools[address] = pool
        try:
            yield
        finally:
            del _pools[address]


def pool_of(settings: Settings) -> ConnectionPool | None:
    """The pool of an address, where this process keeps one."""
    return _pools.get(address_of(settings))


def address_of(settings: Settings) -> str:
    """The server's address. Raises SettingsError for what is none, in words that do not repeat it."""
    assert settings.store is not None
    address = settings.store.get_secret_value()
    try:
        conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError:  # it would show the password
        raise SettingsError(
            "store is no address that PostgreSQL understands. Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE; "
            "signs such as @ or / in a password are written as %40 or %2F."
        ) from None
    return address
