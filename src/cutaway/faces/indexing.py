"""Bringing projects in line with their folders, whichever face asks for it, and what is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cutaway.config import Settings
from cutaway.errors import BadVector, ModelUnavailable, RootMissing, UsageError, VectorsUnavailable
from cutaway.index.projects import projects_of, scope_of
from cutaway.index.store import Store
from cutaway.index.sync import Embedding, Progress, Report, embed_pending, sync
from cutaway.index.writer import Writer
from cutaway.model import Project
from cutaway.models.embedder import Embedder, named_embedder


class Work(NamedTuple):
    """How projects are brought in line, and who is told of the progress."""

    settings: Settings
    embedder: Embedder | None
    progress: Progress
    embed: bool
    allow_empty: bool = False


class Outcome(NamedTuple):
    """What became of each project, and of the passages that waited."""

    reports: list[tuple[Project, Report | RootMissing]]
    embedding: Embedding
    trouble: str | None
    """Why embedding ended early."""
    waiting: int


def brought_in_line(projects: Sequence[Project], connection: Store, work: Work) -> Outcome:
    """Sync projects, whichever of them fail, then embed what waits."""
    reports: list[tuple[Project, Report | RootMissing]] = []
    for project in projects:
        try:
            report = sync(project, connection, work.embedder, work.settings, work.progress, work.allow_empty)
            reports.append((project, report))
        except RootMissing as error:
            reports.append((project, error))
    embedding = Embedding()
    trouble = next((report.trouble for _, report in reports if isinstance(report, Report) and report.trouble), None)
    try:
        if work.embedder is not None and work.embed:
            synced = [project for project, report in reports if isinstance(report, Report)]
            embedding, trouble = embed_pending(synced, connection, work.embedder, work.progress), None
    except (BadVector, ModelUnavailable, VectorsUnavailable) as error:
        trouble = str(error)
    return Outcome(reports, embedding, trouble, Writer(connection).manifest.count("pending", projects))


def chosen_projects(connection: Store, names: Sequence[str]) -> list[Project]:
    """The projects named, or every one. Raises UnknownProject; UsageError where there is none."""
    every = projects_of(connection)
    if not every:
        raise UsageError("name a folder of notes: cutaway index FOLDER")
    return list(scope_of(connection, names)) if names else every


def embedder_or_notice(settings: Settings, held: Embedder | None = None) -> tuple[Embedder | None, str | None]:
    """The configured embedder, the one *held* where there is one; None, and why, where it is missing."""
    try:
        embedder = held or named_embedder(settings, fetch=True)
        if embedder is not None:
            embedder.tokenizer.counts([""])  # a model that cannot even count tokens is missing, too
        return embedder, None
    except ModelUnavailable as error:
        return None, f"{error} Until then only words are indexed."


def summary_of(project: Project, report: Report | RootMissing) -> dict[str, Any]:
    """What became of a project, in numbers."""
    if isinstance(report, RootMissing):
        return {"project": project.name, "root": str(project.root), "error": str(report)}
    return {
        "project": project.name,
        "root": str(project.root),
        **{kind: len(paths) for kind, paths in changed_paths(report).items()},
        "unchanged": report.difference.unchanged,
        "opted_out": len(report.opted_out),
        "reused_embeddings": report.reused,
        "problems": [problem._asdict() for problem in report.problems],
    }


def changed_paths(report: Report) -> dict[str, list[str]]:
    """The notes of a sync by what happened to them in the index; of a renamed one, its new path."""
    found, out = report.difference, set(report.opted_out)
    return {
        "added": [path for path in found.added if path not in out],
        "changed": [path for path in found.changed if path not in out],
        "renamed": [new for _, new in found.renamed],
        "removed": [*found.removed, *(path for path in (*found.changed, *found.stale) if path in out)],
        "reread": [path for path in found.stale if path not in out],
    }
