"""Run files: whole as JSON, the ranking alone as TREC; read back as they were, or refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from builders import HashEmbedder, LengthReranker, index_vault, opened, write_vault
from cutaway.config import Settings
from cutaway.errors import UsageError
from cutaway.evaluation.judged import JudgedSet, Topic
from cutaway.evaluation.measures import RANKED
from cutaway.evaluation.run_files import read_run, run_as_json, run_as_trec
from cutaway.evaluation.runs import FORMAT, Hit, Run, TopicRun, documents_of, ran
from cutaway.model import Span
from cutaway.retrieval.plan import Models

HITS = (Hit("b c.md", 0.75, Span(3, 9)), Hit("größe.md", 0.75), Hit("a.md", 0.5))
TRAILS = {"b c.md": {"match": 2, "cut": 1}, "z.md": {}}
TOPIC = TopicRun("q1", "“salt”\nand", HITS, {"a.md": 2, "z.md": 0}, TRAILS, {"match": 0.125}, ("nearest: no model",))
RUN = Run("my run", "rrf-60/v1", {"limit": 10, "rerank_url": None}, {"embedding": "hash/32"}, (TOPIC,))
JUDGED = JudgedSet((Topic("q1", "salt"), Topic("q2", "bread")), {"q1": {"a.md": 2}, "q2": {"b.md": 1}})

SPACES = [sign for sign in map(chr, range(sys.maxunicode)) if sign.isspace()]
NAMES = st.text(alphabet=st.sampled_from([*SPACES, *"%25a0C"]), min_size=1)


def kept(folder: Path, text: str) -> Path:
    """A file that holds a text."""
    file = folder / "run"
    file.write_text(text, encoding="utf-8")
    return file


def changed(**values: Any) -> str:
    """A run's JSON with other values in it."""
    return json.dumps({**json.loads(run_as_json(RUN)), **values})


def test_a_run_is_read_back_with_its_results_and_trails(tmp_path: Path) -> None:
    """Scores to the last digit, ranges, grades, ranks after each stage, times."""
    (topic,) = read_run(kept(tmp_path, run_as_json(RUN))).topics

    assert (TOPIC.hits, TOPIC.grades, TOPIC.trails, TOPIC.ms) == (topic.hits, topic.grades, topic.trails, topic.ms)
    assert TOPIC.degraded == tuple(topic.degraded)


def test_a_run_is_read_back_with_what_it_was_made_with(tmp_path: Path) -> None:
    """Its label, formula, settings and identities."""
    run = read_run(kept(tmp_path, run_as_json(RUN)))

    assert replace(RUN, topics=()) == replace(run, topics=())


def test_a_run_of_the_search_can_be_kept(tmp_path: Path) -> None:
    """Not only one made by hand."""
    index_vault(tmp_path, write_vault(tmp_path / "vault", {"a.md": "salt", "b c.md": "salt and bread"}), HashEmbedder())
    with opened(tmp_path) as reader:
        models, documents = Models(HashEmbedder(), LengthReranker()), documents_of(JUDGED, reader)
        (run,) = ran(JUDGED, {"run": Settings(rerank=True)}, reader, models, documents, lambda *_: None)

    assert [topic.hits for topic in run.topics] == [
        topic.hits for topic in read_run(kept(tmp_path, run_as_json(run))).topics
    ]


