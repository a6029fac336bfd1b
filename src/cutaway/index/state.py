"""The state file: what cannot be derived from the notes, or is too dear to lose with the index.

It lies beside the index and outlives it: people's judgments, and the cross-encoder's scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from cutaway.errors import StateUnavailable
from cutaway.index.store import now

_TABLES = """
CREATE TABLE IF NOT EXISTS relevance (
    id INTEGER PRIMARY KEY,
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
_BRIEFLY, _PATIENTLY = 200, 5_000
"""Milliseconds to wait for another writer: a score that is not kept costs less than waiting, a judgment does not."""


def state_file(home: Path) -> Path:
    """The file that holds a home's state."""
    return home / "state.sqlite"


class ScoreCache:
    """Scores of cross-encoders by model identity, query and document: at most *capacity*, the oldest go first.

    Texts are kept as hashes only. Not being able to read or write is never a failure of the search:
    ``trouble`` says what went wrong since the last look-up.
    """

    def __init__(self, home: Path, capacity: int, *, read_only: bool = False) -> None:
        self._file, self._capacity, self._read_only = state_file(home), capacity, read_only
        self.trouble: str | None = None

    def scores(self, model: str, query: str, documents: Sequence[str]) -> dict[str, float]:
        """The known scores, by document."""
        self.trouble = None
        by_hash = {hashed(document): document for document in documents}
        asked = "SELECT document, score FROM relevance WHERE model = ? AND query = ? AND score BETWEEN 0 AND 1"
        try:
            known = _read(self._file, asked, (model, hashed(query))) if self._capacity else []
        except StateUnavailable as error:
            self.trouble = f"remembered scores could not be read: {error}"
            return {}
        return {by_hash[document]: float(score) for document, score in known if document in by_hash}

    def keep(self, model: str, query: str, scores: Mapping[str, float]) -> None:
        """Remember scores by document."""
        if self._read_only or not self._capacity or not scores:
            return
        rows = [(model, hashed(query), hashed(document), score) for document, score in scores.items()]
        oldest = "DELETE FROM relevance WHERE id <= (SELECT id FROM relevance ORDER BY id DESC LIMIT 1 OFFSET ?)"
        try:
            with _writing(self._file, _BRIEFLY) as connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO relevance (model, query, document, score) VALUES (?, ?, ?, ?)", rows
                )
                connection.execute(oldest, (self._capacity,))
        except StateUnavailable as error:
            self.trouble = f"scores could not be kept: {error}"


class Judgment(NamedTuple):
    """What somebody said of one result: from 0, not relevant, to 3, the answer itself."""

    project: str
    query: str
    path: str
    grade: int


class Judgments:
    """The judgments of a home. They are never derived, so they do not live in the index. Raises StateUnavailable."""

    def __init__(self, home: Path) -> None:
        self._file = state_file(home)

    def of(self, projects: Sequence[str]) -> list[Judgment]:
        """The judgments of these projects, by query and path."""
        marks = ", ".join("?" * len(projects))
        asked = f"SELECT project, query, path, grade FROM judgments WHERE project IN ({marks}) ORDER BY query, path"
        return [Judgment(*row) for row in _read(self._file, asked, tuple(projects))]

    def keep(self, judgments: Iterable[Judgment]) -> None:
        """Store judgments, all or none; a later one replaces an earlier one on the same result."""
        rows = [(*judgment, now()) for judgment in judgments]
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with _writing(self._file, _PATIENTLY) as connection:
            connection.executemany("INSERT OR REPLACE INTO judgments VALUES (?, ?, ?, ?, ?)", rows)

    def forget(self, judgment: Judgment) -> bool:
        """Take a judgment back; whether there was one."""
        taken = "DELETE FROM judgments WHERE project = ? AND query = ? AND path = ?"
        with _writing(self._file, _PATIENTLY) as connection:
            connection.execute(taken, tuple(judgment[:3]))
            return connection.changes() > 0

    def rename(self, project: str, name: str) -> None:
        """Let the judgments of a project follow its name. Nothing to do is no fault."""
        if not _read(self._file, "SELECT 1 FROM judgments WHERE project = ? LIMIT 1", (project,)):
            return
        with _writing(self._file, _PATIENTLY) as connection:
            connection.execute("UPDATE OR REPLACE judgments SET project = ? WHERE project = ?", (name, project))


def hashed(text: str) -> bytes:
    """What stands for a text in the state file."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _read(file: Path, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Rows of a query; none where nothing was ever written. Raises StateUnavailable."""
    try:
        if not file.exists() or (file.is_file() and not file.stat().st_size):
            return []
        connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(_BRIEFLY)
            return connection.execute(query, values).fetchall()
        finally:
            connection.close()
    except (apsw.Error, OSError) as error:
        raise StateUnavailable(f"{file} cannot be read: {error}") from None


@contextmanager
def _writing(file: Path, patience: int) -> Iterator[apsw.Connection]:
    """One write transaction: all of it or none. Raises StateUnavailable."""
    try:
        connection = apsw.Connection(str(file))
        try:
            connection.set_busy_timeout(patience)
            connection.execute(
                "BEGIN IMMEDIATE"
            )  # a lock taken later, by a transaction that has read, is not waited for
            connection.execute(_TABLES)
            yield connection
            connection.execute("COMMIT")
        finally:
            connection.close()  # rolls back what was not committed
    except (apsw.Error, OSError) as error:
        raise StateUnavailable(f"{file} cannot be written: {error}") from None
