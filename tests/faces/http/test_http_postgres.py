"""Several servers over one index in Postgres: each keeps nothing of its own, and any may come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import HashEmbedder, LengthReranker, index_vault, write_vault
from cutaway.config import Settings
from cutaway.faces import indexing, loading
from cutaway.index.store import open_worker
from cutaway.index.sync import embed_batch
from cutaway.index.writer import Writer
from postgres import run
from serving import client_of, running

NOTES = {f"n{place}.md": f"# Salt {place}\n\nSalt slows yeast, {place} times." for place in range(12)}
ASKED = {"query": "salt and yeast", "limit": 5, "depth": 4}


@pytest.fixture
def shared(database: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """An index in Postgres whose vectors are still to be made, in words already."""
    for module in (indexing, loading):
        monkeypatch.setattr(module, "named_embedder", lambda *_, **__: HashEmbedder())
    monkeypatch.setattr(loading, "named_cross_encoder", lambda *_, **__: LengthReranker())
    monkeypatch.setenv("CUTAWAY_STORE", database)
    monkeypatch.setenv("CUTAWAY_VECTORS", "pgvector")
    settings = Settings.model_validate({"store": database, "vectors": "pgvector"})
    index_vault(home, write_vault(home.parent / "vault", NOTES), None, settings)
    return settings


def test_servers_share_an_index_a_worker_and_what_is_remembered(
    shared: Settings, tmp_path: Path, database: str
) -> None:
    """They have homes of their own, with nothing in them."""
    with (
        running(tmp_path / "one") as first,
        running(tmp_path / "two") as second,
        client_of(first) as one,
        client_of(second) as two,
    ):
        waiting = [client.post("search", json=ASKED).json() for client in (one, two)]
        worker = open_worker(shared)
        projects = Writer(worker).projects()
        space = Writer(worker).manifest.space("hash/32", 32)
        while embed_batch(projects, worker, HashEmbedder(), space):
            pass
        worker.close()
        ready = [client.post("search", json=ASKED).json() for client in (one, two)]
        remembered = two.post("inspect/query", json=ASKED).json()["rerank"]["remembered"]

    assert waiting[0] == waiting[1]
    assert "partial_vectors" in str(waiting[0]["degraded"])
    assert ready[0] == ready[1]
    assert [] == ready[0]["degraded"]
    assert 4 == remembered
    assert not [*(tmp_path / "one").glob("*.sqlite"), *(tmp_path / "two").glob("*.sqlite")]
    assert 4 <= run(database, "SELECT count(*) FROM cutaway.relevance")[0][0]


def test_servers_are_restarted_one_after_the_other(shared: Settings, tmp_path: Path) -> None:  # noqa: ARG001
    """At any moment one of them answers, and all answer the same."""
    answers = []
    with running(tmp_path / "a") as second:
        for _ in range(3):
            with running(tmp_path / "b") as first, client_of(first) as client:
                answers.append(client.post("search", json=ASKED).json()["hits"])
            with client_of(second) as client:
                answers.append(client.post("search", json=ASKED).json()["hits"])

    assert all(answer == answers[0] for answer in answers)


def test_a_database_that_was_restarted_is_not_noticed(shared: Settings, tmp_path: Path, database: str) -> None:  # noqa: ARG001
    others = "pid <> pg_backend_pid() AND datname = current_database()"
    with running(tmp_path / "a") as server, client_of(server) as client:
        before = client.post("search", json=ASKED)
        run(database, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
        after = client.post("search", json=ASKED)

    assert (200, before.json()) == (after.status_code, after.json())


def test_a_database_that_is_away_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not for ever: the server stays, and so does its health."""
    monkeypatch.setenv("CUTAWAY_STORE", "postgresql://127.0.0.1:1/nowhere?connect_timeout=2")
    monkeypatch.setenv("CUTAWAY_VECTORS", "pgvector")
    monkeypatch.setenv("CUTAWAY_EMBEDDER", "none")
    monkeypatch.setattr("cutaway.index.pool._TURN_SECONDS", 0.2)
    with running(tmp_path / "a") as server, client_of(server) as client:
        search, ready, health = client.post("search", json=ASKED), client.get("ready"), client.get("health")

    assert (503, "urn:cutaway:store-unavailable") == (search.status_code, search.json()["type"])
    assert (503, 200) == (ready.status_code, health.status_code)
    assert "did not answer" in ready.json()["index"]
