"""The evaluation commands as a person or a script meets them: figures, files, messages, exit codes."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders import Cutaway, manifest, write_vault
from cutaway.faces.cli import prepare
from cutaway.faces.cli.bench import judged_of
from cutaway.retrieval.plan import FORMULAS

QUEPID = """query,docid,rating
does salt make dough rise faster,Salt and fermentation,3
does salt make dough rise faster,dough/Salt myths.md,1
steam,baking/Steam.md,3
float test,Float test,2
dutch oven,Dutch oven,2
"""
CORPUS = {
    "corpus.jsonl": '{"_id": "a/1", "title": "Salt", "text": "Salt slows yeast."}\n{"_id": "b", "text": "Steam."}\n',
    "queries.jsonl": '{"_id": "q1", "text": "salt"}\n{"_id": "q2", "text": "steam"}\n{"_id": "q3", "text": "zinc"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\ta/1\t1\nq2\tb\t1\n",
}
GATE = "settings: {mode: text}\nchecks: [{query: steam, find: {Steam: 1}, avoid: [Float test]}, {query: dutch oven}]"


@pytest.fixture
def qrels(tmp_path: Path) -> str:
    """A file of judgments over the example vault."""
    return str(write_vault(tmp_path, {"judged.csv": QUEPID}) / "judged.csv")


@pytest.fixture
def judged(bread: Cutaway, qrels: str) -> Cutaway:
    """The command line with these judgments stored."""
    assert 0 == bread("eval", "judgments", "--import", qrels).code
    return bread


def values(run: Cutaway, *arguments: str) -> Any:
    """What a command prints as JSON."""
    ran = run("eval", *arguments, "--json")
    assert (0, "") == (ran.code, ran.err)
    return json.loads(ran.out)


def test_a_run_prints_every_measure_with_its_interval(bread: Cutaway, qrels: str) -> None:
    """Five judgments are four queries."""
    ran = bread("eval", "run", "--qrels", qrels)

    assert (0, "") == (ran.code, ran.err)
    assert f"4 queries · {FORMULAS['calibrated-dismax']}" in ran.out
    assert all(measure in ran.out for measure in ("nDCG@10", "R@10", "AP", "hit@1", "judged@10", "95 % interval"))


def test_a_run_as_json_holds_what_was_measured_and_how(bread: Cutaway, qrels: str) -> None:
    """Each query's figures too, where asked for."""
    found = values(bread, "run", "--qrels", qrels, "--measures", "RR@5", "--set", "mode=text,limit=3", "--per-query")

    assert (4, ["RR@5"], FORMULAS["text"]) == (found["topics"], list(found["measures"]), found["formula"])
    assert ("text", 3) == (found["settings"]["mode"], found["settings"]["limit"])
    assert pytest.approx(sum(query["RR@5"] for query in found["queries"]) / 4) == found["measures"]["RR@5"]["value"]
    assert {} == found["degraded"]


