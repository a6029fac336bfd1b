"""Geometry of the pictures, from what the API gives: where lines and bars are, and what each is called."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple

from cutaway.faces.neighbours import HistogramOut
from cutaway.faces.traces import CandidateOut, TraceOut
from cutaway.faces.web.views import Window
from cutaway.inspector.journeys import RETURNED

_WIDTH, _TOP, _DEPTH, _LEFT, _RIGHT = 1120, 46, 380, 64, 250
_LANE = _TOP + _DEPTH + 34
"""Where a leg has those that it did not find."""
_BETWEEN_LABELS = 10
_COLUMNS = {
    "match": "words",
    "collapse": "meaning",
    "fuse": "fused",
    "fuse_ranks": "fused",
    "weigh": "weighed",
    "group": "notes",
    "blend": "reranked",
    "replace_scores": "reranked",
    "cut": "page",
}
_LEGS = ("match", "collapse")
_TICKS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)


class Column(NamedTuple):
    """A stage that ranks."""

    x: float
    name: str
    stage: str


class Line(NamedTuple):
    """A candidate's way: its rank in each column, points where it was, and what became of it."""

    place: int
    seen: CandidateOut
    ranks: tuple[int | None, ...]
    points: str
    dots: tuple[tuple[float, float, bool], ...]
    """Where it was, and whether it was ranked there, or a leg did not find it."""
    returned: bool
    labelled: bool


class Flow(NamedTuple):
    """The rank-flow chart: ranks from top to bottom, as wide apart as their logarithms."""

    columns: tuple[Column, ...]
    ticks: tuple[tuple[int, float], ...]
    lines: tuple[Line, ...]
    width: int
    height: int
    lane: int


def flow(trace: TraceOut, drawn: Window) -> Flow:
    """The rank of some candidates from stage to stage."""
    ran = [step.name for step in trace.stages if step.name in _COLUMNS]
    gap = (_WIDTH - _LEFT - _RIGHT) / max(len(ran) - 1, 1)
    columns = tuple(Column(_LEFT + place * gap, _COLUMNS[name], name) for place, name in enumerate(ran))
    ranks = [(place, seen, _ranks(seen, columns, int(trace.plan["offset"]))) for place, seen in drawn.seen]
    deepest = max((rank for *_, held in ranks for rank in held if rank), default=1)
    lines, labelled_to = list[Line](), 0.0
    for place, seen, held in ranks:
        dots = _dots(columns, held, max(deepest, 10))
        returned = seen.fate.reason == RETURNED
        labelled = returned and bool(dots) and dots[-1][1] >= labelled_to
        labelled_to = dots[-1][1] + _BETWEEN_LABELS if labelled else labelled_to
        points = " ".join(f"{x},{y}" for x, y, _ in dots)
        lines.append(Line(place, seen, held, points, dots, returned, labelled))
    ticks = tuple((rank, _y(rank, max(deepest, 10))) for rank in _TICKS if rank <= max(deepest, 10))
    return Flow(columns, ticks, tuple(lines), _WIDTH, _LANE + 20, _LANE)


def _ranks(seen: CandidateOut, columns: Sequence[Column], offset: int) -> tuple[int | None, ...]:
    """A candidate's rank in each column; on the page, its place over all pages."""
    held = {step.stage: step.rank for step in seen.journey if step.rank is not None}
    if "cut" in held:
        held["cut"] += offset
    return tuple(held.get(column.stage) for column in columns)


def _dots(
    columns: Sequence[Column], ranks: Sequence[int | None], deepest: int
) -> tuple[tuple[float, float, bool], ...]:
    """Where a candidate was; in a leg that did not find it, in the lane below, so that its line passes there."""
    last = max((place for place, rank in enumerate(ranks) if rank), default=-1)
    dots = []
    for column, rank in zip(columns[: last + 1], ranks, strict=False):
        if rank is not None:
            dots.append((round(column.x, 1), _y(rank, deepest), True))
        elif column.stage in _LEGS:
            dots.append((round(column.x, 1), float(_LANE), False))
    return tuple(dots)


def _y(rank: int, deepest: int) -> float:
    return round(_TOP + _DEPTH * log(rank) / log(deepest), 1)


class Bar(NamedTuple):
    """One range of a histogram."""

    x: float
    y: float
    width: float
    height: float
    low: float
    high: float
    said: str
    marked: bool


def bars(found: HistogramOut, lowest_listed: float | None) -> tuple[Bar, ...]:
    """The ranges from the first to the last that has any, those that hold listed neighbours marked."""
    filled = [place for place, count in enumerate(found.counts) if count]
    if not filled:
        return ()
    first, last, most = filled[0], filled[-1], max(found.counts)
    width = 600 / (last - first + 1)
    made = []
    for place in range(first, last + 1):
        low, high, count = found.edges[place], found.edges[place + 1], found.counts[place]
        height = 200 * (count / most) ** 0.5  # a root, or a few close ones could not be seen beside many far ones
        marked = lowest_listed is not None and high > lowest_listed
        said = f"cosine {low:.2f} to {high:.2f}: {count:,}"
        made.append(Bar((place - first) * width, 200 - height, max(width - 1, 0.5), height, low, high, said, marked))
    return tuple(made)


def plane(picture: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Points as large as a picture of 280 by 190 around its middle lets them be, both directions alike."""
    if not picture:
        return ()
    (left, right), (low, high) = ((min(axis), max(axis)) for axis in zip(*picture, strict=True))
    scale = min(280 / max(right - left, 1e-9), 190 / max(high - low, 1e-9))
    middle = (left + right) / 2, (low + high) / 2
    return tuple((round((x - middle[0]) * scale, 1), round((middle[1] - y) * scale, 1)) for x, y in picture)
