"""Embedding by workers: several at once, on any machine, over one index in Postgres.

A worker claims some texts, embeds them and publishes them in one transaction. So what it has claimed is nobody
else's, and is free again the moment its connection ends, however that comes about.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple, Protocol

from cutaway.errors import IndexMismatch, IndexMissing, IndexUnfinished, StoreUnavailable, VectorsUnavailable
from cutaway.index.store import Store
from cutaway.index.sync import Embedding, embed_batch, settle
from cutaway.index.vectors import Space
from cutaway.index.writer import Writer
from cutaway.model import Project
from cutaway.models.embedder import Embedder

IDLE_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 30.0
"""Between two attempts to reach an index that does not answer."""

_PASSING = (StoreUnavailable, VectorsUnavailable, IndexMissing, IndexMismatch, IndexUnfinished)


class World(Protocol):
    """What a worker asks, and whom it tells."""

    @property
    def embedder(self) -> Embedder: ...

    def open(self) -> Store:
        """A connection to the index as it is. Raises what ``open_worker`` does."""

    def projects(self, store: Store) -> Sequence[Project]:
        """Those to work for; other processes add and remove some."""

    def embedded(self, batch: Embedding, waiting: int) -> None:
        """A batch is done, and so many chunks still wait."""

    def idle(self, waiting: int) -> None:
        """There is nothing to be had; so many chunks are in the hands of others."""

    def left_alone(self, project: Project, model: str) -> None:
        """A project is served under another model, or from another home, than this worker's."""

    def lost(self, reason: str) -> None:
        """The index does not answer; it is tried again after a while."""

    def wait(self, seconds: float) -> object:
        """Return after so long, or sooner where the worker is to stop."""

    def stopped(self) -> bool: ...


class _Round(NamedTuple):
    """One look at what there is to do."""

    space: Space
    projects: Sequence[Project]
    waiting: int


def work(world: World, once: bool = False) -> None:
    """Embed what waits, as it comes, until stopped; with *once*, until nothing waits any more.

    An index that does not answer, or is not there yet, or is of another version, is waited for; with *once* only
    where it answered before.
    """
    patience, begun = _Patience(), False
    while not world.stopped():
        try:
            with closing(world.open()) as store:
                begun = True
                if _worked(world, store, once, patience):
                    return
        except _PASSING as error:
            if once and not begun:
                raise
            world.lost(str(error))
            world.wait(patience.seconds())


class _Patience:
    """Pauses that double until something works again."""

    def __init__(self) -> None:
        self.failures = 0

    def seconds(self) -> float:
        self.failures += 1
        return min(2.0 ** (self.failures - 1), LONGEST_PAUSE_SECONDS)


def _worked(world: World, store: Store, once: bool, patience: _Patience) -> bool:
    """Batch after batch over one connection; True where there is nothing more to do."""
    unsettled: Space | None = None
    while not world.stopped():
        found = _look(world, store)
        batch = embed_batch(found.projects, store, world.embedder, found.space) if found.waiting else None
        patience.failures = 0
        if batch:
            unsettled = found.space
            world.embedded(batch, found.waiting - sum(batch))
            continue
        if unsettled:
            settle(store, unsettled)
            unsettled = None
        world.idle(found.waiting)
        if once and not found.waiting:
            return True
        world.wait(IDLE_SECONDS)
    return True


def _look(world: World, store: Store) -> _Round:
    """The projects that are this worker's business, and what waits in them. Never adopts one: indexing does."""
    manifest, embedder = Writer(store).manifest, world.embedder
    store.require_current()
    with store.transaction():
        space = manifest.space(embedder.identity, embedder.dimension)
    every = world.projects(store)
    elsewhere = manifest.elsewhere(every, space)
    for project in every:
        if project.id in elsewhere:
            world.left_alone(project, elsewhere[project.id])
    own = [project for project in every if project.id not in elsewhere]
    return _Round(space, own, manifest.count("pending", own))
