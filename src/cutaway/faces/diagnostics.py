"""The JSON of the inspector: notes as indexed, searches as executed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pydantic import Field

from cutaway.errors import NotIndexed
from cutaway.faces.schemas import DegradedOut, HitOut, Out, RowOut, SearchOut
from cutaway.index.reader import Entry, NoteCard, Readiness
from cutaway.inspector.chunk_map import ChunkMap
from cutaway.inspector.journeys import Candidate, candidates
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
    term: str
    contribution: float


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
            terms=tuple(TermOut(term=term, contribution=given) for term, given in candidate.terms),
        )


class TraceOut(Out):
    """A search as it was executed."""

    plan: dict[str, Any]
    stages: tuple[StageOut, ...]
    candidates: tuple[CandidateOut, ...]
    hits: tuple[HitOut, ...]
    total: int
    total_is_exact: bool
    has_more: bool
    weak: bool
    degraded: tuple[DegradedOut, ...]
    bounded: str = "candidates are those inside the windows; nothing beyond them was read"

    @classmethod
    def of(cls, answer: Answer, notes: dict[Any, NoteCard]) -> TraceOut:
        shown = SearchOut.of(answer)
        return cls(
            plan=plan_values(answer),
            stages=tuple(StageOut.of(stage) for stage in answer.stages),
            candidates=tuple(CandidateOut.of(answer, seen, notes[seen.note]) for seen in candidates(answer)),
            **{
                name: getattr(shown, name)
                for name in ("hits", "total", "total_is_exact", "has_more", "weak", "degraded")
            },
        )


class ChunkOut(Out):
    """A chunk as the manifest holds it."""

    id: int
    locator: str
    ordinal: int
    start: int
    end: int
    lines: tuple[int, int]
    heading_path: tuple[str, ...]
    tokens: int | None
    text: str
    context: str
    text_hash: str
    state: str
    error: str | None
    embedding_identity: str | None
    index_identity: str | None
    updated_at: str

    @classmethod
    def of(cls, note: NoteCard, entry: Entry) -> ChunkOut:
        same = ("id", "ordinal", "start", "end", "lines", "heading_path", "tokens", "context", "state", "error")
        identity = ("embedding_identity", "index_identity", "updated_at")
        return cls(
            locator=f"{note.path}#{entry.ordinal}",
            text=note.source[entry.start : entry.end].decode("utf-8"),
            text_hash=entry.text_hash.hex(),
            **{name: getattr(entry, name) for name in (*same, *identity)},
        )


class MapRowOut(Out):
    kind: str
    id: int
    title: str
    start: int
    end: int
    chunks: tuple[ChunkOut, ...]


class SkipOut(Out):
    start: int
    end: int
    reason: str


class NoteOut(Out):
    """A note and what its frontmatter says."""

    id: int
    project: str
    path: str
    title: str
    aliases: tuple[str, ...]
    permalink: str | None
    type: str | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    bytes: int
    problem: str | None
    indexed_at: str

    @classmethod
    def of(cls, note: NoteCard) -> NoteOut:
        same = ("id", "path", "title", "aliases", "permalink", "type", "tags", "metadata", "problem", "indexed_at")
        values = {name: getattr(note, name) for name in same}
        return cls(project=note.project.name, bytes=len(note.source), **values)


class ReadinessOut(Out):
    ready: int
    pending: int
    failed: int
    total: int

    @classmethod
    def of(cls, readiness: Readiness) -> ReadinessOut:
        return cls(**readiness._asdict(), total=readiness.total)


class ChunkMapOut(Out):
    """A note as the index sees it."""

    note: NoteOut
    freshness: str
    reason: str | None
    readiness: ReadinessOut
    covered: int = Field(description="Bytes that are in a chunk; the others are listed as skipped.")
    rows: tuple[MapRowOut, ...]
    skipped: tuple[SkipOut, ...]

    @classmethod
    def of(cls, found: ChunkMap) -> ChunkMapOut:
        return cls(
            note=NoteOut.of(found.note),
            freshness=found.freshness,
            reason=found.reason,
            readiness=ReadinessOut.of(found.readiness),
            covered=found.covered,
            rows=tuple(
                MapRowOut(
                    kind=row.id.kind,
                    id=row.id.number,
                    title=row.title,
                    start=row.start,
                    end=row.end,
                    chunks=tuple(ChunkOut.of(found.note, entry) for entry in found.chunks[row.id]),
                )
                for row in found.rows
            ),
            skipped=tuple(SkipOut(**skip._asdict()) for skip in found.note.skips),
        )


class NotIndexedOut(Out):
    """A file that the index does not hold, in the shape of a chunk map."""

    note: dict[str, str]
    freshness: str = "not_indexed"
    reason: str
    readiness: ReadinessOut = ReadinessOut(ready=0, pending=0, failed=0, total=0)
    rows: tuple[MapRowOut, ...] = ()
    skipped: tuple[SkipOut, ...] = ()

    @classmethod
    def of(cls, missing: NotIndexed) -> NotIndexedOut:
        return cls(note={"project": missing.project, "path": missing.path}, reason=missing.reason)


def plan_values(answer: Answer) -> dict[str, Any]:
    """The plan as plain values."""
    plan = answer.plan
    values = {name: getattr(plan, name) for name in plan.__slots__}
    return {**values, "readiness": {**plan.readiness._asdict(), "total": plan.readiness.total}}


def _steps(steps: Any) -> tuple[StepOut, ...]:
    return tuple(StepOut(**{**step._asdict(), "parts": dict(step.parts)}) for step in steps)
