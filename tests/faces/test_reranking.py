"""Reranking and cursors as a person or a script meets them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from builders import Cutaway
from cutaway.faces import loading
from cutaway.index.sqlite import index_file
from cutaway.index.state import state_file
from golden import check_golden, without_times

QUERY = "does more salt make dough rise faster"
Rigged = Callable[[Callable[[], Sequence[float]]], None]


@pytest.fixture
def rigged(monkeypatch: pytest.MonkeyPatch) -> Rigged:
    """Put a reranker in place that answers with what a function gives."""

    class Reranker:
        identity = "rigged"

        def __init__(self, scores: Callable[[], Sequence[float]]) -> None:
            self._scores = scores

        def relevance(self, *_: object) -> Sequence[float]:
            return self._scores()

    return lambda scores: monkeypatch.setattr(loading, "named_cross_encoder", lambda *_, **__: Reranker(scores))


def broken() -> Sequence[float]:
    raise RuntimeError("out of memory")


def test_a_reranked_query_inspected(bread: Cutaway) -> None:
    shown = bread("inspect", "query", QUERY, "--limit", "4", "--depth", "8", "--explain").out

    check_golden("inspect_query_reranked.txt", without_times(shown))


def test_the_json_trace_has_ranks_and_scores_before_and_after(bread: Cutaway) -> None:
    """Side by side for each result that was read, and what was done about the rest."""
    trace = json.loads(bread("inspect", "query", QUERY, "--depth", "3", "--limit", "5", "--json").out)
    rerank = trace["rerank"]

    check_golden("rerank.json", json.dumps(rerank, indent=2))
    assert [hit["row"] for hit in trace["hits"][:3]] == [moved["row"] for moved in rerank["movements"]]


def test_what_was_kept_is_remembered_and_said(bread: Cutaway) -> None:
    """A search keeps the scores in the state file; the next look at it needs no call."""
    bread("search", QUERY, "--rerank")
    again = json.loads(bread("inspect", "query", QUERY, "--rerank", "--json").out)["rerank"]

    assert 20 == again["prefix"] == again["remembered"]
    assert "20 remembered" in bread("inspect", "query", QUERY, "--rerank").out


def test_inspecting_writes_nothing_not_even_scores(bread: Cutaway, home: Path) -> None:
    before = index_file(home).read_bytes()
    bread("inspect", "query", QUERY, "--rerank")

    assert before == index_file(home).read_bytes()
    assert not state_file(home).exists()


def test_a_reranker_that_fails_is_a_banner_and_not_a_failure(bread: Cutaway, rigged: Rigged) -> None:
    """The fused order, exit code 0, and the reason before anything else."""
    rigged(broken)
    failed, fused = bread("search", QUERY, "--rerank"), bread("search", QUERY)

    assert 0 == failed.code
    assert "degraded  rerank: out of memory. The order is that of the fused scores" == failed.out.splitlines()[0]
    assert fused.out.splitlines() == failed.out.splitlines()[1:]


def test_a_reranker_that_fails_stops_the_search_where_settings_say_so(
    bread: Cutaway, rigged: Rigged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTAWAY_RERANK_FAILURE", "error")
    rigged(broken)
    ran = bread("search", QUERY, "--rerank")

    assert (2, "") == (ran.code, ran.out)
    assert "cutaway: reranking failed: out of memory\n" == ran.err


def test_reranking_is_a_setting_and_can_be_declined(bread: Cutaway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTAWAY_RERANK", "true")

    assert "+ blend/v1" in bread("search", QUERY).out
    assert "+ blend/v1" not in bread("search", QUERY, "--no-rerank").out
    assert "rerank  none (declined by the request)" in bread("inspect", "query", QUERY, "--no-rerank").out


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
def test_cursors_read_on_to_the_end(bread: Cutaway, mode: str) -> None:
    """Each page gives the next one's cursor; together they are the one long page."""
    command = ("search", QUERY, "--mode", mode, "--rerank", "--json")
    whole = json.loads(bread(*command, "--limit", "100").out)
    page = json.loads(bread(*command, "--limit", "7").out)
    read = page["hits"]
    while page["cursor"]:
        page = json.loads(bread(*command, "--limit", "7", "--cursor", page["cursor"]).out)
        read += page["hits"]

    assert whole["hits"] == read
    assert whole["cursor"] is None


def test_a_cursor_does_not_outlive_the_order_it_came_from(bread: Cutaway, tmp_path: Path) -> None:
    """After the notes have changed it says so, exits with 2, and shows nothing."""
    cursor = json.loads(bread("search", QUERY, "--json").out)["cursor"]
    (tmp_path / "bread" / "New.md").write_text("Salt makes dough rise faster.\n")
    bread("index")
    ran = bread("search", QUERY, "--cursor", cursor)

    assert (2, "") == (ran.code, ran.out)
    assert "the index has changed since the page before" in ran.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--depth", "0"], "rerank_depth"),
        (["--depth", "1000"], "rerank_depth"),
        (["--cursor", "nonsense"], "the cursor was not made by this index"),
        (["--cursor", ""], "the cursor was not made by this index"),
        (["--cursor", "x", "--page", "2"], "a cursor and a page were given"),
    ],
)
def test_bad_input_is_named(bread: Cutaway, arguments: list[str], named: str) -> None:
    ran = bread("search", QUERY, *arguments)

    assert (2, "") == (ran.code, ran.out)
    assert named in ran.err


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"RERANK_URL": "ftp://example.org"}, "rerank_url"),
        ({"RERANK_URL": "https://name:secret@example.org"}, "rerank_url"),
        ({"RERANK_TIMEOUT": "0"}, "rerank_timeout"),
        ({"RERANK_WEIGHT": "-1"}, "rerank_weight"),
        ({"RERANK_FORMULA": "mix"}, "rerank_formula"),
        ({"RERANK_FAILURE": "hide"}, "rerank_failure"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_without_repeating_secrets(
    bread: Cutaway, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], named: str
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(f"CUTAWAY_{name}", value)
    ran = bread("search", QUERY)

    assert (2, "") == (ran.code, ran.out)
    assert named in ran.err
    assert "secret" not in ran.err
