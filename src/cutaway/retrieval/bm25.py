"""BM25 over the lexicon, term by term: the score of a row is the sum of what each term gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutaway.index.lexicon import Lexicon, Postings, distinct
from cutaway.index.schema import FIELD_COLUMNS
from cutaway.index.store import Ints
from cutaway.model import ENTITY, KINDS, RowId
from cutaway.notes.analyzer import Term
from cutaway.retrieval.tracing import InField, Scored

_DIGITS = 9

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Weighting(NamedTuple):
    """The constants of BM25 here."""

    k1: float
    b: float
    inflected: float
    """What another word of the same stem counts, or a word that a prefix finds; the word itself is 1."""
    fields: tuple[float, ...]
    """What an occurrence in a field counts, in the order of FIELD_COLUMNS."""


class Bm25:
    """The scores of every admitted row that holds a term of the query.

    For a term t and a row d (Robertson and Zaragoza 2009, without the constant factor k1 + 1)::

        idf(t) · tf / (tf + k1 · (1 - b + b · |d| / avgdl)),   idf(t) = ln(1 + (N - n + .5) / (n + .5))

    tf counts the occurrences of all words that the term finds, weighted by word and by field. N and n
    count notes; avgdl is the mean length of rows of the same kind, so that a one-line observation does
    not outrank a note by being short. What is admitted changes no score: all counts are the scope's.
    """

    def __init__(
        self, lexicon: Lexicon, terms: tuple[Term, ...], weighting: Weighting, admitted: Mask | None = None
    ) -> None:
        self.lexicon = lexicon
        self.terms = terms
        self.weighting = weighting
        self._admitted = admitted

    @cached_property
    def notes(self) -> int:
        """N: how many notes are in scope."""
        return int(np.count_nonzero(self.lexicon.kinds == KINDS.index(ENTITY)))

    @cached_property
    def idf(self) -> dict[Term, float]:
        """Each term's weight; 0 for a term that no row holds."""
        return {use.term: self._idf(use.places) for use in self._uses}

    @cached_property
    def found(self) -> tuple[Term, ...]:
        """The query's terms that stand in at least one row."""
        return tuple(use.term for use in self._uses if len(use.places))

    def words(self, term: Term) -> tuple[str, ...]:
        """The words by which a term was found in this scope, itself first; for a prefix they are not listed."""
        return next((use.words for use in self._uses if use.term == term), ())

    def holders(self, term: Term) -> int:
        """How many notes hold a term."""
        return next((self._notes_among(use.places) for use in self._uses if use.term == term), 0)

    @property
    def admits(self) -> bool:
        """Whether any row may be ranked at all."""
        return self._admitted is None or bool(self._admitted.any())

    @cached_property
    def total(self) -> int:
        """How many admitted rows hold a term of the query."""
        return len(self._matched)

    @cached_property
    def complete(self) -> int:
        """How many admitted rows hold every term of the query."""
        held = np.zeros(len(self.lexicon), np.int64)
        for use in self._uses:
            held[use.places] += 1
        whole = held == len(self.terms) if self._admitted is None else (held == len(self.terms)) & self._admitted
        return int(np.count_nonzero(whole)) if self.terms else 0

    def matched_notes(self) -> int:
        """How many notes have a row that holds a term of the query."""
        return len(distinct(self.lexicon.notes[self._matched]))

    def ranked(self, k: int) -> tuple[Scored[RowId], ...]:
        """The k best rows; equal scores by kind and number."""
        places, scores = self._matched, self._scores[self._matched]
        if k < len(places):
            floor = np.partition(scores, len(scores) - k)[len(scores) - k]
            places, scores = places[scores >= floor], scores[scores >= floor]
        kinds = np.array([KINDS[kind] for kind in self.lexicon.kinds[places]], str)
        order = np.lexsort((self.lexicon.numbers[places], kinds, -scores))[:k]
        return tuple(self._scored(places[order]))

    def of(self, rows: Iterable[RowId]) -> dict[RowId, Scored[RowId]]:
        """The same scores for given rows, those that hold no term left out."""
        places = self.lexicon.places(list(rows))
        holding = np.array([place for place in places.values() if self._scores[place] > 0], np.int64)
        return {hit.id: hit for hit in self._scored(holding)}

    def _scored(self, places: Ints) -> Iterator[Scored[RowId]]:
        """Rows with their scores, and what each term gave in each field."""
        parts: list[list[tuple[InField, float]]] = [[] for _ in places]
        for use in self._uses:
            shares = self._shares(use, places)
            names = [InField(str(use.term), field) for field in FIELD_COLUMNS]
            rows, fields = np.nonzero(shares > 0)
            for row, field, share in zip(rows.tolist(), fields.tolist(), shares[rows, fields].tolist(), strict=True):
                parts[row].append((names[field], share))
        scored = zip(self.lexicon.rows(places), self._scores[places].tolist(), parts, strict=True)
        yield from (Scored(row, score, parts=tuple(given)) for row, score, given in scored)

    def _shares(self, use: _Use, places: Ints) -> Floats:
        """What a term gave at these places, field by field; the largest share takes what rounding leaves over."""
        counts, total = _at(places, use.places, use.counts), _at(places, use.places, use.given)
        frequency = counts.sum(axis=1)
        held = np.divide(total, frequency, out=np.zeros_like(total), where=frequency > 0)
        shares = np.round(counts * held[:, None], _DIGITS)
        most = shares.argmax(axis=1)[:, None] if len(places) else np.zeros((0, 1), np.int64)
        left = np.round(total - shares.sum(axis=1), _DIGITS)[:, None]
        np.put_along_axis(shares, most, np.take_along_axis(shares, most, 1) + left, 1)
        rounded: Floats = np.round(shares, _DIGITS)
        return rounded

    @cached_property
    def _uses(self) -> list[_Use]:
        return [self._use(term) for term in self.terms]

    def _use(self, term: Term) -> _Use:
        """Where a term stands, by any of its words, and what it gives there."""
        own = self.lexicon.postings(term.text)
        others = [(word, self.lexicon.postings(word)) for word in self.lexicon.forms(term)]
        if term.prefix:  # what SQLite finds by the prefix holds the word itself once more
            longer = self.lexicon.postings(term.text, prefix=True)
            weighed = [(own, 1 - self.weighting.inflected), (longer, self.weighting.inflected)]
        else:
            weighed = [(own, 1.0), *((postings, self.weighting.inflected) for _, postings in others)]
        places, counts = _united([(postings, weight * np.array(self.weighting.fields)) for postings, weight in weighed])
        frequency = counts.sum(axis=1)
        given = np.round(self._idf(places) * frequency / (frequency + self._norms[places]), _DIGITS)
        words = [word for word, postings in [(term.text, own), *others] if len(postings.places)]
        return _Use(term, tuple(words), places, counts, given)

    @cached_property
    def _norms(self) -> Floats:
        """k1 · (1 - b + b · |d| / avgdl) of every row."""
        lengths = self.lexicon.lengths.astype(np.float64)
        kinds = self.lexicon.kinds
        sums = np.bincount(kinds, weights=lengths, minlength=len(KINDS))
        means = sums / np.maximum(np.bincount(kinds, minlength=len(KINDS)), 1)
        k1, b = self.weighting.k1, self.weighting.b
        norms: Floats = k1 * (1 - b + b * lengths / np.maximum(means, 1)[kinds])
        return norms

    @cached_property
    def _scores(self) -> Floats:
        scores = np.zeros(len(self.lexicon))
        for use in self._uses:
            scores[use.places] += use.given
        rounded: Floats = np.round(scores, _DIGITS)
        return rounded

    @cached_property
    def _matched(self) -> Ints:
        return np.flatnonzero(self._scores > 0 if self._admitted is None else (self._scores > 0) & self._admitted)

    def _idf(self, places: Ints) -> float:
        holding = self._notes_among(places)
        return math.log(1 + (self.notes - holding + 0.5) / (holding + 0.5)) if len(places) else 0.0

    def _notes_among(self, places: Ints) -> int:
        return int(np.count_nonzero(self.lexicon.kinds[places] == KINDS.index(ENTITY)))

    @property
    def lone_idf(self) -> float:
        """I = ln(1 + (N - .5) / 1.5): the idf of a term that one note holds."""
        return math.log(1 + max(self.notes - 0.5, 0.5) / 1.5)

    @property
    def query_idf(self) -> float:
        """Q: the idf of all the query's terms, at least I. A term that no note holds counts as I: it is missing."""
        return max(self.lone_idf, sum(weight or self.lone_idf for weight in self.idf.values()))


class _Use(NamedTuple):
    """A term in the index: its words, where they stand, counts weighted by word and field, what it gives."""

    term: Term
    words: tuple[str, ...]
    places: Ints
    counts: Floats
    given: Floats


def _united(found: Sequence[tuple[Postings, Floats]]) -> tuple[Ints, Floats]:
    """All places of several postings, with their weighted counts added up."""
    places = distinct(np.concatenate([postings.places for postings, _ in found]))
    counts = np.zeros((len(places), len(FIELD_COLUMNS)))
    for postings, weights in found:
        counts[np.searchsorted(places, postings.places)] += postings.counts * weights
    return places, counts


def _at(wanted: Ints, places: Ints, values: Floats) -> Floats:
    """A term's values at the wanted places; 0 where it does not stand."""
    if not len(places):
        return np.zeros((len(wanted), *values.shape[1:]))
    found = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
    here = (places[found] == wanted).reshape(-1, *[1] * (values.ndim - 1))
    return np.where(here, values[found], 0.0)
