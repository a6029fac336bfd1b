"""Grids of settings: every combination tried, the winner chosen on one half of the topics and held to the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.config import Settings
from cutaway.errors import SettingsError, UsageError
from cutaway.evaluation.judged import JudgedSet, Topic
from cutaway.evaluation.measures import Measure, mean
from cutaway.evaluation.runs import Hit, Run, TopicRun
from cutaway.evaluation.sweep import MOST, Swept, chosen, grid, split

RR = Measure("RR", 10)
RANKED = {1.0: "r", 0.5: "xr", 0.0: "x"}
"""A ranking by its reciprocal rank; `r` is the relevant document."""
names = st.sets(st.text(min_size=1), min_size=4, max_size=20)


def judged(*ids: str) -> JudgedSet:
    """Topics with one relevant document each."""
    return JudgedSet(tuple(Topic(name, name) for name in ids), {name: {"r": 1} for name in ids})


def run(label: str, **scores: float) -> Run:
    """A run whose topics have these reciprocal ranks."""
    hits = {name: tuple(Hit(letter, 1.0) for letter in RANKED[score]) for name, score in scores.items()}
    return Run(label, "", {}, {}, tuple(TopicRun(name, name, hits[name], {"r": 1}, {}, {}) for name in scores))


def swept(*runs: Run) -> Swept:
    """The choice where `a` and `b` are the topics to choose by."""
    return chosen(runs, RR, frozenset({"a", "b"}))


def test_a_grid_is_every_combination_after_the_settings_as_they_are() -> None:
    """Each called by what was changed."""
    points = grid(Settings(limit=7), {"window": ["100", "300"], "fusion": ["rrf", "dismax-0.3"]})
    labels = [f"window={window} fusion={fusion}" for window in (100, 300) for fusion in ("rrf", "dismax-0.3")]

    assert ["as set", *labels] == list(points)
    assert Settings(limit=7) == points["as set"]
    assert Settings(limit=7, window=300, fusion="rrf") == points["window=300 fusion=rrf"]


def test_a_key_survives_the_grid() -> None:
    """A sweep asks the same endpoint as a search does."""
    (_, point) = grid(Settings(rerank_key="hush"), {"rerank": ["true"]}).values()  # type: ignore[arg-type]

    assert "hush" == (point.rerank_key and point.rerank_key.get_secret_value())


@pytest.mark.parametrize("axes", [{"window": ["100", "5"]}, {"windows": ["100"]}, {"fusion": ["rrf", "cold"]}])
def test_a_setting_or_value_that_there_is_not_is_refused(axes: dict[str, list[str]]) -> None:
    """Before anything is run; the message names it and where it stood."""
    with pytest.raises(SettingsError, match=f"in this sweep: {next(iter(axes))}"):
        grid(Settings(), axes)


def test_a_grid_may_be_so_large() -> None:
    """All of it is tried."""
    assert MOST + 1 == len(grid(Settings(), {"window": list(map(str, range(10, 10 + MOST // 2))), "limit": ["1", "2"]}))


def test_a_grid_that_is_too_large_is_refused_with_its_size() -> None:
    """Rather than run for hours. It is counted before a setting is looked at."""
    with pytest.raises(UsageError, match="the grid has 1,000 combinations; at most 500"):
        grid(Settings(), {"window": ["0"] * 10, "limit": ["0"] * 10, "saturation": ["0"] * 10})


@given(ids=names)
def test_a_split_has_every_topic_on_one_side(ids: set[str]) -> None:
    """Neither twice nor nowhere."""
    train, test = split(judged(*ids))

    assert ids == train | test
    assert frozenset() == train & test


@given(ids=names, share=st.sampled_from([0.25, 0.5, 0.75]))
def test_a_split_is_the_same_whatever_the_order_of_topics(ids: set[str], share: float) -> None:
    """A topic's side is its own."""
    there, back = (split(judged(*sorted(ids, reverse=turned)), share) for turned in (False, True))

    assert there == back


def test_a_split_is_as_large_as_was_asked_for() -> None:
    """Three quarters of twenty to choose by; a topic without a relevant document is on no side."""
    topics = judged(*map(str, range(20)))
    with_junk = JudgedSet((*topics.topics, Topic("junk", "junk")), {**topics.qrels, "junk": {"r": 0}})
    train, test = split(with_junk, 0.75)

    assert (15, 5) == (len(train), len(test))
    assert "junk" not in train | test


def test_a_split_is_not_by_the_order_of_ids() -> None:
    """Sets are often sorted by difficulty or source."""
    train, _ = split(judged(*(f"{number:03}" for number in range(100))))

    assert 15 < len([name for name in train if name < "050"]) < 35


@pytest.mark.parametrize(("ids", "share"), [(["a"], 0.5), ([], 0.5), (["a", "b", "c"], 0.1), (["a", "b", "c"], 0.9)])
def test_too_few_topics_are_not_split(ids: list[str], share: float) -> None:
    """With nothing on one side there is nothing to choose or to confirm by."""
    with pytest.raises(UsageError, match=f"{len(ids)} topics with a relevant document are too few"):
        split(judged(*ids), share)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 1.5, float("nan"), float("inf"), float("-inf")])
def test_a_share_that_leaves_nothing_on_one_side_is_refused(share: float) -> None:
    """However many topics there are."""
    with pytest.raises(UsageError, match=f"--train is {share:g}; it must be more than 0 and less than 1"):
        split(judged(*map(str, range(20))), share)


def test_the_winner_is_chosen_on_the_training_topics_alone() -> None:
    """Though another is better on the test topics, and on all of them together."""
    winner, other = run("winner", a=1.0, b=0.5, c=0.0, d=0.0), run("other", a=0.5, b=0.5, c=1.0, d=1.0)
    found = swept(run("as set", a=0.0, b=0.0, c=0.0, d=0.0), other, winner)

    assert "winner" == found.winner
    assert ["winner", "other", "as set"] == [point.label for point in found.points]


def test_points_are_measured_on_the_training_topics() -> None:
    """With their intervals; here reciprocal ranks of 1 and 1/2."""
    found = swept(run("as set", a=1.0, b=0.5, c=0.0))

    assert mean([1.0, 0.5]) == found.points[0].train


def test_the_winner_is_measured_on_the_other_topics() -> None:
    """And the settings as they are beside it, and none else: looking at more would be choosing by them."""
    base, better, worse = run("as set", a=0.5, b=0.0, c=1.0), run("new", a=1.0, b=0.0, c=0.5), run("bad", a=0, b=0, c=0)
    found = swept(base, better, worse)

    assert {"new": mean([0.5]), "as set": mean([1.0])} == found.test
    assert (-0.5, 0, 0, 1) == (found.gain.mean, *found.gain[2:])


def test_of_equals_the_earlier_one_wins() -> None:
    """So the settings as they are stay where nothing is better."""
    found = swept(run("as set", a=0.5, b=0.5, c=0.0), run("new", a=0.5, b=0.5, c=1.0))

    assert ("as set", "as set") == (found.winner, found.baseline)
    assert ["as set"] == list(found.test)
    assert (0, 1) == found.gain[:2]
