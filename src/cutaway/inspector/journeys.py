"""Each candidate's way through a search. Computes nothing; regroups the record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from cutaway.model import ChunkId, NoteId, RowId
from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.tracing import Id, InField, Stage

RETURNED = "returned"
_SAME_NOTE = "a better row of the same note"


class Step(NamedTuple):
    """Where a candidate stood after one stage, or why it fell there (then it has no rank)."""

    stage: str
    rank: int | None
    score: float
    reason: str | None = None
    mark: str | None = None
    parts: tuple[tuple[str | InField, float], ...] = ()


class Fate(NamedTuple):
    """What became of a candidate: returned, or the stage and reason where it fell, and what it lacked."""

    stage: str
    reason: str
    margin: float | None


class ChunkTrail(NamedTuple):
    """A chunk the vector leg found, and its own way."""

    id: ChunkId
    steps: tuple[Step, ...]


class Candidate(NamedTuple):
    """A row that some stage saw."""

    row: RowId
    note: NoteId
    fate: Fate
    steps: tuple[Step, ...]
    chunks: tuple[ChunkTrail, ...]
    terms: tuple[tuple[InField, float], ...]
    """What each term gave the lexical score, field by field; they add up to it."""


def journeys(stages: Iterable[Stage[Any]]) -> dict[Id, list[Step]]:
    """Each id's path through the stages, in order."""
    paths: dict[Id, list[Step]] = {}
    for stage in stages:
        for rank, hit in enumerate(stage.kept, start=1):
            step = Step(stage.name, rank, hit.score, mark=hit.mark, parts=hit.parts)
            paths.setdefault(hit.id, []).append(step)
        for out in stage.dropped:
            paths.setdefault(out.id, []).append(Step(stage.name, None, out.score, out.reason))
    return paths


def candidates(answer: Answer) -> list[Candidate]:
    """Every row seen, those returned first in their order, then the others by how far they came."""
    entries = answer.evidence.entries
    paths = journeys(answer.stages)
    chunks: dict[RowId, list[ChunkTrail]] = {}
    for seen, steps in paths.items():
        if not isinstance(seen, RowId) and seen in entries:
            chunks.setdefault(entries[seen].row, []).append(ChunkTrail(seen, tuple(steps)))
    rows = dict.fromkeys([seen for seen in paths if isinstance(seen, RowId)] + list(chunks))
    found = [
        Candidate(
            row=row,
            note=answer.evidence.notes[row],
            fate=fate(answer, row, [trail.id for trail in chunks.get(row, ())]),
            steps=tuple(paths.get(row, ())),
            chunks=tuple(chunks.get(row, ())),
            terms=_terms(answer.stages, row),
        )
        for row in rows
    ]
    return sorted(found, key=lambda candidate: (*_reached(answer, candidate), candidate.row))


def misses(answer: Answer, seen: Iterable[Candidate] | None = None) -> list[Candidate]:
    """Candidates inside the windows whose note (or row) is on no page up to this one's end, nearest first.

    Who has the candidates already may give them.
    """
    shown = {answer.evidence.notes[hit.id] for hit in answer.ranking.kept[: answer.plan.offset + answer.plan.limit]}
    found = []
    for candidate in candidates(answer) if seen is None else seen:
        superseded = candidate.fate.reason == _SAME_NOTE or (answer.plan.group == "note" and candidate.note in shown)
        if candidate.fate.reason not in (RETURNED, "on an earlier page") and not superseded:
            found.append(candidate)
    return found


def fate(answer: Answer, row: RowId, chunks: Iterable[ChunkId]) -> Fate:
    """What became of a row: the last thing that the record says of it, or of its chunks."""
    if row in answer.stages[-1].ranks:
        return Fate("cut", RETURNED, None)
    for wanted in ((row,), tuple(chunks)):
        for stage in reversed(answer.stages):
            places = [stage.fell[seen] for seen in wanted if seen in stage.fell]
            if places:
                out = stage.dropped[min(places)]
                return Fate(stage.name, out.reason, out.margin)
    raise LookupError(f"{row} vanished from the trace")


def named_scores(answer: Answer, row: RowId) -> dict[str, float | None]:
    """A row's scores by name, as the search recorded them: in the two legs, fused, and by the cross-encoder."""
    return {
        "bm25": _score(answer.stages, ("complete_lexical", "match"), row),
        "cosine": _score(answer.stages, ("complete_similarity", "collapse"), row),
        "fused": _score(answer.stages, ("quote",), row),
        "rerank": _score(answer.stages, ("rerank",), row),
    }


def _score(stages: tuple[Stage[Any], ...], names: tuple[str, ...], row: RowId) -> float | None:
    held = (step.scores[row] for name in names for step in stages if step.name == name and row in step.scores)
    return next(held, None)


def _terms(stages: tuple[Stage[Any], ...], row: RowId) -> tuple[tuple[InField, float], ...]:
    legs = [step for step in stages if step.name in ("match", "complete_lexical")]
    parts = next((step.kept[step.ranks[row] - 1].parts for step in legs if row in step.ranks), ())
    return tuple((name, share) for name, share in parts if isinstance(name, InField))


def _reached(answer: Answer, candidate: Candidate) -> tuple[int, int, float]:
    """How far a candidate came: its place in the final order, else its last stage and its margin there."""
    order = answer.ranking.ranks
    stages = [step.name for step in answer.stages]
    margin = candidate.fate.margin if candidate.fate.margin is not None else float("inf")
    return order.get(candidate.row, len(order) + 1), -stages.index(candidate.fate.stage), margin
