"""The read path, top to bottom."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from cutaway.config import Settings
from cutaway.errors import BadVector
from cutaway.index.cards import Readiness
from cutaway.index.reader import Reader
from cutaway.model import RowId
from cutaway.models.embedder import Embedder
from cutaway.retrieval.cursor import RERANKED, VECTORS, Cursor, check_outcome, check_unchanged, digest, sealed, unsealed
from cutaway.retrieval.gather import Evidence, gather
from cutaway.retrieval.plan import Models, Plan, make_plan
from cutaway.retrieval.quote import Shelf, fetch, quote
from cutaway.retrieval.rank import Ranking, rank
from cutaway.retrieval.request import Request
from cutaway.retrieval.rerank import reranked
from cutaway.retrieval.tracing import Dropped, Outcome, Scored, Stage, stage

_REORDERING = ("blend", "replace_scores")


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
    fused_by: str
    """What the scores were before reranking."""
    place: Cursor
    """Where this page starts, in which order."""
    key: str
    """What the index signs cursors with."""

    @property
    def cursor(self) -> str | None:
        """Where the next page starts; None after the last one."""
        end = self.plan.offset + self.plan.limit
        return sealed(self.place._replace(offset=end), self.key) if self.has_more else None

    @property
    def page(self) -> tuple[Scored[RowId], ...]:
        return self.stages[-1].kept

    @property
    def formula(self) -> str:
        """What the scores are."""
        weighed = " × weights/v1" if self.plan.weights is not None else ""
        reread = f" + {self.plan.reranking.formula}" if self.reranked else ""
        return f"{self.fused_by}{weighed}{reread}"

    @property
    def reranked(self) -> bool:
        return any(step.name in _REORDERING for step in self.stages)

    @property
    def ranking(self) -> Stage[RowId]:
        """The order that the page was cut from."""
        return next(step for step in reversed(self.stages) if step.name not in ("cut", "rerank"))

    @property
    def has_more(self) -> bool:
        return self.total > self.plan.offset + self.plan.limit

    @property
    def remarks(self) -> tuple[tuple[str, str], ...]:
        """What the stages had to say, after what the query and its conditions came to."""
        read = [("query", said) for said in self.plan.query_remarks]
        none = self.evidence.admission.remark if self.evidence.admission else None
        admitted = [("restrict", none)] if none else []
        unused = [("settings", said) for said in self.plan.unused_settings]
        return (*read, *unused, *admitted, *((step.name, step.remark) for step in self.stages if step.remark))


def search(request: Request, settings: Settings, reader: Reader, models: Models) -> Answer:
    """Answer a search.

    The order is lawful: equal scores are ordered by id, pages concatenate, a deeper page only
    appends; one embedding, one read of each leg and at most one call of the reranker per request.
    Raises UsageError, StaleCursor, and RerankFailed where the settings want an error.
    """
    models = usable(models, reader)
    plan = make_plan(request, settings, reader, models)
    there = unsealed(request.cursor, reader.key) if request.cursor is not None else None
    if there:
        check_unchanged(there, _place(plan, reader))
    answer = answered(plan, gather(plan, reader, models.embedder), reader, models)
    if there:
        check_outcome(there, answer.place, "; ".join(part.reason for part in answer.degraded))
    return answer


def answered(plan: Plan, evidence: Evidence, reader: Reader, models: Models) -> Answer:
    """Everything after the legs were read: one plan's answer from its evidence."""
    ranking = rank(evidence, plan)
    shelf = fetch(reader, _within_reach(ranking, plan))
    shown = quote(ranking.order, shelf, evidence.idf, lexical_leads=_lexical_leads(shelf.rows, ranking.stages))
    reordered = reranked(shown, ranking, shelf, plan, models)
    order = reordered[-1] if reordered and reordered[-1].name in _REORDERING else shown
    page = cut(order, offset=plan.offset, limit=plan.limit)
    return Answer(
        plan=plan,
        stages=(*evidence.legs, *ranking.stages, shown, *reordered, page),
        evidence=evidence,
        shelf=shelf,
        degraded=tuple(_degraded(plan, evidence, reordered)),
        total=len(ranking.order.kept) if evidence.nearest else evidence.matched(plan.group),
        total_is_exact=evidence.nearest is None or _exhausted(plan, evidence, ranking.stages),
        weak=_weak(plan, evidence, ranking.order),
        fused_by=ranking.formula,
        place=_turned_out(_place(plan, reader), order, ranking.fixed, evidence),
        key=reader.key,
    )


def usable(models: Models, reader: Reader) -> Models:
    """The models, with the reason in the embedder's place where this index cannot be searched with it."""
    return replace(models, embedder=_usable(reader, models.embedder))


