"""Two runs on the same queries: the arithmetic, who moved, and which stage did it."""

from __future__ import annotations

import pytest

from cutaway.errors import UsageError
from cutaway.evaluation.compare import Comparison, Moved, Mover, compared, first_difference
from cutaway.evaluation.measures import Measure
from cutaway.evaluation.runs import Hit, Run, TopicRun

NDCG, RR = Measure("nDCG", 10), Measure("RR", 10)
Trails = dict[str, dict[str, int]]


def topic(name: str, ranked: str, grades: dict[str, int] | None = None, trails: Trails | None = None) -> TopicRun:
    """A topic whose results are the letters of *ranked*; `r` is relevant unless *grades* say otherwise."""
    grades = {"r": 1} if grades is None else grades
    return TopicRun(name, f"text of {name}", tuple(Hit(letter, 1.0) for letter in ranked), grades, trails or {}, {})


def run(label: str, *topics: TopicRun) -> Run:
    """A run of these topics."""
    return Run(label, "", {}, {}, topics)


def compare(before: str, after: str, grades: dict[str, int] | None = None, measure: Measure = RR) -> Mover:
    """What is said of one topic that moved."""
    found = compared(run("a", topic("q", before, grades)), run("b", topic("q", after, grades)), [measure])
    (mover,) = found.movers
    return mover


def moved(mover: Mover) -> dict[str, tuple[int | None, int | None]]:
    """Ranks before and after, by document."""
    return {document.document: (document.before, document.after) for document in mover.moved}


def between(a: tuple[str, ...], b: tuple[str, ...], listed: int = 5) -> Comparison:
    """A comparison of topics q0, q1, … by their rankings."""
    sides = [[topic(f"q{number}", ranked) for number, ranked in enumerate(of)] for of in (a, b)]
    return compared(run("a", *sides[0]), run("b", *sides[1]), [RR, Measure("hit", 1)], listed)


def test_measures_are_means_over_the_topics_of_each_side() -> None:
    """Reciprocal ranks 1, 1/2, 1/3 against 1/2, 1/2, 1."""
    of = between(("r", "xr", "xyr"), ("xr", "xr", "r")).measures[0]

    assert (RR, pytest.approx((1 + 1 / 2 + 1 / 3) / 3), pytest.approx((1 / 2 + 1 / 2 + 1) / 3)) == of[:3]
    assert pytest.approx(of.b - of.a) == of.difference.mean


def test_topics_won_and_lost_are_those_of_b() -> None:
    """One worse, one the same, one better."""
    found = between(("r", "xr", "xyr"), ("xr", "xr", "r"))

    assert (1, 1, 1) == (found.measures[0].difference[2:])
    assert 3 == found.topics


def test_every_measure_asked_for_is_compared() -> None:
    """In the order asked for."""
    assert ["RR@10", "hit@1"] == [of.measure.name for of in between(("r",), ("xr",)).measures]


def test_topics_are_paired_by_their_id() -> None:
    """Not by their place in the run."""
    one, two = topic("q1", "r"), topic("q2", "xr")

    assert () == compared(run("a", one, two), run("b", two, one), [RR]).movers


def test_who_moved_most_comes_first() -> None:
    """Whether up or down; the first measure decides, equal moves are in the order of their ids, others left out."""
    found = between(("r", "xr", "xyr", "r", "xr"), ("xr", "xyr", "r", "r", "r"))

    assert ["q2", "q0", "q4", "q1"] == [mover.topic for mover in found.movers]


def test_only_so_many_movers_are_listed() -> None:
    """The means are still those of all topics."""
    found = between(("r",) * 8, ("xr",) * 8, listed=3)

    assert (3, 8) == (len(found.movers), found.topics)


def test_a_mover_says_its_query_and_both_figures() -> None:
    """Of the first measure."""
    mover = compare("xr", "r")

    assert ("q", "text of q", 0.5, 1.0) == mover[:4]


def test_documents_that_changed_their_rank_are_behind_it() -> None:
    """Those that stayed are not; one that came in or went out has no rank on the other side."""
    assert {"r": (3, 1), "x": (1, None), "z": (None, 3)} == moved(compare("xyr", "ryz"))


