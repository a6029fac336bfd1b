"""`cutaway watch`: keep the index in line with every project while its notes change."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any

import apsw

from cutaway.config import Settings, load_settings
from cutaway.errors import IndexBusy, IndexMismatch, RootMissing
from cutaway.faces.cli.index import progress_bar
from cutaway.faces.cli.prepare import home_of
from cutaway.faces.cli.running import Telling, stopped_by_signals
from cutaway.faces.indexing import (
    Outcome,
    Work,
    brought_in_line,
    changed_paths,
    chosen_projects,
    embedder_or_notice,
    summary_of,
)
from cutaway.index.changes import changes
from cutaway.index.projects import holds_notes, projects_of
from cutaway.index.store import Store, alone, open_reader, open_writer
from cutaway.index.sync import Report
from cutaway.index.watch import World, watch
from cutaway.model import Problem, Project

_AGAIN_SECONDS = 5


def run(options: argparse.Namespace) -> int:
    """Watch until Ctrl-C or SIGTERM, which is how it is meant to end."""
    home, stop = home_of(options), Event()
    settings, telling = load_settings(home), Telling(options.json)
    with suppress(KeyboardInterrupt), stopped_by_signals(stop):
        _make_current(home, settings)
        with _opened(home, settings) as connection:
            chosen_projects(connection, options.project)
        watching = Watching(options, settings, stop, telling)
        watch(World(watching.projects, watching.changes, watching.holds, watching.update, stop.is_set))
    telling.line("stopped", "stopped; what was done is kept")
    return 0


class Watching:
    """The world of a watch: one home, its index, and somebody who is told."""

    def __init__(self, options: argparse.Namespace, settings: Settings, stop: Event, telling: Telling) -> None:
        self._home, self._settings, self._stop, self._telling = home_of(options), settings, stop, telling
        self._names, self._embed = options.project, not options.no_embed
        self._watched: list[str] = []
        self._problems: dict[int, set[Problem]] = {}
        self._embedder, notice = embedder_or_notice(settings)
        if notice:
            telling.line("notice", notice)

    def projects(self) -> list[Project]:
        with _opened(self._home, self._settings) as connection:
            every = projects_of(connection)
        found = [project for project in every if not self._names or project.name in self._names]
        self._watched = [project.name for project in found]
        if not found:
            self._telling.once("watching", "watching", "no project is left; waiting for one", projects=[])
        return found

    def changes(self, roots: Sequence[Path]) -> Iterator[Collection[str]]:
        return changes(roots, self._stop, lambda words: self._telling.once("system", "notice", words))

    def holds(self, project: Project, path: str) -> bool:
        with _opened(self._home, self._settings) as connection:
            return holds_notes(connection, project, path)

    def update(self, projects: Sequence[Project]) -> bool:
        """Sync and embed, unless the index is busy or cannot be written just now."""
        try:
            outcome = self._updated(projects)
        except IndexBusy:
            self._telling.once("index", "notice", "another process is writing the index; waiting for it to end")
            return False
        except (apsw.Error, OSError) as error:
            said = f"the index could not be brought in line: {error}. Trying again every {_AGAIN_SECONDS} seconds"
            self._telling.once("index", "error", said)
            self._stop.wait(_AGAIN_SECONDS)
            return False
        self._telling.over("index")
        self._tell(outcome)
        names = ", ".join(self._watched)
        self._telling.once("watching", "watching", f"watching {names}. Ctrl-C stops", projects=self._watched)
        return True

    def _updated(self, projects: Sequence[Project]) -> Outcome:
        begun = bool(self._problems)
        with alone(self._home, self._settings), progress_bar(begun or self._telling.as_json) as progress:
            connection = open_writer(self._home, self._settings)
            try:
                held = projects_of(connection)  # another process may have removed one by now
                work = Work(self._settings, self._embedder, progress, self._embed)
                return brought_in_line([project for project in projects if project in held], connection, work)
            finally:
                connection.close()

    def _tell(self, outcome: Outcome) -> None:
        for project, report in outcome.reports:
            if isinstance(report, RootMissing):
                details = summary_of(project, report).model_dump()
                self._telling.once(f"folder of {project.id}", "error", f"{project.name}  {report}", **details)
            else:
                self._tell_changes(project, report)
                self._tell_problems(project, report)
        embedded, failed = outcome.embedding
        if embedded or failed:
            said = f"{failed:,} passages could not be embedded; see: cutaway doctor" if failed else ""
            self._telling.line("embedded", said, embedded=embedded, failed=failed, pending=outcome.waiting)
        if outcome.trouble:
            self._telling.once("model", "error", outcome.trouble)
        else:
            self._telling.over("model")

    def _tell_changes(self, project: Project, report: Report) -> None:
        happened = {kind: paths for kind, paths in changed_paths(report).items() if paths}
        every = [(path, kind) for kind, paths in happened.items() for path in paths]
        path = every[0][0] if len(every) == 1 else None
        said = " ".join(every[0]) if path else ", ".join(f"{len(paths):,} {kind}" for kind, paths in happened.items())
        if self._telling.over(f"folder of {project.id}"):
            said = f"the folder is back; {said or 'nothing has changed'}"
        if said:
            details: dict[str, Any] = {**summary_of(project, report).model_dump(), "path": path}
            del details["problems"]
            self._telling.line("updated", f"{project.name}  {said}", **details)

    def _tell_problems(self, project: Project, report: Report) -> None:
        new = sorted(set(report.problems) - self._problems.get(project.id, set()))
        self._problems[project.id] = set(report.problems)
        said = f"{new[0].path}: {new[0].message}" if len(new) == 1 else f"{len(new):,} problems; see: cutaway doctor"
        if new:
            details = [problem._asdict() for problem in new]
            self._telling.line("problems", f"{project.name}  {said}", project=project.name, problems=details)


def _make_current(home: Path, settings: Settings) -> None:
    """Rebuild an index of another version, as `cutaway index` does."""
    try:
        open_reader(home, settings).close()
    except IndexMismatch:
        with alone(home, settings):
            open_writer(home, settings).close()


@contextmanager
def _opened(home: Path, settings: Settings) -> Iterator[Store]:
    connection = open_reader(home, settings)
    try:
        yield connection
    finally:
        connection.close()