@stage
def cut(rows: Stage[RowId], *, offset: int, limit: int) -> Outcome[RowId]:
    """The page asked for."""
    end = offset + limit
    page = rows.kept[offset:end]
    last = page[-1].score if page else 0.0
    before = (Dropped(hit.id, hit.score, "on an earlier page") for hit in rows.kept[:offset])
    after = (Dropped(hit.id, hit.score, "after this page", last - hit.score) for hit in rows.kept[end:])
    return Outcome(page, (*before, *after))


def _within_reach(ranking: Ranking, plan: Plan) -> list[RowId]:
    """The results that may stand on the page: those the reranker will read, and the page as it is now."""
    read = min(plan.reranking.depth, ranking.fixed) if plan.reranking.model else 0
    kept = ranking.order.kept
    return list(dict.fromkeys(hit.id for hit in (*kept[:read], *kept[plan.offset : plan.offset + plan.limit])))


def _place(plan: Plan, reader: Reader) -> Cursor:
    return Cursor(plan.offset, digest(plan.asked), digest(plan.decided_by), reader.generation)


def _turned_out(here: Cursor, order: Stage[RowId], fixed: int, evidence: Evidence) -> Cursor:
    """The place, with what this search came to."""
    outcome = VECTORS * (evidence.nearest is not None) + RERANKED * (order.name in _REORDERING)
    return here._replace(outcome=outcome, head=digest(*(hit.id for hit in order.kept[:fixed])))


def _usable(reader: Reader, embedder: Embedder | str) -> Embedder | str:
    """The embedder, or why this index cannot be searched with it."""
    if isinstance(embedder, str):
        return embedder
    try:
        if reader.space(embedder.identity, embedder.dimension) or not reader.standings:
            return embedder
    except BadVector as error:
        return f"{error} Run: cutaway index"
    held = " and ".join(sorted({said for names in reader.foreign(embedder.identity).values() for said in names}))
    if not held:
        return _partial(reader.readiness(embedder.identity))
    sought = f"{embedder.identity} in {reader.home.identity}"
    return f"the index holds vectors of {held}; this search looks for {sought}. Run: cutaway index"


def _partial(readiness: Readiness) -> str:
    return f"partial_vectors: {readiness.ready:,} of {readiness.total:,} chunks are embedded. Run: cutaway index"


def _lexical_leads(rows: Container[RowId], ranking: tuple[Stage[Any], ...]) -> tuple[RowId, ...]:
    """Those of the rows whose words were the stronger signal."""
    order = ranking[-1].kept
    fused = [step for step in reversed(ranking) if step.name.removeprefix("prefix.") in ("fuse", "fuse_ranks")]
    if not fused:
        return tuple(hit.id for hit in order if hit.id in rows and hit.via is None)
    shares = {hit.id: dict(hit.parts) for step in fused for hit in step.kept if hit.id in rows}
    return tuple(row for row, given in shares.items() if given["lexical"] >= given["similarity"])


def _degraded(plan: Plan, evidence: Evidence, reordered: tuple[Stage[Any], ...]) -> Iterator[Degraded]:
    reason = plan.unavailable or evidence.failure
    if reason:
        yield Degraded("nearest", reason)
    elif plan.vector and (plan.readiness.pending or plan.readiness.failed):
        yield Degraded("nearest", _partial(plan.readiness))
    if plan.vector and not reason:
        for said in plan.foreign:
            sought = f"{plan.embedding_identity} in {plan.index_identity}"
            yield Degraded("nearest", f"{said}, not {sought}: only its words were searched. Run: cutaway index")
    if evidence.truncated:
        yield Degraded("nearest", "the query is longer than the model reads; its end was not embedded")
    if plan.reranking.unavailable:
        yield Degraded("rerank", plan.reranking.unavailable)
    elif reordered and reordered[-1].name not in _REORDERING:
        yield Degraded("rerank", f"{reordered[-1].remark}. The order is that of the fused scores")


def _exhausted(plan: Plan, evidence: Evidence, ranking: tuple[Stage[Any], ...]) -> bool:
    """Whether the legs ended inside what was ranked, so that nothing beyond it could be a result."""
    if any(step.name == "head" for step in ranking):  # the page was filled without the rest
        return False
    return _words_read(evidence) and _vectors_read(plan, evidence)


def _words_read(evidence: Evidence) -> bool:
    return evidence.lexical is None or evidence.bm25 is None or len(evidence.lexical.kept) == evidence.bm25.total


def _vectors_read(plan: Plan, evidence: Evidence) -> bool:
    """Whether the vector leg was read to its end, or to where similarity is silent."""
    if evidence.nearest is None or len(evidence.nearest.kept) == evidence.reachable:
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
