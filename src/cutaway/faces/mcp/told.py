"""What an agent is told: small schemas, each made from what the other faces show."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cutaway.faces.schemas import HitOut, Out, SearchOut
from cutaway.faces.snippets import excerpt
from cutaway.faces.statuses import ListedProjectOut

SNIPPET_CHARS = 300


class HitTold(Out):
    """A result: where it stands and its best passage."""

    rank: int
    at: str = Field(description="`project:path`; read_note takes it.")
    lines: tuple[int, int]
    locator: str | None = Field(description="The passage's chunk; inspect_neighbors takes it.")
    title: str
    kind: str = Field(description="`entity` is the note itself.")
    heading: str = Field(description="The headings over the passage.")
    score: float | None
    text: str = Field(description="The best passage: in part (compact), or whole (full).")

    @classmethod
    def of(cls, hit: HitOut, whole: bool) -> HitTold:
        return cls(
            rank=hit.rank,
            at=f"{hit.project}:{hit.path}",
            lines=hit.lines,
            locator=hit.locator,
            title=hit.title,
            kind=hit.row.kind,
            heading=" › ".join(hit.heading_path),
            score=None if (score := hit.scores["score"]) is None else round(score, 4),
            text=hit.passage if whole else excerpt(hit, SNIPPET_CHARS),
        )


class SearchTold(Out):
    """The answer to a search."""

    version: Literal["cutaway-agent-search/1"] = "cutaway-agent-search/1"
    hits: tuple[HitTold, ...]
    total: int
    total_is_exact: bool
    formula: str = Field(description="What `score` is.")
    weak: bool = Field(description="Even the best score is low: perhaps nothing here answers the query.")
    remarks: tuple[str, ...]
    conditions: tuple[str, ...] = Field(
        description="Conditions as they were understood, with the notes that meet each."
    )
    degraded: tuple[str, ...] = Field(description="What was wanted and could not be had.")
    cursor: str | None = Field(description="For the next page; null after the last.")

    @classmethod
    def of(cls, found: SearchOut, whole: bool) -> SearchTold:
        return cls(
            hits=tuple(HitTold.of(hit, whole) for hit in found.hits),
            total=found.total,
            total_is_exact=found.total_is_exact,
            formula=found.formula,
            weak=found.weak,
            remarks=found.remarks,
            conditions=tuple(
                f"{one.said} ({one.notes:,} notes{', given up' if one.relaxed else ''})" for one in found.conditions
            ),
            degraded=tuple(f"{part.stage}: {part.reason}" for part in found.degraded),
            cursor=found.cursor,
        )


class ProjectTold(Out):
    """A project."""

    name: str
    title: str | None
    root: str
    notes: int
    chunks: int
    ready: int = Field(description="Chunks that can be found by meaning.")
    default: bool = Field(description="Whether it is meant where none is named.")

    @classmethod
    def of(cls, held: ListedProjectOut) -> ProjectTold:
        return cls(**{name: getattr(held, name) for name in cls.model_fields})


class ProjectsTold(Out):
    """Every project."""

    projects: tuple[ProjectTold, ...]
