"""A server under load and at its end: it refuses rather than pile up, finishes what it began, and loses nothing."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx2
import pytest

from builders import index_vault, write_vault
from cutaway.faces.http import server as serving_module
from cutaway.faces.http import views
from cutaway.faces.local import socket_file
from serving import API, client_of, running

CUTAWAY = (
    *(sys.executable, "-c"),
    "import sys; from cutaway.faces.cli.main import main; sys.exit(main(sys.argv[1:]))",
)
QUERY = {"query": "does more salt make dough rise faster"}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> tuple[Event, Event]:
    """Searches that wait: what tells that one is at work, and what lets it go on."""
    at_work, go = Event(), Event()
    searched = views.searched

    def waiting(*given: Any) -> Any:
        at_work.set()
        go.wait()
        return searched(*given)

    monkeypatch.setattr(views, "searched", waiting)
    return at_work, go


def test_too_many_requests_are_told_when_to_come_again(
    served_home: Path, held: tuple[Event, Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One works, one waits, the third is refused at once; who only asks for its health is answered."""
    monkeypatch.setattr(serving_module, "_WAITING", 1)
    at_work, go = held
    with running(served_home, workers=1) as server, client_of(server) as client, ThreadPoolExecutor(2) as pool:
        first = pool.submit(client.post, "search", json=QUERY)
        assert at_work.wait(60)
        second = pool.submit(client.post, "search", json=QUERY)
        while client.get("health").json()["waiting"] < 1:
            pass
        third = client.post("search", json=QUERY)
        health = client.get("health").json()
        go.set()

        assert (503, "urn:cutaway:overloaded") == (third.status_code, third.json()["type"])
        assert int(third.headers["retry-after"]) >= 1
        assert (1, 1) == (health["running"], health["waiting"])
        assert [200, 200] == [first.result().status_code, second.result().status_code]


def test_what_was_begun_is_finished_at_the_end(served_home: Path, held: tuple[Event, Event]) -> None:
    at_work, go = held
    with ThreadPoolExecutor(1) as pool, running(served_home) as server, client_of(server) as client:
        answer = pool.submit(client.post, "search", json=QUERY)
        assert at_work.wait(60)
        server.stop()
        Thread(target=go.set).start()
        assert 200 == answer.result(60).status_code


def test_many_ask_at_once_while_the_index_is_written(tmp_path: Path, served_home: Path) -> None:
    """Searches, looks inside and index runs side by side: every answer is whole, and the same as before or after."""
    home, vault = shutil.copytree(served_home, tmp_path / "home"), tmp_path / "more"
    index_vault(home, write_vault(vault, {f"{n}.md": f"# Salt {n}\n\nDough and salt, {n}." for n in range(30)}))
    asked: list[Callable[[httpx2.Client], httpx2.Response]] = [
        lambda client: client.post("search", json={**QUERY, "projects": ["bread"]}),
        lambda client: client.post("search", json={"query": "salt", "all_projects": True, "mode": "text"}),
        lambda client: client.post("inspect/query", json={**QUERY, "projects": ["bread"]}),
        lambda client: client.get("inspect/chunks", params={"note": "Salt myths", "projects": ["bread"]}),
        lambda client: client.post("inspect/neighbors", json={"target": "Salt myths", "projects": ["bread"]}),
    ]
    with running(home) as server, client_of(server) as client:
        expected = asked[0](client).json()["hits"]
        with ThreadPoolExecutor(12) as pool:
            answers = [pool.submit(ask, client) for _ in range(12) for ask in asked]
            (vault / "new.md").write_text("# New\n\nSalt again.", encoding="utf-8")
            run = client.post("index/runs", json={})
            found = [answer.result() for answer in answers]
        assert 202 == run.status_code
        assert {200} == {answer.status_code for answer in found}
        assert all(answer.json()["hits"] == expected for answer in found[:: len(asked)])
        events = client.get(f"index/runs/{run.json()['id']}/events").text

    assert '"state":"done"' in events.strip().splitlines()[-1]


def test_a_run_over_http_is_followed_and_refused_where_it_may_not_be(served_home: Path) -> None:
    with running(served_home, read_only=True) as server, client_of(server) as client:
        refused = client.post("index/runs", json={})

        assert (403, "urn:cutaway:not-allowed") == (refused.status_code, refused.json()["type"])
        assert 403 == client.delete("index/runs/x").status_code
        assert (404, 404) == (
            client.get("index/runs/x").status_code,
            client.get("index/runs/x/events").status_code,
        )
        assert client.get("health").json()["read_only"]


def test_nothing_indexed_is_not_ready(tmp_path: Path) -> None:
    with running(tmp_path / "home") as server, client_of(server) as client:
        ready, search = client.get("ready"), client.post("search", json=QUERY)

    assert (503, False) == (ready.status_code, ready.json()["ready"])
    assert "cutaway index" in ready.json()["index"]
    assert (503, "urn:cutaway:index-missing") == (search.status_code, search.json()["type"])


def started(home: Path, *options: str) -> tuple[subprocess.Popen[str], str]:
    """`cutaway serve` as a process of its own, once it listens, and where."""
    command = [*CUTAWAY, "serve", "--home", str(home), "--port", "0", *options]
    environment = {**os.environ, "CUTAWAY_EMBEDDER": "none"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr
    address = process.stderr.readline().split()[1]
    return process, address


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_ends_it_in_good_order(served_home: Path, number: signal.Signals) -> None:
    process, address = started(served_home)
    try:
        while True:
            try:
                assert 200 == httpx2.get(f"{address}{API}/health").status_code
                break
            except httpx2.ConnectError:
                assert process.poll() is None
        file = socket_file(served_home)
        assert file
        assert file.exists()
        process.send_signal(number)

        assert 0 == process.wait(60)
        assert not file.exists()
    finally:
        process.kill()
        process.communicate()


def test_a_taken_port_is_said(served_home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = subprocess.run(
            [*CUTAWAY, "serve", "--home", str(served_home), "--port", port],
            capture_output=True,
            text=True,
            check=False,
        )

    assert 2 == ran.returncode
    assert f"port {port}" in ran.stderr
    assert "--port" in ran.stderr


def test_two_servers_of_one_home_do_not_disturb_each_other(served_home: Path) -> None:
    """Any number may serve a home; the first has its socket, and the others go without."""
    with running(served_home) as first, running(served_home) as second:
        for server in (first, second):
            with client_of(server) as client:
                assert 200 == client.post("search", json=QUERY).status_code
        assert (2, 1) == (len(first.told), len(second.told))
    assert not (served_home / "serve.sock").exists()
