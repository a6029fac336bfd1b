"""The API gives what the command line gives: the same ids, scores and order, whoever asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cutaway.faces.cli.main import main
from golden import check_golden

QUERY = "does more salt make dough rise faster"
INSPECT = ("inspect",)
VIEWS: dict[str, tuple[tuple[str, ...], str, dict[str, Any]]] = {
    "search": (("search", QUERY), "search", {"query": QUERY}),
    "text": (
        ("search", QUERY, "--mode", "text", "--page", "2", "-n", "3"),
        "search",
        {"query": QUERY, "mode": "text", "page": 2, "limit": 3},
    ),
    "rows": (("search", QUERY, "--by", "row", "--depth", "5"), "search", {"query": QUERY, "group": "row", "depth": 5}),
    "where": (
        ("search", "starter", "--where", "tags=starter", "--literal"),
        "search",
        {"query": "starter", "where": ["tags=starter"], "literal": True},
    ),
    "nothing": (("search", "tag:nowhere"), "search", {"query": "tag:nowhere"}),
    "trace": ((*INSPECT, "query", QUERY, "--depth", "4"), "inspect/query", {"query": QUERY, "depth": 4}),
    "why": ((*INSPECT, "why", QUERY, "Salt myths"), "inspect/why", {"query": QUERY, "note": "Salt myths"}),
    "compare": (
        (*INSPECT, "compare", QUERY, "Salt myths", "Cold retard"),
        "inspect/compare",
        {"query": QUERY, "a": "Salt myths", "b": "Cold retard"},
    ),
    "diff": (
        (*INSPECT, "diff", QUERY, "--set", "fusion=rrf"),
        "inspect/diff",
        {"query": QUERY, "changes": ["fusion=rrf"]},
    ),
    "neighbours": (
        (*INSPECT, "neighbors", "Salt myths", "-n", "3"),
        "inspect/neighbors",
        {"target": "Salt myths", "limit": 3},
    ),
    "chunks": ((*INSPECT, "chunks", "Salt myths"), "inspect/chunks", {"note": "Salt myths"}),
    "stale": ((*INSPECT, "stale"), "inspect/stale", {}),
}
READ = ("inspect/chunks", "inspect/stale")


def asked(client: httpx2.Client, view: str, values: dict[str, Any]) -> httpx2.Response:
    return client.get(view, params=values) if view in READ else client.post(view, json=values)


def timeless(value: Any) -> Any:
    """Without what no two runs have in common."""
    if isinstance(value, dict):
        return {name: timeless(held) for name, held in value.items() if name != "ms"}
    return [timeless(held) for held in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", VIEWS)
def test_the_api_and_the_command_line_say_the_same(
    name: str, client: httpx2.Client, served_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, view, values = VIEWS[name]
    main([*arguments, "--json", "--no-server", "--home", str(served_home)])

    assert timeless(json.loads(capsys.readouterr().out)) == timeless(asked(client, view, values).json())


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("name", [name for name in VIEWS if name != "trace"])  # it has times
def test_the_command_line_says_the_same_with_a_server_and_without(
    name: str,
    form: tuple[str, ...],
    client: httpx2.Client,
    served_home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Byte for byte, and with the same exit code; the one with a server opens no index."""
    arguments = [*VIEWS[name][0], *form, "--home", str(served_home)]
    alone = main([*arguments, "--no-server"]), *capsys.readouterr()
    monkeypatch.setattr("cutaway.faces.cli.session.reading", lambda *_: pytest.fail("the server was not asked"))

    assert client.get("health").status_code == 200
    assert alone == (main(arguments), *capsys.readouterr())


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", QUERY, "--page", "0"),
        ("search", QUERY, "--project", "nowhere"),
        ("search", ""),
        ("search", QUERY, "--cursor", "made up"),
        ("inspect", "chunks", "no such note"),
        ("inspect", "neighbors", "Salt myths#999"),
        ("inspect", "diff", QUERY, "--set", "chunk_chars=1"),
    ],
    ids=" ".join,
)
def test_what_a_server_refuses_is_refused_in_the_same_words(
    arguments: tuple[str, ...], client: httpx2.Client, served_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*arguments, "--home", str(served_home)]
    alone = main([*given, "--no-server"]), *capsys.readouterr()

    assert client.get("health").status_code == 200
    assert alone == (main(given), *capsys.readouterr())
    assert 0 != alone[0]


def test_a_server_under_other_settings_is_not_asked(
    client: httpx2.Client, served_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line's own environment counts, not the one that the server was started in."""
    monkeypatch.setenv("CUTAWAY_LIMIT", "2")

    assert client.get("health").status_code == 200
    assert 0 == main(["search", QUERY, "--json", "--home", str(served_home)])
    assert 2 == len(json.loads(capsys.readouterr().out)["hits"])


def test_pages_by_cursor_are_one_long_page(client: httpx2.Client) -> None:
    whole = client.post("search", json={"query": QUERY, "limit": 24}).json()["hits"]
    paged: list[dict[str, Any]] = []
    values: dict[str, Any] = {"query": QUERY, "limit": 5}
    while True:
        answer = client.post("search", json=values).json()
        paged += answer["hits"]
        if answer["cursor"] is None:
            break
        values["cursor"] = answer["cursor"]

    assert [hit["locator"] for hit in whole] == [hit["locator"] for hit in paged][:24]


def test_an_ordinary_answer_has_no_diagnostics(client: httpx2.Client) -> None:
    answer = client.post("search", json={"query": QUERY}).json()

    assert not {"stages", "plan", "candidates", "misses", "baseline"} & answer.keys()
    assert "cutaway-search/1" == answer["version"]
    assert "cutaway-trace/1" == client.post("inspect/query", json={"query": QUERY}).json()["version"]


def test_a_note_is_read_in_pieces(client: httpx2.Client) -> None:
    whole = client.get("note", params={"note": "Salt myths"}).json()
    text, start = "", 0
    while start is not None:
        piece = client.get("note", params={"note": "Salt myths", "max_chars": 100, "start": start}).json()
        text, start = text + piece["text"], piece["next"]

    assert (whole["text"], None) == (text, whole["next"])


def test_projects_and_status_are_told(client: httpx2.Client, served_home: Path) -> None:
    (project,) = client.get("projects").json()["projects"]
    status = client.get("status").json()

    assert ("bread", False, str(served_home)) == (project["name"], project["default"], status["home"])
    assert {name: value for name, value in project.items() if name != "default"} == status["projects"][0]


NARROW = {"query": 'salt "float test"'}
GOLDEN: dict[str, tuple[str, dict[str, Any]]] = {
    "trace": ("inspect/query", NARROW),
    "why": ("inspect/why", {**NARROW, "note": "Salt myths"}),
    "compare": ("inspect/compare", {"query": QUERY, "a": "Salt myths", "b": "Cold retard"}),
    "diff": ("inspect/diff", {"query": QUERY, "changes": ["fusion=rrf"], "limit": 3}),
    "note": ("note", {"note": "Salt myths", "last_line": 3}),
    "projects": ("projects", {}),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_an_answer_is_as_somebody_last_read_it(name: str, client: httpx2.Client, served_home: Path) -> None:
    view, values = GOLDEN[name]
    read = view in ("note", "projects")
    answer = client.get(view, params=values) if read else client.post(view, json=values)

    check_golden(f"http_{name}.json", json.dumps(answer.json(), indent=1, ensure_ascii=False), served_home.parent)