def test_the_best_graded_documents_are_named_first() -> None:
    """Then those that stood highest on either side; five are enough."""
    mover = compare("abcdefgr", "rgfedcbh", {"r": 3, "g": 1, "a": 0})

    assert ["r", "g", "a", "b", "c"] == [document.document for document in mover.moved]
    assert [3, 1, 0, None, None] == [document.grade for document in mover.moved]


def test_a_relevant_document_far_below_the_cutoff_is_followed_too() -> None:
    """It is what the loss is about."""
    assert (1, 15) == moved(compare("r", "abcdefghijklmnr"))["r"]


def test_unjudged_results_are_counted_up_to_the_cutoff() -> None:
    """On each side: a loss may only be ignorance."""
    mover = compare("rxyz", "xjyzr", {"r": 1, "j": 0}, Measure("RR", 3))

    assert (2, 2) == mover.unjudged
    assert (3, 3) == compare("rxyz", "xjyzr", {"r": 1, "j": 0}, Measure("RR")).unjudged


def test_a_moved_document_names_the_stage_that_moved_it() -> None:
    """By the trails of both runs."""
    trails: list[Trails] = [{"r": {"match": 1, "fuse": rank, "cut": rank}} for rank in (2, 1)]
    sides = [run("a", topic("q", "xr", trails=trails[0])), run("b", topic("q", "rx", trails=trails[1]))]
    (mover,) = compared(*sides, [RR]).movers

    assert (Moved("r", 1, 2, 1, "fuse"), Moved("x", None, 1, 2, None)) == mover.moved


@pytest.mark.parametrize(
    ("a", "b", "stage"),
    [
        ({"match": 1, "fuse": 2, "cut": 2}, {"match": 1, "fuse": 1, "cut": 1}, "fuse"),
        ({"match": 3, "fuse": 2, "cut": 2}, {"match": 1, "fuse": 1, "cut": 1}, "match"),
        ({"match": 1, "cut": 2}, {"match": 1, "cut": 2}, None),
        ({}, {}, None),
        ({"match": 1, "fuse": 2, "cut": 2}, {"match": 1, "fuse_ranks": 4, "cut": 4}, "fuse / fuse_ranks"),
        ({"quote": 2, "cut": 2}, {"quote": 2, "blend": 1, "cut": 1}, "— / blend"),
        ({"quote": 2, "replace_scores": 1, "cut": 1}, {"quote": 2, "cut": 2}, "replace_scores / —"),
        ({"calibrate_lexical": 1, "quote": 1}, {"nearest": 5, "fuse": 3, "quote": 3}, "calibrate_lexical / fuse"),
        ({"own": 1, "match": 1, "fuse": 2}, {"match": 1, "fuse": 3}, "fuse"),
        ({"match": 4}, {"nearest": 2}, "match"),
        ({}, {"nearest": 2, "cut": 1}, "nearest"),
    ],
)
def test_the_first_stage_after_which_ranks_differ(a: dict[str, int], b: dict[str, int], stage: str | None) -> None:
    """Stages that only one run has are named, both sides, where they stand right before it."""
    assert stage == first_difference(a, b)


@pytest.mark.parametrize("others", [("q1",), ("q1", "q3"), ("q1", "q2", "q3"), ()])
def test_runs_on_different_topics_are_not_compared(others: tuple[str, ...]) -> None:
    """Fewer, more, or others; the message names both runs."""
    a, b = (
        run(name, *(topic(of, "r") for of in topics)) for name, topics in (("mine", ("q1", "q2")), ("yours", others))
    )

    with pytest.raises(UsageError, match="mine and yours were not run on the same topics"):
        compared(a, b, [NDCG])


@pytest.mark.parametrize("grades", [{"r": 2}, {"r": 1, "x": 0}, {"x": 1}, {}])
def test_runs_that_were_judged_differently_are_not_compared(grades: dict[str, int]) -> None:
    """Another grade, one more, one less: the first such topic is named, and both runs."""
    mine = run("mine", topic("q1", "r"), topic("q2", "r"), topic("q3", "r"))
    yours = run("yours", topic("q1", "r"), topic("q3", "r", grades), topic("q2", "r", grades))

    with pytest.raises(UsageError, match="mine and yours were judged differently, first in topic 'q2'"):
        compared(mine, yours, [NDCG])


def test_no_topics_are_no_comparison() -> None:
    """There is nothing to take a mean of."""
    with pytest.raises(UsageError, match="no topic with a relevant document"):
        compared(run("a"), run("b"), [NDCG])
