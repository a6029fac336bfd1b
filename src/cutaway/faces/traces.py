"""The JSON of the inspector: searches as executed."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from pydantic import Field

from cutaway.faces.schemas import ConditionOut, DegradedOut, HitOut, Out, RowOut, SearchOut
from cutaway.index.cards import NoteCard
from cutaway.index.schema import FIELD_COLUMNS
from cutaway.inspector.journeys import Candidate, candidates
from cutaway.inspector.reranking import reranked
from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.tracing import Stage


class StageOut(Out):
    """One executed stage, counted."""

    name: str
    received: int = Field(alias="in")
    kept: int
    dropped: int
    reasons: dict[str, int]
    settings: dict[str, Any]
    remark: str | None
    ms: float

    @classmethod
    def of(cls, stage: Stage[Any]) -> StageOut:
        return cls(
            name=stage.name,
            **{"in": stage.received},
            kept=len(stage.kept),
            dropped=len(stage.dropped),
            reasons=dict(Counter(out.reason for out in stage.dropped)),
            settings=dict(stage.settings),
            remark=stage.remark,
            ms=round(stage.seconds * 1000, 3),
        )


class StepOut(Out):
    stage: str
    rank: int | None
    score: float
    reason: str | None
    mark: str | None
    parts: dict[str, float]


class TermOut(Out):
    """What a term gave a row's lexical score in one field."""

    term: str
    field: str
    contribution: float


class QueryTermOut(Out):
    """A term of the query as the lexical leg found it."""

    term: str
    words: tuple[str, ...] = Field(description="The words it was found by, itself first; none are listed for a prefix.")
    idf: float = Field(description="Its weight; 0 where no note holds it.")
    notes: int = Field(description="How many notes of the scope hold it.")

    @classmethod
    def all_of(cls, answer: Answer) -> tuple[QueryTermOut, ...]:
        bm25 = answer.evidence.bm25
        terms = bm25.terms if bm25 else ()
        return tuple(
            cls(term=str(term), words=bm25.words(term), idf=bm25.idf[term], notes=bm25.holders(term))
            for term in terms
            if bm25
        )


class FateOut(Out):
    stage: str
    reason: str
    margin: float | None


class CandidateChunkOut(Out):
    id: int
    ordinal: int
    lines: tuple[int, int]
    journey: tuple[StepOut, ...]


class CandidateOut(Out):
    """A row that some stage saw, and its whole way."""

    row: RowOut
    path: str
    title: str
    fate: FateOut
    journey: tuple[StepOut, ...]
    chunks: tuple[CandidateChunkOut, ...]
    terms: tuple[TermOut, ...]

    @classmethod
    def of(cls, answer: Answer, candidate: Candidate, note: NoteCard) -> CandidateOut:
        entries = answer.evidence.entries
        return cls(
            row=RowOut.of(candidate.row),
            path=note.path,
            title=note.title,
            fate=FateOut(**candidate.fate._asdict()),
            journey=_steps(candidate.steps),
            chunks=tuple(
                CandidateChunkOut(
                    id=trail.id,
                    ordinal=entries[trail.id].ordinal,
                    lines=entries[trail.id].lines,
                    journey=_steps(trail.steps),
                )
                for trail in candidate.chunks
            ),
            terms=tuple(TermOut(**where._asdict(), contribution=given) for where, given in candidate.terms),
        )


class PlaceOut(Out):
    rank: int
    score: float


class MovementOut(Out):
    """A result that the cross-encoder read. Score and rank before and after stand side by side."""

    row: RowOut
    before: PlaceOut
    rerank: PlaceOut = Field(description="Among the results read; the score is in [0, 1].")
    after: PlaceOut
    moved: int = Field(description="Places risen; below zero where it fell.")
    remembered: bool = Field(description="Whether the score came from the cache.")


