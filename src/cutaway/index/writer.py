"""Writing the store: projects, notes with their rows and chunks, and what becomes of each chunk."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numpy as np

from cutaway.errors import UsageError
from cutaway.index.cards import Known
from cutaway.index.exact import ExactIndex
from cutaway.index.note_tables import Draft, NoteTables
from cutaway.index.projects import check_name, known_notes, projects_of
from cutaway.index.sqlite import now
from cutaway.index.vectors import Record, Vector
from cutaway.model import ChunkId, NoteId, Problem, Project, embedded_text


class Pending(NamedTuple):
    """A text that waits for its vector."""

    text_hash: bytes
    text: str


class Writer:
    """All changes to the store, manifest and vectors together. Callers group them into transactions.

    After a transaction that was rolled back, make a new Writer.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._tables = NoteTables(connection)
        dimension = connection.execute("SELECT value FROM meta WHERE key = 'dimension'").get
        self._vectors = None if dimension is None else ExactIndex(connection, int(dimension), ())

    # Projects

    def projects(self) -> list[Project]:
        return projects_of(self._connection)

    def add_project(self, name: str, root: Path) -> Project:
        """The project at *root*, added if need be. One folder is one project, however it is spelled."""
        check_name(name)
        for project in self.projects():
            if project.root == root:
                return project
            if project.name == name:
                raise UsageError(f"project {name!r} is already {project.root}. Choose another with --name.")
            if root.is_relative_to(project.root) or project.root.is_relative_to(root):
                raise UsageError(f"{root} overlaps project {project.name!r} ({project.root}); a note belongs to one.")
        self._connection.execute(
            "INSERT INTO projects (name, root, added_at) VALUES (?, ?, ?)", (name, str(root), now())
        )
        return next(project for project in self.projects() if project.name == name)

    def rename_project(self, project: Project, name: str) -> None:
        """Another name for the same project. Raises UsageError where it is taken."""
        check_name(name)
        for other in self.projects():
            if other.name == name:
                raise UsageError(f"project {name!r} is already {other.root}. Choose another name.")
        self._connection.execute("UPDATE projects SET name = ? WHERE id = ?", (name, project.id))

    def remove_project(self, project: Project) -> int:
        """Forget a project and all that is indexed of it; its files are not touched. Returns how many notes it had."""
        held = [known.id for known in self.known(project).values()]
        self.remove(held)
        for table in ("problems", "words"):
            self._connection.execute(f"DELETE FROM {table} WHERE project_id = ?", (project.id,))
        self._connection.execute("DELETE FROM projects WHERE id = ?", (project.id,))
        self._connection.execute("DELETE FROM meta WHERE key = 'default_project' AND value = ?", (str(project.id),))
        return len(held)

    def choose_default(self, project: Project | None) -> None:
        """Let a project be meant where none is named; None takes that back."""
        self._connection.execute("DELETE FROM meta WHERE key = 'default_project'")
        if project is not None:
            self._connection.execute("INSERT INTO meta VALUES ('default_project', ?)", (str(project.id),))

    def move_project(self, project: Project, root: Path) -> None:
        """Another folder for the same project; what is indexed of it stays."""
        self._connection.execute("UPDATE projects SET root = ? WHERE id = ?", (str(root), project.id))

    # Notes

    def known(self, project: Project) -> dict[str, Known]:
        return known_notes(self._connection, project.id)

    def rename(self, note: NoteId, path: str) -> None:
        """Another path for the same note; its rows are to be written anew, its id stays."""
        self._connection.execute("UPDATE notes SET path = ?, form = '' WHERE id = ?", (path, note))

    def remove(self, notes: Iterable[NoteId]) -> None:
        for note in notes:
            self._clear(note)
            self._connection.execute("DELETE FROM notes WHERE id = ?", (note,))

    def remove_paths(self, project: Project, paths: Sequence[str]) -> int:
        """Remove the notes at these paths, as many as there are; returns how many."""
        known = self.known(project) if paths else {}
        held = [known[path].id for path in paths if path in known]
        self.remove(held)
        return len(held)

    def write(self, project: Project, draft: Draft) -> None:
        """Put a note in place of what the index held at its path. Its chunks are pending."""
        held = self._connection.execute(
            "SELECT id FROM notes WHERE project_id = ? AND path = ?", (project.id, draft.note.path)
        ).get
        if held is not None:
            self._clear(held)
        self._tables.write(project, draft, held)

    def set_problems(self, project: Project, problems: Sequence[Problem]) -> None:
        """The problems of the last scan, in place of those of the scan before."""
        query = "SELECT path, kind, message FROM problems WHERE project_id = ?"
        if sorted(set(problems)) == sorted(Problem(*row) for row in self._connection.execute(query, (project.id,))):
            return
        self._connection.execute("DELETE FROM problems WHERE project_id = ?", (project.id,))
        self._connection.executemany(
            "INSERT OR REPLACE INTO problems VALUES (?, ?, ?, ?)", [(project.id, *problem) for problem in problems]
        )

    def _clear(self, note: NoteId) -> None:
        if self._vectors is not None:
            held = self._connection.execute("SELECT id FROM chunks WHERE note_id = ? AND state = 'ready'", (note,))
            self._vectors.delete([ChunkId(chunk) for (chunk,) in held])
        self._tables.clear(note)

    # The manifest

    def adopt(self, identity: str, dimension: int) -> bool:
        """Make *identity* the one the index serves; chunks under another are pending again.

        Returns whether that is new.
        """
        if self._connection.execute("SELECT value FROM meta WHERE key = 'embedding'").get == identity:
            return False
        self._connection.execute("DELETE FROM segments")
        self._connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", [("embedding", identity), ("dimension", str(dimension))]
        )
        self._connection.execute(
            "UPDATE chunks SET state = 'pending', error = NULL, embedding_identity = NULL, index_identity = NULL"
        )
        self._vectors = ExactIndex(self._connection, dimension, ())
        return True

    def pending_texts(self, limit: int) -> list[Pending]:
        """Distinct texts that wait for a vector, the shortest first."""
        found: list[tuple[Any, ...]] = self._connection.execute(
            "SELECT note_id, start, end, context, text_hash, min(end - start) AS size FROM chunks"
            " WHERE state = 'pending' GROUP BY text_hash ORDER BY size, text_hash LIMIT ?",
            (limit,),
        ).fetchall()
        by_note = sorted(found, key=lambda row: row[:2])  # each source is read and unpacked once
        waiting = []
        for note, rows in groupby(by_note, key=lambda row: row[0]):
            stored: Any = self._connection.execute("SELECT source FROM notes WHERE id = ?", (note,)).get
            source = zlib.decompress(stored)
            for _, start, end, context, text_hash, size in rows:
                waiting.append((size, Pending(text_hash, embedded_text(context, source[start:end].decode()))))
        return [pending for _, pending in sorted(waiting)]

    def count(self, state: str) -> int:
        """How many chunks are in a state."""
        return int(self._connection.execute("SELECT count(*) FROM chunks WHERE state = ?", (state,)).get)

    def cached(self, identity: str) -> list[tuple[bytes, Vector]]:
        """Embeddings we already have for pending chunks."""
        found = self._connection.execute(
            "SELECT DISTINCT e.text_hash, e.vector FROM chunks c CROSS JOIN embeddings e"
            " ON e.identity_id = ? AND e.text_hash = c.text_hash WHERE c.state = 'pending'",
            (self._identity_id(identity),),
        )
        return [(key, np.frombuffer(vector, np.float16).astype(np.float32)) for key, vector in found]

    def cache(self, identity: str, embedded: Iterable[tuple[bytes, Vector]]) -> None:
        """Keep embeddings for good: a rebuild, a rename or a move then embeds nothing."""
        number = self._identity_id(identity)
        self._connection.executemany(
            "INSERT OR IGNORE INTO embeddings (identity_id, text_hash, vector) VALUES (?, ?, ?)",
            [(number, key, vector.astype(np.float16).tobytes()) for key, vector in embedded],
        )

    def _identity_id(self, identity: str) -> int:
        self._connection.execute("INSERT OR IGNORE INTO identities (name) VALUES (?)", (identity,))
        return int(self._connection.execute("SELECT id FROM identities WHERE name = ?", (identity,)).get)

    def publish(self, identity: str, embedded: Iterable[tuple[bytes, Vector]]) -> int:
        """Store vectors and mark ready the chunks that still have the text they were made from."""
        assert self._vectors is not None, "adopt an identity before publishing under it"
        count = 0
        for text_hash, vector in embedded:
            waiting: list[tuple[Any, ...]] = self._connection.execute(
                "SELECT id, project_id FROM chunks WHERE text_hash = ? AND state = 'pending'", (text_hash,)
            ).fetchall()
            self._vectors.upsert([Record(ChunkId(chunk), project, vector) for chunk, project in waiting])
            self._connection.executemany(
                "UPDATE chunks SET state = 'ready', error = NULL, embedding_identity = ?, index_identity = ?,"
                " updated_at = ? WHERE id = ?",
                [(identity, self._vectors.identity, now(), chunk) for chunk, _ in waiting],
            )
            count += len(waiting)
        return count

    def fail(self, text_hash: bytes, reason: str) -> int:
        """Mark the chunks of a text that cannot be embedded. They are never ranked by similarity."""
        self._connection.execute(
            "UPDATE chunks SET state = 'failed', error = ?, updated_at = ? WHERE text_hash = ? AND state = 'pending'",
            (reason, now(), text_hash),
        )
        return self._connection.changes()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
