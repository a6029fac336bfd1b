"""Judging from the command line: stored, taken back, listed, imported, exported; and what the commands refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import Cutaway, Ran, write_vault
from cutaway.index.sqlite import index_file
from cutaway.index.state import Judgment, Judgments, state_file

SALT, STEAM = "dough/Salt and fermentation.md", "baking/Steam.md"
HELD = [Judgment("bread", "a shiny, “crisp” crust", STEAM, 3), Judgment("bread", "salt", SALT, 2)]


@pytest.fixture
def judged(bread: Cutaway, home: Path) -> Cutaway:
    """The command line with two judgments stored."""
    Judgments(home).keep(HELD)
    return bread


def held(home: Path) -> list[Judgment]:
    """The judgments of the example vault."""
    return Judgments(home).of(["bread"])


def contents(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """Every file, and when it was written."""
    return {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("name", [SALT, "Salt and fermentation", "salt AND fermentation"])
def test_a_judgment_is_stored_by_path(bread: Cutaway, home: Path, name: str) -> None:
    """Whatever the note was called by."""
    ran = bread("eval", "judge", "why salt", name, "2")

    assert (0, "", f"{SALT} answers “why salt”: 2\n") == ran
    assert [Judgment("bread", "why salt", SALT, 2)] == held(home)


def test_a_second_judgment_replaces_the_first(judged: Cutaway, home: Path) -> None:
    """Of the same query and note, and of no other."""
    judged("eval", "judge", "salt", SALT, "0")

    assert [HELD[0], HELD[1]._replace(grade=0)] == held(home)


def test_a_judgment_is_taken_back(judged: Cutaway, home: Path) -> None:
    """Once: the second time there is none, and the exit code says so."""
    there, gone = (judged("eval", "judge", "salt", SALT, "none") for _ in range(2))

    assert (Ran(0, "", "taken back\n"), Ran(1, "", "there was no such judgment\n")) == (there, gone)
    assert HELD[:1] == held(home)


def test_a_note_that_is_not_there_is_not_judged(bread: Cutaway, home: Path) -> None:
    """The exit code is that of nothing found."""
    ran = bread("eval", "judge", "salt", "Zinc", "3")

    assert (1, "") == (ran.code, ran.out)
    assert "no note answers to 'Zinc'. Nothing was stored." in ran.err
    assert [] == held(home)


def test_judgments_are_listed(judged: Cutaway) -> None:
    """In the order of queries, for people and for programs."""
    table = [
        "grade  query                   note",
        "3      a shiny, “crisp” crust  bread:baking/Steam.md",
        "2      salt                    bread:dough/Salt and fermentation.md",
    ]

    assert table == judged("eval", "judgments").out.splitlines()
    assert [judgment._asdict() for judgment in HELD] == json.loads(judged("eval", "judgments", "--json").out)


def test_no_judgments_exit_with_one(bread: Cutaway) -> None:
    """A script need not count them."""
    assert (1, "nothing judged yet\n", "") == bread("eval", "judgments")
    assert (1, []) == ((ran := bread("eval", "judgments", "--json")).code, json.loads(ran.out))


def test_judgments_that_are_stored_are_what_is_measured(judged: Cutaway) -> None:
    """Where no files are named."""
    ran = judged("eval", "run", "--json", "--per-query")
    found = json.loads(ran.out)

    assert (0, 2) == (ran.code, found["topics"])
    assert [judgment.query for judgment in HELD] == [query["text"] for query in found["queries"]]


def test_judgments_outlive_the_index(judged: Cutaway, home: Path) -> None:
    """The index is made anew; they are not derived from anything."""
    for file in index_file(home).parent.glob(f"{index_file(home).name}*"):
        file.unlink()

    assert HELD == held(home)
    assert 0 == judged("index", str(home.parent / "bread")).code
    assert 0 == judged("eval", "run").code


def test_judgments_belong_to_a_project(judged: Cutaway, tmp_path: Path) -> None:
    """Another project has none of them."""
    judged("index", str(write_vault(tmp_path / "other", {"a.md": "salt"})))
    counts = [
        len(json.loads(judged("eval", "judgments", "--json", *scope).out))
        for scope in (("-p", "other"), ("-p", "bread"), ("--all-projects",))
    ]

    assert [0, 2, 2] == counts


@pytest.mark.parametrize("form", ["beir", "trec", "quepid"])
def test_what_is_exported_can_be_imported(judged: Cutaway, home: Path, tmp_path: Path, form: str) -> None:
    """In every format: the same judgments again, after they were lost."""
    files = ("--queries", str(tmp_path / "queries.jsonl")) if form != "quepid" else ()
    out = judged("eval", "judgments", "--export", str(tmp_path / "judged"), "--format", form, *files)
    state_file(home).unlink()
    back = judged("eval", "judgments", "--import", str(tmp_path / "judged"), *files)

    assert (f"2 judgments written to {tmp_path / 'judged'}\n", "2 judgments imported\n") == (out.err, back.err)
    assert HELD == held(home)


def test_an_import_adds_to_what_is_there(judged: Cutaway, home: Path, tmp_path: Path) -> None:
    """By path or title; what was judged before is replaced."""
    write_vault(tmp_path, {"new.csv": f"query,docid,rating\nsalt,{SALT},1\nsalt,Steam,0\n"})
    judged("eval", "judgments", "--import", str(tmp_path / "new.csv"))

    assert [HELD[0], Judgment("bread", "salt", STEAM, 0), HELD[1]._replace(grade=1)] == held(home)


def test_an_import_is_all_or_nothing(judged: Cutaway, home: Path, tmp_path: Path) -> None:
    """A note that is not known is named, and none of the file is stored."""
    write_vault(tmp_path, {"new.csv": "query,docid,rating\nsalt,Steam,1\nsalt,Zinc,3\n"})
    ran = judged("eval", "judgments", "--import", str(tmp_path / "new.csv"))

    assert (1, HELD) == (ran.code, held(home))
    assert "'Zinc'" in ran.err


def test_without_judgments_a_run_says_how_to_get_some(bread: Cutaway) -> None:
    """From files, or by judging."""
    ran = bread("eval", "run")

    assert (2, "") == (ran.code, ran.out)
    assert "no judgments are stored. Name files with --queries and --qrels, or use: cutaway eval judge" in ran.err


def test_nothing_relevant_is_nothing_to_measure(bread: Cutaway, home: Path) -> None:
    """Judgments of 0 alone."""
    Judgments(home).keep([HELD[0]._replace(grade=0)])
    ran = bread("eval", "run")

    assert 2 == ran.code
    assert "no query has a relevant document" in ran.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("run --set window", "--set 'window' is not NAME=VALUE"),
        ("run --set window=5", "not accepted in --set: window: Input should be greater than or equal to 10"),
        ("run --set colour=red", "colour"),
        ("run --measures nDCG@10,F1@10", "measure 'F1@10' is not known; there are nDCG, R, P, RR, AP, hit, judged"),
        ("run --qrels no.tsv", "no.tsv cannot be read"),
        ("run nowhere", "nowhere cannot be read"),
        ("run --project nowhere", "nowhere"),
        ("compare as-set as-set", "both sides are as-set; there is nothing to compare"),
        ("compare as-set no.json", "no.json cannot be read"),
        ("compare as-set colour=red", "colour"),
        ("compare as-set mode=text --movers -1", "--movers is -1; it may be 0 or more"),
        ("run --measures R@101", "'R@101' looks further than the 100 results a run keeps"),
        ("run --spans no.tsv", "--spans without --qrels"),
        ("run --queries no.tsv", "--queries without --qrels"),
        ("sweep --axis limit=3 --axis window=10 --axis limit=5", "--axis limit was given twice"),
        ("sweep --axis limit=3,5 --train 0", "--train is 0; it must be more than 0 and less than 1"),
        ("sweep --axis limit=3,5 --train nan", "--train is nan"),
        ("record no.yaml --corpus corpus.jsonl", "unrecognized arguments: --corpus"),
        ("record no.yaml --spans spans.tsv", "unrecognized arguments: --spans"),
        ("record no.yaml --query salt --queries q.tsv", "--queries without --qrels"),
        ("record no.yaml --limit 0", "--limit is 0; it may be 1 to 100"),
        ("record no.yaml --limit 101", "--limit is 101; it may be 1 to 100"),
        ("compare as-set chunk_chars=300", "chunk_chars, context_line decide what is indexed"),
        ("compare as-set", "B"),
        ("sweep --axis embedder=none", "chunk_chars, context_line decide what is indexed"),
        ("sweep --axis window", "--axis 'window' is not NAME=VALUE,VALUE"),
        ("sweep --axis window=10,,20", "--axis 'window=10,,20' is not NAME=VALUE,VALUE"),
        ("sweep --axis window=10,5", "not accepted in this sweep: window"),
        ("sweep --axis limit=5 --train 0.1", "2 topics with a relevant document are too few to split"),
        ("sweep", "--axis"),
        ("gate no.yaml", "no.yaml cannot be read"),
        ("judge salt Steam 4", "grade '4' is not known; it may be 0, 1, 2, 3 or none"),
        ("judge salt Steam -1", "-1"),
        ("judge salt Steam", "grade"),
        ("judgments --import no.csv", "no.csv cannot be read"),
        ("judgments --export no.tsv --format trec", "trec judgments hold no query texts"),
        ("judgments --export no.tsv --format csv", "csv"),
        ("judgments --export no/where.csv", "there is no folder no to write where.csv to"),
        ("judgments --export no.tsv --format trec --queries no/q.jsonl", "there is no folder no to write q.jsonl to"),
        ("judgments --export .", ". is a folder; name a file to write to"),
        ("run --save .", ". is a folder; name a file to write to"),
        ("measure", "measure"),
    ],
)
def test_bad_input_is_named_and_exits_with_two(
    judged: Cutaway, home: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, named: str
) -> None:
    """Nothing is printed, nothing is stored, no file is written."""
    monkeypatch.chdir(home.parent)
    ran = judged("eval", *arguments.split())

    assert (2, "", HELD) == (ran.code, ran.out, held(home))
    assert named in ran.err
    assert not list(home.parent.glob("no.*"))


@pytest.mark.parametrize(
    ("gate", "named"),
    [
        ("checks: [{query: x, find: {Zinc: 1}}]", "the gate names 'Zinc', and no note of the index answers to that"),
        ("settings: {colour: red}\nchecks: [{query: x}]", "colour"),
        ("settings: {window: 5}\nchecks: [{query: x}]", "gate.yaml: window"),
        ("settings: {embedder: none}\nchecks: [{query: x}]", "decide what is indexed"),
        ("settings: {chunk_chars: 300}\nchecks: [{query: x}]", "decide what is indexed"),
        ("settings: {context_line: false}\nchecks: [{query: x}]", "decide what is indexed"),
        ("checks: [{query: 2024-05-01}]", "put it in quotes"),
        ("checks: [{query: x, finds: {Steam: 1}}]", "checks.0.finds"),
    ],
)
def test_a_gate_that_cannot_be_checked_exits_with_two(bread: Cutaway, tmp_path: Path, gate: str, named: str) -> None:
    """Not with one, which is a regression."""
    ran = bread("eval", "gate", str(write_vault(tmp_path, {"gate.yaml": gate}) / "gate.yaml"))

    assert (2, "") == (ran.code, ran.out)
    assert named in ran.err


def test_a_gate_file_is_not_overwritten_unasked(judged: Cutaway, tmp_path: Path) -> None:
    """Somebody may have written it by hand."""
    file = write_vault(tmp_path, {"gate.yaml": "# mine"}) / "gate.yaml"
    ran = judged("eval", "record", str(file))

    assert (2, "# mine") == (ran.code, file.read_text())
    assert "is there already. Give --force to replace it." in ran.err
    assert (0, True) == (judged("eval", "record", str(file), "--force").code, "checks:" in file.read_text())


def test_no_evaluation_writes_a_note(judged: Cutaway, tmp_path: Path) -> None:
    """Nor touches one, nor leaves a file among them."""
    before = contents(tmp_path / "bread")
    commands: list[tuple[Any, ...]] = [
        ("run", "--save", tmp_path / "run.json", "--trec", tmp_path / "run.trec"),
        ("compare", "as-set", "mode=text"),
        ("sweep", "--axis", "limit=3,5"),
        ("record", tmp_path / "gate.yaml"),
        ("gate", tmp_path / "gate.yaml"),
        ("judge", "salt", "Steam", "1"),
        ("judgments", "--export", tmp_path / "judged.csv"),
        ("judgments", "--import", tmp_path / "judged.csv"),
    ]

    assert [0] * len(commands) == [judged("eval", *map(str, command)).code for command in commands]
    assert before == contents(tmp_path / "bread")
