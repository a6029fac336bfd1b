"""`cutaway worker` as it is typed: what it says, how it ends, and where it is refused."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from builders import Cutaway, write_vault
from cutaway.index.sync import Embedding


def test_an_index_in_a_file_has_no_workers(bread: Cutaway) -> None:
    """One line says why, and what to do."""
    ran = bread("worker", "--once")

    assert (2, 1) == (ran.code, len(ran.err.splitlines()))
    assert "cutaway index" in ran.err


@pytest.fixture
def waiting(cutaway: Cutaway, vault: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> Cutaway:
    """The command line with an index in Postgres, whose two passages wait."""
    monkeypatch.setenv("CUTAWAY_STORE", database)
    monkeypatch.setenv("CUTAWAY_VECTORS", "pgvector")
    write_vault(vault, {"a.md": "basil", "b.md": "thyme"})
    assert 0 == cutaway("index", str(vault), "--no-embed").code
    return cutaway


def test_a_worker_embeds_what_indexing_left(waiting: Cutaway) -> None:
    """It says what it did, a line each, and searches then find by meaning."""
    ran = waiting("worker", "--once", "--json")
    events = [json.loads(line) for line in ran.out.splitlines()]

    assert (0, ["working", "embedded", "idle"]) == (ran.code, [event["event"] for event in events])
    assert (2, 0, 0) == tuple(events[1][name] for name in ("embedded", "failed", "pending"))
    assert "a.md" in waiting("search", "basil", "--mode", "vector").out


def test_a_name_that_no_project_has_is_refused(waiting: Cutaway) -> None:
    """At the start, not by waiting for it."""
    ran = waiting("worker", "--project", "nope")

    assert (2, True) == (ran.code, "nope" in ran.err)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_well(waiting: Cutaway, monkeypatch: pytest.MonkeyPatch, how: signal.Signals) -> None:
    """In the middle of its work: exit code 0, and the last line says so."""
    from cutaway.faces.cli.worker import Working

    def kill(*_: object) -> Embedding:
        os.kill(os.getpid(), how)
        return Embedding()

    monkeypatch.setattr(Working, "embedded", kill)
    ran = waiting("worker")

    assert 0 == ran.code
    assert "stopped" in ran.out.splitlines()[-1]
