"""The lexical index as ranking reads it: where each term stands, and how long each row is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutaway.index.kept import Kept, kept_property
from cutaway.index.schema import FIELD_COLUMNS
from cutaway.index.store import Ints, Store
from cutaway.model import KINDS, RowId
from cutaway.notes.analyzer import Term


class Postings(NamedTuple):
    """The rows of one term: their places in the lexicon, ascending, and counts of shape (rows, fields)."""

    places: Ints
    counts: Ints


class Lexicon:
    """Every row of one scope. A row's *place* is its position in these arrays, ordered by number."""

    def __init__(self, store: Store, scope: tuple[int, ...], kept: Kept | None = None) -> None:
        self._store, self.kept = store, kept or Kept()
        self._scope = scope
        self._marks = ", ".join("?" * len(scope))

    @kept_property
    def _table(self) -> Ints:
        chosen = f"FROM rows WHERE project_id IN ({self._marks})"
        query = f"SELECT id, number, kind, note_id, length, chunks {chosen} ORDER BY number"
        kinds = {kind: place for place, kind in enumerate(KINDS)}
        found = [(*row[:2], kinds[row[2]], *row[3:]) for row in self._store.execute(query, self._scope)]
        return np.array(found, np.int64).reshape(-1, 6)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def numbers(self) -> Ints:
        return self._table[:, 1]

    @property
    def kinds(self) -> Ints:
        """Kinds as positions in ``KINDS``."""
        return self._table[:, 2]

    @property
    def notes(self) -> Ints:
        return self._table[:, 3]

    @property
    def lengths(self) -> Ints:
        """Terms in each row, all fields together."""
        return self._table[:, 4]

    @property
    def chunks(self) -> Ints:
        """Chunks of each row."""
        return self._table[:, 5]

    def widest(self, group: str, count: int, unit: str) -> int:
        """The most ``rows`` or ``chunks`` that *count* groups (``note`` or ``row``) can have between them.

        A leg that has read one more than this has met more than *count* groups, or has ended.
        """
        sizes = self.chunks if unit == "chunks" else np.ones(len(self), np.int64)
        if group == "note" and len(self):
            sizes = np.bincount(np.unique(self.notes, return_inverse=True)[1], weights=sizes).astype(np.int64)
        return int(np.sort(sizes)[::-1][:count].sum())

    def rows(self, places: Ints | Sequence[int]) -> list[RowId]:
        """The rows at these places."""
        found = zip(self.kinds[places].tolist(), self.numbers[places].tolist(), strict=True)
        return [RowId(KINDS[kind], number) for kind, number in found]

    def places(self, rows: Sequence[RowId]) -> dict[RowId, int]:
        """Where rows stand, for those in scope."""
        if not len(self) or not rows:
            return {}
        numbers = np.array([row.number for row in rows], np.int64)
        kinds = np.array([KINDS.index(row.kind) for row in rows], np.int64)
        found = np.minimum(np.searchsorted(self.numbers, numbers), len(self) - 1)
        held = (self.numbers[found] == numbers) & (self.kinds[found] == kinds)
        return {row: place for row, place, here in zip(rows, found.tolist(), held.tolist(), strict=True) if here}

    def forms(self, term: Term) -> tuple[str, ...]:
        """The words of the scope that a term finds besides itself, those of its stem; none for a prefix."""
        query = (
            "SELECT DISTINCT term FROM words WHERE stem IN (SELECT value FROM json_each(?))"
            f" AND project_id IN ({self._marks}) ORDER BY term"
        )
        listed = self._store.execute(query, (json.dumps(sorted(term.stems)), *self._scope))
        alike = [*(stem.split(" ", 1)[1] for stem in sorted(term.stems)), *(word for (word,) in listed)]
        return tuple(word for word in dict.fromkeys(alike) if word != term.text and term.answered_by(word))

    def postings(self, word: str, prefix: bool = False) -> Postings:
        """Where a word stands in this scope, or the words that begin with it. A word is looked up as it is."""
        found = self._store.lexical.occurrences(word, prefix, self._scope)
        position, held = self._positions(found[:, 0])
        places, row = np.unique(self._by_id[0][position[held]], return_inverse=True)
        counts = np.zeros((len(places), len(FIELD_COLUMNS)), np.int64)
        counts[row, found[held, 1]] = found[held, 2]
        return Postings(places, counts)

    def holding(self, words: Sequence[str], fields: Sequence[str], prefix: bool = False) -> Ints:
        """The places of the rows that hold these words one after the other in one of the fields."""
        matching = self._store.lexical.holding(words, fields, prefix, self._scope)
        position, held = self._positions(np.array(matching, np.int64).reshape(-1))
        places: Ints = np.sort(self._by_id[0][position[held]])
        return places

    def _positions(self, ids: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Where row ids stand among those of the scope, and which of them are there at all."""
        _, known = self._by_id
        if not len(known):
            return np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
        position = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return position, known[position] == ids

    @property
    def ids(self) -> Ints:
        """The store's own key of each row."""
        return self._table[:, 0]

    @kept_property
    def _by_id(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.ids)
        return order, self.ids[order]


def distinct(values: Ints) -> Ints:
    """Each value once, ascending. (Without an inverse, np.unique imports numpy.ma: 30 ms of a cold start.)"""
    once: Ints = np.unique(values, return_inverse=True)[0]
    return once
