"""Which projects an index has, which of them a request means, and what notes it holds of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw

from cutaway.errors import UnknownProject, UsageError
from cutaway.index.cards import Known
from cutaway.model import Project


def projects_of(connection: apsw.Connection) -> list[Project]:
    """Every project of the index, by name."""
    found = connection.execute("SELECT id, name, root FROM projects ORDER BY name")
    return [Project(number, name, Path(root)) for number, name, root in found]


def known_notes(connection: apsw.Connection, project: Project) -> dict[str, Known]:
    """What each note of a project was read from, and how, by path."""
    query = "SELECT path, id, hash, form FROM notes WHERE project_id = ?"
    return {path: Known(*rest) for path, *rest in connection.execute(query, (project.id,))}


def scope_of(connection: apsw.Connection, names: Sequence[str], here: Path) -> tuple[Project, ...]:
    """The projects named; without names the one around the current folder, else the only one.

    Raises UnknownProject, UsageError.
    """
    every = projects_of(connection)
    known = ", ".join(project.name for project in every) or "none"
    for name in names:
        if name not in {project.name for project in every}:
            raise UnknownProject(f"no project is called {name!r}. Projects here: {known}.")
    if names:
        return tuple(project for project in every if project.name in names)
    around = tuple(project for project in every if here.is_relative_to(project.root))
    if around or len(every) == 1:
        return around or tuple(every)
    if not every:
        raise UnknownProject("this index has no project yet. Run: cutaway index FOLDER")
    raise UsageError(f"name the project to search with --project, or use --all-projects. Projects here: {known}.")
