"""Fixtures every test may use; the builders are in builders.py."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from builders import HashEmbedder
from endpoints import Server
from postgres import emptied, made_database, started_server

# Machines that run these tests are shared: no property is judged by how long one example took.
# On CI the examples are the same every time, so that a red run can be repeated; elsewhere they are new ones.
settings.register_profile(
    "default",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the person who runs the tests reaches them."""
    for name in [name for name in os.environ if name.startswith("CUTAWAY_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URI of an empty database on a real PostgreSQL with pgvector, this test process's own."""
    with started_server() as server, made_database(server) as database:
        yield database


@pytest.fixture(scope="session")
def one_database(postgres: str) -> Iterator[str]:
    with made_database(postgres) as database:
        yield database


@pytest.fixture
def database(one_database: str) -> str:
    """The URI of a database that this test finds empty."""
    return emptied(one_database)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """No proxy of the person who runs the tests stands before it."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "*")
    server = Server()
    yield server
    server.close()
