"""Which projects an index has, which of them a request means, and what notes it holds of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from cutaway.config import PER_PROJECT
from cutaway.errors import UnknownProject, UsageError
from cutaway.index.cards import Known
from cutaway.index.store import Store
from cutaway.model import Project, Scope
from cutaway.notes.vault import understood


def projects_of(store: Store) -> list[Project]:
    """Every project of the index, by name."""
    found = store.execute("SELECT id, name, root, settings, trusted, own_file FROM projects ORDER BY name")
    return [_project(*row) for row in found]


def _project(number: int, name: str, root: str, settings: str, trusted: str | None, own_file: str) -> Project:
    held = json.loads(settings)
    chosen = tuple((key, held[key]) for key in PER_PROJECT if key in held)
    return understood(Project(number, name, Path(root), chosen, tuple(held.get("ignore", ())), trusted), own_file)


def known_notes(store: Store, project: int) -> dict[str, Known]:
    """What each note of a project was read from, and how, by path."""
    query = "SELECT path, id, hash, form FROM notes WHERE project_id = ?"
    return {path: Known(*rest) for path, *rest in store.execute(query, (project,))}


def holds_notes(store: Store, project: Project, folder: str) -> bool:
    """Whether a note is indexed anywhere below a folder of the project."""
    query = "SELECT 1 FROM notes WHERE project_id = ? AND path >= ? AND path < ? LIMIT 1"
    return store.execute(query, (project.id, f"{folder}/", f"{folder}0")).get is not None  # 0 follows /


def scope_of(store: Store, names: Sequence[str], here: Path | None = None) -> Scope:
    """The projects named; without names the one around this folder, else the default, else the only one.

    Raises UnknownProject, UsageError.
    """
    every = projects_of(store)
    known = ", ".join(project.name for project in every) or "none"
    for name in names:
        if name not in {project.name for project in every}:
            raise UnknownProject(f"no project is called {name!r}. Projects here: {known}.")
    if names:
        return as_scope([project for project in every if project.name in names])
    around = tuple(project for project in every if here and here.is_relative_to(project.root))
    chosen = around or default_of(store) or (tuple(every) if len(every) == 1 else ())
    if chosen or not every:
        return as_scope(chosen)
    raise UsageError(
        "name the project to search with --project, choose one with `cutaway project default NAME`, "
        f"or use --all-projects (for programs: `projects`, `all_projects`). Projects here: {known}."
    )


def as_scope(projects: Sequence[Project]) -> Scope:
    """These projects as a scope. Raises UnknownProject where there is none."""
    if not projects:
        raise UnknownProject("this index has no project yet. Run: cutaway index FOLDER")
    return projects[0], *projects[1:]


def default_of(store: Store) -> tuple[Project, ...]:
    """The project that is meant where none is named; none where none was chosen, or it is gone."""
    chosen = store.execute("SELECT value FROM meta WHERE key = 'default_project'").get
    return tuple(project for project in projects_of(store) if str(project.id) == chosen)


def named_project(store: Store, name: str) -> Project:
    """The project of that name. Raises UnknownProject."""
    return scope_of(store, [name])[0]


def check_name(name: str) -> None:
    """Raise UsageError for a name that could not be told from a path, a line or a passage."""
    if not name or any(sign in ":#/" or sign.isspace() or not sign.isprintable() for sign in name):
        raise UsageError(f"a project cannot be called {name!r}: leave out spaces and the signs : # /")
