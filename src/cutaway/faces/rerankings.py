"""The JSON of reranking: what the cross-encoder read, and what it did to the order."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cutaway.faces.schemas import Out, RowOut
from cutaway.inspector.reranking import reranked
from cutaway.retrieval.pipeline import Answer


class RankedOut(Out):
    rank: int
    score: float


class MovementOut(Out):
    """A result that the cross-encoder read. Score and rank before and after stand side by side."""

    row: RowOut
    before: RankedOut
    rerank: RankedOut = Field(description="Among the results read; the score is in [0, 1].")
    after: RankedOut
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
                    before=RankedOut(**movement.before._asdict()),
                    rerank=RankedOut(**movement.read._asdict()),
                    after=RankedOut(**movement.after._asdict()),
                    moved=movement.moved,
                    remembered=movement.remembered,
                )
                for movement in found.movements
            ),
            **{name: getattr(plan, name) for name in ("why", "model", "formula", "weight", "depth")},
        )
