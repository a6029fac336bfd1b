"""Arithmetic of byte ranges: what they cover, what they leave."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from cutaway.model import Skip, Span


def covers(spans: Sequence[Span], position: int) -> bool:
    """Whether one of these ordered spans holds a byte."""
    place = bisect_right(spans, (position, sys.maxsize)) - 1
    return place >= 0 and position < spans[place].end


def remaining(span: Span, taken: tuple[Skip, ...] | tuple[Span, ...]) -> Iterator[Span]:
    """What is left of a span when ordered, disjoint spans are taken out."""
    position = span.start
    for part in taken:
        if part.end <= position or part.start >= span.end:
            continue
        if part.start > position:
            yield Span(position, part.start)
        position = max(position, part.end)
    if position < span.end:
        yield Span(position, span.end)


def apart(skips: Iterable[Skip]) -> Iterator[Skip]:
    """Ordered skips with overlaps given to the first."""
    position = 0
    for skip in skips:
        if skip.end > position:
            yield skip._replace(start=max(skip.start, position))
            position = skip.end
