"""Two searches compared: what entered, left and moved, how much the orders overlap, and which stage did it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.inspector.diff import Ordered, diff, first_difference, rank_biased_overlap

orders = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=10).map(tuple)


def ordered(order: tuple[str, ...], limit: int = 3) -> Ordered:
    """An order whose first *limit* are the page."""
    return Ordered(order[:limit], order, {name: {"fuse": rank} for rank, name in enumerate(order, start=1)})


@given(a=orders, b=orders)
def test_nothing_is_lost_between_two_pages(a: tuple[str, ...], b: tuple[str, ...]) -> None:
    """What left, moved or stayed was on the first page; what entered, moved or stayed is on the second."""
    found = diff(ordered(a), ordered(b))

    assert len(a[:3]) == len(found.left) + len(found.moved) + found.stayed
    assert len(b[:3]) == len(found.entered) + len(found.moved) + found.stayed
    assert all(shift.before != shift.after for shift in (*found.entered, *found.left, *found.moved))


@given(a=orders)
def test_the_same_order_has_no_difference(a: tuple[str, ...]) -> None:
    """Nothing entered, left or moved; both overlaps are 1."""
    found = diff(ordered(a), ordered(a))

    assert ((), (), (), 1.0, 1.0) == (found.entered, found.left, found.moved, found.jaccard, found.rbo)


@given(a=orders, b=orders)
def test_overlap_is_the_same_both_ways_and_never_beyond_one(a: tuple[str, ...], b: tuple[str, ...]) -> None:
    """RBO is symmetric, between 0 and 1, and 0 only where nothing is shared."""
    there, back = rank_biased_overlap(a, b), rank_biased_overlap(b, a)

    assert there == pytest.approx(back)
    assert 0 <= there <= 1
    assert (there == 0) == (not set(a) & set(b) and bool(a or b))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("ab", "ab", 1.0),
        ("ab", "cd", 0.0),
        # (1-p)/p · (0/1·p + 2/2·p²) + 2/2·p² with p = .9
        ("ab", "ba", 0.1 / 0.9 * 0.81 + 0.81),
        # X = 1, 1 at depths 1 and 2: (1-p)/p · (1·p + 1/2·p²) + 1/2·p²
        ("ab", "ac", 0.1 / 0.9 * (0.9 + 0.405) + 0.405),
        # the shorter ends at 1: X_1 = 1, X_2 = 1; the tail adds X_s·(d-s)/(s·d)·p^d = 1/2·p²
        ("a", "ab", 0.1 / 0.9 * (0.9 + 0.405 + 0.405) + (0 / 2 + 1 / 1) * 0.81),
    ],
)
def test_rank_biased_overlap_by_hand(a: str, b: str, expected: float) -> None:
    """The formula of Webber, Moffat and Zobel, spelled out."""
    assert rank_biased_overlap(tuple(a), tuple(b)) == pytest.approx(expected, abs=1e-8)


def test_a_difference_near_the_top_weighs_more() -> None:
    """Swapping the first two overlaps less than swapping the last two."""
    first, last = (rank_biased_overlap(tuple("abcdef"), tuple(other)) for other in ("bacdef", "abcdfe"))

    assert first < last < 1


def test_the_farthest_mover_comes_first() -> None:
    """By places, then by name."""
    found = diff(ordered(tuple("abcd"), 4), ordered(tuple("dabc"), 4))

    assert ["d", "a", "b", "c"] == [shift.name for shift in found.moved]


@pytest.mark.parametrize(
    ("a", "b", "stage"),
    [
        ({"match": 1, "fuse": 2}, {"match": 1, "fuse": 3}, "fuse"),
        ({"match": 1, "threshold": 4, "fuse": 2}, {"match": 1, "threshold": None, "fuse": 3}, "threshold"),
        ({"match": 1}, {"match": 1}, None),
        ({}, {"match": 1}, "match"),
        ({"match": 1, "fuse": 2}, {"match": 1, "fuse_ranks": 1}, "fuse"),
    ],
)
def test_the_first_stage_to_differ(a: dict[str, int | None], b: dict[str, int | None], stage: str | None) -> None:
    """Ranks after each stage; falling somewhere is a difference too."""
    assert stage == first_difference(a, b)
