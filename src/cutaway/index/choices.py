"""What is stored of a project's settings: the user's choice, its own file as last read, and whether that is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from cutaway.model import Project
from cutaway.notes.vault import OWN_FILE, problems_of


def store_choice(
    connection: apsw.Connection, project: Project, chosen: Mapping[str, Any], ignore: Sequence[str]
) -> None:
    """The user's settings and ignore rules of a project, in place of those before."""
    values = {**chosen, **({"ignore": list(ignore)} if ignore else {})}
    connection.execute("UPDATE projects SET settings = ? WHERE id = ?", (json.dumps(values), project.id))


def store_trust(connection: apsw.Connection, project: Project) -> None:
    """The project's own file and what of it the user trusts, as they are in *project*."""
    connection.execute("UPDATE projects SET trusted = ? WHERE id = ?", (project.trusted, project.id))
    store_own_file(connection, project)
    connection.execute("DELETE FROM problems WHERE project_id = ? AND path = ?", (project.id, OWN_FILE))
    connection.executemany(
        "INSERT INTO problems VALUES (?, ?, ?, ?)", [(project.id, *problem) for problem in problems_of(project)]
    )


def store_own_file(connection: apsw.Connection, project: Project) -> bool:
    """The text of a project's own file, which searches go by. Returns whether it is another than before."""
    text = project.asked.text
    connection.execute("UPDATE projects SET own_file = ?1 WHERE id = ?2 AND own_file != ?1", (text, project.id))
    return bool(connection.changes())