@pytest.mark.parametrize("kind", ["rerank", "embedder"])
def test_a_key_is_in_no_run(tmp_path: Path, kind: str) -> None:
    """A run file is made to be passed on."""
    index_vault(tmp_path, write_vault(tmp_path / "vault", {"a.md": "salt"}))
    settings = Settings(**{f"{kind}_key": SecretStr("hush"), f"{kind}_url": f"https://{kind}.example"})  # type: ignore[arg-type]
    with opened(tmp_path) as reader:
        (run,) = ran(JUDGED, {"run": settings}, reader, Models("none"), documents_of(JUDGED, reader), lambda *_: None)

    assert f"https://{kind}.example" in run_as_json(run)
    assert "hush" not in run_as_json(run)
    assert f"{kind}_key" not in run_as_json(run)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"format": ',
        changed(topics=None),
        changed(topics=[{"id": "q1"}]),
        changed(topics=[{**json.loads(run_as_json(RUN))["topics"][0], "hits": [["a.md"]]}]),
        changed(colour="red"),
        changed(topics=[{**json.loads(run_as_json(RUN))["topics"][0], "grades": {"a.md": 0.9}}]),
        changed(topics=[{**json.loads(run_as_json(RUN))["topics"][0], "grades": ["a.md"]}]),
        "{" * 100_000,
    ],
)
def test_json_that_is_no_run_is_refused(tmp_path: Path, text: str) -> None:
    """The message says which command writes one."""
    with pytest.raises(UsageError, match="run is not a run that `cutaway eval run --save` wrote"):
        read_run(kept(tmp_path, text))


def test_a_run_of_another_format_is_refused_with_both_named(tmp_path: Path) -> None:
    """It is not guessed at."""
    with pytest.raises(UsageError, match=f"'cutaway-run/0'; this version reads '{FORMAT}'"):
        read_run(kept(tmp_path, changed(format="cutaway-run/0")))


@pytest.mark.parametrize("content", [None, b"\xff{"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    """It is not there, or it is no text."""
    if content is not None:
        (tmp_path / "run").write_bytes(content)

    with pytest.raises(UsageError, match="run cannot be read"):
        read_run(tmp_path / "run")


def test_a_trec_file_is_one_line_a_result() -> None:
    """Topic, Q0, document, rank, a score that falls with every rank, the run's label as one word."""
    lines = [
        "q1 Q0 b%20c.md 1 1.000000000 my_run",
        "q1 Q0 größe.md 2 0.500000000 my_run",
        "q1 Q0 a.md 3 0.333333333 my_run",
    ]

    assert lines == run_as_trec(RUN).splitlines()


def test_a_trec_file_is_read_back_in_its_order(tmp_path: Path) -> None:
    """With the judgments beside it; a topic without a result has none."""
    run = read_run(kept(tmp_path, run_as_trec(RUN)), JUDGED)

    assert [TOPIC.ranked, []] == [topic.ranked for topic in run.topics]
    assert [JUDGED.qrels["q1"], JUDGED.qrels["q2"]] == [topic.grades for topic in run.topics]


def test_the_order_of_a_trec_file_is_that_of_its_ranks(tmp_path: Path) -> None:
    """Whatever the order of its lines, and however many digits a rank has."""
    lines = [f"q1 Q0 d{rank} {rank} 0.5 tag\n" for rank in (10, 2, 9, 1)]

    assert ["d1", "d2", "d9", "d10"] == read_run(kept(tmp_path, "".join(lines)), JUDGED).topics[0].ranked


def test_topics_that_nobody_judged_are_left_out_of_a_trec_run(tmp_path: Path) -> None:
    """There is nothing to measure them by."""
    run = read_run(kept(tmp_path, run_as_trec(RUN) + run_as_trec(RUN).replace("q1", "q9")), JUDGED)

    assert {"q1": TOPIC.ranked, "q2": []} == {topic.id: topic.ranked for topic in run.topics}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "run has no result in it"),
        (" \n\n", "run has no result in it"),
        ("q9 Q0 a.md 1 1.0 tag\n", "run has a result for none of the judged topics"),
    ],
)
def test_a_trec_run_without_a_result_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """It would measure nought, and look like a bad search."""
    with pytest.raises(UsageError, match=said):
        read_run(kept(tmp_path, text), JUDGED)


def test_a_trec_run_may_lack_some_topics_and_hold_others(tmp_path: Path) -> None:
    """One judged topic with a result is enough."""
    run = read_run(kept(tmp_path, "q9 Q0 x.md 1 1.0 tag\nq2 Q0 b.md 1 1.0 tag\n"), JUDGED)

    assert {"q1": [], "q2": ["b.md"]} == {topic.id: topic.ranked for topic in run.topics}


