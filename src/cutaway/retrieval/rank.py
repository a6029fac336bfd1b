"""Ranking: pure functions from first-stage evidence to one ordered list."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, NamedTuple

from cutaway.index.cards import Entry
from cutaway.model import ChunkId, NoteId, RowId
from cutaway.retrieval import fusion
from cutaway.retrieval.gather import Evidence
from cutaway.retrieval.plan import FORMULAS, Plan
from cutaway.retrieval.tracing import Dropped, K, Outcome, Scored, Stage, best_first, stage
from cutaway.retrieval.weights import weigh


class Ranking(NamedTuple):
    """The stages of ranking; the last one has the order."""

    stages: tuple[Stage[Any], ...]
    fixed: int
    """How many results at its head are the prefix: the same, in the same order, on every page."""
    formula: str
    """What the scores are: the plan's formula, or that of words alone where nothing else was read."""

    @property
    def order(self) -> Stage[RowId]:
        return self.stages[-1]


def rank(evidence: Evidence, plan: Plan) -> Ranking:
    """Rank the evidence so that a deeper page only ever appends.

    The prefix is ranked from the head of each leg, the first ``base`` candidates, whatever the
    page. Where that is too little for the page, what the larger windows add queues behind it.
    """
    words, near = _head(evidence.lexical, plan), _head(evidence.nearest, plan)
    heads = [leg for leg in (words, near) if leg is not None and leg.name == "head"]
    prefix = ranked(replace(evidence, lexical=words, nearest=near), plan)
    fixed = _width(prefix[-1], evidence, plan)
    formula = plan.formula if evidence.nearest or plan.listing else FORMULAS["text"]
    if not heads or fixed >= plan.end:
        return Ranking((*heads, *prefix, *_grouped(prefix[-1], evidence, plan)), fixed, formula)
    window = ranked(evidence, plan)
    order = append(prefix[-1], window[-1], first_seen(evidence, window))
    labelled = (replace(step, name=f"prefix.{step.name}") for step in (*heads, *prefix))
    return Ranking((*labelled, *window, order, *_grouped(order, evidence, plan)), fixed, formula)


def ranked(evidence: Evidence, plan: Plan) -> tuple[Stage[Any], ...]:
    """One pass over the evidence: each leg to scored rows, then both fused."""
    words, near = evidence.lexical, evidence.nearest
    stages: list[Stage[Any]] = []
    if near is not None:
        stages += _similar_rows(evidence, near, plan)
    similar = stages[-1] if stages else None
    if words is not None and similar is not None:
        stages += _fused(evidence, words, similar, plan)
    elif words is not None:
        stages.append(as_listed(words) if plan.listing else _calibrated(words, evidence, plan))
    elif similar is not None:
        stages.append(fusion.calibrate_similarity(similar, baseline=evidence.baseline.mean))
    if plan.weights is not None:
        said = "; ".join(f"{rule.condition.said}: {rule.factor:g}" for rule in plan.weights)
        stages.append(weigh(stages[-1], evidence.notes, evidence.weights, rules=said))
    return tuple(stages)


def first_seen(evidence: Evidence, window: tuple[Stage[Any], ...]) -> dict[RowId, int]:
    """Each row's best rank in either raw leg, counting only chunks that could serve it.

    Positions are those of the raw legs. Renumbering after drops would let a row from a deeper
    window overtake one from a shallower window.
    """
    served = {step.name: step.ranks for step in window}
    seen: dict[RowId, int] = {}
    for place, chunk in enumerate(evidence.nearest.kept if evidence.nearest else ()):
        if chunk.id in served["hydrate"] and (row := evidence.entries[chunk.id].row) in served["threshold"]:
            seen[row] = min(place, seen.get(row, place))
    for place, hit in enumerate(evidence.lexical.kept if evidence.lexical else ()):
        seen[hit.id] = min(place, seen.get(hit.id, place))
    return seen


def _head(leg: Stage[K] | None, plan: Plan) -> Stage[K] | None:
    """The part of a leg that the prefix is ranked from."""
    if leg is None or plan.listing or len(leg.kept) <= plan.base:
        return leg
    return head(leg, base=plan.base)


def _similar_rows(evidence: Evidence, near: Stage[ChunkId], plan: Plan) -> tuple[Stage[Any], ...]:
    live = hydrate(near, evidence.entries, embedding=plan.embedding_identity, index=plan.index_identity)
    rows = collapse(live, evidence.entries)
    stages: list[Stage[Any]] = [live, rows]
    if evidence.lexical is not None and _completes(plan):
        embedded = _among(evidence.lexical, rows.ranks.keys() | evidence.served.keys())
        rows = fusion.complete_similarity(rows, embedded, evidence.similarities, evidence.served)
        stages.append(rows)
    baseline = evidence.baseline.mean
    return *stages, threshold(rows, min_similarity=plan.min_similarity, baseline=baseline)


def _fused(evidence: Evidence, words: Stage[RowId], similar: Stage[RowId], plan: Plan) -> tuple[Stage[Any], ...]:
    if plan.formula == "rrf-60/v1":
        return (fusion.fuse_ranks(words, similar, formula=plan.formula, k=fusion.RRF_K),)
    if plan.formula == "dismax-0.3/v1":
        scaled = fusion.normalize(words)
        return scaled, fusion.fuse(scaled, similar, formula=plan.formula, tie_breaker=plan.tie_breaker)
    wordy = _among(similar, words.ranks.keys() | evidence.lexical_scores.keys())
    completed = fusion.complete_lexical(words, wordy, evidence.lexical_scores)
    lexical = _calibrated(completed, evidence, plan)
    similarity = fusion.calibrate_similarity(similar, baseline=evidence.baseline.mean)
    fused = fusion.fuse(lexical, similarity, formula=plan.formula, tie_breaker=plan.tie_breaker)
    return completed, lexical, similarity, fused


