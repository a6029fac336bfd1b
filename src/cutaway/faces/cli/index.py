"""`cutaway index`: add a folder, bring the index in line with it, embed what is pending."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cutaway.config import Settings, load_settings
from cutaway.errors import RootMissing, UsageError
from cutaway.faces.cli.prepare import home_of
from cutaway.faces.cli.session import messages, screen
from cutaway.faces.indexing import (
    IndexedOut,
    ProjectMissedOut,
    Work,
    brought_in_line,
    chosen_projects,
    embedder_or_notice,
    summary_of,
)
from cutaway.index.store import Store, alone, open_writer
from cutaway.index.writer import Writer
from cutaway.model import Project

_STEPS = {
    "scan": "reading the folder",
    "index": "indexing notes",
    "embed": "embedding passages",
    "search": "searching",
    "copy": "copying",
}


def run(options: argparse.Namespace) -> int:
    """Sync one folder, the projects named, or every project; a project that fails does not stop the others."""
    home = home_of(options)
    settings = load_settings(home)
    with alone(home, settings), progress_bar(options.json) as progress:
        connection = open_writer(home, settings)
        try:
            return _run(options, settings, connection, progress)
        finally:
            connection.close()


def _run(options: argparse.Namespace, settings: Settings, connection: Store, progress: Any) -> int:
    start = perf_counter()
    projects = _projects(options, connection)
    embedder, notice = embedder_or_notice(settings)
    work = Work(settings, embedder, progress, not options.no_embed, options.allow_empty)
    outcome = brought_in_line(projects, connection, work)
    told = IndexedOut(
        projects=tuple(summary_of(project, report) for project, report in outcome.reports),
        **outcome.embedding._asdict(),
        pending=outcome.waiting,
        notice=notice,
        error=outcome.trouble,
        seconds=round(perf_counter() - start, 3),
    )
    if options.json:
        screen().out(json.dumps(told.model_dump(), indent=2))
    else:
        _print(told)
    return 2 if outcome.trouble or any(isinstance(report, RootMissing) for _, report in outcome.reports) else 0


def _projects(options: argparse.Namespace, connection: Store) -> list[Project]:
    if options.folder is not None and options.project:
        raise UsageError("a folder and --project were given. Give one of them.")
    if options.folder is None:
        return chosen_projects(connection, options.project)
    writer = Writer(connection)
    root = options.folder.expanduser().resolve()
    if not root.is_dir():
        raise RootMissing(f"{root} is not a folder. Nothing was changed.")
    with connection.transaction():
        return [writer.add_project(options.name or _name(root, writer), root)]


def _name(root: Path, writer: Writer) -> str:
    """A project name from the folder's, made unique by its parent's."""
    held = {project.name: project.root for project in writer.projects()}
    name = re.sub(r"[\s:]+", "-", root.name) or "notes"
    return name if held.get(name, root) == root else f"{root.parent.name}-{name}"


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Any]:
    """A progress bar on a terminal; nothing where the output goes to a file or a program."""
    console = messages()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        tasks: dict[str, Any] = {}

        def tell(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bar.add_task(_STEPS[step], total=total or None)
            bar.update(tasks[step], completed=done, total=total or None, visible=step != "scan")

        yield tell


def _print(told: IndexedOut) -> None:
    console, errors = screen(), messages()
    for project in told.projects:
        if isinstance(project, ProjectMissedOut):
            errors.print(f"[red]{project.project}[/]: {project.error}", soft_wrap=True)
            continue
        counts = ("added", "changed", "renamed", "removed", "reread", "unchanged", "opted_out")
        by_name = ((name.replace("_", " "), getattr(project, name)) for name in counts)
        said = ", ".join(f"{count:,} {name}" for name, count in by_name if count)
        console.print(f"[bold]{project.project}[/]  {said or 'no notes'}", soft_wrap=True)
        if project.problems:
            errors.print(f"{len(project.problems)} problems; see them with: cutaway doctor")
    said = f"{told.embedded:,} passages embedded, " if told.embedded else ""
    said += f"{told.pending:,} passages wait to be embedded, " if told.pending else ""
    said += f"{told.failed:,} passages failed, " if told.failed else ""
    console.print(f"{said or 'everything is embedded, '}{told.seconds:.1f} s")
    if told.notice:
        errors.print(f"[yellow]note[/]  {told.notice}", soft_wrap=True)
    if told.error:
        errors.print(f"[red]embedding[/]: {told.error}", soft_wrap=True)
