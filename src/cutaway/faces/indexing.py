"""Bringing projects in line with their folders, whichever face asks for it, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pydantic import Field

from cutaway.config import Settings
from cutaway.errors import BadVector, ModelUnavailable, RootMissing, UsageError, VectorsUnavailable
from cutaway.faces.schemas import Out
from cutaway.index.projects import projects_of, scope_of
from cutaway.index.store import Store
from cutaway.index.sync import Embedding, Progress, Report, embed_pending, sync
from cutaway.index.writer import Writer
from cutaway.model import Project
from cutaway.models.embedder import Embedder, named_embedder


class FileProblemOut(Out):
    """A file with something wrong; the rest of its project goes on."""

    path: str = Field(description="The file's path in its project.")
    kind: str = Field(description="In which way.")
    message: str = Field(description="What is wrong with it.")


class ProjectRunOut(Out):
    """What became of a project's notes in the index."""

    project: str = Field(description="Name of the project.")
    root: str = Field(description="Its folder.")
    added: int = Field(description="Notes that are new.")
    changed: int = Field(description="Notes whose text is another.")
    renamed: int = Field(description="Notes that are at another path.")
    removed: int = Field(description="Notes that are gone, or are not to be indexed any more.")
    reread: int = Field(description="Notes that were read again, as settings or the model are others.")
    unchanged: int = Field(description="Notes that are as they were.")
    opted_out: int = Field(description="Files that say `index: false`.")
    reused_embeddings: int = Field(description="Passages whose vector was known already.")
    problems: tuple[FileProblemOut, ...] = Field(description="Files with something wrong.")


class ProjectMissedOut(Out):
    """A project whose folder could not be read: its index is as it was."""

    project: str = Field(description="Name of the project.")
    root: str = Field(description="Its folder.")
    error: str = Field(description="Why, and what to do next.")


class IndexedOut(Out):
    """What a whole run did."""

    projects: tuple[ProjectRunOut | ProjectMissedOut, ...] = Field(description="What became of each.")
    embedded: int = Field(description="Passages embedded.")
    failed: int = Field(description="Passages that could not be embedded.")
    pending: int = Field(description="Passages that still wait.")
    notice: str | None = Field(description="Why only words are indexed, where that is so.")
    error: str | None = Field(description="Why embedding ended early.")
    seconds: float = Field(description="How long it took.")


class Work(NamedTuple):
    """How projects are brought in line, and who is told of the progress."""

    settings: Settings
    embedder: Embedder | None
    progress: Progress
    embed: bool
    allow_empty: bool = False
    synced: Callable[[Project, Report | RootMissing], object] = lambda *_: None
    """Told of each project when it is synced."""
    embedded: Callable[[Embedding], object] = lambda _: None
    """Told after each batch how far embedding came."""


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
        work.synced(*reports[-1])
    embedding = Embedding()
    trouble = next((report.trouble for _, report in reports if isinstance(report, Report) and report.trouble), None)
    try:
        if work.embedder is not None and work.embed:
            synced = [project for project, report in reports if isinstance(report, Report)]
            embedding = embed_pending(synced, connection, work.embedder, work.progress, work.embedded)
            trouble = None
    except (BadVector, ModelUnavailable, VectorsUnavailable) as error:
        trouble = str(error)
    return Outcome(reports, embedding, trouble, waiting(connection, projects))


def waiting(connection: Store, projects: Sequence[Project]) -> int:
    """How many passages of these projects wait to be embedded."""
    return Writer(connection).manifest.count("pending", projects)


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


def summary_of(project: Project, report: Report | RootMissing) -> ProjectRunOut | ProjectMissedOut:
    """What became of a project, in numbers."""
    if isinstance(report, RootMissing):
        return ProjectMissedOut(project=project.name, root=str(project.root), error=str(report))
    return ProjectRunOut(
        project=project.name,
        root=str(project.root),
        **{kind: len(paths) for kind, paths in changed_paths(report).items()},
        unchanged=report.difference.unchanged,
        opted_out=len(report.opted_out),
        reused_embeddings=report.reused,
        problems=tuple(FileProblemOut(**problem._asdict()) for problem in report.problems),
    )


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
