"""The evaluation commands as a person or a script meets them: figures, files, messages, exit codes."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders import Cutaway, manifest, write_vault
from cutaway.evaluation.runs import Run, TopicRun
from cutaway.faces import loading
from cutaway.faces.cli.bench import judged_of
from cutaway.faces.cli.eval_run import degraded
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
    monkeypatch.setattr("cutaway.faces.loading.named_embedder", lambda *_, **__: None)

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


@pytest.mark.parametrize("named", ["qrels j.csv", "set-folder set", "queries q", "spans s", "corpus c", "topics 3"])
def test_judgments_beside_two_runs_that_hold_theirs_are_refused(
    bread: Cutaway, qrels: str, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """They would be passed over in silence."""
    monkeypatch.chdir(Path(qrels).parent)
    for name, mode in (("a.json", "text"), ("b.json", "vector")):
        assert 0 == bread("eval", "run", "--qrels", qrels, "--set", f"mode={mode}", "--save", name).code
    ran = bread("eval", "compare", "a.json", "b.json", *f"--{named}".split())

    assert (2, "") == (ran.code, ran.out)
    assert f"--{named.split()[0]} would change nothing: both runs hold the judgments" in ran.err
    assert 0 == bread("eval", "compare", "a.json", "b.json").code


def test_a_run_is_not_compared_with_one_by_other_judgments(bread: Cutaway, qrels: str, tmp_path: Path) -> None:
    """One grade differs, and its query is named."""
    kept = [str(tmp_path / name) for name in ("a.json", "b.json")]
    assert 0 == bread("eval", "run", "--qrels", qrels, "--label", "before", "--save", kept[0]).code
    Path(qrels).write_text(QUEPID.replace("Float test,2", "Float test,1"))
    assert 0 == bread("eval", "run", "--qrels", qrels, "--label", "after", "--save", kept[1]).code
    ran = bread("eval", "compare", *kept)

    assert (2, "") == (ran.code, ran.out)
    assert "before and after were judged differently, first in topic 'float test'" in ran.err


def test_a_trec_run_may_be_measured_by_a_folder(bread: Cutaway, tmp_path: Path) -> None:
    """The folder holds its judgments."""
    folder, trec = str(write_vault(tmp_path / "set", CORPUS)), str(tmp_path / "run.trec")
    kept = str(tmp_path / "run.json")
    assert 0 == bread("eval", "run", folder, "--save", kept, "--trec", trec).code

    assert [] == values(bread, "compare", kept, trec, "--set-folder", folder)["movers"]


def test_a_gate_may_name_what_is_indexed_as_it_is(bread: Cutaway, tmp_path: Path) -> None:
    """Only another value would need another index."""
    gate = tmp_path / "gate.yaml"
    gate.write_text("settings: {chunk_chars: 900, context_line: true}\nchecks: [{query: steam, find: {Steam: 5}}]\n")

    assert 0 == bread("eval", "gate", str(gate)).code


MARKUP = "[red]a[/] [/b] :bread: \\"
"""What a terminal library would take for colours, and a picture."""
BARREN = ("--set", "mode=vector,min_similarity=1", "--axis", "min_similarity=0")
"""Settings that find nothing, so that another point of the sweep wins."""


@pytest.fixture
def marked(cutaway: Cutaway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cutaway:
    """A note, a judged query, files and a setting with such names. The fake reranker is not asked."""
    monkeypatch.chdir(tmp_path)
    write_vault(tmp_path / "notes", {"[red]a [z].md": f"# {MARKUP}\n\nsalt", "b.md": "steam and salt"})
    write_vault(tmp_path, {"gate.yaml": yaml.safe_dump({"checks": [{"query": MARKUP, "find": {"b.md": 1}}]})})
    write_vault(tmp_path, {"j.csv": f"query,docid,rating\nx,b.md,1\nx,{MARKUP} y,1\nx,:bread:,1\n"})
    assert 0 == cutaway("index", "notes").code
    for note, grade in ((MARKUP, "3"), ("b.md", "1")):
        assert 0 == cutaway("eval", "judge", f"salt {MARKUP}", note, grade).code
    assert 0 == cutaway("eval", "judge", "steam", "b.md", "1").code
    return cutaway


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("run", "--per-query"), f"salt {MARKUP}"),
        (("run", "--save", "[red]run.json"), "written to [red]run.json"),
        (("run", "--trec", ":bread:"), "written to :bread:"),
        (("run", "--qrels", "j.csv"), f"count as not found: :bread:, {MARKUP} y …"),
        (("compare", "as-set", f"reranker={MARKUP}"), f"reranker={MARKUP}"),
        (("compare", "mode=text", "mode=text,rerank=true,rerank_formula=replace"), "[red]a [z].md"),
        (("sweep", *BARREN, "--axis", f"reranker={MARKUP}"), f")  min_similarity=0 reranker={MARKUP}"),
        (("gate", "gate.yaml"), f"failed  {MARKUP}"),
        (("record", "[red]gate.yaml"), "written to [red]gate.yaml"),
        (("judge", f"{MARKUP} x", "b.md", "2"), f"b.md answers “{MARKUP} x”: 2"),
        (("judge", "x", MARKUP, "2"), "[red]a [z].md answers “x”: 2"),
        (("judgments",), f"salt {MARKUP}"),
        (("judgments", "--export", "[red]j.csv"), "written to [red]j.csv"),
    ],
)
def test_names_and_queries_are_shown_as_they_are(marked: Cutaway, arguments: tuple[str, ...], shown: str) -> None:
    """Brackets are no colours, and a word between colons is no picture."""
    ran = marked("eval", *arguments)

    assert shown in ran.out + ran.err
    assert ran.code == (1 if arguments[0] == "gate" else 0)


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (["1 of 2 chunks.", "1,200 of 3,000 chunks."], ["… of … chunks."]),
        (["does not know 43% of it", "does not know 7% of it"], ["does not know …% of it"]),
        (["index 3)", "(12) waited 1.5 s, then 2,"], ["index …)", "(…) waited … s, then …,"]),
        (["model bge-small-en-v1.5 failed"], ["model bge-small-en-v1.5 failed"]),
        (["ms-marco-MiniLM-L-12-v2: hash/32"], ["ms-marco-MiniLM-L-12-v2: hash/32"]),
        (["http://10.0.0.1:80/v1 is gone", "version 2.0rc1 of 3.x"], None),
    ],
)
def test_reasons_add_up_whatever_their_numbers(reasons: list[str], said: list[str] | None) -> None:
    """Only a number that stands alone is left out: a name, a version or an address stays whole."""
    topics = tuple(TopicRun("q", "q", (), {}, {}, {}, (reason,)) for reason in reasons)

    assert (said or reasons) == list(degraded(Run("run", "", {}, {}, topics)))


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
    monkeypatch.setattr(loading, "named_embedder", lambda *_, **__: None)
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
