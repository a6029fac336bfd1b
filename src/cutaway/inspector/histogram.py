"""How similar a whole scope is to something: counts in ranges that a person can read off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

BINS = 20
_STEPS = 100  # the finest range is a hundredth
_EDGES = [step / _STEPS for step in range(-_STEPS, _STEPS + 1)]


class Histogram(NamedTuple):
    """Counts of similarities from one edge to the next; an edge belongs to the range above it."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


def spread(count: Callable[[Sequence[float]], Sequence[int]]) -> Histogram:
    """Twenty ranges of the same width, in whole hundredths, that hold everything.

    *count* gives how many there are between edges; it is asked once.
    """
    fine = count(_EDGES)
    filled = [place for place, number in enumerate(fine) if number]
    first, last = (filled[0], filled[-1]) if filled else (0, 0)
    width = -(-(last - first + 1) // BINS)
    start = max(0, last + 1 - BINS * width)
    places = range(start, start + BINS * width, width)
    edges = tuple(_EDGES[place] for place in (*places, start + BINS * width))
    return Histogram(edges, tuple(sum(fine[place : place + width]) for place in places))
