"""BM25 over the lexicon, term by term: the score of a row is the sum of what each term gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cutaway.index.lexicon import Ints, Lexicon, Postings
from cutaway.model import ENTITY, KINDS, RowId
from cutaway.retrieval.tracing import Scored

K1, B = 0.9, 0.6
# What one occurrence in a field counts, in the order of the lexical columns.
FIELD_WEIGHTS = (2.0, 2.0, 1.0, 1.0, 1.0)
_DIGITS = 9

Floats = NDArray[np.float64]


class Bm25:
    """The scores of every row that holds a term of the query.

    For a term t and a row d (Robertson and Zaragoza 2009, without the constant factor k1 + 1)::

        idf(t) · tf / (tf + k1 · (1 - b + b · |d| / avgdl)),   idf(t) = ln(1 + (N - n + .5) / (n + .5))

    tf counts occurrences weighted by field. N and n count notes; avgdl is the mean length of rows
    of the same kind, so that a one-line observation does not outrank a note by being short.
    """

    def __init__(self, lexicon: Lexicon, terms: tuple[str, ...]) -> None:
        self.lexicon = lexicon
        self.terms = terms

    @cached_property
    def notes(self) -> int:
        """N: how many notes are in scope."""
        return int(np.count_nonzero(self.lexicon.kinds == KINDS.index(ENTITY)))

    @cached_property
    def idf(self) -> dict[str, float]:
        """Each term's weight; 0 for a term that no row holds."""
        return {term: self._idf(postings) for term, postings in zip(self.terms, self._postings, strict=True)}

    @cached_property
    def found(self) -> tuple[str, ...]:
        """The query's terms that stand in at least one row."""
        return tuple(term for term, postings in zip(self.terms, self._postings, strict=True) if len(postings.places))

    @cached_property
    def total(self) -> int:
        """How many rows hold a term of the query."""
        return len(self._matched)

    @cached_property
    def complete(self) -> int:
        """How many rows hold every term of the query."""
        held = np.zeros(len(self.lexicon), np.int64)
        for postings in self._postings:
            held[postings.places] += 1
        return int(np.count_nonzero(held == len(self.terms))) if self.terms else 0

    def matched_notes(self) -> int:
        """How many notes have a row that holds a term of the query."""
        return len(np.unique(self.lexicon.notes[self._matched]))

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
        """Rows with their scores, and what each term gave."""
        shares = [_at(places, *given) for given in self._given]
        by_row = np.array(shares).reshape(len(self.terms), len(places)).T.tolist()
        rows = zip(self.lexicon.rows(places), self._scores[places].tolist(), by_row, strict=True)
        for row, score, given in rows:
            parts = tuple((term, part) for term, part in zip(self.terms, given, strict=True) if part > 0)
            yield Scored(row, score, parts=parts)

    @cached_property
    def _postings(self) -> list[Postings]:
        return [self.lexicon.postings(term) for term in self.terms]

    @cached_property
    def _norms(self) -> Floats:
        """k1 · (1 - b + b · |d| / avgdl) of every row."""
        lengths = self.lexicon.lengths.astype(np.float64)
        kinds = self.lexicon.kinds
        sums = np.bincount(kinds, weights=lengths, minlength=len(KINDS))
        means = sums / np.maximum(np.bincount(kinds, minlength=len(KINDS)), 1)
        norms: Floats = K1 * (1 - B + B * lengths / np.maximum(means, 1)[kinds])
        return norms

    @cached_property
    def _given(self) -> list[tuple[Ints, Floats]]:
        """What each term gives, and to which rows."""
        given = []
        for term, postings in zip(self.terms, self._postings, strict=True):
            frequency = postings.counts @ np.array(FIELD_WEIGHTS)
            saturated = frequency / (frequency + self._norms[postings.places])
            given.append((postings.places, np.round(self.idf[term] * saturated, _DIGITS)))
        return given

    @cached_property
    def _scores(self) -> Floats:
        scores = np.zeros(len(self.lexicon))
        for places, shares in self._given:
            scores[places] += shares
        rounded: Floats = np.round(scores, _DIGITS)
        return rounded

    @cached_property
    def _matched(self) -> NDArray[np.int64]:
        return np.flatnonzero(self._scores > 0)

    def _idf(self, postings: Postings) -> float:
        holding = int(np.count_nonzero(self.lexicon.kinds[postings.places] == KINDS.index(ENTITY)))
        if not len(postings.places):
            return 0.0
        return math.log(1 + (self.notes - holding + 0.5) / (holding + 0.5))

    @property
    def lone_idf(self) -> float:
        """I = ln(1 + (N - .5) / 1.5): the idf of a term that one note holds."""
        return math.log(1 + max(self.notes - 0.5, 0.5) / 1.5)

    @property
    def query_idf(self) -> float:
        """Q: the idf of all the query's terms, at least I. A term that no note holds counts as I: it is missing."""
        return max(self.lone_idf, sum(weight or self.lone_idf for weight in self.idf.values()))


def _at(wanted: Ints, places: Ints, shares: Floats) -> Floats:
    """A term's shares at the wanted places; 0 where it does not stand."""
    if not len(places):
        return np.zeros(len(wanted))
    found = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
    return np.where(places[found] == wanted, shares[found], 0.0)
