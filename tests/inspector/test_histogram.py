"""Counts in ranges that a person can read off, holding everything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.inspector.histogram import BINS, Histogram, spread

similarities = st.lists(st.integers(-1000, 1000).map(lambda thousandth: thousandth / 1000), min_size=1, max_size=30)


def of(values: Sequence[float]) -> Histogram:
    return spread(lambda edges: [int(count) for count in np.histogram(values, edges)[0]])


@given(similarities)
def test_everything_is_in_one_of_twenty_ranges(values: list[float]) -> None:
    """Wherever the values lie: nothing falls out, and no range is wider than another."""
    bars = of(values)
    widths = {round(high - low, 9) for low, high in zip(bars.edges, bars.edges[1:], strict=False)}

    assert (BINS, BINS + 1, len(values), 1) == (len(bars.counts), len(bars.edges), sum(bars.counts), len(widths))
    assert -1 <= bars.edges[0] <= min(values)
    assert max(values) <= bars.edges[-1] <= 1


@given(similarities)
def test_each_range_counts_what_lies_in_it(values: list[float]) -> None:
    """From its edge up to the next; one and the same count as by hand."""
    bars = of(values)
    last = len(bars.counts) - 1
    for place, (low, high) in enumerate(zip(bars.edges, bars.edges[1:], strict=False)):
        inside = [value for value in values if low <= value < high or (place == last and value == high)]
        assert len(inside) == bars.counts[place]


@pytest.mark.parametrize(
    ("values", "edges"),
    [([0.5], (0.31, 0.51)), ([0.401, 0.6], (0.21, 0.61)), ([1.0], (0.8, 1.0)), ([-1.0, 1.0], (-1.0, 1.0))],
)
def test_ranges_are_whole_hundredths_and_as_narrow_as_they_can_be(
    values: list[float], edges: tuple[float, float]
) -> None:
    """Nothing is left above the highest value but the rest of its range."""
    bars = of(values)

    assert edges == pytest.approx((bars.edges[0], bars.edges[-1]))
