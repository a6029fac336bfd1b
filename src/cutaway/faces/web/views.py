"""What pages need beyond the API's views: a page of results with each one's own way, and a note in stretches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from cutaway.config import AT_SEARCH, Settings, project_value
from cutaway.errors import UsageError
from cutaway.faces.asked import SearchIn
from cutaway.faces.chunk_maps import ChunkMapOut, ChunkOut, MapRowOut
from cutaway.faces.schemas import HitOut, Out, SearchOut
from cutaway.faces.sessions import Session
from cutaway.faces.traces import CandidateOut, StepOut, TraceOut
from cutaway.inspector.journeys import RETURNED, candidates

AT_ONCE = 60
"""Candidates that a page draws and lists at once."""


class PageOut(Out):
    """A page of results, and beside each its way through the stages and how many lines its note has."""

    found: SearchOut
    ways: tuple[CandidateOut, ...]
    lines: tuple[int, ...]


def paged(session: Session, asked: SearchIn) -> PageOut:
    """One search: what the page shows of it, and no candidate that is not on the page."""
    answer = session.answer(asked)
    shown = {hit.id for hit in answer.page}
    seen = {one.row: one for one in candidates(answer) if one.row in shown}
    notes = session.reader.notes({one.note for one in seen.values()})
    held = [notes[seen[hit.id].note] for hit in answer.page]
    return PageOut(
        found=SearchOut.of(answer),
        ways=tuple(CandidateOut.of(answer, seen[hit.id], note) for hit, note in zip(answer.page, held, strict=True)),
        lines=tuple(note.source.count(b"\n") + 1 for note in held),
    )


class Meter(NamedTuple):
    """A named score, and how long its bar is, from 0 to 1."""

    name: str
    unit: str
    value: float
    share: float
    ranks: bool
    """Whether it is what the order is by."""


_NAMES = (
    ("bm25", "lexical", "BM25"),
    ("cosine", "similarity", "cosine"),
    ("fused", "fused", "both legs, joined"),
    ("rerank", "reranked", "the cross-encoder's, from 0 to 1"),
    ("score", "score", "by the formula above"),
)
_BOUNDED = ("cosine", "rerank")


def meters(hit: HitOut, found: SearchOut) -> list[Meter]:
    """A result's scores by name, none of them twice. Scores without a bound are drawn against the page's highest."""
    made, order = list[Meter](), hit.scores["score"]
    for key, name, unit in _NAMES:
        value = hit.scores.get(key)
        if value is None or (key == "score" and any(one.ranks for one in made)):
            continue
        most = 1.0 if key in _BOUNDED else max((one.scores.get(key) or 0 for one in found.hits), default=0) or 1.0
        made.append(Meter(name, unit, value, min(max(value / most, 0), 1), value == order))
    return made


def condensed(journey: Sequence[StepOut]) -> list[tuple[str, StepOut]]:
    """A way through the stages, those that changed nothing named with the one before them.

    What a score is made of is said where it first is.
    """
    made = list[tuple[str, StepOut]]()
    for step in journey:
        last = made[-1][1] if made else None
        if last and (last.rank, last.score, last.mark, step.reason) == (step.rank, step.score, step.mark, None):
            made[-1] = (f"{made[-1][0]}, {step.stage}", last)
        else:
            again = last is not None and last.parts == step.parts
            made.append((step.stage, step.model_copy(update={"parts": {}}) if again else step))
    return made


def best_rows(trace: TraceOut) -> list[CandidateOut]:
    """Each note's candidate that came farthest, in their order."""
    best = dict[tuple[str, str], CandidateOut]()
    for seen in trace.candidates:
        best.setdefault((seen.project, seen.path), seen)
    return list(best.values())


class Fate(NamedTuple):
    """What became of some of the candidates."""

    reason: str
    stage: str
    met_by: int
    nearest: tuple[CandidateOut, ...]


def fates(trace: TraceOut) -> list[Fate]:
    """Every fate that candidates met, in the order in which those that came farthest met them."""
    counts = Counter((seen.fate.reason, seen.fate.stage) for seen in trace.candidates)
    nearest = {key: list[CandidateOut]() for key in counts}
    for seen in trace.candidates:
        held = nearest[seen.fate.reason, seen.fate.stage]
        held += [seen] if len(held) < 5 and seen.fate.reason != RETURNED else []
    return [Fate(*key, count, tuple(nearest[key])) for key, count in counts.items()]


class Window(NamedTuple):
    """Some of the candidates, with their places among all: those of one fate, or all, from one place on."""

    seen: tuple[tuple[int, CandidateOut], ...]
    at: int
    of: int


def window(trace: TraceOut, fate: str, at: str) -> Window:
    """The candidates that a page draws and lists. Raises UsageError."""
    if not (at.isascii() and at.isdigit() and len(at) < 8):
        raise UsageError(f"at: {at!r} is no place among the candidates. Give a number from 0.")
    held = [(place, seen) for place, seen in enumerate(trace.candidates) if fate in ("", seen.fate.reason)]
    return Window(tuple(held[int(at) : int(at) + AT_ONCE]), int(at), len(held))


def changed(settings: Settings, pairs: list[str]) -> Settings:
    """Settings with NAME=VALUE pairs over them, as far as they rank. Raises UsageError."""
    values: dict[str, object] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name not in AT_SEARCH:
            raise UsageError(f"a page cannot change {name!r}. It may change: {', '.join(AT_SEARCH)}.")
        values[name] = project_value(name, value, "this page")
    return settings.model_copy(update=values)


class Piece(NamedTuple):
    """Some text, and the rows that begin with it."""

    text: str
    rows: tuple[MapRowOut, ...]


class Stretch(NamedTuple):
    """A part of a note's source: in a chunk, or skipped, or neither."""

    pieces: tuple[Piece, ...]
    chunk: ChunkOut | None
    row: MapRowOut | None
    skipped: str | None

    @property
    def size(self) -> int:
        """How many characters it has."""
        return sum(len(piece.text) for piece in self.pieces)


def stretches(source: bytes, found: ChunkMapOut) -> list[Stretch]:
    """A note's source from end to end, cut where its chunks and its skipped bytes begin and end."""
    held: list[tuple[int, int, ChunkOut | None, MapRowOut | None, str | None]] = [
        *((chunk.start, chunk.end, chunk, row, None) for row in found.rows for chunk in row.chunks),
        *((skip.start, skip.end, None, None, skip.reason) for skip in found.skipped),
    ]
    begins = dict[int, tuple[MapRowOut, ...]]()
    for one in found.rows:
        if one.kind != "entity":
            begins[one.start] = (*begins.get(one.start, ()), one)
    parts, at = list[Stretch](), 0
    for start, end, chunk, row, reason in sorted(held, key=lambda piece: piece[:2]):
        if at < start:
            parts.append(Stretch(_pieces(source, at, start, begins), None, None, None))
        if start < end:
            parts.append(Stretch(_pieces(source, start, end, begins), chunk, row, reason))
        at = max(at, end)
    if at < len(source):
        parts.append(Stretch(_pieces(source, at, len(source), begins), None, None, None))
    return parts


def _pieces(source: bytes, start: int, end: int, begins: Mapping[int, tuple[MapRowOut, ...]]) -> tuple[Piece, ...]:
    """A range of a note's source, cut where rows begin."""
    cuts = [start, *(at for at in sorted(begins) if start < at < end), end]
    return tuple(Piece(source[first:last].decode("utf-8"), begins.get(first, ())) for first, last in pairwise(cuts))
