"""The lexical index as ranking reads it: where each term stands, and how long each row is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from cutaway.index.schema import FIELD_COLUMNS
from cutaway.index.sqlite import field_counts
from cutaway.model import KINDS, RowId

Ints = NDArray[np.int64]


class Postings(NamedTuple):
    """The rows of one term: their places in the lexicon, ascending, and counts of shape (rows, fields)."""

    places: Ints
    counts: Ints


class Lexicon:
    """Every row of one scope. A row's *place* is its position in these arrays, ordered by number."""

    def __init__(self, connection: apsw.Connection, scope: tuple[int, ...]) -> None:
        self._connection = connection
        self._scope = scope

    @cached_property
    def _table(self) -> Ints:
        marks = ", ".join("?" * len(self._scope))
        query = (
            f"SELECT id, number, kind, note_id, length, chunks FROM rows WHERE project_id IN ({marks}) ORDER BY number"
        )
        kinds = {kind: place for place, kind in enumerate(KINDS)}
        found = [(*row[:2], kinds[row[2]], *row[3:]) for row in self._connection.execute(query, self._scope)]
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

    def postings(self, term: str) -> Postings:
        """Where a term stands in this scope. The term is looked up as it is: no query syntax."""
        quoted = '"' + term.replace('"', '""') + '"'
        query = "SELECT rowid, field_counts(lexical) FROM lexical WHERE lexical MATCH ?"
        found = np.array(self._connection.execute(query, (quoted,)).fetchall(), np.int64).reshape(-1, 2)
        order, ids = self._by_id
        position = np.minimum(np.searchsorted(ids, found[:, 0]), max(len(ids) - 1, 0))
        held = ids[position] == found[:, 0] if len(ids) else np.zeros(len(found), bool)
        packed = found[held, 1]
        counts = np.stack([field_counts(packed, field) for field in range(len(FIELD_COLUMNS))], axis=1)
        places = order[position[held]]
        ascending = np.argsort(places)
        return Postings(places[ascending], counts[ascending])

    @cached_property
    def _by_id(self) -> tuple[Ints, Ints]:
        order = np.argsort(self._table[:, 0])
        return order, self._table[order, 0]
