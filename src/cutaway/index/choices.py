"""What is stored of a project's settings: the user's choice, its own file as last read, and whether that is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cutaway.index.store import Store
from cutaway.model import Project
from cutaway.notes.vault import OWN_FILE, problems_of


def store_choice(store: Store, project: Project, chosen: Mapping[str, Any], ignore: Sequence[str]) -> None:
    """The user's settings and ignore rules of a project, in place of those before."""
    values = {**chosen, **({"ignore": list(ignore)} if ignore else {})}
    store.execute("UPDATE projects SET settings = ? WHERE id = ?", (json.dumps(values), project.id))


def store_trust(store: Store, project: Project) -> None:
    """The project's own file and what of it the user trusts, as they are in *project*."""
    store.execute("UPDATE projects SET trusted = ? WHERE id = ?", (project.trusted, project.id))
    store_own_file(store, project)
    store.execute("DELETE FROM problems WHERE project_id = ? AND path = ?", (project.id, OWN_FILE))
    store.executemany(
        "INSERT INTO problems VALUES (?, ?, ?, ?)", [(project.id, *problem) for problem in problems_of(project)]
    )


def store_own_file(store: Store, project: Project) -> bool:
    """The text of a project's own file, which searches go by. Returns whether it is another than before."""
    text = project.asked.text
    changed = "UPDATE projects SET own_file = ? WHERE id = ? AND own_file <> ? RETURNING id"
    return store.execute(changed, (text, project.id, text)).get is not None
