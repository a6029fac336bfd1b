"""The lexical index in Postgres: a table of postings, fed with terms that are already analysed.

Ranking needs how often a term stands in each field of each row; its own full-text index cannot say that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cutaway.index.schema import FIELD_COLUMNS
from cutaway.model import NoteId

if TYPE_CHECKING:
    from cutaway.index.postgres import PostgresStore

# A term may be longer than a page of an index holds: it is found by its beginning, then compared.
POSTINGS = (
    "CREATE TABLE postings (project_id BIGINT NOT NULL, row_id BIGINT NOT NULL, field SMALLINT NOT NULL,"
    ' term TEXT COLLATE "C" NOT NULL, places INT[] NOT NULL)',
    "CREATE INDEX postings_term ON postings (project_id, left(term, 64))",
    "CREATE INDEX postings_row ON postings (row_id)",
)
_HEAD = 64
_LAST = "\U0010ffff"


class Postings:
    """The table, through its store's connection."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def add(self, project: int, row: int, fields: Sequence[Sequence[str]]) -> None:
        rows = []
        for field, terms in enumerate(fields):
            places: dict[str, list[int]] = defaultdict(list)
            for place, term in enumerate(terms):
                places[term.replace("\0", "\ufffd")].append(place)
            rows += [(project, row, field, term, held) for term, held in places.items()]
        statement = "COPY postings (project_id, row_id, field, term, places) FROM STDIN"
        with self._store.connection.cursor() as cursor, cursor.copy(statement) as copy:
            for values in rows:
                copy.write_row(values)

    def remove(self, note: NoteId) -> None:
        self._store.execute("DELETE FROM postings WHERE row_id IN (SELECT id FROM rows WHERE note_id = ?)", (note,))

    def occurrences(self, word: str, prefix: bool, scope: Sequence[int]) -> NDArray[np.int64]:
        chosen, values = _chosen("", word, prefix)
        query = (
            "SELECT string_agg(int8send(row_id) || int8send(field) || int8send(cardinality(places)), ''::bytea)"
            f" FROM postings WHERE project_id = ANY(%s) AND {chosen}"
        )
        found = self._store.connection.execute(query.encode(), (list(scope), *values)).fetchone()
        counts = np.frombuffer(found[0] or b"" if found else b"", ">i8").astype(np.int64).reshape(-1, 3)
        if not prefix or not len(counts):
            return counts
        pairs, which = np.unique(counts[:, :2], axis=0, return_inverse=True)
        return np.column_stack([pairs, np.bincount(which.reshape(-1), weights=counts[:, 2]).astype(np.int64)])

    def holding(self, words: Sequence[str], fields: Sequence[str], prefix: bool, scope: Sequence[int]) -> list[int]:
        held = [list(scope), [FIELD_COLUMNS.index(field) for field in fields]]
        tables, tests, values = [], [], list[object](held)
        for number, word in enumerate(words):
            tables.append(f"postings p{number}")
            last = prefix and number == len(words) - 1
            chosen, given = _chosen(f"p{number}.", word, last)
            same = (
                f"p{number}.row_id = p0.row_id AND p{number}.field = p0.field AND p{number}.project_id = p0.project_id"
            )
            tests.append(f"{chosen} AND {same}")
            values += given
        following = " AND ".join(f"place + {number} = ANY(p{number}.places)" for number in range(len(words)))
        query = (
            f"SELECT DISTINCT p0.row_id FROM {', '.join(tables)} WHERE p0.project_id = ANY(%s) AND p0.field = ANY(%s)"
            f" AND {' AND '.join(tests)} AND EXISTS (SELECT 1 FROM unnest(p0.places) AS place WHERE {following})"
        )
        found = self._store.connection.execute(query.encode(), values).fetchall()
        return [int(row) for (row,) in found]


def _chosen(table: str, word: str, prefix: bool) -> tuple[str, list[str]]:
    """A test of a term, by the index first."""
    word = word.replace("\0", "\ufffd")
    if prefix:
        head = word[:_HEAD]
        by_index = f"left({table}term, {_HEAD}) >= %s AND left({table}term, {_HEAD}) < %s"
        return f"{by_index} AND starts_with({table}term, %s)", [head, head + _LAST, word]
    return f"left({table}term, {_HEAD}) = %s AND {table}term = %s", [word[:_HEAD], word]
