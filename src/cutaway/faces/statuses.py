"""The JSON of what is indexed: the projects, and the index as a whole."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from cutaway.config import Settings
from cutaway.faces.schemas import Out
from cutaway.faces.sessions import Session
from cutaway.index.projects import as_scope, default_of, projects_of
from cutaway.index.reader import Reader
from cutaway.index.store import open_reader
from cutaway.inspector.health import overview


class ProjectOut(Out):
    """One project in numbers."""

    name: str
    title: str | None = Field(description="What the folder calls itself.")
    root: str = Field(description="The folder.")
    notes: int
    observations: int
    relations: int
    bytes: int = Field(description="Size of its notes.")
    chunks: int
    ready: int = Field(description="Chunks that have a vector.")
    pending: int = Field(description="Chunks that wait for one.")
    failed: int = Field(description="Chunks that the model could not embed.")
    problems: int = Field(description="Files with something wrong; `cutaway doctor` names them.")
    embedded_as: tuple[str, ...] = Field(description="The models whose vectors the index holds of it.")

    @classmethod
    def all_of(cls, reader: Reader) -> tuple[ProjectOut, ...]:
        return tuple(cls(**held._asdict()) for held in overview(reader))


class ListedProjectOut(ProjectOut):
    """A project, and whether it is meant where none is named."""

    default: bool


class StatusOut(Out):
    """What is indexed, how much of it is ready, and where."""

    home: str
    index: str = Field(description="Where the index is.")
    bytes: int = Field(description="Size of the whole index.")
    in_use: str = Field(description="Identity of the embedding model, or why there is none.")
    sent_to: str | None = Field(description="The address that texts are sent to for embedding; null where none are.")
    projects: tuple[ProjectOut, ...]


def status(session: Session) -> StatusOut:
    """The index and its projects."""
    embedder = session.embedder()
    return StatusOut(
        home=str(session.home),
        index=session.reader.place,
        bytes=session.reader.size(),
        in_use=embedder if isinstance(embedder, str) else embedder.identity,
        sent_to=None if session.settings.embedder == "none" else session.settings.embedder_url,
        projects=ProjectOut.all_of(session.reader),
    )


def every_project(home: Path, settings: Settings) -> tuple[ListedProjectOut, ...]:
    """Every project of a home. Raises what opening its index raises."""
    store = open_reader(home, settings)
    try:
        every, chosen = projects_of(store), [project.name for project in default_of(store)]
        held = ProjectOut.all_of(Reader(store, as_scope(every))) if every else ()
        return tuple(ListedProjectOut(**one.model_dump(), default=one.name in chosen) for one in held)
    finally:
        store.close()
