"""The JSON of the inspector: searches as executed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from cutaway.faces.asked import SearchIn
from cutaway.faces.rerankings import RerankOut
from cutaway.faces.schemas import ConditionOut, DegradedOut, HitOut, Out, RowOut, SearchOut
from cutaway.faces.sessions import Session
from cutaway.index.cards import NoteCard
from cutaway.index.reader import Reader
from cutaway.index.schema import FIELD_COLUMNS
from cutaway.inspector.journeys import Candidate, Step, candidates, misses
from cutaway.model import NoteId
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
            settings=plain(dict(stage.settings)),
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
    project: str
    path: str
    title: str
    fate: FateOut
    journey: tuple[StepOut, ...]
    chunks: tuple[CandidateChunkOut, ...]
    terms: tuple[TermOut, ...]

    @property
    def label(self) -> str:
        """What the row is called where searches are compared: its note, and the row where that is no note."""
        row = "" if self.row.kind == "entity" else f" {self.row.kind} {self.row.id}"
        return f"{self.project}:{self.path}{row}"

    @classmethod
    def of(cls, answer: Answer, candidate: Candidate, note: NoteCard) -> CandidateOut:
        entries = answer.evidence.entries
        return cls(
            row=RowOut.of(candidate.row),
            project=note.project.name,
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


class BaselineOut(Out):
    """What similarity means here: a cosine no better than the mean is no evidence."""

    mean: float
    vectors: int


class EmbeddingOut(Out):
    """The one embedding of the query."""

    ms: float


VERSION = "cutaway-trace/1"


class TraceOut(Out):
    """A search as it was executed. Saved, it can be shown again and compared with others."""

    version: Literal["cutaway-trace/1"] = Field(
        "cutaway-trace/1", description="Changes when what is written here changes."
    )
    redacted: bool = Field(False, description="Whether the texts of notes were left out.")
    query: str
    mode: str
    plan: dict[str, Any]
    formula: str = Field(description="What `score` is, with its version.")
    rerank: RerankOut
    stages: tuple[StageOut, ...]
    baseline: BaselineOut | None = Field(description="Null where no vectors were read.")
    embedding: EmbeddingOut | None = Field(None, description="Null where the query was not embedded.")
    candidates: tuple[CandidateOut, ...]
    misses: tuple[RowOut, ...] = Field(
        description="Candidates whose note (or row) is on no page up to this one's end, nearest first."
    )
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
    def of(cls, answer: Answer, seen: Sequence[Candidate], notes: Mapping[NoteId, NoteCard]) -> TraceOut:
        shown, embedding = SearchOut.of(answer), answer.evidence.embedding
        return cls(
            query=answer.plan.text,
            mode=answer.plan.mode,
            plan=plan_values(answer),
            formula=answer.formula,
            rerank=RerankOut.of(answer),
            stages=tuple(StageOut.of(stage) for stage in answer.stages),
            candidates=tuple(CandidateOut.of(answer, one, notes[one.note]) for one in seen),
            misses=tuple(RowOut.of(missed.row) for missed in misses(answer, seen)),
            embedding=EmbeddingOut(ms=round(embedding.seconds * 1000, 3)) if embedding else None,
            baseline=BaselineOut(**asdict(answer.evidence.baseline)) if answer.evidence.nearest else None,
            terms=QueryTermOut.all_of(answer),
            **{
                name: getattr(shown, name)
                for name in (
                    *("hits", "total", "total_is_exact", "has_more", "cursor", "weak"),
                    *("conditions", "admitted", "remarks", "degraded"),
                )
            },
        )


def traced(session: Session, asked: SearchIn) -> TraceOut:
    """A search as it is executed; nothing is written."""
    return recorded(session.answer(asked, inspecting=True), session.reader)


def recorded(answer: Answer, reader: Reader) -> TraceOut:
    """The whole record of a search."""
    seen = candidates(answer)
    return TraceOut.of(answer, seen, reader.notes({candidate.note for candidate in seen}))


def plan_values(answer: Answer) -> dict[str, Any]:
    """The plan as plain values."""
    plan = answer.plan
    values = {name: getattr(plan, name) for name in plan.__slots__}
    nested = {"readiness": {**plan.readiness._asdict(), "total": plan.readiness.total}}
    words = {name: [str(term) for term in getattr(plan, name)] for name in ("terms", "set_aside")}
    values["conditions"] = [condition.said for condition in plan.conditions]
    rules = plan.weights and [f"{rule.condition.said}: {rule.factor:g}" for rule in plan.weights]
    values["weights"] = rules
    weighting = {**plan.weighting._asdict(), "fields": dict(zip(FIELD_COLUMNS, plan.weighting.fields, strict=True))}
    made: dict[str, Any] = plain(
        {**values, **nested, **words, "weighting": weighting, "reranking": plan.reranking._asdict()}
    )
    return made


def plain(value: Any) -> Any:
    """A value as JSON gives it back."""
    match value:
        case dict():
            return {str(name): plain(held) for name, held in value.items()}
        case list() | tuple():
            return [plain(held) for held in value]
        case _:
            return value


def _steps(steps: Iterable[Step]) -> tuple[StepOut, ...]:
    return tuple(
        StepOut(
            stage=step.stage,
            rank=step.rank,
            score=step.score,
            reason=step.reason,
            mark=step.mark,
            parts={str(name): given for name, given in step.parts},
        )
        for step in steps
    )
