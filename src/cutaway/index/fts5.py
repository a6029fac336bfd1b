"""The lexical index in SQLite: an FTS5 table without content, fed with terms that are already analysed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cutaway.index.schema import FIELD_COLUMNS
from cutaway.model import NoteId

if TYPE_CHECKING:
    from cutaway.index.sqlite import SqliteStore

_LAST = "\U0010ffff"
_FIELD = f"CASE col {' '.join(f'WHEN {name!r} THEN {place}' for place, name in enumerate(FIELD_COLUMNS))} END"
_INSERT = f"INSERT INTO lexical (rowid, {', '.join(FIELD_COLUMNS)}) VALUES (?, {', '.join('?' * len(FIELD_COLUMNS))})"


class Fts5:
    """The table, through its store's connection. Its rows know no project: the lexicon holds them to the scope."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def add(self, project: int, row: int, fields: Sequence[Sequence[str]]) -> None:  # noqa: ARG002
        self._store.execute(_INSERT, (row, *(" ".join(field) for field in fields)))

    def remove(self, note: NoteId) -> None:
        self._store.execute("DELETE FROM lexical WHERE rowid IN (SELECT id FROM rows WHERE note_id = ?)", (note,))

    def occurrences(self, word: str, prefix: bool, scope: Sequence[int]) -> NDArray[np.int64]:  # noqa: ARG002
        chosen, values = ("term >= ? AND term < ?", (word, word + _LAST)) if prefix else ("term = ?", (word,))
        query = f"SELECT doc, {_FIELD}, count(*) FROM temp.occurrences WHERE {chosen} GROUP BY doc, col"
        return np.array(self._store.execute(query, values).fetchall(), np.int64).reshape(-1, 3)

    def holding(self, words: Sequence[str], fields: Sequence[str], prefix: bool, scope: Sequence[int]) -> list[int]:  # noqa: ARG002
        phrase = _quoted(" ".join(words)) + (" *" if prefix else "")
        query = "SELECT rowid FROM lexical WHERE lexical MATCH ?"
        return [int(row) for (row,) in self._store.execute(query, (f"{{{' '.join(fields)}}} : {phrase}",))]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