class RerankOut(Out):
    """What reranking did, and why."""

    applied: bool
    why: str = Field(description="Why it was wanted, or not.")
    model: str | None = Field(description="Identity of the cross-encoder that was asked.")
    formula: str
    weight: float
    depth: int
    prefix: int = Field(description="Results it read. A deeper page never changes which.")
    tail: int = Field(description="Results behind them, in the order they had.")
    remembered: int = Field(description="Scores that came from the cache.")
    ms: float | None = Field(description="What its one call took.")
    stable_prefix_refetched: Literal[False] = Field(
        False, description="The prefix is ranked from the head of the same one retrieval; nothing is read twice."
    )
    fallback: str | None = Field(description="Why the fused order stands although reranking was wanted.")
    movements: tuple[MovementOut, ...]

    @classmethod
    def of(cls, answer: Answer) -> RerankOut:
        plan, found = answer.plan.reranking, reranked(answer)
        return cls(
            applied=answer.reranked,
            prefix=len(found.movements),
            tail=found.tail,
            remembered=sum(movement.remembered for movement in found.movements),
            ms=None if found.seconds is None else round(found.seconds * 1000, 3),
            fallback=found.fallback,
            movements=tuple(
                MovementOut(
                    row=RowOut.of(movement.row),
                    before=PlaceOut(**movement.before._asdict()),
                    rerank=PlaceOut(**movement.read._asdict()),
                    after=PlaceOut(**movement.after._asdict()),
                    moved=movement.moved,
                    remembered=movement.remembered,
                )
                for movement in found.movements
            ),
            **{name: getattr(plan, name) for name in ("why", "model", "formula", "weight", "depth")},
        )


class TraceOut(Out):
    """A search as it was executed."""

    plan: dict[str, Any]
    formula: str = Field(description="What `score` is, with its version.")
    rerank: RerankOut
    stages: tuple[StageOut, ...]
    candidates: tuple[CandidateOut, ...]
    hits: tuple[HitOut, ...]
    total: int
    total_is_exact: bool
    has_more: bool
    cursor: str | None
    weak: bool
    terms: tuple[QueryTermOut, ...] = Field(description="What was looked for, and how it was found.")
    conditions: tuple[ConditionOut, ...]
    admitted: int | None
    remarks: tuple[str, ...]
    degraded: tuple[DegradedOut, ...]
    bounded: str = "candidates are those inside the windows; nothing beyond them was read"

    @classmethod
    def of(cls, answer: Answer, notes: dict[Any, NoteCard]) -> TraceOut:
        shown = SearchOut.of(answer)
        return cls(
            plan=plan_values(answer),
            formula=answer.formula,
            rerank=RerankOut.of(answer),
            stages=tuple(StageOut.of(stage) for stage in answer.stages),
            candidates=tuple(CandidateOut.of(answer, seen, notes[seen.note]) for seen in candidates(answer)),
            terms=QueryTermOut.all_of(answer),
            **{
                name: getattr(shown, name)
                for name in (
                    *("hits", "total", "total_is_exact", "has_more", "cursor", "weak"),
                    *("conditions", "admitted", "remarks", "degraded"),
                )
            },
        )


def plan_values(answer: Answer) -> dict[str, Any]:
    """The plan as plain values."""
    plan = answer.plan
    values = {name: getattr(plan, name) for name in plan.__slots__}
    nested = {"readiness": {**plan.readiness._asdict(), "total": plan.readiness.total}}
    words = {name: [str(term) for term in getattr(plan, name)] for name in ("terms", "set_aside")}
    values["conditions"] = [condition.said for condition in plan.conditions]
    weighting = {**plan.weighting._asdict(), "fields": dict(zip(FIELD_COLUMNS, plan.weighting.fields, strict=True))}
    return {**values, **nested, **words, "weighting": weighting, "reranking": plan.reranking._asdict()}


def _steps(steps: Any) -> tuple[StepOut, ...]:
    return tuple(
        StepOut(**{**step._asdict(), "parts": {str(name): given for name, given in step.parts}}) for step in steps
    )
