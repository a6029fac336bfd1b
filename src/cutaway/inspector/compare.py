"""Why one result beats another: two candidates of one search side by side, down to what each term gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cutaway.inspector.journeys import Candidate, Step
from cutaway.retrieval.tracing import InField

_REORDERING = ("weigh", "blend", "replace_scores")
_WORDS = ("complete_lexical", "match")
_SIMILAR = ("complete_similarity", "collapse")
_DIGITS = 9


class Part(NamedTuple):
    """A named part of a score, of both. The differences of all parts add up to that of the score."""

    name: str
    a: float
    b: float

    @property
    def difference(self) -> float:
        return round(self.a - self.b, _DIGITS)


class AtStage(NamedTuple):
    """Where both stood after a stage; None where one was not there (any more)."""

    stage: str
    a: Step | None
    b: Step | None


@dataclass(frozen=True, slots=True)
class Versus:
    """A against B."""

    score: Part
    parts: tuple[Part, ...]
    """What the final scores are made of."""
    bm25: Part
    terms: tuple[tuple[InField, Part], ...]
    """What the lexical scores are made of: each term, in each field."""
    cosine: Part
    stages: tuple[AtStage, ...]
    decided: str | None
    """The first stage after which the one that ends up ahead was ahead; None where they end up level."""


def versus(a: Candidate, b: Candidate) -> Versus:
    """Two candidates of the same answer, compared at every stage."""
    ours, theirs = score_parts(a), score_parts(b)
    mine, yours = dict(a.terms), dict(b.terms)
    words = {where: Part(str(where), mine.get(where, 0.0), yours.get(where, 0.0)) for where in {**mine, **yours}}
    return Versus(
        score=Part("score", final(a), final(b)),
        parts=tuple(Part(name, ours.get(name, 0.0), theirs.get(name, 0.0)) for name in {**ours, **theirs}),
        bm25=Part("bm25", _score(a, _WORDS), _score(b, _WORDS)),
        terms=tuple(words.items()),
        cosine=Part("cosine", _score(a, _SIMILAR), _score(b, _SIMILAR)),
        stages=tuple(_stages(a, b)),
        decided=_decided(a, b),
    )


def final(candidate: Candidate) -> float:
    """The score a candidate ends up with, where it fell or on the page."""
    return candidate.steps[-1].score if candidate.steps else candidate.chunks[0].steps[-1].score


def score_parts(candidate: Candidate) -> dict[str, float]:
    """What a final score is made of, down to the two legs; the parts add up to it.

    A row that queues behind the prefix has its place for a score: that is one part, ``queue``.
    """
    parts: dict[str, float] = {}
    for step in candidate.steps:
        if step.mark == "slid":
            parts = {"queue": step.score}
        elif step.stage in _REORDERING and step.parts:
            own = {str(name): share for name, share in step.parts}
            fused = {"fused": own.pop("fused")} if "fused" in own else {}
            parts = {**(parts or fused), **own} if fused else own
        elif step.parts and not isinstance(step.parts[0][0], InField):
            parts = {str(name): share for name, share in step.parts}
    return parts or {"score": final(candidate)}


def _stages(a: Candidate, b: Candidate) -> list[AtStage]:
    ours, theirs = ({step.stage: step for step in candidate.steps} for candidate in (a, b))
    return [AtStage(stage, ours.get(stage), theirs.get(stage)) for stage in dict.fromkeys([*ours, *theirs])]


def _decided(a: Candidate, b: Candidate) -> str | None:
    """The stage from which on the leader never fell behind again."""
    leads = [
        (at.stage, at.a.rank < at.b.rank)
        for at in _stages(a, b)
        if at.a and at.b and at.a.rank is not None and at.b.rank is not None
    ]
    decided = None
    for stage, ahead in reversed(leads):
        if ahead != leads[-1][1]:
            break
        decided = stage
    return decided


def _score(candidate: Candidate, stages: tuple[str, ...]) -> float:
    found = {step.stage: step.score for step in candidate.steps if step.rank is not None}
    return next((found[stage] for stage in stages if stage in found), 0.0)
