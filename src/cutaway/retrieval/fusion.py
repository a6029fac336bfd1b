"""Joining the legs: calibration, the formulas by name, and the arithmetic of each score."""

from __future__ import annotations

import math
from collections.abc import Mapping

from cutaway.model import ChunkId, RowId
from cutaway.retrieval.tracing import Outcome, Scored, Stage, best_first, stage

DIGITS = 9
RRF_K = 60


@stage
def complete_lexical(words: Stage[RowId], rows: Stage[RowId], scores: Mapping[RowId, Scored[RowId]]) -> Outcome[RowId]:
    """Give rows that similarity found their lexical score, so that fusion sees both for every row."""
    missing = [scores[hit.id]._replace(mark="completed") for hit in rows.kept if hit.id in scores]
    added = [hit for hit in missing if hit.id not in words.ranks]
    return Outcome(best_first([*words.kept, *added]), remark=f"{len(added)} completed" if added else None)


@stage
def complete_similarity(
    rows: Stage[RowId],
    words: Stage[RowId],
    similarities: Mapping[ChunkId, float],
    chunks: Mapping[RowId, list[ChunkId]],
) -> Outcome[RowId]:
    """Give rows that words found the similarity of their best chunk, so that fusion sees both."""
    added = []
    for hit in words.kept:
        if hit.id in rows.ranks:
            continue
        known = [(similarities[chunk], chunk) for chunk in chunks.get(hit.id, ()) if chunk in similarities]
        if known:
            score, chunk = min(known, key=lambda pair: (-pair[0], pair[1]))
            added.append(Scored(hit.id, score, via=chunk, mark="completed"))
    return Outcome(best_first([*rows.kept, *added]), remark=f"{len(added)} completed" if added else None)


@stage
def calibrate_lexical(words: Stage[RowId], *, saturation: float, lone_idf: float, query_idf: float) -> Outcome[RowId]:
    """L = b / (b + c · √(I · Q / 2)), where I is the idf of a term found once, and Q that of the whole query.

    A long query gives a row more to score with: held against I alone, its best rows would all be
    close to 1 and no longer told apart, while a short one's would never get there.
    """
    half = saturation * math.sqrt(lone_idf * query_idf / 2)
    return Outcome(tuple(_rescored(hit, hit.score / (hit.score + half)) for hit in words.kept))


@stage
def calibrate_similarity(rows: Stage[RowId], *, baseline: float) -> Outcome[RowId]:
    """V = (cos - mean) / (1 - mean): nothing at the mean passage, one at the query itself."""
    return Outcome(tuple(_rescored(hit, (hit.score - baseline) / (1 - baseline)) for hit in rows.kept))


@stage
def normalize(words: Stage[RowId]) -> Outcome[RowId]:
    """Divide by the best score of the candidate set, as the inherited formula does."""
    top = max((hit.score for hit in words.kept), default=1.0)
    return Outcome(tuple(_rescored(hit, hit.score / top) for hit in words.kept))


@stage
def fuse(words: Stage[RowId], rows: Stage[RowId], *, formula: str, tie_breaker: float) -> Outcome[RowId]:
    """The stronger signal, plus a share of the weaker one (dismax)."""
    lexical, similar = words.scores, rows.scores
    via = {hit.id: hit.via for hit in rows.kept}
    fused = []
    for row in lexical.keys() | similar.keys():
        a, b = lexical.get(row, 0.0), similar.get(row, 0.0)
        shares = (a, tie_breaker * b) if a >= b else (tie_breaker * a, b)
        fused.append(_joined(row, shares, via))
    return Outcome(best_first(fused))


@stage
def fuse_ranks(words: Stage[RowId], rows: Stage[RowId], *, formula: str, k: int) -> Outcome[RowId]:
    """Reciprocal rank fusion: 1 / (k + rank), over the legs that found the row (Cormack et al. 2009)."""
    via = {hit.id: hit.via for hit in rows.kept}
    fused = []
    for row in words.ranks.keys() | rows.ranks.keys():
        shares = tuple(1 / (k + leg.ranks[row]) if row in leg.ranks else 0.0 for leg in (words, rows))
        fused.append(_joined(row, (shares[0], shares[1]), via))
    return Outcome(best_first(fused))


def _joined(row: RowId, shares: tuple[float, float], via: Mapping[RowId, ChunkId | None]) -> Scored[RowId]:
    lexical, similarity = (round(share, DIGITS) for share in shares)
    parts = (("lexical", lexical), ("similarity", similarity))
    return Scored(row, round(lexical + similarity, DIGITS), via=via.get(row), parts=parts)


def _rescored(hit: Scored[RowId], score: float) -> Scored[RowId]:
    return hit._replace(score=round(score, DIGITS), parts=())
