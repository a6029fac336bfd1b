"""Measures by arithmetic spelled out and against trec_eval; means, their intervals, and paired differences."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import pytrec_eval
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cutaway.errors import UsageError
from cutaway.evaluation.measures import DEFAULT, KINDS, RANKED, Measure, difference, mean, parsed

GRADED = {"a": 3, "b": 2, "c": 1, "d": 0}
TREC = {"nDCG": "ndcg_cut", "R": "recall", "P": "P", "RR": "recip_rank", "AP": "map"}
"""What trec_eval calls them."""
WITH_CUTOFF = ("nDCG", "R", "P")

DOCUMENTS = [f"d{number}" for number in range(16)]
rankings = st.lists(st.sampled_from(DOCUMENTS), unique=True, min_size=1)
grades = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3), min_size=1)
scores = st.lists(st.floats(0, 1), min_size=1, max_size=30)
pairs = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30)


def log2(rank: int) -> float:
    """The discount of a rank."""
    return math.log2(rank + 1)


def test_ndcg_is_the_discounted_gain_over_the_ideal_one() -> None:
    """Gain is the grade; the ideal has the best grades first, a judged document that was not returned included."""
    got = Measure("nDCG", 3).of(["b", "x", "c"], GRADED)

    assert pytest.approx((2 / log2(1) + 1 / log2(3)) / (3 / log2(1) + 2 / log2(2) + 1 / log2(3))) == got


def test_the_ideal_of_ndcg_ends_at_the_cutoff_too() -> None:
    """With one place the best that is possible is the best document alone."""
    assert 2 / 3 == Measure("nDCG", 1).of(["b", "a"], GRADED)


def test_ndcg_without_a_cutoff_reads_all_that_was_ranked() -> None:
    """The eleventh place counts where none is named."""
    ranked = [*"0123456789", "a"]

    assert pytest.approx(1 / log2(11)) == Measure("nDCG").of(ranked, {"a": 1})
    assert 0 == Measure("nDCG", 10).of(ranked, {"a": 1})


def test_a_negative_grade_is_as_good_as_none() -> None:
    """Junk is not relevant and takes nothing from the gain."""
    got = {kind: Measure(kind, 2).of(["junk", "a"], {"a": 1, "junk": -2}) for kind in ("nDCG", "R", "P", "RR", "AP")}

    assert {"nDCG": 1 / log2(2), "R": 1, "P": 1 / 2, "RR": 1 / 2, "AP": 1 / 2} == got


def test_recall_is_the_share_of_relevant_documents_found() -> None:
    """Three are relevant; two of them stand among the first four."""
    assert 2 / 3 == Measure("R", 4).of(["x", "a", "d", "c", "b"], GRADED)


def test_precision_counts_places_that_no_result_filled() -> None:
    """Two results for five places: one relevant among five, not among two."""
    assert 1 / 5 == Measure("P", 5).of(["a", "x"], GRADED)


def test_precision_without_a_cutoff_is_of_the_results_there_are() -> None:
    """One relevant among two."""
    assert 1 / 2 == Measure("P").of(["a", "x"], GRADED)


def test_reciprocal_rank_is_of_the_first_relevant_document() -> None:
    """It stands third; the fourth no longer counts."""
    assert 1 / 3 == Measure("RR", 10).of(["x", "d", "c", "a"], GRADED)


def test_reciprocal_rank_is_nought_beyond_the_cutoff() -> None:
    """Third place, where two are looked at."""
    assert 0 == Measure("RR", 2).of(["x", "d", "c"], GRADED)


def test_average_precision_is_the_mean_of_the_precisions_at_each_relevant_rank() -> None:
    """Found at ranks 2 and 4; the third relevant document was never returned and adds nothing."""
    assert pytest.approx((1 / 2 + 2 / 4) / 3) == Measure("AP").of(["x", "a", "d", "c"], GRADED)


@pytest.mark.parametrize(("ranked", "hit"), [(["x", "a"], 1.0), (["x", "d", "a"], 0.0)])
def test_hit_is_whether_anything_relevant_is_there(ranked: list[str], hit: float) -> None:
    """Grade 0 is no hit, nor is what stands after the cutoff."""
    assert hit == Measure("hit", 2).of(ranked, GRADED)


def test_judged_is_the_share_of_results_that_somebody_graded() -> None:
    """Grade 0 is a judgment too, and only results that are there are counted."""
    assert 2 / 3 == Measure("judged", 10).of(["d", "x", "a"], GRADED)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_returned_measures_nought(kind: str) -> None:
    """And divides by nothing."""
    assert (0, 0) == (Measure(kind, 10).of([], GRADED), Measure(kind).of([], GRADED))


@pytest.mark.parametrize("kind", ["nDCG", "R", "P", "RR", "AP", "hit"])
def test_without_a_relevant_document_all_is_nought(kind: str) -> None:
    """Whether nothing was judged, or only what is not relevant."""
    assert (0, 0) == (Measure(kind, 10).of(["a", "b"], {}), Measure(kind, 10).of(["a", "b"], {"a": 0, "b": -1}))


@settings(max_examples=300)
@given(ranked=rankings, judged=grades, cutoff=st.sampled_from([1, 3, 5, 10]), kind=st.sampled_from(list(TREC)))
def test_measures_are_those_of_trec_eval(ranked: list[str], judged: dict[str, int], cutoff: int, kind: str) -> None:
    """Of any run and any grades; descending scores leave no ties to break."""
    measure = Measure(kind, cutoff if kind in WITH_CUTOFF else None)
    name = TREC[kind] + (f".{cutoff}" if measure.cutoff else "")
    run = {document: float(-rank) for rank, document in enumerate(ranked)}
    theirs = pytrec_eval.RelevanceEvaluator({"q": judged}, {name}).evaluate({"q": run})["q"]

    assert pytest.approx(theirs[name.replace(".", "_")], abs=1e-12) == measure.of(ranked, judged)


@given(ranked=rankings, judged=grades, kind=st.sampled_from(KINDS), cutoff=st.sampled_from([None, 1, 3, 10]))
def test_a_measure_lies_between_nought_and_one(
    ranked: list[str], judged: dict[str, int], kind: str, cutoff: int | None
) -> None:
    """Of any run and any grades."""
    assert 0 <= Measure(kind, cutoff).of(ranked, judged) <= 1 + 1e-12


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("nDCG@10", Measure("nDCG", 10)),
        ("ndcg@10", Measure("nDCG", 10)),
        (" r@5 ", Measure("R", 5)),
        ("MRR@10", Measure("RR", 10)),
        ("map", Measure("AP")),
        ("Hit@1", Measure("hit", 1)),
    ],
)
def test_measures_are_called_by_name(name: str, measure: Measure) -> None:
    """In any case, with or without a cutoff, and by their other names."""
    assert (measure,) == parsed([name])


def test_a_measure_is_called_as_it_was_asked_for() -> None:
    """The default names are read and written alike."""
    assert DEFAULT == tuple(measure.name for measure in parsed(DEFAULT))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "nDCG@",
        "nDCG@0",
        "nDCG@00",
        "nDCG@-1",
        "nDCG@ten",
        "nDCG@1.5",
        "F1@10",
        "@10",
        "R@²",
        "R@١٠",
        "R@" + "9" * 5_000,
    ],
)
def test_an_unknown_measure_is_refused_with_those_there_are(name: str) -> None:
    """The message quotes what was asked for and lists the kinds."""
    with pytest.raises(UsageError) as refused:
        parsed(["R@5", name])

    assert repr(name) in str(refused.value)
    assert "nDCG, R, P, RR, AP, hit, judged" in str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_measure_looks_no_further_than_a_run_keeps(kind: str) -> None:
    """Whether the 101st result is relevant cannot be known from a hundred."""
    assert (Measure(kind, RANKED),) == parsed([f"{kind}@{RANKED}"])

    with pytest.raises(UsageError, match=f"'{kind}@101' looks further than the 100 results a run keeps"):
        parsed([f"{kind}@{RANKED + 1}"])


@pytest.mark.parametrize("name", ["hit", "judged"])
def test_some_measures_mean_nothing_without_a_cutoff(name: str) -> None:
    """The message says how to write one."""
    with pytest.raises(UsageError, match=f"{name}@10"):
        parsed([name])


def test_a_mean_is_the_sum_over_the_count() -> None:
    """Of all the values, noughts too."""
    assert pytest.approx((0.5 + 0.25 + 0) / 3) == mean([0.5, 0.25, 0]).value


def test_a_mean_of_nothing_is_nought() -> None:
    """Without a warning about dividing."""
    assert (0, 0, 0) == mean([])


@given(values=scores)
def test_a_mean_lies_within_its_interval(values: list[float]) -> None:
    """And the interval within the values."""
    found = mean(values)

    assert min(values) - 1e-12 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= max(values) + 1e-12


def test_an_interval_is_that_of_the_normal_distribution_where_there_are_many_values() -> None:
    """400 values with a standard deviation of 0.5: 1.96 · 0.5 / √400 on either side of the mean."""
    found = mean([0.0, 1.0] * 200)

    assert pytest.approx((0.5 - 0.049, 0.5 + 0.049), abs=0.005) == (found.low, found.high)


def test_equal_values_leave_no_doubt() -> None:
    """Their interval has no width."""
    assert (0.75, 0.75, 0.75) == mean([0.75] * 9)


@pytest.mark.parametrize("statistic", [mean, lambda values: difference(values, values[::-1])])
def test_chance_is_the_same_every_time(statistic: Callable[[list[float]], object]) -> None:
    """Two reports on one run never differ."""
    values = [0.1, 0.9, 0.4, 0.35, 0.8]

    assert statistic(values) == statistic(values)


def test_identical_runs_differ_by_chance_alone() -> None:
    """Any signs give a difference as large as none."""
    assert (0, 1, 0, 3, 0) == difference([0.2, 0.4, 0.6], [0.2, 0.4, 0.6])


def test_a_clear_difference_is_hardly_chance() -> None:
    """Better on each of 20 topics: of the signs, two in a million do as well."""
    found = difference([0.2] * 20, [0.7] * 20)

    assert pytest.approx(0.5) == found.mean
    assert found.p < 0.001


def test_few_topics_prove_little() -> None:
    """Three topics have eight ways of signs, and two of them are as one-sided: p is a quarter."""
    assert pytest.approx(2 / 8, abs=0.02) == difference([0.2] * 3, [0.7] * 3).p


def test_p_is_never_nought() -> None:
    """The outcome itself is one of the draws: (0 + 1) / (10,000 + 1)."""
    assert 1 / 10_001 == difference([0.0] * 200, [1.0] * 200).p


def test_wins_ties_and_losses_are_counted_for_b() -> None:
    """Two better, one the same, three worse."""
    found = difference([0, 0, 0.5, 1, 1, 1], [1, 1, 0.5, 0, 0, 0])

    assert (2, 1, 3) == (found.wins, found.ties, found.losses)


@settings(max_examples=50)
@given(scores=pairs)
def test_a_difference_seen_from_the_other_side_is_as_likely(scores: list[tuple[float, float]]) -> None:
    """The mean turns its sign, wins and losses change places, p stays."""
    a, b = [one for one, _ in scores], [two for _, two in scores]
    there, back = difference(a, b), difference(b, a)

    assert (there.p, -there.mean, there.losses, there.wins) == (back.p, back.mean, back.wins, back.losses)


@settings(max_examples=50)
@given(scores=pairs)
def test_p_is_a_probability_and_every_topic_is_counted(scores: list[tuple[float, float]]) -> None:
    """Of any two runs that differ at all."""
    assume(any(one != two for one, two in scores))
    found = difference([one for one, _ in scores], [two for _, two in scores])

    assert 0 < found.p <= 1
    assert len(scores) == found.wins + found.ties + found.losses
