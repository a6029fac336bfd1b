"""The read path, top to bottom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from cutaway.config import Settings
from cutaway.index.reader import Reader
from cutaway.model import RowId
from cutaway.models.embedder import Embedder
from cutaway.retrieval.gather import Evidence, gather
from cutaway.retrieval.plan import FORMULAS, Plan, Request, make_plan
from cutaway.retrieval.quote import Shelf, fetch, quote
from cutaway.retrieval.rank import rank
from cutaway.retrieval.tracing import Dropped, Outcome, Scored, Stage, stage


class Degraded(NamedTuple):
    """Something that was wanted and could not be had, and where."""

    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A search, answered: what was planned, every executed stage, and the page, which is the last."""

    plan: Plan
    stages: tuple[Stage[Any], ...]
    evidence: Evidence
    shelf: Shelf
    degraded: tuple[Degraded, ...]
    total: int
    total_is_exact: bool
    weak: bool

    @property
    def page(self) -> tuple[Scored[RowId], ...]:
        return self.stages[-1].kept

    @property
    def formula(self) -> str:
        """What the scores are: the plan's formula, or that of words alone where nothing else was read."""
        return self.plan.formula if self.evidence.nearest else FORMULAS["text"]

    @property
    def ranking(self) -> Stage[RowId]:
        """The order that the page was cut from."""
        return next(step for step in reversed(self.stages) if step.name not in ("cut", "quote"))

    @property
    def has_more(self) -> bool:
        return self.total > self.plan.offset + self.plan.limit

    @property
    def remarks(self) -> tuple[tuple[str, str], ...]:
        return tuple((step.name, step.remark) for step in self.stages if step.remark)


def search(request: Request, settings: Settings, reader: Reader, embedder: Embedder | str) -> Answer:
    """Answer a search. *embedder* may be the reason why there is none.

    The order is lawful: equal scores are ordered by id, pages concatenate, a deeper page only
    appends; one embedding and one read of each leg per request. Raises UsageError.
    """
    leg = _usable(reader, embedder)
    plan = make_plan(request, settings, reader, leg)
    evidence = gather(plan, reader, leg)
    ranking = rank(evidence, plan)
    page = cut(ranking[-1], offset=plan.offset, limit=plan.limit)
    shelf = fetch(reader, page)
    shown = quote(page, shelf, evidence.idf, lexical_leads=_lexical_leads(page, ranking))
    return Answer(
        plan=plan,
        stages=(*evidence.legs, *ranking, page, shown),
        evidence=evidence,
        shelf=shelf,
        degraded=tuple(_degraded(plan, evidence)),
        total=len(ranking[-1].kept) if evidence.nearest else evidence.matched(plan.group),
        total_is_exact=evidence.nearest is None or _exhausted(plan, evidence, ranking),
        weak=_weak(plan, evidence, ranking[-1]),
    )


@stage
def cut(rows: Stage[RowId], *, offset: int, limit: int) -> Outcome[RowId]:
    """The page asked for."""
    end = offset + limit
    page = rows.kept[offset:end]
    last = page[-1].score if page else 0.0
    before = (Dropped(hit.id, hit.score, "on an earlier page") for hit in rows.kept[:offset])
    after = (Dropped(hit.id, hit.score, "after this page", last - hit.score) for hit in rows.kept[end:])
    return Outcome(page, (*before, *after))


def _usable(reader: Reader, embedder: Embedder | str) -> Embedder | str:
    """The embedder, or why this index cannot be searched with it."""
    if isinstance(embedder, str):
        return embedder
    held = reader.embedding_identity
    if held is None:
        return "nothing is embedded yet. Run: cutaway index"
    if held != embedder.identity:
        return f"the index holds vectors of {held}; this search embeds with {embedder.identity}. Run: cutaway index"
    return embedder


def _lexical_leads(page: Stage[RowId], ranking: tuple[Stage[Any], ...]) -> tuple[RowId, ...]:
    """The results whose words were the stronger signal."""
    fused = [step for step in reversed(ranking) if step.name.removeprefix("prefix.") in ("fuse", "fuse_ranks")]
    if not fused:
        return tuple(hit.id for hit in page.kept if hit.via is None)
    shares = {hit.id: dict(hit.parts) for step in fused for hit in step.kept}
    return tuple(hit.id for hit in page.kept if shares[hit.id]["lexical"] >= shares[hit.id]["similarity"])


def _degraded(plan: Plan, evidence: Evidence) -> Iterator[Degraded]:
    reason = plan.unavailable or evidence.failure
    if reason:
        yield Degraded("nearest", reason)
    elif plan.vector and plan.readiness.ready < plan.readiness.total:
        ready, total = plan.readiness.ready, plan.readiness.total
        yield Degraded("nearest", f"partial_vectors: {ready:,} of {total:,} chunks are embedded. Run: cutaway index")
    if evidence.truncated:
        yield Degraded("nearest", "the query is longer than the model reads; its end was not embedded")


def _exhausted(plan: Plan, evidence: Evidence, ranking: tuple[Stage[Any], ...]) -> bool:
    """Whether the legs ended inside what was ranked, so that nothing beyond it could be a result."""
    if any(step.name == "head" for step in ranking):  # the page was filled without the rest
        return False
    return _words_read(evidence) and _vectors_read(plan, evidence)


def _words_read(evidence: Evidence) -> bool:
    return evidence.lexical is None or evidence.bm25 is None or len(evidence.lexical.kept) == evidence.bm25.total


def _vectors_read(plan: Plan, evidence: Evidence) -> bool:
    """Whether the vector leg was read to its end, or to where similarity is silent."""
    if evidence.nearest is None or len(evidence.nearest.kept) == evidence.baseline.vectors:
        return True
    last = evidence.nearest.kept[-1].score
    return last < plan.min_similarity or last <= evidence.baseline.mean


def _weak(plan: Plan, evidence: Evidence, ranking: Stage[RowId]) -> bool:
    """Whether even the best result is too weak to look confident.

    Known only where scores are calibrated and both meaning and words were asked: the words of a
    short query alone never weigh enough.
    """
    judged = plan.calibrated and evidence.nearest is not None and len(evidence.nearest.kept) > 0
    return judged and any(hit.score < plan.weak_below for hit in ranking.kept[:1])
