"""Vectors as points of a plane."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.inspector.picture import flattened

WIDE = st.lists(st.lists(st.floats(-1, 1), min_size=5, max_size=5), min_size=1, max_size=12)


@given(vectors=WIDE)
def test_every_vector_has_a_point_inside_the_frame(vectors: list[list[float]]) -> None:
    points = flattened([np.array(vector, np.float32) for vector in vectors])

    assert len(vectors) == len(points)
    assert all(-1 <= value <= 1 for point in points for value in point)
    assert points == flattened([np.array(vector, np.float32) for vector in vectors])


def test_what_differs_most_is_drawn_across() -> None:
    """Three in a row stay in a row, at their distances; which way round is always the same."""
    row = [np.array([0.1, place, 0.0, 0.5], np.float32) for place in (0.0, 1.0, 4.0)]
    (a, _), (b, _), (c, _) = flattened(row)

    assert a < b < c
    assert 1 / 3 == pytest.approx((b - a) / (c - b), abs=0.01)


def test_vectors_that_are_all_the_same_lie_on_one_point() -> None:
    assert {(0.0, 0.0)} == set(flattened([np.ones(3, np.float32)] * 4))
