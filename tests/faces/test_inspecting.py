"""Why, compare, diff and saved traces, as they are typed and shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from builders import Cutaway
from cutaway.faces.saved import load
from cutaway.faces.traces import TraceOut
from cutaway.index.sqlite import index_file
from cutaway.index.store import open_writer
from golden import check_golden, without_times

QUERY = "does more salt make dough rise faster"


@pytest.fixture
def saved(bread: Cutaway, tmp_path: Path) -> Path:
    """A saved search."""
    file = tmp_path / "trace.json"
    assert 0 == bread("inspect", "query", QUERY, "--limit", "3", "--save", str(file)).code
    return file


def test_why_a_note_is_where_it_is(bread: Cutaway) -> None:
    check_golden("inspect_why.txt", bread("inspect", "why", QUERY, "Bulk fermentation", "--limit", "2").out)


def test_why_a_note_is_left_out(bread: Cutaway) -> None:
    check_golden("inspect_why_left_out.txt", bread("inspect", "why", "salt -myths tag:salt", "Salt myths").out)


def test_why_a_note_is_beyond_the_window(bread: Cutaway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTAWAY_WINDOW", "10")

    check_golden("inspect_why_beyond.txt", bread("inspect", "why", "dough", "Kit list", "--limit", "1").out)


def test_one_note_against_another(bread: Cutaway) -> None:
    check_golden("inspect_compare.txt", bread("inspect", "compare", QUERY, "Salt myths", "Bulk fermentation").out)


def test_one_query_under_two_settings(bread: Cutaway) -> None:
    check_golden("inspect_diff.txt", bread("inspect", "diff", QUERY, "--set", "fusion=rrf", "--limit", "5").out)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("why", QUERY, "Salt myths"), 0),
        (("why", QUERY, "Kit list", "--limit", "1"), 0),
        (("why", "zxqv", "Salt myths", "--mode", "text"), 1),
        (("why", QUERY, "No such note"), 1),
        (("why", QUERY, "Salt myths:999"), 2),
        (("compare", QUERY, "Salt myths", "No such note"), 1),
        (("compare", "zxqv", "Salt myths", "Kit list", "--mode", "text"), 1),
        (("diff", QUERY, "--set", "limit=10"), 1),
        (("diff", QUERY), 2),
        (("diff", QUERY, "--set", "no_such=1"), 2),
        (("show", "no/such/file.json"), 2),
    ],
)
def test_the_exit_code_says_what_came_of_it(bread: Cutaway, arguments: tuple[str, ...], code: int) -> None:
    """0 found, 1 nothing found where asked for, 2 bad input; each of the latter with its reason."""
    ran = bread("inspect", *arguments)

    assert code == ran.code
    assert ran.out or ran.err


def test_json_of_why_has_what_the_trace_has(bread: Cutaway) -> None:
    """The candidate's way is the one that the search recorded."""
    trace = json.loads(bread("inspect", "query", QUERY, "--json").out)
    why = json.loads(bread("inspect", "why", QUERY, "Salt myths", "--json").out)

    recorded = next(seen for seen in trace["candidates"] if seen["row"] == why["row"])
    assert (recorded, None) == (why["recorded"], why["beyond"])
    assert [term["term"] for term in trace["terms"]] == [term["term"] for term in why["terms"]]


def test_json_of_compare_adds_up(bread: Cutaway) -> None:
    """The differences of the parts are that of the score, and those of the terms that of BM25."""
    found = json.loads(bread("inspect", "compare", QUERY, "Salt myths", "Kit list", "--json").out)

    for whole, parts in (("score", "parts"), ("bm25", "terms")):
        added = sum(part["difference"] for part in found[parts])
        assert found[whole]["difference"] == pytest.approx(added, abs=1e-8)


def test_a_saved_search_is_shown_as_it_was(bread: Cutaway, saved: Path) -> None:
    """Word for word, after the notes are gone too."""
    options = ("--explain", "--show-misses")
    now = bread("inspect", "query", QUERY, "--limit", "3", *options).out

    assert without_times(now) == without_times(bread("inspect", "show", str(saved), *options).out)


def test_a_trace_comes_back_as_it_was_saved(saved: Path) -> None:
    """Every field, in one schema for all faces."""
    trace = load(saved)

    assert trace == TraceOut.model_validate_json(trace.as_json())
    assert json.loads(saved.read_text(encoding="utf-8")) == json.loads(trace.as_json())


