"""The state file: what cannot be derived from the notes, or is too dear to lose with the index.

It lies beside the index and outlives it: people's judgments, and the cross-encoder's scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from cutaway.index.sqlite import now

_TABLES = """
CREATE TABLE IF NOT EXISTS relevance (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL,
    query BLOB NOT NULL,
    document BLOB NOT NULL,
    score REAL NOT NULL,
    UNIQUE (model, query, document)
);
CREATE TABLE IF NOT EXISTS judgments (
    project TEXT NOT NULL,
    query TEXT NOT NULL,
    path TEXT NOT NULL,
    grade INTEGER NOT NULL,
    judged_at TEXT NOT NULL,
    PRIMARY KEY (project, query, path)
) WITHOUT ROWID;
"""
_BUSY_MS = 200  # a score that is not kept costs less than waiting


def state_file(home: Path) -> Path:
    """The file that holds a home's state."""
    return home / "state.sqlite"


class ScoreCache:
    """Scores of cross-encoders by model identity, query and document: at most *capacity*, the oldest go first.

    Texts are kept as hashes only. Not being able to read or write is never a failure of the search:
    ``trouble`` says what went wrong.
    """

    def __init__(self, home: Path, capacity: int, *, read_only: bool = False) -> None:
        self._file, self._capacity, self._read_only = state_file(home), capacity, read_only
        self.trouble: str | None = None

    def scores(self, model: str, query: str, documents: Sequence[str]) -> dict[str, float]:
        """The known scores, by document."""
        self.trouble = None
        if not self._file.is_file() or not self._capacity:
            return {}
        by_hash = {hashed(document): document for document in documents}
        try:
            connection = _opened(self._file, apsw.SQLITE_OPEN_READONLY)
            try:
                asked = "SELECT document, score FROM relevance WHERE model = ? AND query = ?"
                known: list[tuple[Any, ...]] = connection.execute(asked, (model, hashed(query))).fetchall()
            finally:
                connection.close()
        except apsw.Error as error:
            self.trouble = f"remembered scores could not be read: {error}"
            return {}
        return {by_hash[document]: score for document, score in known if document in by_hash}

    def keep(self, model: str, query: str, scores: Mapping[str, float]) -> None:
        """Remember scores by document."""
        if self._read_only or not self._capacity or not scores:
            return
        rows = [(model, hashed(query), hashed(document), score) for document, score in scores.items()]
        try:
            connection = _opened(self._file, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
            try:
                with connection:
                    connection.execute(_TABLES)
                    connection.executemany(
                        "INSERT OR REPLACE INTO relevance (model, query, document, score) VALUES (?, ?, ?, ?)", rows
                    )
                    connection.execute(
                        "DELETE FROM relevance WHERE id <="
                        " (SELECT id FROM relevance ORDER BY id DESC LIMIT 1 OFFSET ?)",
                        (self._capacity,),
                    )
            finally:
                connection.close()
        except apsw.Error as error:
            self.trouble = f"scores could not be kept: {error}"


class Judgment(NamedTuple):
    """What somebody said of one result: from 0, not relevant, to 3, the answer itself."""

    project: str
    query: str
    path: str
    grade: int


class Judgments:
    """The judgments of a home. They are never derived, so they do not live in the index."""

    def __init__(self, home: Path) -> None:
        self._file = state_file(home)

    def of(self, projects: Sequence[str]) -> list[Judgment]:
        """The judgments of these projects, by query and path."""
        if not self._file.is_file():
            return []
        marks = ", ".join("?" * len(projects))
        connection = _opened(self._file, apsw.SQLITE_OPEN_READONLY)
        try:
            rows: list[tuple[Any, ...]] = connection.execute(
                f"SELECT project, query, path, grade FROM judgments WHERE project IN ({marks}) ORDER BY query, path",
                tuple(projects),
            ).fetchall()
        finally:
            connection.close()
        return [Judgment(*row) for row in rows]

    def keep(self, judgments: Iterable[Judgment]) -> None:
        """Store judgments, all or none; a later one replaces an earlier one on the same result."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        connection = _opened(self._file, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        try:
            with connection:
                connection.execute(_TABLES)
                connection.executemany(
                    "INSERT OR REPLACE INTO judgments VALUES (?, ?, ?, ?, ?)",
                    [(*judgment, now()) for judgment in judgments],
                )
        finally:
            connection.close()

    def forget(self, judgment: Judgment) -> bool:
        """Take a judgment back; whether there was one."""
        connection = _opened(self._file, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        try:
            connection.execute(_TABLES)
            connection.execute(
                "DELETE FROM judgments WHERE project = ? AND query = ? AND path = ?", tuple(judgment[:3])
            )
            return connection.changes() > 0
        finally:
            connection.close()


def hashed(text: str) -> bytes:
    """What stands for a text in the state file."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _opened(file: Path, flags: int) -> apsw.Connection:
    connection = apsw.Connection(str(file), flags=flags)
    connection.set_busy_timeout(_BUSY_MS)
    return connection