def test_a_run_says_what_was_degraded(bread: Cutaway, qrels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any figure."""
    monkeypatch.setattr("cutaway.faces.cli.prepare.named_embedder", lambda *_, **__: None)

    assert bread("eval", "run", "--qrels", qrels).out.startswith("degraded  4 of 4 queries: nearest: no embedder")


def test_a_run_may_be_of_some_queries(bread: Cutaway, qrels: str) -> None:
    """Spread over the set: of four, the first and the third."""
    found = values(bread, "run", "--qrels", qrels, "--topics", "2", "--per-query")

    assert ["does salt make dough rise faster", "float test"] == [query["id"] for query in found["queries"]]


def test_judged_documents_that_are_not_indexed_are_named(bread: Cutaway, qrels: str) -> None:
    """They count as not found."""
    Path(qrels).write_text(f"{QUEPID}steam,zinc.md,1\n")
    ran = bread("eval", "run", "--qrels", qrels)

    assert 0 == ran.code
    assert "1 judged documents are not in the index and count as not found: zinc.md" in ran.err


def test_a_corpus_is_indexed_apart_and_measured(bread: Cutaway, tmp_path: Path, home: Path) -> None:
    """Settings that decide what is indexed may be tried on it; the projects stay as they are."""
    folder, before = str(write_vault(tmp_path / "set", CORPUS)), manifest(home)
    found = [values(bread, "run", folder, "--set", f"chunk_chars={chars}") for chars in (300, 900)]

    assert [(2, 1.0)] * 2 == [(of["topics"], of["measures"]["hit@1"]["value"]) for of in found]
    assert (1, before) == (len(list((home / "corpora").iterdir())), manifest(home))


def test_runs_that_were_kept_are_compared(bread: Cutaway, tmp_path: Path) -> None:
    """As JSON and as TREC file, which needs the judgments again."""
    folder = str(write_vault(tmp_path / "set", CORPUS))
    kept, trec = str(tmp_path / "run.json"), str(tmp_path / "run.trec")
    saved = bread("eval", "run", folder, "--save", kept, "--trec", trec)
    files = ("--queries", f"{folder}/queries.jsonl", "--qrels", f"{folder}/qrels/test.tsv")
    found = values(bread, "compare", kept, trec, *files)

    assert [f"written to {kept}", f"written to {trec}"] == saved.err.splitlines()
    assert (2, []) == (found["topics"], found["movers"])
    assert all((0, 1) == (of["mean"], of["p"]) for of in found["measures"].values())


def test_settings_are_compared_and_movers_shown(bread: Cutaway, qrels: str) -> None:
    """Both sides are run on the same queries; who moved, and where, is said."""
    ran = bread("eval", "compare", "as-set", "mode=vector", "--qrels", qrels, "--measures", "nDCG@10")

    assert 0 == ran.code
    assert f"A  as-set  {FORMULAS['calibrated-dismax']}\nB  mode=vector  {FORMULAS['vector']}\n4 queries" in ran.out
    assert "first moved at" in ran.out
    assert "unjudged among the first results" in ran.out


def test_a_comparison_as_json(bread: Cutaway, qrels: str) -> None:
    """B minus A for every measure, and at most so many movers."""
    found = values(bread, "compare", "as-set", "mode=vector", "--qrels", qrels, "--movers", "1")
    ndcg = found["measures"]["nDCG@10"]

    assert ("as-set", "mode=vector", 4) == (found["a"]["label"], found["b"]["label"], found["topics"])
    assert pytest.approx(ndcg["b"] - ndcg["a"]) == ndcg["mean"]
    assert 1 == len(found["movers"])


def test_a_sweep_tries_every_combination(bread: Cutaway, qrels: str) -> None:
    """And reports the winner on the other half."""
    axes = ("--axis", "fusion=rrf,dismax-0.3", "--axis", "window=10,50")
    found = values(bread, "sweep", "--qrels", qrels, *axes, "--set", "limit=5", "--measures", "RR@10")
    labels = {of["settings"] for of in found["points"]}

    assert ("RR@10", 2, 2, "as set") == (found["measure"], found["train"], found["test"], found["baseline"])
    assert {"as set", "fusion=rrf window=10", "fusion=dismax-0.3 window=50"} < labels
    assert (5, {found["winner"], "as set"}) == (len(labels), set(found["on_test"]))


def test_a_sweep_says_which_queries_decided(bread: Cutaway, qrels: str) -> None:
    """How many to choose by, and how many nothing was chosen by."""
    ran = bread("eval", "sweep", "--qrels", qrels, "--axis", "limit=3,5", "--train", "0.75")

    assert 0 == ran.code
    assert "nDCG@10 on 3 queries to choose by" in ran.out
    assert "on 1 queries nothing was chosen by" in ran.out
    assert "the settings as they are won" in ran.out


def test_a_gate_that_is_met_exits_with_nought(bread: Cutaway, tmp_path: Path) -> None:
    """What was expected, and of each query that its pages concatenate."""
    file = write_vault(tmp_path, {"gate.yaml": GATE}) / "gate.yaml"

    assert (0, "4 of 4 expectations met\n", "") == bread("eval", "gate", str(file))


def test_a_gate_that_is_not_met_exits_with_one_and_says_why(bread: Cutaway, tmp_path: Path) -> None:
    """What failed is printed, and all of it as JSON."""
    write_vault(tmp_path, {"gate.yaml": GATE.replace("Steam: 1", "Float test: 9")})
    ran, told = (bread("eval", "gate", str(tmp_path / "gate.yaml"), *form) for form in ((), ("--json",)))

    assert (1, 1) == (ran.code, told.code)
    assert "failed  steam\n        finds Float test within 9: not among the candidates of either leg" in ran.out
    assert "3 of 4 expectations met" in ran.out
    assert [False, True, True, True] == [verdict["passed"] for verdict in json.loads(told.out)]


def test_what_was_recorded_is_a_gate_that_is_met(judged: Cutaway, tmp_path: Path) -> None:
    """Of every query with judgments."""
    file = tmp_path / "gate.yaml"
    ran = judged("eval", "record", str(file), "-k", "5")
    written = yaml.safe_load(file.read_text())

    assert (0, "", f"4 queries written to {file}\n") == ran
    assert (5, 4) == (written.get("k"), len(written["checks"]))
    assert (0, "") == (judged("eval", "gate", str(file)).code, ran.out)


def test_a_gate_may_be_recorded_without_judgments(bread: Cutaway, tmp_path: Path) -> None:
    """Of queries that are named. A file that is there is replaced only where that was asked for."""
    file = str(tmp_path / "gate.yaml")
    codes = [bread("eval", "record", file, "--query", "steam", *more).code for more in ((), (), ("--force",))]

    assert ([0, 2, 0], 0) == (codes, bread("eval", "gate", file).code)


def test_a_gate_says_what_its_search_lacked(bread: Cutaway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expectations may be met by words alone; that the vectors were missing is said beside it."""
    gate = tmp_path / "gate.yaml"
    gate.write_text("checks: [{query: salt, find: {Salt myths: 20}}]\n")
    whole = bread("eval", "gate", str(gate))
    monkeypatch.setattr(prepare, "named_embedder", lambda *_, **__: None)
    half = bread("eval", "gate", str(gate))

    assert (0, "") == (whole.code, whole.err)
    assert "degraded  nearest: no embedder is configured (embedder = none)" in half.err


@pytest.mark.parametrize(("most", "expected"), [(1, "0"), (3, "024"), (7, "0123456"), (9, "0123456")])
def test_fewer_topics_are_spread_evenly(tmp_path: Path, most: int, expected: str) -> None:
    """Not the first ones: a set may be in an order."""
    qrels = tmp_path / "judged.csv"
    qrels.write_text("query,docid,rating\n" + "".join(f"{number},n.md,1\n" for number in range(7)))
    options = Namespace(topics=most, queries=None, qrels=qrels, set_folder=None, spans=None)

    assert expected == "".join(topic.id for topic in judged_of(options).topics)
