"""Keeping an index in line while folders change: which changes matter, to whom, and when all is looked at anew.

Knows neither a file system's events nor a terminal: both are given.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from cutaway.model import Project
from cutaway.notes.files import IGNORE_FILES, SUFFIXES

Holds = Callable[[Project, str], bool]
"""Whether the index holds a note of the project anywhere below a path."""


class World(NamedTuple):
    """What a watch asks, and what it orders."""

    projects: Callable[[], Sequence[Project]]
    """Those to be watched now; other processes add and remove some."""
    changes: Callable[[Sequence[Path]], Iterable[Collection[str]]]
    """Paths that change below folders, from before the first batch on; batches are often empty.

    They end where the folders must be watched anew.
    """
    holds: Holds
    update: Callable[[Sequence[Project]], bool]
    """Bring projects in line with their folders; False where that is to be tried again."""
    stopped: Callable[[], bool]


def watch(world: World) -> None:
    """Update every project, then each in which something changes, until stopped.

    A folder that goes, comes back or is replaced, and a project added or removed, let all be
    watched anew and updated, since nothing is known of the time in between.
    """
    while not world.stopped():
        places = _places(world.projects())
        projects = [project for project, _ in places]
        due = {project.id for project in projects}
        for changed in world.changes([project.root for project, place in places if place]):
            due |= touched(projects, changed, world.holds)
            if due and world.update([project for project in projects if project.id in due]):
                due = set()
            if world.stopped() or _places(world.projects()) != places:
                break


def touched(projects: Iterable[Project], changed: Collection[str], holds: Holds) -> set[int]:
    """The ids of the projects whose index a change may concern."""
    return {project.id for project in projects if any(_matters(project, path, holds) for path in changed)}


def _matters(project: Project, path: str, holds: Holds) -> bool:
    place = Path(path)
    if not place.is_relative_to(project.root):
        return False
    parts = place.relative_to(project.root).parts
    if not parts:
        return True
    if any(part.startswith(".") for part in parts[:-1]):
        return False
    if place.name in IGNORE_FILES or place.name.startswith("."):
        return place.name in IGNORE_FILES
    if place.name.lower().endswith(SUFFIXES) or place.is_dir():
        return True
    # What is gone may have been a folder.
    return not os.path.lexists(place) and holds(project, unicodedata.normalize("NFC", "/".join(parts)))


def _places(projects: Iterable[Project]) -> list[tuple[Project, tuple[int, int] | None]]:
    """Each project with what its path leads to now; None where that cannot be listed."""
    return [(project, _place(project.root)) for project in projects]


def _place(root: Path) -> tuple[int, int] | None:
    try:
        with os.scandir(root) as entries:
            next(entries, None)
        found = root.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
