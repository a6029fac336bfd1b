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

from filelock import FileLock, Timeout
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cutaway.config import Settings, load_settings
from cutaway.errors import IndexBusy, ModelUnavailable, RootMissing, UsageError
from cutaway.faces.cli.prepare import home_of
from cutaway.faces.cli.session import messages, screen
from cutaway.index.sqlite import SqliteStore, close_writer, open_writer, transaction
from cutaway.index.sync import Embedding, Report, embed_pending, sync
from cutaway.index.writer import Writer
from cutaway.model import Project
from cutaway.models.embedder import Embedder, named_embedder

_STEPS = {"scan": "reading the folder", "index": "indexing notes", "embed": "embedding passages", "search": "searching"}


def run(options: argparse.Namespace) -> int:
    """Sync one folder, or every project; a project that fails does not stop the others."""
    home = home_of(options)
    settings = load_settings(home)
    with alone(home), progress_bar(options.json) as progress:
        connection = open_writer(home, settings)
        try:
            return _run(options, settings, connection, progress)
        finally:
            close_writer(connection)


def _run(options: argparse.Namespace, settings: Settings, connection: SqliteStore, progress: Any) -> int:
    start = perf_counter()
    projects = _projects(options, connection)
    embedder, notice = _embedder(settings)
    reports: list[tuple[Project, Report | RootMissing]] = []
    for project in projects:
        try:
            report = sync(project, connection, embedder, settings, progress, options.allow_empty)
            reports.append((project, report))
        except RootMissing as error:
            reports.append((project, error))
    embedding = Embedding()
    if embedder is not None and not options.no_embed:
        synced = [project for project, report in reports if not isinstance(report, RootMissing)]
        embedding = embed_pending(synced, connection, embedder, progress)
    waiting = Writer(connection).manifest.count("pending", projects)
    summary = [_summary(project, report) for project, report in reports]
    totals = {"embedded": embedding.embedded, "failed": embedding.failed, "pending": waiting}
    if options.json:
        seconds = round(perf_counter() - start, 3)
        screen().out(json.dumps({"projects": summary, **totals, "notice": notice, "seconds": seconds}, indent=2))
    else:
        _print(summary, totals, notice, perf_counter() - start)
    return 2 if any(isinstance(report, RootMissing) for _, report in reports) else 0


def _projects(options: argparse.Namespace, connection: SqliteStore) -> list[Project]:
    writer = Writer(connection)
    if options.folder is None:
        if not writer.projects():
            raise UsageError("name a folder of notes: cutaway index FOLDER")
        return writer.projects()
    root = options.folder.expanduser().resolve()
    if not root.is_dir():
        raise RootMissing(f"{root} is not a folder. Nothing was changed.")
    with transaction(connection):
        return [writer.add_project(options.name or _name(root, writer), root)]


def _name(root: Path, writer: Writer) -> str:
    """A project name from the folder's, made unique by its parent's."""
    held = {project.name: project.root for project in writer.projects()}
    name = re.sub(r"[\s:]+", "-", root.name) or "notes"
    return name if held.get(name, root) == root else f"{root.parent.name}-{name}"


def _embedder(settings: Settings) -> tuple[Embedder | None, str | None]:
    try:
        return named_embedder(settings.embedder), None
    except ModelUnavailable as error:
        return None, f"{error} Until then only words are indexed."


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Hold the writers' lock: two syncs at once would embed everything twice."""
    home.mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / "index.lock", timeout=0)
    try:
        with lock:
            yield
    except Timeout:
        raise IndexBusy("another `cutaway index` is running on this index. Wait for it to end.") from None


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


def _summary(project: Project, report: Report | RootMissing) -> dict[str, Any]:
    if isinstance(report, RootMissing):
        return {"project": project.name, "root": str(project.root), "error": str(report)}
    found = report.difference
    return {
        "project": project.name,
        "root": str(project.root),
        "added": len(found.added) - len(report.opted_out),
        "changed": len(found.changed),
        "renamed": len(found.renamed),
        "removed": len(found.removed),
        "reread": len(found.stale),
        "unchanged": found.unchanged,
        "opted_out": len(report.opted_out),
        "reused_embeddings": report.reused,
        "problems": [problem._asdict() for problem in report.problems],
    }


def _print(summary: list[dict[str, Any]], totals: dict[str, int], notice: str | None, seconds: float) -> None:
    console, errors = screen(), messages()
    for project in summary:
        if "error" in project:
            errors.print(f"[red]{project['project']}[/]: {project['error']}", soft_wrap=True)
            continue
        counts = ("added", "changed", "renamed", "removed", "reread", "unchanged", "opted_out")
        said = ", ".join(f"{project[name]:,} {name.replace('_', ' ')}" for name in counts if project[name])
        console.print(f"[bold]{project['project']}[/]  {said or 'no notes'}", soft_wrap=True)
        if project["problems"]:
            errors.print(f"{len(project['problems'])} problems; see them with: cutaway doctor")
    said = f"{totals['embedded']:,} passages embedded, " if totals["embedded"] else ""
    said += f"{totals['pending']:,} passages wait to be embedded, " if totals["pending"] else ""
    said += f"{totals['failed']:,} passages failed, " if totals["failed"] else ""
    console.print(f"{said or 'everything is embedded, '}{seconds:.1f} s")
    if notice:
        errors.print(f"[yellow]note[/]  {notice}", soft_wrap=True)
