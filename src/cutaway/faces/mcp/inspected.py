"""What an agent is told when it looks inside: little, or the whole record."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from cutaway.faces.chunk_maps import ChunkMapOut
from cutaway.faces.neighbours import NeighboursOut
from cutaway.faces.schemas import Out
from cutaway.faces.traces import CandidateOut, TraceOut
from cutaway.faces.whys import WhyOut
from cutaway.inspector.journeys import RETURNED

_PREVIEW_CHARS = 120


class Told(Out):
    """Something looked into."""

    record: dict[str, Any] | None = Field(None, description="Everything, with `detail` full.")


class CandidateTold(Out):
    """A candidate of a search, and what became of it."""

    at: str
    title: str
    kind: str
    fate: str = Field(description="`returned`, or the stage where it fell.")
    rank: int | None = Field(description="In the last stage that ranked it.")
    scores: dict[str, float] = Field(description="`bm25`, `cosine`, `fused`: those it has.")
    reason: str
    margin: float | None = Field(description="What it lacked to be kept, where a number says.")

    @classmethod
    def of(cls, seen: CandidateOut) -> CandidateTold:
        named = ((_NAMES.get(step.stage.removeprefix("prefix.")), step) for step in seen.journey)
        return cls(
            at=f"{seen.project}:{seen.path}",
            title=seen.title,
            kind=seen.row.kind,
            fate=RETURNED if seen.fate.reason == RETURNED else seen.fate.stage,
            rank=next((step.rank for step in reversed(seen.journey) if step.rank is not None), None),
            scores={name: round(step.score, 4) for name, step in named if name},
            reason=seen.fate.reason,
            margin=None if seen.fate.margin is None else round(seen.fate.margin, 4),
        )


class StageTold(Out):
    """One executed stage."""

    name: str
    received: int
    kept: int
    ms: float
    remark: str | None


class QueryTold(Told):
    """A search with its casing off."""

    version: Literal["cutaway-agent-query/1"] = "cutaway-agent-query/1"
    mode: str
    formula: str
    terms: tuple[str, ...] = Field(description="What was looked for.")
    stages: tuple[StageTold, ...]
    hits: tuple[CandidateTold, ...]
    misses: tuple[CandidateTold, ...] = Field(description="What came closest without being returned.")
    candidates: int = Field(description="How many were seen in all; nothing beyond the windows was read.")
    remarks: tuple[str, ...]
    degraded: tuple[str, ...]

    @classmethod
    def of(cls, found: TraceOut, limit: int, whole: bool) -> QueryTold:
        by_row = {seen.row: seen for seen in found.candidates}
        return cls(
            record=found.model_dump(mode="json", by_alias=True) if whole else None,
            mode=found.mode,
            formula=found.formula,
            terms=tuple(term.term for term in found.terms),
            stages=tuple(
                StageTold(name=one.name, received=one.received, kept=one.kept, ms=one.ms, remark=one.remark)
                for one in found.stages
            ),
            hits=tuple(CandidateTold.of(by_row[hit.row]) for hit in found.hits[:limit] if hit.row in by_row),
            misses=tuple(CandidateTold.of(by_row[row]) for row in found.misses[:limit]),
            candidates=len(found.candidates),
            remarks=found.remarks,
            degraded=tuple(f"{part.stage}: {part.reason}" for part in found.degraded),
        )


class WhyTold(Told):
    """Why a note is where it is for a query, or nowhere."""

    version: Literal["cutaway-agent-why/1"] = "cutaway-agent-why/1"
    at: str
    title: str
    verdict: str
    rank: int | None
    page: int | None
    freshness: str
    ready: int = Field(description="Chunks that can be found by meaning.")
    chunks: int
    unmet: tuple[str, ...] = Field(description="Conditions of the query that the note does not meet.")
    words: tuple[str, ...] = Field(description="Each term of the query, and what it gives the note.")
    legs: tuple[str, ...] = Field(description="Score and rank by words, and by meaning.")
    degraded: tuple[str, ...]

    @classmethod
    def of(cls, found: WhyOut, whole: bool) -> WhyTold:
        same = ("title", "verdict", "rank", "page", "freshness", "ready", "chunks", "unmet")
        return cls(
            record=found.model_dump(mode="json", by_alias=True) if whole else None,
            at=f"{found.project}:{found.path}",
            words=tuple(
                f"{term.term} {term.share:.3f}" if term.share else f"{term.term} missing" for term in found.terms
            ),
            legs=tuple(
                f"{one.leg} {one.score:.3f}, rank {one.rank} of {one.of}"
                + ("" if one.needed is None else f", outside the window of {one.window}")
                for one in found.standings
            ),
            degraded=tuple(f"{part.stage}: {part.reason}" for part in found.degraded),
            **{name: getattr(found, name) for name in same},
        )


class ChunkTold(Out):
    """A chunk of a note."""

    locator: str
    lines: tuple[int, int]
    row: str
    tokens: int | None
    state: str
    heading: str
    text: str = Field(description="How it begins; all of it with `detail` full.")


class ChunksTold(Told):
    """A note as the index sees it."""

    version: Literal["cutaway-agent-chunks/1"] = "cutaway-agent-chunks/1"
    at: str
    title: str
    freshness: str
    reason: str | None
    ready: int
    total: int
    chunks: tuple[ChunkTold, ...]
    skipped: tuple[str, ...] = Field(description="Bytes that are in no chunk, and why.")

    @classmethod
    def of(cls, found: ChunkMapOut, whole: bool) -> ChunksTold:
        pairs = sorted(((chunk, row) for row in found.rows for chunk in row.chunks), key=lambda pair: pair[0].ordinal)
        return cls(
            record=found.model_dump(mode="json", by_alias=True) if whole else None,
            at=f"{found.note.project}:{found.note.path}",
            title=found.note.title,
            freshness=found.freshness,
            reason=found.reason,
            ready=found.readiness.ready,
            total=found.readiness.total,
            chunks=tuple(
                ChunkTold(
                    locator=chunk.locator,
                    lines=chunk.lines,
                    row=row.kind,
                    tokens=chunk.tokens,
                    state=chunk.state,
                    heading=" › ".join(chunk.heading_path),
                    text=chunk.text if whole else _begin(chunk.text),
                )
                for chunk, row in pairs
            ),
            skipped=tuple(f"{skip.start}–{skip.end}: {skip.reason}" for skip in found.skipped),
        )


class NeighbourTold(Out):
    """A passage close to the target."""

    locator: str
    lines: tuple[int, int]
    title: str
    cosine: float
    percentile: float = Field(description="The share of all passages that are no closer.")
    same_note: bool
    near_duplicate: bool
    text: str


class NeighboursTold(Told):
    """The passages closest to one, or to words."""

    version: Literal["cutaway-agent-neighbors/1"] = "cutaway-agent-neighbors/1"
    target: str = Field(description="What they are close to.")
    among: int = Field(description="How many passages were compared.")
    neighbours: tuple[NeighbourTold, ...]
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, found: NeighboursOut, whole: bool) -> NeighboursTold:
        target = found.target
        return cls(
            record=found.model_dump(mode="json", by_alias=True) if whole else None,
            target=f"{target.project}:{target.path}" if target else (found.words or ""),
            among=found.among,
            neighbours=tuple(
                NeighbourTold(
                    locator=one.at.locator,
                    lines=one.at.lines,
                    title=one.title,
                    cosine=round(one.similarity, 4),
                    percentile=round(one.percentile, 2),
                    same_note=one.same_note,
                    near_duplicate=one.near_duplicate,
                    text=one.at.passage if whole else _begin(one.at.passage),
                )
                for one in found.neighbours
            ),
            remarks=found.remarks,
        )


_NAMES = {
    **dict.fromkeys(("match", "complete_lexical"), "bm25"),
    **dict.fromkeys(("collapse", "complete_similarity"), "cosine"),
    **dict.fromkeys(("fuse", "fuse_ranks"), "fused"),
}


def _begin(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _PREVIEW_CHARS else f"{line[:_PREVIEW_CHARS]}…"
