"""Geometry of the pictures, from what the API gives: where lines and bars are, and what each is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cutaway.faces.neighbours import HistogramOut
from cutaway.faces.traces import CandidateOut, TraceOut
from cutaway.inspector.journeys import RETURNED

MOST_LINES, DEEPEST = 60, 50
"""Candidates drawn, and the rank below which all are drawn at the bottom."""
_WIDTH, _ROW, _TOP, _SIDE = 960, 11, 30, 60
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


class Column(NamedTuple):
    """A stage that ranks."""

    x: float
    name: str
    stage: str


class Line(NamedTuple):
    """A candidate's way: points where it was ranked, and what became of it."""

    place: int
    label: str
    title: str
    points: str
    dots: tuple[tuple[float, float, int], ...]
    fate: str
    returned: bool


class Flow(NamedTuple):
    """The rank-flow chart."""

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    width: int
    height: int
    left_out: int


def flow(trace: TraceOut) -> Flow:
    """Each candidate's rank from stage to stage, those returned first."""
    ran = [step.name for step in trace.stages if step.name in _COLUMNS]
    gap = (_WIDTH - 2 * _SIDE) / max(len(ran) - 1, 1)
    columns = tuple(Column(_SIDE + place * gap, _COLUMNS[name], name) for place, name in enumerate(ran))
    drawn = trace.candidates[:MOST_LINES]
    lines = tuple(_line(place, seen, columns, trace) for place, seen in enumerate(drawn))
    deepest = max((rank for line in lines for *_, rank in line.dots), default=1)
    height = round(_TOP + (min(deepest, DEEPEST) + 2) * _ROW)
    return Flow(columns, lines, _WIDTH, height, len(trace.candidates) - len(drawn))


def _line(place: int, seen: CandidateOut, columns: Sequence[Column], trace: TraceOut) -> Line:
    ranks = {step.stage: step.rank for step in seen.journey if step.rank is not None}
    offset = int(trace.plan["offset"])
    dots = []
    for column in columns:
        rank = ranks.get(column.stage)
        if rank is not None:
            rank += offset if column.stage == "cut" else 0
            dots.append((round(column.x, 1), _TOP + min(rank, DEEPEST + 1) * _ROW, rank))
    points = " ".join(f"{x},{y}" for x, y, _ in dots)
    returned = seen.fate.reason == RETURNED
    fate = RETURNED if returned else seen.fate.stage
    return Line(place, seen.label, seen.title, points, tuple(dots), fate, returned)


class Bar(NamedTuple):
    """One range of a histogram."""

    x: float
    y: float
    width: float
    height: float
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
        height = 100 * (count / most) ** 0.5  # a root, or a few close ones could not be seen beside many far ones
        marked = lowest_listed is not None and high > lowest_listed
        said = f"cosine {low:.2f} to {high:.2f}: {count:,}"
        made.append(Bar((place - first) * width, 100 - height, max(width - 1, 0.5), height, said, marked))
    return tuple(made)
