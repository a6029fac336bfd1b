"""Writing the store: projects, and notes with their rows and chunks. What becomes of chunks is the manifest's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from cutaway.errors import UsageError
from cutaway.index.cards import Known
from cutaway.index.manifest import Manifest
from cutaway.index.note_tables import Draft, NoteTables
from cutaway.index.projects import check_name, known_notes, projects_of
from cutaway.index.store import Store, now
from cutaway.model import NoteId, Problem, Project


class Writer:
    """All changes to the store, manifest and vectors together. Callers group them into transactions.

    After a transaction that was rolled back, make a new Writer.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tables = NoteTables(store)
        self.manifest = Manifest(store)

    # Projects

    def projects(self) -> list[Project]:
        return projects_of(self._store)

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
        self._store.execute("INSERT INTO projects (name, root, added_at) VALUES (?, ?, ?)", (name, str(root), now()))
        return next(project for project in self.projects() if project.name == name)

    def rename_project(self, project: Project, name: str) -> None:
        """Another name for the same project. Raises UsageError where it is taken."""
        check_name(name)
        for other in self.projects():
            if other.name == name:
                raise UsageError(f"project {name!r} is already {other.root}. Choose another name.")
        self._store.execute("UPDATE projects SET name = ? WHERE id = ?", (name, project.id))

    def remove_project(self, project: Project) -> int:
        """Forget a project and all that is indexed of it; its files are not touched. Returns how many notes it had."""
        held = [known.id for known in self.known(project).values()]
        self.remove(held)
        for table in ("problems", "sums", "words"):
            self._store.execute(f"DELETE FROM {table} WHERE project_id = ?", (project.id,))
        self._store.execute("DELETE FROM projects WHERE id = ?", (project.id,))
        self._store.execute("DELETE FROM meta WHERE key = 'default_project' AND value = ?", (str(project.id),))
        return len(held)

    def choose_default(self, project: Project | None) -> None:
        """Let a project be meant where none is named; None takes that back."""
        self._store.execute("DELETE FROM meta WHERE key = 'default_project'")
        if project is not None:
            self._store.execute("INSERT INTO meta VALUES ('default_project', ?)", (str(project.id),))

    def move_project(self, project: Project, root: Path) -> None:
        """Another folder for the same project; what is indexed of it stays."""
        self._store.execute("UPDATE projects SET root = ? WHERE id = ?", (str(root), project.id))

    # Notes

    def known(self, project: Project) -> dict[str, Known]:
        return known_notes(self._store, project.id)

    def rename(self, note: NoteId, path: str) -> None:
        """Another path for the same note; its rows are to be written anew, its id stays."""
        self._store.execute("UPDATE notes SET path = ?, form = '' WHERE id = ?", (path, note))

    def remove(self, notes: Iterable[NoteId]) -> None:
        gone = list(notes)
        self.manifest.hold(gone)
        for note in gone:
            self._clear(note)
            self._store.execute("DELETE FROM notes WHERE id = ?", (note,))

    def remove_paths(self, project: Project, paths: Sequence[str]) -> int:
        """Remove the notes at these paths, as many as there are; returns how many."""
        known = self.known(project) if paths else {}
        held = [known[path].id for path in paths if path in known]
        self.remove(held)
        return len(held)

    def hold(self, project: Project, paths: Sequence[str]) -> None:
        """Keep what the index has at these paths from being embedded, in a transaction that will replace it."""
        query = "SELECT id FROM notes WHERE project_id = ? AND path IN (SELECT value FROM json_each(?))"
        self.manifest.hold(note for (note,) in self._store.execute(query, (project.id, json.dumps(list(paths)))))

    def write(self, project: Project, draft: Draft) -> None:
        """Put a note in place of what the index held at its path. Its chunks are pending."""
        held = self._store.execute(
            "SELECT id FROM notes WHERE project_id = ? AND path = ?", (project.id, draft.note.path)
        ).get
        if held is not None:
            self._clear(held)
        self._tables.write(project, draft, held)

    def set_problems(self, project: Project, problems: Sequence[Problem]) -> None:
        """The problems of the last scan, in place of those of the scan before."""
        query = "SELECT path, kind, message FROM problems WHERE project_id = ?"
        if sorted(set(problems)) == sorted(Problem(*row) for row in self._store.execute(query, (project.id,))):
            return
        self._store.execute("DELETE FROM problems WHERE project_id = ?", (project.id,))
        self._store.executemany(
            "INSERT INTO problems VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [(project.id, *problem) for problem in problems],
        )

    def _clear(self, note: NoteId) -> None:
        self.manifest.withdraw(note)
        self._tables.clear(note)
