"""First-stage retrieval: everything one search reads, each leg once, before anything is ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from cutaway.errors import BadVector, ModelUnavailable, UnreadableQuery, VectorsUnavailable
from cutaway.index.cards import Entry
from cutaway.index.reader import Reader
from cutaway.index.vectors import Nearest, Space, StoredVectors, Vector, VectorIndex, similarities
from cutaway.model import ChunkId, NoteId, RowId
from cutaway.models.embedder import Embedder, embedded
from cutaway.notes.analyzer import Term
from cutaway.notes.tokenizer import MOST_UNKNOWN
from cutaway.retrieval.bm25 import Bm25
from cutaway.retrieval.plan import Plan
from cutaway.retrieval.restrict import Admission, admitted
from cutaway.retrieval.tracing import Outcome, Scored, Stage, Took, stage, timed
from cutaway.retrieval.weights import Weight, weights_of


@dataclass(frozen=True, slots=True)
class Baseline:
    """What similarity means here: a cosine no better than *mean* is no evidence.

    The mean of the scope's vectors against the query, drawn towards .5 while they are few::

        mean = (n · (q·m) + 30 · .5) / (n + 30)
    """

    mean: float
    vectors: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything first-stage retrieval read. Ranking needs nothing else."""

    lexical: Stage[RowId] | None = None
    nearest: Stage[ChunkId] | None = None
    entries: Mapping[ChunkId, Entry] = field(default_factory=dict)
    """The manifest's word on each chunk that the vector leg found."""
    notes: Mapping[RowId, NoteId] = field(default_factory=dict)
    lexical_scores: Mapping[RowId, Scored[RowId]] = field(default_factory=dict)
    """Of the rows that only the vector leg found, those that hold a term."""
    served: Mapping[RowId, list[ChunkId]] = field(default_factory=dict)
    """Of the rows that words found, the chunks that may be served."""
    similarities: Mapping[ChunkId, float] = field(default_factory=dict)
    """Of those chunks."""
    baseline: Baseline = Baseline(0.5, 0)
    bm25: Bm25 | None = None
    admission: Admission | None = None
    """What the conditions let in; None where there are none."""
    reachable: int = 0
    """How many vectors the vector leg may give."""
    weights: Mapping[NoteId, Weight] = field(default_factory=dict)
    """What the scores of notes are multiplied by; of those that are not 1."""
    failure: str | None = None
    """Why the vector leg could not be read after all."""
    truncated: bool = False
    """Whether the query was longer than the model reads."""
    embedding: Took | None = None
    """The one embedding of the query; None where words alone were asked."""

    @property
    def idf(self) -> Mapping[Term, float]:
        return self.bm25.idf if self.bm25 else {}

    @property
    def lone_idf(self) -> float:
        return self.bm25.lone_idf if self.bm25 else 1.0

    @property
    def query_idf(self) -> float:
        return self.bm25.query_idf if self.bm25 else 1.0

    def matched(self, group: str) -> int:
        """How many notes or rows hold a term of the query, in the window or not."""
        if self.bm25 is None:
            return len(self.lexical.kept) if self.lexical else 0
        return self.bm25.matched_notes() if group == "note" else self.bm25.total

    @property
    def legs(self) -> tuple[Stage[Any], ...]:
        return tuple(leg for leg in (self.lexical, self.nearest) if leg is not None)


def gather(plan: Plan, reader: Reader, embedder: Embedder | str) -> Evidence:
    """Read each leg once, as deep as the page needs, and what ranking must know of what they found.

    If the model or the home of vectors fails in hybrid mode, words answer alone and the failure is said.
    """
    admission = admitted(plan.conditions, reader)
    if plan.listing:
        return _listed(plan, reader, admission)
    words = _words(plan, reader, admission) if plan.lexical else Evidence(admission=admission)
    words = words if plan.weights is None else replace(words, weights=weights_of(plan.weights, reader))
    if not plan.vector or isinstance(embedder, str):
        return words
    try:
        query, took = timed(lambda: _embedded(plan.sought, embedder))
    except (ModelUnavailable, UnreadableQuery) as failure:
        if not plan.lexical:
            raise
        return replace(words, failure=str(failure))
    words = replace(words, embedding=took)
    space = reader.space(embedder.identity)
    if space is None:  # there is no passage at all
        return replace(words, nearest=nearest(None, query, None, k=plan.vector_window))
    truncated = embedder.tokenizer.counts([plan.sought])[0] > embedder.tokenizer.limit
    try:
        return replace(_searched(plan, reader, words, query, space), truncated=truncated)
    except VectorsUnavailable as failure:
        if not plan.lexical:
            raise
        return replace(words, failure=str(failure))


