"""What users see, word for word: the views of the command line and their JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import Cutaway
from golden import check_golden, without_times

QUERY = "does more salt make dough rise faster"


def test_a_search(bread: Cutaway) -> None:
    check_golden("search.txt", bread("search", QUERY, "--limit", "3").out)


def test_a_search_by_row(bread: Cutaway) -> None:
    check_golden("search_rows.txt", bread("search", QUERY, "--by", "row", "--limit", "4", "--mode", "text").out)


def test_a_search_as_json(bread: Cutaway) -> None:
    check_golden("search.json", bread("search", QUERY, "--limit", "2", "--json").out)


def test_a_query_inspected(bread: Cutaway) -> None:
    shown = bread("inspect", "query", QUERY, "--limit", "3", "--explain", "--show-misses").out

    check_golden("inspect_query.txt", without_times(shown))


def test_a_deep_page_inspected(bread: Cutaway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTAWAY_WINDOW", "10")

    check_golden(
        "inspect_query_deep.txt", without_times(bread("inspect", "query", QUERY, "-n", "5", "--page", "3").out)
    )


def test_a_note_inspected(bread: Cutaway) -> None:
    check_golden("inspect_chunks.txt", bread("inspect", "chunks", "Salt and fermentation").out)


def test_a_note_inspected_whole(bread: Cutaway) -> None:
    check_golden("inspect_chunks_text.txt", bread("inspect", "chunks", "Why dough slows in winter", "--text").out)


def test_a_note_inspected_as_json(bread: Cutaway) -> None:
    check_golden("inspect_chunks.json", bread("inspect", "chunks", "Salt myths", "--json").out)


def test_the_upkeep_views(bread: Cutaway, home: Path, tmp_path: Path) -> None:
    status = json.loads(bread("status", "--json").out) | {"bytes": 0}

    check_golden("status.json", json.dumps(status, indent=2), home, tmp_path)
    check_golden("doctor.txt", bread("doctor").out)


def test_an_inspected_query_as_json_names_what_it_promises(bread: Cutaway) -> None:
    """
    The trace is long, so its shape is checked, and that its numbers agree with each other.
    """
    trace = json.loads(bread("inspect", "query", QUERY, "--limit", "3", "--json").out)

    assert {"plan", "stages", "candidates", "hits", "degraded"} <= trace.keys()
    assert all(
        {"name", "in", "kept", "dropped", "settings", "remark", "ms"} <= stage.keys() for stage in trace["stages"]
    )
    for candidate in trace["candidates"]:
        assert {"row", "path", "title", "fate", "journey", "chunks", "terms"} <= candidate.keys()
        assert {"stage", "reason", "margin"} == candidate["fate"].keys()
    returned = [candidate["row"] for candidate in trace["candidates"] if candidate["fate"]["reason"] == "returned"]
    assert [hit["row"] for hit in trace["hits"]] == returned