def test_a_redacted_trace_holds_no_text_of_notes(bread: Cutaway, tmp_path: Path) -> None:
    """Passages and headings are gone; ranks, scores and titles are not."""
    file = tmp_path / "bare.json"
    bread("inspect", "query", QUERY, "--limit", "3", "--save", str(file), "--redact")
    trace = load(file)

    assert trace.redacted
    assert {("", (), ())} == {(hit.passage, hit.heading_path, hit.highlights) for hit in trace.hits}
    assert "that salt wakes up the yeast" not in file.read_text(encoding="utf-8")
    assert 0 == bread("inspect", "show", str(file), "--explain").code


def test_two_saved_searches_are_compared(bread: Cutaway, saved: Path, tmp_path: Path) -> None:
    """What another mode changed."""
    other = tmp_path / "text.json"
    bread("inspect", "query", QUERY, "--limit", "3", "--mode", "text", "--save", str(other))
    found = json.loads(bread("inspect", "diff", str(saved), str(other), "--json").out)

    assert ["hybrid", "text"] == found["changed"]["mode"]
    assert 3 == len(found["left"]) + len(found["moved"]) + found["stayed"]


def test_a_search_has_no_difference_to_itself(bread: Cutaway, saved: Path) -> None:
    """Exit code 1: nothing changed."""
    ran = bread("inspect", "diff", str(saved), str(saved), "--json")
    found = json.loads(ran.out)

    assert (1, [], [], [], 1.0, 1.0) == (
        ran.code, found["entered"], found["left"], found["moved"], found["jaccard"], found["rbo"]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a trace"),
        ("[]", "is not a trace"),
        ('{"version": "cutaway-trace/0"}', "Save it again"),
        ('{"version": "cutaway-trace/1", "query": 3}', "is a damaged trace"),
    ],
)
def test_a_file_that_is_no_trace_is_refused(bread: Cutaway, tmp_path: Path, text: str, said: str) -> None:
    """With what is wrong about it."""
    file = tmp_path / "other.json"
    file.write_text(text, encoding="utf-8")
    ran = bread("inspect", "show", str(file))

    assert (2, True) == (ran.code, said in ran.err)


@pytest.mark.parametrize(
    "arguments",
    [
        ("why", QUERY, "Salt myths"),
        ("compare", QUERY, "Salt myths", "Kit list"),
        ("diff", QUERY, "--set", "fusion=rrf"),
        ("query", QUERY, "--explain"),
    ],
)
def test_inspecting_writes_nothing(bread: Cutaway, home: Path, arguments: tuple[str, ...]) -> None:
    """The index is the same, byte for byte."""
    before = index_file(home).read_bytes()
    bread("inspect", *arguments, "--rerank")

    assert before == index_file(home).read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ("why", QUERY, "Salt myths"),
        ("compare", QUERY, "Salt myths", "Kit list"),
        ("diff", QUERY, "--set", "fusion=rrf"),
        ("query", QUERY),
        ("neighbors", "Salt myths"),
        ("stale",),
    ],
)
def test_inspecting_answers_while_another_writes(bread: Cutaway, home: Path, arguments: tuple[str, ...]) -> None:
    """What it shows is what was committed before, and the other goes on undisturbed."""
    before = bread("inspect", *arguments, "--json")
    writer = open_writer(home)
    with writer.transaction():
        writer.execute("DELETE FROM rows; DELETE FROM lexical")
        during = bread("inspect", *arguments, "--json")
    writer.close()

    shown = [(ran.code, re.sub(r'"ms": [\d.]+', "", ran.out)) for ran in (before, during)]
    assert shown[0] == shown[1]


def test_the_schema_of_a_trace_is_printed(cutaway: Cutaway, bread: Cutaway) -> None:
    """Every field that a trace has is in it."""
    schema = json.loads(cutaway("inspect", "show", "--schema").out)
    trace = json.loads(bread("inspect", "query", QUERY, "--json").out)

    assert set(schema["properties"]) == set(trace)
    assert 2 == cutaway("inspect", "show").code


def test_chunks_say_how_close_they_are_to_words(bread: Cutaway) -> None:
    """The numbers that a search by meaning has for them; without words there are none."""
    shown = json.loads(bread("inspect", "chunks", "Bulk fermentation", "--query", "salt and yeast", "--json").out)
    chunks = {chunk["id"]: chunk["similarity"] for row in shown["rows"] for chunk in row["chunks"]}
    near = json.loads(bread("inspect", "neighbors", "--text", "salt and yeast", "-n", "200", "--all", "--json").out)
    same = {one["at"]["id"]: one["similarity"] for one in near["neighbours"] if one["at"]["id"] in chunks}

    assert same == chunks
    assert "cosine" in bread("inspect", "chunks", "Bulk fermentation", "--query", "salt").out
    assert "cosine" not in bread("inspect", "chunks", "Bulk fermentation").out