def _calibrated(words: Stage[RowId], evidence: Evidence, plan: Plan) -> Stage[RowId]:
    idf = {"lone_idf": evidence.lone_idf, "query_idf": evidence.query_idf}
    return fusion.calibrate_lexical(words, saturation=plan.saturation, **idf)


def _among(leg: Stage[RowId], rows: Set[RowId]) -> Stage[RowId]:
    """The part of a leg that another leg has something to say of."""
    return replace(leg, kept=tuple(hit for hit in leg.kept if hit.id in rows))


def _completes(plan: Plan) -> bool:
    """Whether the formula wants both scores for every row, found by that leg or not."""
    return plan.formula.startswith("calibrated-dismax/")


@stage
def as_listed(rows: Stage[RowId]) -> Outcome[RowId]:
    """Keep the order of a listing: there is nothing to rank by."""
    return Outcome(rows.kept)


@stage
def head(leg: Stage[K], *, base: int) -> Outcome[K]:
    """The part of a leg that decides the first page, the same on every page."""
    rest = leg.kept[base:]
    past = tuple(Dropped(hit.id, hit.score, "past the base window") for hit in rest)
    return Outcome(leg.kept[:base], past, remark=f"of {leg.name}")


@stage
def hydrate(
    near: Stage[ChunkId], entries: Mapping[ChunkId, Entry], *, embedding: str | None, index: str | None
) -> Outcome[ChunkId]:
    """Trust a neighbour only if the manifest calls its chunk ready under the identities in use."""
    verdicts = [(hit, _verdict(entries.get(hit.id), embedding, index)) for hit in near.kept]
    kept = tuple(hit for hit, reason in verdicts if reason is None)
    return Outcome(kept, tuple(Dropped(hit.id, hit.score, reason) for hit, reason in verdicts if reason))


def _verdict(entry: Entry | None, embedding: str | None, index: str | None) -> str | None:
    if entry is None:
        return "not in the manifest"
    if entry.state != "ready":
        return entry.state
    if (entry.embedding_identity, entry.index_identity) != (embedding, index):
        return "embedded under another identity"
    return None


@stage
def collapse(chunks: Stage[ChunkId], entries: Mapping[ChunkId, Entry]) -> Outcome[RowId]:
    """Score a row by its best chunk (MaxP); each row says which chunk it stands by."""
    best: dict[RowId, Scored[RowId]] = {}
    others: list[Dropped] = []
    for hit in chunks.kept:
        row = entries[hit.id].row
        if row not in best:
            best[row] = Scored(row, hit.score, via=hit.id)
        else:
            others.append(Dropped(hit.id, hit.score, "a better chunk of the same row", best[row].score - hit.score))
    return Outcome(best_first(list(best.values())), tuple(others))


@stage
def threshold(rows: Stage[RowId], *, min_similarity: float, baseline: float) -> Outcome[RowId]:
    """Silence the vector leg for rows no closer than the mean passage, or than the floor asked for."""
    floor = max(min_similarity, baseline)
    reason = "below min_similarity" if min_similarity > baseline else "no closer than the mean passage"
    close = tuple(hit for hit in rows.kept if hit.score > baseline and hit.score >= min_similarity)
    far = [hit for hit in rows.kept if hit.score <= baseline or hit.score < min_similarity]
    return Outcome(close, tuple(Dropped(hit.id, hit.score, reason, floor - hit.score) for hit in far))


@stage
def group(rows: Stage[RowId], notes: Mapping[RowId, NoteId]) -> Outcome[RowId]:
    """Rank a note by its best row."""
    best: dict[NoteId, Scored[RowId]] = {}
    others: list[Dropped] = []
    for hit in rows.kept:
        first = best.setdefault(notes[hit.id], hit)
        if first is not hit:
            others.append(Dropped(hit.id, hit.score, "a better row of the same note", first.score - hit.score))
    return Outcome(tuple(best.values()), tuple(others))


@stage
def append(prefix: Stage[RowId], window: Stage[RowId], seen: Mapping[RowId, int]) -> Outcome[RowId]:
    """Keep the fixed prefix; queue newcomers behind it in order of first appearance.

    Their scores slide beneath the prefix, so that neither place nor score depends on how deep
    this request happened to read.
    """
    newcomers = [hit for hit in window.kept if hit.id not in prefix.ranks]
    queue = sorted(newcomers, key=lambda hit: (seen[hit.id], hit.id))
    floor = min((hit.score for hit in prefix.kept), default=1.0)
    tail = tuple(hit._replace(score=floor / place, parts=(), mark="slid") for place, hit in enumerate(queue, start=2))
    return Outcome((*prefix.kept, *tail), remark=f"{len(tail)} behind a prefix of {len(prefix.kept)}")


def _grouped(rows: Stage[RowId], evidence: Evidence, plan: Plan) -> tuple[Stage[Any], ...]:
    return (group(rows, evidence.notes),) if plan.group == "note" else ()


def _width(rows: Stage[RowId], evidence: Evidence, plan: Plan) -> int:
    """How many results these rows make."""
    return len({evidence.notes[hit.id] for hit in rows.kept} if plan.group == "note" else rows.kept)
