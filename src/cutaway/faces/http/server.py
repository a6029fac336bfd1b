"""A server of one home: where it listens, who is let in, how it starts and ends."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from filelock import FileLock, Timeout
from starlette.types import ASGIApp

from cutaway.config import Settings
from cutaway.errors import UsageError
from cutaway.faces.engine import Engine
from cutaway.faces.http.app import application
from cutaway.faces.http.guard import LOOPBACK, Guard, Policy
from cutaway.faces.http.logs import AccessLog, log_to_stderr
from cutaway.faces.http.runs import Runs
from cutaway.faces.http.service import Service
from cutaway.faces.limits import Gate
from cutaway.faces.local import socket_file
from cutaway.faces.mcp.server import OverHttp
from cutaway.faces.telemetry import recording
from cutaway.index.store import keeping_connections

_WAITING, _PATIENCE = 256, 30.0
"""How many requests may wait for a worker, and for how many seconds, before they are refused."""
_FINISH_SECONDS = 30
_HEADER_BYTES = 64 * 1024
_SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Serving:
    """How to serve."""

    host: str = "127.0.0.1"
    port: int = 8765
    hosts: tuple[str, ...] = ()
    """Other names that requests may give as their Host."""
    workers: int | None = None
    """Requests at work at once; by default one a core."""
    read_only: bool = False
    log_format: str = "text"


class Server:
    """What listens already, and serves once it runs."""

    def __init__(self, uvicorn_server: uvicorn.Server, sockets: list[socket.socket], told: tuple[str, ...]) -> None:
        self._server, self._sockets, self.told = uvicorn_server, sockets, told

    def run(self) -> None:
        """Serve until told to stop; then finish what is at work."""
        self._server.run(sockets=self._sockets)

    def stop(self) -> None:
        """End soon, from any thread."""
        self._server.should_exit = True

    @property
    def started(self) -> bool:
        """Whether it serves by now."""
        return self._server.started

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._sockets[0].getsockname()[1]
        return port


@contextmanager
def served(home: Path, settings: Settings, serving: Serving) -> Iterator[Server]:
    """A server that listens. Raises UsageError where it may not, or cannot."""
    token = _token(settings, serving)
    policy = Policy(hosts=frozenset({serving.host, *serving.hosts}), token=token)
    with (
        recording(settings) as recorder,
        keeping_connections(settings),
        _listening(serving) as tcp,
        _beside(home) as unix,
    ):
        log_to_stderr(serving.log_format)
        engine = Engine(home, settings, recorder.record if recorder else None)
        app = AccessLog(Guard(application(_service(engine, serving)), policy))
        port = tcp.getsockname()[1]
        name = f"[{serving.host}]" if ":" in serving.host else serving.host
        told = (f"http://{name}:{port}{'  (a token is needed)' if token else ''}", *([unix[1]] if unix else ()))
        yield Server(uvicorn.Server(_configured(app)), [tcp, *([unix[0]] if unix else ())], told)


def _service(engine: Engine, serving: Serving) -> Service:
    gate = Gate(serving.workers or os.cpu_count() or 2, _WAITING, _PATIENCE)
    runs = Runs(engine.home, engine.settings, engine.loader)
    return Service(engine, gate, OverHttp(engine, gate), runs, serving.read_only)


def _configured(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=_FINISH_SECONDS,
        h11_max_incomplete_event_size=_HEADER_BYTES,
    )


def _token(settings: Settings, serving: Serving) -> str | None:
    """The token that is asked for. Raises UsageError where there must be one."""
    token = settings.serve_token.get_secret_value() if settings.serve_token else None
    if token is not None and len(token) < _SHORTEST_TOKEN:
        raise UsageError(f"serve_token has {len(token)} characters; give it {_SHORTEST_TOKEN} or more.")
    if token is None and serving.host not in LOOPBACK:
        raise UsageError(
            f"{serving.host} can be reached from other machines: set a token that they must send, as serve_token in "
            "config.toml or CUTAWAY_SERVE_TOKEN. For example: openssl rand -hex 24"
        )
    return token


@contextmanager
def _listening(serving: Serving) -> Iterator[socket.socket]:
    """The address. Raises UsageError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(serving.host, serving.port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"cannot listen on {serving.host} port {serving.port}: {error}. Choose another with --port."
        ) from None
    with listening:
        yield listening


@contextmanager
def _beside(home: Path) -> Iterator[tuple[socket.socket, str] | None]:
    """A socket in the home that its owner alone can use, for the command line; None where another server has it."""
    file = socket_file(home)
    if file is None or not home.is_dir():
        yield None
        return
    try:
        with FileLock(f"{file}.lock", timeout=0):
            with suppress(FileNotFoundError):
                file.unlink()
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            before = os.umask(0o177)
            try:
                listening.bind(str(file))
            finally:
                os.umask(before)
            with listening:
                yield listening, str(file)
            with suppress(FileNotFoundError):
                file.unlink()
    except Timeout:
        yield None
