"""A Milvus as this process talks to it: one connection for all, a time limit on every call, failures in our words."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import Any

from filelock import FileLock, Timeout

from cutaway.errors import VectorsUnavailable

_PATIENCE = 3.0
"""Seconds to wait for a file that another process holds: as long as a search takes, not as long as indexing does."""
_guard = RLock()
_servers: dict[tuple[str, str], Server] = {}


class Server:
    """A Milvus server, or a Milvus Lite file, connected to when first asked. Enter with ``entered``, leave once.

    What once could not be reached is not tried again before all have left: a run waits for it once.
    """

    def __init__(self, address: str, token: str) -> None:
        self._address, self._token = address, token
        self._client: Any = None
        self._failure: VectorsUnavailable | None = None
        self._file = None if "://" in address else Path(address)
        self._lock = FileLock(f"{address}.lock", timeout=_PATIENCE, thread_local=False) if self._file else None
        self.users = 0

    def ask(self, method: str, timeout: float, **arguments: Any) -> Any:
        """The client's answer. Raises VectorsUnavailable, which never shows the token."""
        client = self._connected(timeout)
        with self._in_our_words("failed"):
            return getattr(client, method)(timeout=timeout, **arguments)

    def pages(self, timeout: float, **arguments: Any) -> Iterator[list[dict[str, Any]]]:
        """All that a query finds, a page at a time. Raises VectorsUnavailable."""
        found = self.ask("query_iterator", timeout, **arguments)
        with self._in_our_words("failed"):
            while page := found.next():
                yield page
            found.close()

    def leave(self) -> None:
        """Done with it; the last one who leaves closes the connection, and lets go of the file."""
        with _guard:
            self.users -= 1
            if self.users:
                return
            _servers.pop((self._address, self._token), None)
            if self._client is not None:
                self._client.close()
                self._client = None
            self._let_go()

    def _connected(self, timeout: float) -> Any:
        with _guard:
            if self._failure is not None:
                raise self._failure
            if self._client is None:
                try:
                    self._client = self._connection(timeout)
                except VectorsUnavailable as failure:
                    self._failure = failure
                    self._let_go()
                    raise
            return self._client

    def _connection(self, timeout: float) -> Any:
        pymilvus = _package("pymilvus", "milvus")
        if self._lock is not None:
            _package("milvus_lite", "milvus-lite")
            try:
                self._lock.acquire()
            except Timeout:
                raise VectorsUnavailable(
                    f"another process holds {self._address}, and Milvus Lite serves one at a time. "
                    "Wait for it to end, or set milvus_uri to a Milvus server."
                ) from None
        for name in ("pymilvus", "milvus_lite", "grpc"):  # they print every failure that they also raise
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        with self._in_our_words("cannot be opened"):
            return pymilvus.MilvusClient(uri=self._address, token=self._token, timeout=timeout)

    def _let_go(self) -> None:
        """Milvus Lite would else hold its file until the process ends."""
        if self._lock is not None and self._lock.is_locked:
            import_module("milvus_lite.server_manager").server_manager_instance.release_server(self._address)
            self._lock.release()

    @contextmanager
    def _in_our_words(self, what: str) -> Iterator[None]:
        try:
            yield
        except _failures() as failure:
            details = getattr(failure, "details", lambda: "")  # what gRPC itself raises prints as a page
            reason = " ".join(str(getattr(failure, "message", "") or details() or failure).split()).rstrip(".")
            said = f"Milvus at {self._address} {what}: {reason}."
            raise VectorsUnavailable(said.replace(self._token, "…") if self._token else said) from None


def entered(address: str, token: str) -> Server:
    """The one connection of this process to an address."""
    with _guard:
        server = _servers.setdefault((address, token), Server(address, token))
        server.users += 1
        return server


def _package(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise VectorsUnavailable(
            f"vectors = 'milvus' needs the package {name} here. Install it with: pip install 'cutaway[{extra}]'"
        ) from None


def _failures() -> tuple[type[BaseException], ...]:
    """What the client raises for a server that is away, slow, or unwilling."""
    milvus: type[BaseException] = import_module("pymilvus.exceptions").MilvusException
    rpc: type[BaseException] = import_module("grpc").RpcError
    return milvus, rpc, OSError, ValueError
