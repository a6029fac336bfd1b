"""Judged queries put through the search: what a run holds, what its documents are called, what is read how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from builders import HashEmbedder, LengthReranker, index_vault, opened, write_vault
from cutaway.config import Settings
from cutaway.errors import AmbiguousNote
from cutaway.evaluation.compare import compared
from cutaway.evaluation.judged import JudgedSet, Topic
from cutaway.evaluation.measures import RANKED, Measure
from cutaway.evaluation.runs import Run, TopicRun, documents_of, ran
from cutaway.index.exact import ExactIndex
from cutaway.index.reader import Reader
from cutaway.model import Span
from cutaway.retrieval.bm25 import Bm25
from cutaway.retrieval.pipeline import search
from cutaway.retrieval.plan import FORMULAS, RERANK_FORMULAS, Models
from cutaway.retrieval.request import Request

NOTES = {
    "salt.md": "# Salt\n\nSalt slows yeast and tightens dough.\n",
    "yeast.md": "---\npermalink: the-yeast\n---\n# Yeast\n\nYeast rises in warm dough.\n\n- [fact] yeast likes sugar\n",
    "bread.md": "# Bread\n\nFlour, water, salt and yeast.\n\n## Crust\n\nSteam makes it shine.\n",
    "oven.md": "# Oven\n\nHeat and steam.\n",
    "one/log.md": "# Log\n\nBaked twice.\n",
    "two/log.md": "# Log\n\nToo much salt.\n",
}
TOPICS = (Topic("q1", "salt and yeast"), Topic("q2", "steam"))
JUDGED = JudgedSet(TOPICS, {"q1": {"salt.md": 2, "bread.md": 1}, "q2": {"oven.md": 1}})
TEXT = Settings(mode="text")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("runs")
    index_vault(folder / "home", write_vault(folder / "vault", NOTES), HashEmbedder())
    with opened(folder / "home") as reader:
        yield reader


def run_all(
    reader: Reader, judged: JudgedSet, variants: Mapping[str, Settings], models: Models | None = None
) -> list[Run]:
    """Runs of every variant, with the fake models."""
    models = models or Models(HashEmbedder(), LengthReranker())
    return ran(judged, variants, reader, models, documents_of(judged, reader), lambda *_: None)


def topic_of(reader: Reader, judged: JudgedSet, settings: Settings | None = None, models: Models | None = None) -> Any:
    """The first topic of a run of one variant."""
    (run,) = run_all(reader, judged, {"run": settings or Settings()}, models)
    return run.topics[0]


def judged_as(*documents: str, **topic: Any) -> JudgedSet:
    """One query, and the documents that answer it."""
    return JudgedSet((Topic("q", "salt and yeast", **topic),), {"q": dict.fromkeys(documents, 1)})


def timeless(run: Run) -> Run:
    """A run without its milliseconds."""
    return replace(run, topics=tuple(replace(topic, ms={}) for topic in run.topics))


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
def test_a_run_has_the_results_of_the_search(reader: Reader, mode: str) -> None:
    """In its order, with its scores, and further than a page."""
    settings = Settings(mode=mode, limit=2)
    answer = search(Request("salt and yeast", limit=50), settings, reader, Models(HashEmbedder()))
    paths = {card.note: card.path for card in reader.catalog}
    searched = [(paths[answer.evidence.notes[hit.id]], hit.score) for hit in answer.page]

    got = [(hit.document, hit.score) for hit in topic_of(reader, JUDGED, settings).hits]
    assert len(searched) > 2
    assert searched == got


def test_a_run_names_what_it_was_made_with(reader: Reader) -> None:
    """The formula, the settings, and whose vectors and scores they were."""
    (run,) = run_all(reader, JUDGED, {"mine": Settings(rerank=True, tie_breaker=0.25)})

    formula = f"{FORMULAS['calibrated-dismax']} + {RERANK_FORMULAS['blend']}"

    assert ("mine", formula, 0.25) == (run.label, run.formula, run.settings["tie_breaker"])
    assert ("hash/32", "length") == (run.identities["embedding"], run.identities["reranker"])


def test_only_topics_with_a_relevant_document_are_run(reader: Reader) -> None:
    """Others would measure nought whatever the search does."""
    topics = (*TOPICS, Topic("q3", "bread"), Topic("q4", "oven"))
    judged = JudgedSet(topics, {**JUDGED.qrels, "q3": {"oven.md": 0}})
    (run,) = run_all(reader, judged, {"run": TEXT})

    assert ["q1", "q2"] == [topic.id for topic in run.topics]


def test_progress_is_told_topic_by_topic(reader: Reader) -> None:
    """However many variants there are."""
    told: list[tuple[int, int]] = []
    variants = {"a": TEXT, "b": Settings()}
    ran(JUDGED, variants, reader, Models("none"), documents_of(JUDGED, reader), lambda *step: told.append(step))

    assert [(1, 2), (2, 2)] == told


@pytest.mark.parametrize("name", ["yeast.md", "YEAST.md", "Yeast", "the-yeast"])
def test_a_document_is_called_as_it_was_judged(reader: Reader, name: str) -> None:
    """By path, title or permalink; the others by path."""
    topic = topic_of(reader, judged_as(name))

    assert 1 == Measure("R", 10).of(topic.ranked, topic.grades)
    assert {name, "salt.md", "bread.md"} <= set(topic.ranked)


def test_a_judged_document_that_no_note_answers_to_is_reported(reader: Reader) -> None:
    """It is relevant all the same: what is not there is not found."""
    judged = judged_as("salt.md", "zinc.md", "Copper")
    topic = topic_of(reader, judged)

    assert ("Copper", "zinc.md") == documents_of(judged, reader).unknown
    assert 1 / 3 == Measure("R", 10).of(topic.ranked, topic.grades)


def test_a_document_of_the_spans_is_looked_for_too(reader: Reader) -> None:
    """Beside those that were graded."""
    judged = replace(JUDGED, spans={"q1": {"zinc.md": (Span(0, 5),), "Yeast": (Span(0, 5),)}})
    documents = documents_of(judged, reader)

    assert ("zinc.md",) == documents.unknown
    assert {"Yeast", "oven.md"} < set(documents.names.values())


def test_a_name_of_several_notes_is_refused(reader: Reader) -> None:
    """The message lists their paths."""
    with pytest.raises(AmbiguousNote, match=r"'Log' names 2 notes"):
        documents_of(judged_as("Log"), reader)


def test_excluded_documents_leave_no_gap(reader: Reader) -> None:
    """Those after them move up."""
    every = topic_of(reader, judged_as("salt.md")).ranked
    rest = topic_of(reader, judged_as("salt.md", exclude=frozenset({every[0], every[2]}))).ranked

    assert [every[1], *every[3:]] == rest


@pytest.mark.parametrize("name", ["yeast.md", "YEAST.md", "Yeast", "the-yeast"])
@pytest.mark.parametrize("judged", ["yeast.md", "Yeast", "the-yeast", "salt.md"])
def test_an_excluded_document_may_have_any_of_its_names(reader: Reader, name: str, judged: str) -> None:
    """Whatever it is called in the judgments."""
    ranked = topic_of(reader, judged_as(judged, exclude=frozenset({name}))).ranked

    assert {"salt.md", "bread.md"} <= set(ranked)
    assert not {"yeast.md", judged} - {"salt.md"} & set(ranked)


def test_excluded_documents_that_are_not_there_are_no_matter(reader: Reader) -> None:
    """They are neither results nor reported."""
    judged = judged_as("salt.md", exclude=frozenset({"zinc.md", "Copper"}))

    assert () == documents_of(judged, reader).unknown
    assert topic_of(reader, judged_as("salt.md")).ranked == topic_of(reader, judged).ranked


def test_an_excluded_name_of_several_notes_is_refused(reader: Reader) -> None:
    """As a judged one is; by their paths."""
    with pytest.raises(AmbiguousNote, match=r"(?s)'Log' names 2 notes.*one/log.md\n.*two/log.md"):
        documents_of(judged_as("one/log.md", exclude=frozenset({"Log"})), reader)


@pytest.mark.parametrize(
    ("begins", "ends", "met"),
    [("start", "end", 1), (0, "start", 0), (0, "first", 1), ("last", 99, 1), ("end", 99, 0), ("first", "last", 1)],
)
def test_a_range_is_met_by_a_passage_that_shares_a_byte_with_it(
    reader: Reader, begins: str | int, ends: str | int, met: int
) -> None:
    """Not by one that begins where the range ends, or ends where it begins."""
    passage = next(hit.span for hit in topic_of(reader, JUDGED).hits if hit.document == "yeast.md")
    places = {"start": passage.start, "first": passage.start + 1, "last": passage.end - 1, "end": passage.end}
    span = Span(*(places.get(place, place) for place in (begins, ends)))
    topic = topic_of(reader, replace(judged_as("yeast.md"), spans={"q": {"yeast.md": (span,)}}))

    assert {f"yeast.md@{span.start}-{span.end}": 1} == topic.grades
    assert met == Measure("R", 10).of(topic.ranked, topic.grades)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """More notes on one matter than a run keeps."""
    folder = tmp_path_factory.mktemp("many")
    notes = {f"n{number:03}.md": f"salt and yeast {'again ' * number}\n" for number in range(RANKED + 20)}
    index_vault(folder / "home", write_vault(folder / "vault", notes))
    with opened(folder / "home") as reader:
        yield reader


@pytest.mark.parametrize("exclude", [(), ("n000.md", "n005.md")])
@pytest.mark.parametrize("limit", [1, 10, 500])
def test_ranges_are_met_as_far_as_results_are_kept(many: Reader, limit: int, exclude: tuple[str, ...]) -> None:
    """Not on the first page alone: recall at a hundred is that of a hundred results, excluded ones not counted."""
    spans = {f"n{number:03}.md": (Span(0, 14),) for number in range(RANKED + 20)}
    judged = replace(judged_as(*spans, exclude=frozenset(exclude)), spans={"q": spans})
    topic = topic_of(many, judged, Settings(mode="text", limit=limit))

    assert (RANKED, RANKED) == (len(topic.hits), sum("@" in name for name in topic.ranked))


def test_a_run_with_ranges_has_the_order_of_one_without(many: Reader) -> None:
    """A longer page changes no rank."""
    judged = judged_as("n000.md")
    plain, ranged = (topic_of(many, of, TEXT) for of in (judged, replace(judged, spans={"q": {"z.md": (Span(0, 1),)}})))

    assert plain.ranked == ranged.ranked


def test_a_range_counts_once(reader: Reader) -> None:
    """A note and its observation both meet a range over the whole of it; the second is no further find."""
    end = len(NOTES["yeast.md"].encode())
    judged = JudgedSet((Topic("q", "yeast sugar"),), {"q": {"yeast.md": 1}}, {"q": {"yeast.md": (Span(0, end),)}})
    topic = topic_of(reader, judged, Settings(group="row", mode="text"))

    assert [f"yeast.md@0-{end}"] == [name for name in topic.ranked if "@" in name]


def test_one_result_stands_for_one_range(reader: Reader) -> None:
    """Where its passage meets two of them, it is the first that nothing before it met."""
    judged = replace(judged_as("salt.md"), spans={"q": {"salt.md": (Span(0, 12), Span(12, 24))}})

    assert ["salt.md@0-12"] == [name for name in topic_of(reader, judged).ranked if "@" in name]


def test_a_trail_is_the_rank_after_each_stage(reader: Reader) -> None:
    """By words: matched, its score made comparable, its rows joined, quoted, on the page."""
    topic = topic_of(reader, JUDGED, TEXT)
    stages = ["match", "calibrate_lexical", "group", "quote", "cut"]

    assert [dict.fromkeys(stages, rank) for rank in (1, 2)] == [topic.trails[name] for name in topic.ranked[:2]]


def test_a_trail_counts_documents_not_passages(reader: Reader) -> None:
    """However many passages a note has, there are as many ranks as notes."""
    trails = topic_of(reader, judged_as(*NOTES), Settings(mode="vector", group="row")).trails

    assert [1, 2, 3, 4, 5, 6] == sorted(trail["nearest"] for trail in trails.values())


def test_a_trail_ends_where_its_document_fell(reader: Reader) -> None:
    """All judged documents have one, if only an empty one."""
    judged = judged_as("salt.md", "oven.md", "zinc.md")
    trails = topic_of(reader, judged, Settings(mode="vector", min_similarity=0.6)).trails

    assert ("cut", "collapse") == (list(trails["salt.md"])[-1], list(trails["oven.md"])[-1])
    assert {} == trails["zinc.md"]


def test_the_trail_of_a_range_is_that_of_its_document(reader: Reader) -> None:
    """Every range of it, met or not, graded or not; so a comparison can say what moved it."""
    spans = {"salt.md": (Span(0, 6), Span(900, 999)), "oven.md": (Span(0, 6),)}
    trails = topic_of(reader, replace(judged_as("salt.md"), spans={"q": spans})).trails
    plain = topic_of(reader, judged_as("salt.md", "oven.md")).trails

    assert plain["salt.md"]["cut"] > 0
    assert plain["salt.md"] == trails["salt.md@0-6"] == trails["salt.md@900-999"]
    assert plain["oven.md"] == trails["oven.md@0-6"]


def test_what_moved_a_range_is_said(reader: Reader) -> None:
    """By the stage, as for a document."""
    judged = replace(judged_as("yeast.md"), spans={"q": {"yeast.md": (Span(0, 99),)}})
    runs = run_all(reader, judged, {"a": TEXT, "b": Settings(mode="text", rerank=True, rerank_formula="replace")})
    (mover,) = compared(*runs, [Measure("RR")]).movers
    moved = next(document for document in mover.moved if "@" in document.document)

    assert "— / replace_scores" == moved.stage


def test_a_query_is_embedded_once_for_all_variants(reader: Reader) -> None:
    """Two topics, three variants that want their vectors."""
    embedder = HashEmbedder()
    variants = {"a": Settings(), "b": Settings(mode="vector"), "c": Settings(window=10), "d": TEXT}
    run_all(reader, JUDGED, variants, Models(embedder))

    assert ["salt and yeast", "steam"] == embedder.embedded


@pytest.mark.parametrize(
    ("variants", "vectors", "words"),
    [
        ([Settings(), Settings(tie_breaker=0), Settings(fusion="rrf"), Settings(min_similarity=0.9)], 1, 1),
        ([Settings(), Settings(rerank=True), Settings(rerank=True, rerank_depth=3)], 1, 1),
        ([Settings(), Settings(window=10)], 2, 2),
        ([Settings(), TEXT, TEXT], 1, 2),
        ([Settings(), TEXT, Settings(mode="vector")], 2, 2),
    ],
)
def test_legs_are_read_once_for_variants_that_read_alike(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, variants: list[Settings], vectors: int, words: int
) -> None:
    """And again for another window or mode."""
    reads: list[str] = []
    for owner, name in ((ExactIndex, "nearest"), (Bm25, "ranked")):
        monkeypatch.setattr(owner, name, counted(getattr(owner, name), name, reads))
    run_all(reader, judged_as("salt.md"), {str(number): settings for number, settings in enumerate(variants)})

    assert (vectors, words) == (reads.count("nearest"), reads.count("ranked"))


def counted(method: Any, name: str, reads: list[str]) -> Any:
    """A method that notes each call."""

    def call(self: Any, *arguments: Any) -> Any:
        reads.append(name)
        return method(self, *arguments)

    return call


def test_a_variant_among_others_is_the_variant_alone(reader: Reader) -> None:
    """What is shared between variants changes none of them."""
    variants = {
        "as set": Settings(),
        "text": TEXT,
        "vector": Settings(mode="vector", window=10),
        "rrf": Settings(fusion="rrf"),
        "strict": Settings(min_similarity=0.7),
        "reranked": Settings(rerank=True, rerank_formula="replace"),
        "rows": Settings(group="row", limit=1),
    }
    together = [timeless(run) for run in run_all(reader, JUDGED, variants)]

    assert together == [timeless(*run_all(reader, JUDGED, {label: of})) for label, of in variants.items()]
    assert len({str(run.topics) for run in together}) == len(variants)


@pytest.mark.parametrize(
    ("models", "settings", "said"),
    [
        (Models("no model here"), Settings(), ("nearest: no model here",)),
        (Models(HashEmbedder(), "no reranker"), Settings(rerank=True), ("rerank: no reranker",)),
        (Models(HashEmbedder()), Settings(), ()),
    ],
)
def test_what_was_degraded_is_recorded(
    reader: Reader, models: Models, settings: Settings, said: tuple[str, ...]
) -> None:
    """A figure that lacks a leg or the reranker says so."""
    assert said == topic_of(reader, JUDGED, settings, models).degraded


def test_vectors_of_another_model_are_not_compared_with_this_one(reader: Reader) -> None:
    """Words answer alone, and the run says why."""
    (said,) = topic_of(reader, JUDGED, models=Models(HashEmbedder("other"))).degraded

    assert "the index holds vectors of hash/32" in said


def test_latency_is_the_mean_over_topics_stage_by_stage() -> None:
    """A stage that a topic did not have took no time there."""
    topics = [
        TopicRun(name, name, (), {}, {}, ms) for name, ms in (("a", {"match": 2.0, "cut": 1.0}), ("b", {"match": 4.0}))
    ]

    assert {"match": 3.0, "cut": 0.5, "all stages": 3.5} == Run("", "", {}, {}, tuple(topics)).latency()