def test_a_document_is_one_result_of_a_topic(tmp_path: Path) -> None:
    """Twice it would count twice; another topic may have it too."""
    lines = [f"{topic} Q0 a.md {rank} 0.5 tag\n" for topic, rank in (("q1", 1), ("q2", 1), ("q1", 2))]
    assert 2 == len(read_run(kept(tmp_path, "".join(lines[:2])), JUDGED).topics)

    with pytest.raises(UsageError, match=r"run:3: document 'a\.md' is a result of topic 'q1' twice"):
        read_run(kept(tmp_path, "".join(lines)), JUDGED)


def test_a_long_trec_run_is_measured_like_ours(tmp_path: Path) -> None:
    """As many results of a topic as a run keeps, so that measures without a cutoff mean the same."""
    lines = [f"q1 Q0 d{rank} {rank} 0.5 tag\n" for rank in range(1, 2 * RANKED)]

    assert RANKED == len(read_run(kept(tmp_path, "".join(lines)), JUDGED).topics[0].hits)


def test_a_trec_run_of_ranges_is_measured_by_ranges(tmp_path: Path) -> None:
    """As the same run is when it is kept whole."""
    judged = replace(JUDGED, spans={"q1": {"a b.md": (Span(0, 9),)}})
    run = read_run(kept(tmp_path, "q1 Q0 a%20b.md@0-9 1 1.0 tag\n"), judged)

    assert [{"a b.md@0-9": 1}, {"b.md": 1}] == [topic.grades for topic in run.topics]
    assert ["a b.md@0-9"] == run.topics[0].ranked


@given(names=st.lists(NAMES, min_size=1, max_size=5))
def test_names_of_any_kind_come_back_from_a_trec_file(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    """White space of every kind, line ends included, and the sign that escapes them."""
    topic, *documents = dict.fromkeys([*names, "x"])
    run = Run("run", "", {}, {}, (TopicRun(topic, "", tuple(Hit(name, 1.0) for name in documents), {}, {}, {}),))
    judged = JudgedSet((Topic(topic, "q"),), {topic: {documents[0]: 1}})
    back = read_run(kept(tmp_path_factory.mktemp("run"), run_as_trec(run)), judged)

    assert [(topic, documents)] == [(of.id, of.ranked) for of in back.topics]


@pytest.mark.parametrize(
    ("field", "document"),
    [
        ("100%", "100%"),
        ("50%off", "50%off"),
        ("a%2Fb", "a%2Fb"),
        ("%zz%", "%zz%"),
        ("a%20b", "a b"),
        ("a%c2%a0b", "a\xa0b"),
    ],
)
def test_a_foreign_percent_sign_stands_for_itself(tmp_path: Path, field: str, document: str) -> None:
    """Only white space and the sign itself are ever escaped."""
    run = read_run(kept(tmp_path, f"q1 Q0 {field} 1 1.0 tag\n"), JUDGED)

    assert [document] == run.topics[0].ranked


@pytest.mark.parametrize("make", [run_as_json, run_as_trec])
def test_a_run_may_begin_with_a_byte_order_mark(tmp_path: Path, make: Callable[[Run], str]) -> None:
    """As programs on Windows write it."""
    run = read_run(kept(tmp_path, "\ufeff" + make(RUN)), JUDGED)

    assert TOPIC.ranked == run.topics[0].ranked


@pytest.mark.parametrize(
    "line", ["q1 Q0 a.md 2 0.5", "q1 Q0 a b.md 2 0.5 tag", "q1 Q0 a.md two 0.5 tag", "q1 Q0 a.md 2 half tag", "garbage"]
)
def test_a_broken_line_of_a_trec_file_is_named(tmp_path: Path, line: str) -> None:
    """By its number, with what was expected."""
    with pytest.raises(UsageError, match="run:2: expected topic, Q0, document, rank, score and tag"):
        read_run(kept(tmp_path, f"q1 Q0 a.md 1 1.0 tag\n{line}\n"), JUDGED)


def test_a_trec_file_without_judgments_says_how_to_name_them(tmp_path: Path) -> None:
    """It holds a ranking and nothing else."""
    with pytest.raises(UsageError, match="--qrels"):
        read_run(kept(tmp_path, run_as_trec(RUN)))
