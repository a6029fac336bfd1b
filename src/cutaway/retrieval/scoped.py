"""Settings of the projects searched: which of them this search does not use, and why."""

from __future__ import annotations

from collections.abc import Container

from cutaway.config import AT_SEARCH, Settings
from cutaway.model import Project
from cutaway.notes.vault import OWN_FILE


def unused_settings(scope: tuple[Project, ...], used: Settings, asked: Container[str]) -> tuple[str, ...]:
    """What projects have set that *used* differs from, unless the request *asked* for it; and what their files want."""
    differing = [
        _unused(project, scope, name, getattr(used, name))
        for project in scope
        for name, value in project.settings.items()
        if name in AT_SEARCH and name not in asked and value != getattr(used, name)
    ]
    wanted = [f"{project.name}:{OWN_FILE}: {said}" for project in scope for said in project.asked.unused]
    return (*differing, *wanted)


def _unused(project: Project, scope: tuple[Project, ...], name: str, used: object) -> str:
    value = project.settings[name]
    agreed = all(other.settings.get(name) == value for other in scope)
    why = "other settings were asked for" if agreed else "not every project searched has it"
    return f"{project.name}: {name} = {value} is not used, as {why}; {name} is {used}"
