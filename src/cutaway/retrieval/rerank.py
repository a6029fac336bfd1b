"""Reranking: a cross-encoder reads the best results once, and its score joins the fused one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cutaway.errors import CutawayError, RerankFailed
from cutaway.index.state import ScoreCache
from cutaway.model import RowId, embedded_text
from cutaway.models.cross_encoder import CrossEncoder, checked
from cutaway.retrieval.fusion import DIGITS, RRF_K
from cutaway.retrieval.plan import FORMULAS, RERANK_FORMULAS, Models, Plan
from cutaway.retrieval.quote import Shelf, quoted
from cutaway.retrieval.rank import Ranking
from cutaway.retrieval.tracing import Dropped, Outcome, Scored, Stage, best_first, stage

MAX_DOCUMENT_CHARS = 8_000
# Whatever a model's libraries may raise; anything else is a fault of ours and should be seen.
_FAILURES = (
    *(CutawayError, ArithmeticError, AssertionError, AttributeError, EOFError, ImportError),
    *(LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError),
)
# Rows are scored in [0, 1] or a little more, except by reciprocal ranks, whose best is 2 / (k + 1).
_SCALES = {FORMULAS["rrf"]: 2 / (RRF_K + 1)}
# A replaced score of exactly 0 would leave no room beneath it for the tail.
_LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class CachedEncoder:
    """The cross-encoder, and the scores it gave before."""

    model: CrossEncoder
    cache: ScoreCache | None

    def read(self, query: str, texts: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
        """Scores by text: those remembered, and those of one call for all others. Raises RerankFailed."""
        known = self.cache.scores(self.model.identity, query, texts) if self.cache else {}
        unread = [text for text in dict.fromkeys(texts) if text not in known]
        fresh = (
            dict(zip(unread, checked(self.model.relevance(query, unread), len(unread)), strict=True)) if unread else {}
        )
        if self.cache:
            self.cache.keep(self.model.identity, query, fresh)
        return known, fresh


def reranked(order: Stage[RowId], ranking: Ranking, shelf: Shelf, plan: Plan, models: Models) -> tuple[Stage[Any], ...]:
    """The stages of reranking the first results of an order: what was read, then the new order.

    Only the prefix is read, at most ``depth`` of it, so a deeper page changes nothing. Where the
    reranker fails, the order stays and the only stage says why; where settings want an error
    instead, it raises RerankFailed.
    """
    head = order.kept[: min(plan.reranking.depth, ranking.fixed)]
    if isinstance(models.reranker, str) or plan.reranking.model is None or not head:
        return ()
    texts = {hit.id: document(hit, shelf) for hit in head}
    encoder = CachedEncoder(models.reranker, models.cache)
    read = rerank(order, texts, encoder, query=plan.sought, model=plan.reranking.model, depth=plan.reranking.depth)
    if not read.kept:
        if plan.reranking.failure == "error":
            raise RerankFailed(f"reranking failed: {read.remark}")
        return (read,)
    if plan.reranking.formula == RERANK_FORMULAS["replace"]:
        return read, replace_scores(order, read, formula=plan.reranking.formula)
    scale = _SCALES.get(ranking.formula, 1.0)
    return read, blend(order, read, formula=plan.reranking.formula, weight=plan.reranking.weight, scale=scale)


def document(hit: Scored[RowId], shelf: Shelf) -> str:
    """What the cross-encoder reads of a result: the passage chosen for it, with its context line.

    The same text whatever the page. A row without chunks has its note's title for context.
    """
    row = shelf.rows[hit.id]
    entry = next((entry for entry in shelf.chunks.get(row.id, ()) if entry.id == hit.via), None)
    if entry is None:
        return embedded_text(shelf.notes[row.note].title, quoted(hit, shelf, ()).text)[:MAX_DOCUMENT_CHARS]
    return embedded_text(entry.context, shelf.text(entry.note, entry.start, entry.end))[:MAX_DOCUMENT_CHARS]


@stage
def rerank(
    order: Stage[RowId], texts: Mapping[RowId, str], encoder: CachedEncoder, *, query: str, model: str, depth: int
) -> Outcome[RowId]:
    """How well each document answers the query, in [0, 1], as the cross-encoder says. One call at most.

    Keeps what it scored, best first; all else is the tail. Scores it remembered are marked.
    """
    try:
        known, fresh = encoder.read(query, list(texts.values()))
    except _FAILURES as failure:
        reason = str(failure) or type(failure).__name__
        return Outcome((), tuple(Dropped(hit.id, hit.score, "not reranked") for hit in order.kept), reason)
    scores = known | fresh
    read = [Scored(row, scores[text], mark="remembered" if text in known else None) for row, text in texts.items()]
    tail = tuple(Dropped(hit.id, hit.score, "in the tail: not read") for hit in order.kept if hit.id not in texts)
    return Outcome(best_first(read), tail, "; ".join(_remarks(encoder, known, fresh)) or None)


def _remarks(encoder: CachedEncoder, known: Mapping[str, float], fresh: Mapping[str, float]) -> Iterator[str]:
    if known:
        yield f"{len(known)} of {len(known) + len(fresh)} scores remembered"
    if encoder.cache and encoder.cache.trouble:
        yield encoder.cache.trouble


@stage
def blend(order: Stage[RowId], read: Stage[RowId], *, formula: str, weight: float, scale: float) -> Outcome[RowId]:
    """F' = F + w · s · r: the fused score, and a share of the cross-encoder's (s is the scale of F).

    r is never negative, so whoever was read stays above the tail, which keeps its scores.
    """
    parts = {
        hit.id: (("fused", hit.score), ("rerank", round(weight * scale * read.scores[hit.id], DIGITS)))
        for hit in order.kept
        if hit.id in read.scores
    }
    prefix = [
        hit._replace(score=round(sum(given for _, given in parts[hit.id]), DIGITS), parts=parts[hit.id])
        for hit in order.kept
        if hit.id in parts
    ]
    return _joined(best_first(prefix), order.kept[len(prefix) :])


@stage
def replace_scores(order: Stage[RowId], read: Stage[RowId], *, formula: str) -> Outcome[RowId]:
    """The cross-encoder's score alone decides. The tail keeps its order and slides beneath."""
    given = {row: score or _LEAST for row, score in read.scores.items()}
    prefix = best_first(
        [hit._replace(score=given[hit.id], parts=(("rerank", given[hit.id]),)) for hit in order.kept if hit.id in given]
    )
    floor = prefix[-1].score
    tail = (
        hit._replace(score=floor / place, parts=(), mark="slid")
        for place, hit in enumerate(order.kept[len(prefix) :], start=2)
    )
    return _joined(prefix, tuple(tail))


def _joined(prefix: Sequence[Scored[RowId]], tail: Sequence[Scored[RowId]]) -> Outcome[RowId]:
    return Outcome((*prefix, *tail), remark=f"{len(prefix)} reranked, {len(tail)} in the tail")
