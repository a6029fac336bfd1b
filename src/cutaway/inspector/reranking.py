"""What reranking did to an order. Computes nothing; regroups the record."""

from __future__ import annotations

from typing import Any, NamedTuple

from cutaway.model import RowId
from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.tracing import Stage


class Place(NamedTuple):
    """A rank and the score that gave it."""

    rank: int
    score: float


class Movement(NamedTuple):
    """A result that the cross-encoder read: where it stood, what it was given, where it stands."""

    row: RowId
    before: Place
    read: Place
    after: Place
    remembered: bool

    @property
    def moved(self) -> int:
        """How many places it rose; below zero where it fell."""
        return self.before.rank - self.after.rank


class Reranked(NamedTuple):
    """One call of the cross-encoder, as the search recorded it."""

    movements: tuple[Movement, ...]
    """In the new order."""
    tail: int
    """How many results follow that it did not read."""
    seconds: float | None
    """What the call took; None where none was made."""
    fallback: str | None
    """Why the fused order stands although reranking was wanted."""


def reranked(answer: Answer) -> Reranked:
    """What the record says of reranking."""
    read = next((step for step in answer.stages if step.name == "rerank"), None)
    if read is None:
        return Reranked((), len(answer.ranking.kept), None, answer.plan.reranking.unavailable)
    if not answer.reranked:
        return Reranked((), len(answer.ranking.kept), read.seconds, read.remark)
    before = next(step for step in answer.stages if step.name == "quote")
    marks = {hit.id: hit.mark for hit in read.kept}
    movements = [
        Movement(
            row=hit.id,
            before=_place(before, hit.id),
            read=_place(read, hit.id),
            after=_place(answer.ranking, hit.id),
            remembered=marks[hit.id] == "remembered",
        )
        for hit in answer.ranking.kept
        if hit.id in marks
    ]
    return Reranked(tuple(movements), len(read.dropped), read.seconds, None)


def _place(step: Stage[Any], row: RowId) -> Place:
    return Place(step.ranks[row], step.scores[row])