def _searched(plan: Plan, reader: Reader, words: Evidence, query: Vector, space: Space) -> Evidence:
    """Add all that vectors say."""
    admission = words.admission
    vectors = reader.vectors(space)
    within = None if admission is None else reader.chunks_of(reader.lexicon.ids[admission.rows].tolist(), space)
    near = nearest(vectors, query, within, k=plan.vector_window)
    reachable = plan.readiness.ready if within is None else len(within)
    if reachable and not near.kept:
        raise VectorsUnavailable(f"{vectors.identity} has lost all {reachable:,} vectors. Run: cutaway index")
    known = words.lexical.ranks if words.lexical else {}
    served = reader.served(known, space)
    stored = vectors if isinstance(vectors, StoredVectors) else None
    return replace(
        _with_vectors(words, reader, near, query, space),
        served=served,
        reachable=reachable,
        similarities=similarities(stored, query, list(chain.from_iterable(served.values()))) if stored else {},
    )


def _words(plan: Plan, reader: Reader, admission: Admission | None) -> Evidence:
    bm25 = Bm25(reader.lexicon, plan.terms, plan.weighting, None if admission is None else admission.rows)
    words = match(bm25, **plan.weighting._asdict(), k=plan.lexical_window)
    return Evidence(lexical=words, notes=_notes_of(words, reader), bm25=bm25, admission=admission)


def _listed(plan: Plan, reader: Reader, admission: Admission | None) -> Evidence:
    """What the conditions let in, where they are all there is: by path, each note's rows as they were read."""
    lexicon = reader.lexicon
    places = np.flatnonzero(admission.rows) if admission else np.zeros(0, np.int64)
    paths = {card.note: card.path for card in reader.catalog}
    notes, keys = lexicon.notes[places].tolist(), lexicon.ids[places].tolist()
    by_path = sorted(
        (paths[note], note, key, place) for note, key, place in zip(notes, keys, places.tolist(), strict=True)
    )
    ordered = [(note, place) for _, note, _, place in by_path]
    if plan.group == "note":
        ordered = list(dict(reversed(ordered)).items())[::-1]
    listed = list_rows(lexicon.rows([place for _, place in ordered]))
    return Evidence(lexical=listed, notes=_notes_of(listed, reader), admission=admission)


def _notes_of(leg: Stage[RowId], reader: Reader) -> dict[RowId, NoteId]:
    places = reader.lexicon.places([hit.id for hit in leg.kept])
    return {row: NoteId(int(reader.lexicon.notes[place])) for row, place in places.items()}


@stage
def list_rows(rows: Sequence[RowId]) -> Outcome[RowId]:
    """The rows that the conditions let in, by path: a score of 1 / place, as there is nothing to rank by."""
    found = tuple(Scored(row, 1 / place) for place, row in enumerate(rows, start=1))
    return Outcome(found, remark="nothing to rank by: in order of path" if found else None)


@stage
def match(bm25: Bm25, *, k1: float, b: float, inflected: float, fields: tuple[float, ...], k: int) -> Outcome[RowId]:
    """The lexical leg: the k rows whose words answer the query best. Its parts: each term's share in each field."""
    found = bm25.ranked(k)
    terms = bm25.terms
    missing = [str(term) for term in terms if term not in bm25.found]
    remarks = [
        "no searchable term in the query" if not terms else "",
        "no term matched" if terms and not bm25.found else "",
        f"not found anywhere: {' '.join(missing)}" if missing and bm25.found else "",
        "no term matched what the conditions let in" if bm25.found and bm25.admits and not bm25.total else "",
        "relaxed: no row holds every term" if bm25.total and not bm25.complete and len(terms) > 1 else "",
    ]
    return Outcome(found, remark="; ".join(filter(None, remarks)) or None)


@stage
def nearest(vectors: VectorIndex | None, query: Vector, within: Sequence[int] | None, *, k: int) -> Outcome[ChunkId]:
    """The vector leg: the k chunks closest to the query, by cosine, of those the conditions let in."""
    found = vectors.nearest(query, k, within) if vectors else Nearest(())
    nothing = "no vectors" if within is None else "no vector of what the conditions let in"
    remark = found.remark or (None if found.hits or within == [] else nothing)
    return Outcome(tuple(Scored(near.id, near.similarity) for near in found.hits), remark=remark)


def _with_vectors(words: Evidence, reader: Reader, near: Stage[ChunkId], query: Vector, space: Space) -> Evidence:
    """Add the vector leg, and the lexical scores of the rows it found."""
    entries = reader.entries(near.ranks)
    found = {entry.row for entry in entries.values()}
    product, count = reader.mean_similarity(query, space)
    return replace(
        words,
        nearest=near,
        entries=entries,
        notes={**words.notes, **{entry.row: entry.note for entry in entries.values()}},
        lexical_scores=words.bm25.of(sorted(found)) if words.bm25 else {},
        baseline=Baseline(round((count * product + 30 * 0.5) / (count + 30), 9), count),
    )


def _embedded(text: str, embedder: Embedder) -> Vector:
    """The query's vector. A text of unknown tokens has one, but it is near every other such text."""
    if (share := embedder.tokenizer.unknown(text)) >= MOST_UNKNOWN:
        raise UnreadableQuery(f"the model does not know {share:.0%} of this query's tokens; only words can answer it")
    try:
        vectors, (fault,) = embedded(embedder, [text], query=True)
    except BadVector as error:
        raise ModelUnavailable(str(error)) from None
    if fault:
        raise ModelUnavailable(f"this query cannot be embedded: {fault}")
    vector: Vector = vectors[0]
    return vector
