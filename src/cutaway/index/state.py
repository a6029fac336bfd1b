"""The state: what cannot be derived from the notes, or is too dear to lose with the index.

People's judgments, and the cross-encoder's scores. It outlives every rebuild: in a file beside the index, or,
where the index is in Postgres, in tables of their own there, so that all processes share them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import apsw

from cutaway.config import Settings
from cutaway.errors import StateUnavailable
from cutaway.index.store import now

TABLES = """
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
_JUDGED = (
    "INSERT INTO judgments (project, query, path, grade, judged_at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (project, query, path) DO UPDATE SET grade = excluded.grade, judged_at = excluded.judged_at"
)
_RESCORED = "DELETE FROM relevance WHERE model = ? AND query = ? AND document = ?"
_SCORED = (
    "INSERT INTO relevance (model, query, document, score) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (model, query, document) DO UPDATE SET score = excluded.score"
)


class Statements(Protocol):
    """What runs statements inside one transaction."""

    def execute(self, statement: str, values: Any = ...) -> Any: ...

    def executemany(self, statement: str, values: Iterable[Any]) -> Any: ...


class State(Protocol):
    """Where the state is."""

    def rows(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Rows of a query; none where nothing was ever written. Raises StateUnavailable."""

    def writing(self, patience: int, create: bool = True) -> AbstractContextManager[Statements]:
        """One write transaction: all of it or none. Raises StateUnavailable after so many milliseconds' waiting.

        Also where there is no home yet, unless it may *create* one.
        """


def state_of(home: Path, settings: Settings | None) -> State:
    """The state that belongs to a home's index."""
    if settings is None or settings.store is None:
        return StateFile(state_file(home))
    from cutaway.index.postgres_state import PostgresState  # only where it is used

    return PostgresState(settings)


def state_file(home: Path) -> Path:
    """The file that holds a home's state, where its index is a file."""
    return home / "state.sqlite"


class ScoreCache:
    """Scores of cross-encoders by model identity, query and document: at most *capacity*, the oldest go first.

    Texts are kept as hashes only. Not being able to read or write is never a failure of the search:
    ``trouble`` says what went wrong since the last look-up.
    """

    def __init__(self, home: Path, capacity: int, *, read_only: bool = False, settings: Settings | None = None) -> None:
        self._state, self._capacity, self._read_only = state_of(home, settings), capacity, read_only
        self.trouble: str | None = None

    def scores(self, model: str, query: str, documents: Sequence[str]) -> dict[str, float]:
        """The known scores, by document."""
        self.trouble = None
        by_hash = {hashed(document): document for document in documents}
        asked = "SELECT document, score FROM relevance WHERE model = ? AND query = ? AND score BETWEEN 0 AND 1"
        try:
            known = self._state.rows(asked, (model, hashed(query))) if self._capacity else []
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
            with self._state.writing(_BRIEFLY, create=False) as connection:
                connection.executemany(_RESCORED, [row[:3] for row in rows])  # so that they are the youngest
                connection.executemany(_SCORED, rows)
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

    def __init__(self, home: Path, settings: Settings | None = None) -> None:
        self._state = state_of(home, settings)

    def of(self, projects: Sequence[str]) -> list[Judgment]:
        """The judgments of these projects, by query and path."""
        marks = ", ".join("?" * len(projects))
        asked = f"SELECT project, query, path, grade FROM judgments WHERE project IN ({marks}) ORDER BY query, path"
        return [Judgment(*row) for row in self._state.rows(asked, tuple(projects))]

    def all(self) -> list[Judgment]:
        """The judgments of every project, also of those that the index has no more."""
        return [
            Judgment(*row)
            for row in self._state.rows("SELECT project, query, path, grade FROM judgments ORDER BY 1, 2, 3", ())
        ]

    def keep(self, judgments: Iterable[Judgment]) -> None:
        """Store judgments, all or none; a later one replaces an earlier one on the same result."""
        rows = [(*judgment, now()) for judgment in judgments]
        with self._state.writing(_PATIENTLY) as connection:
            connection.executemany(_JUDGED, rows)

    def forget(self, judgment: Judgment) -> bool:
        """Take a judgment back; whether there was one."""
        taken = "DELETE FROM judgments WHERE project = ? AND query = ? AND path = ? RETURNING 1"
        with self._state.writing(_PATIENTLY) as connection:
            return bool(list(connection.execute(taken, tuple(judgment[:3]))))

    def rename(self, project: str, name: str) -> None:
        """Let the judgments of a project follow its name. Nothing to do is no fault."""
        if not self._state.rows("SELECT 1 FROM judgments WHERE project = ? LIMIT 1", (project,)):
            return
        replaced = (
            "DELETE FROM judgments WHERE project = ? AND EXISTS (SELECT 1 FROM judgments j WHERE j.project = ?"
            " AND j.query = judgments.query AND j.path = judgments.path)"
        )
        with self._state.writing(_PATIENTLY) as connection:
            connection.execute(replaced, (name, project))
            connection.execute("UPDATE judgments SET project = ? WHERE project = ?", (name, project))


def hashed(text: str) -> bytes:
    """What stands for a text in the state file."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class StateFile:
    """The state in a file of its own."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def rows(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            if not self._file.exists() or (self._file.is_file() and not self._file.stat().st_size):
                return []
            connection = apsw.Connection(str(self._file), flags=apsw.SQLITE_OPEN_READONLY)
            try:
                connection.set_busy_timeout(_BRIEFLY)
                return connection.execute(query, values).fetchall()
            finally:
                connection.close()
        except (apsw.Error, OSError) as error:
            raise StateUnavailable(f"{self._file} cannot be read: {error}") from None

    @contextmanager
    def writing(self, patience: int, create: bool = True) -> Iterator[apsw.Connection]:
        try:
            if create:
                self._file.parent.mkdir(parents=True, exist_ok=True)
            connection = apsw.Connection(str(self._file))
            try:
                connection.set_busy_timeout(patience)
                connection.execute("BEGIN IMMEDIATE")  # taken later, after reading, the lock would not be waited for
                connection.execute(TABLES)
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()  # rolls back what was not committed
        except (apsw.Error, OSError) as error:
            raise StateUnavailable(f"{self._file} cannot be written: {error}") from None
