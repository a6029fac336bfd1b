"""`cutaway worker`: embed what waits in an index in Postgres, beside other workers on any machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from threading import Event

from cutaway.config import Settings, load_settings
from cutaway.errors import UsageError
from cutaway.faces.cli.prepare import home_of
from cutaway.faces.cli.running import Telling, stopped_by_signals
from cutaway.faces.indexing import chosen_projects
from cutaway.faces.loading import embedder_or_reason
from cutaway.index.projects import projects_of
from cutaway.index.store import Store, open_worker
from cutaway.index.sync import Embedding
from cutaway.index.worker import work
from cutaway.model import Project
from cutaway.models.embedder import Embedder


def run(options: argparse.Namespace) -> int:
    """Work until Ctrl-C or SIGTERM, which is how it is meant to end, or until all is done."""
    settings, stop, telling = load_settings(home_of(options)), Event(), Telling(options.json)
    with suppress(KeyboardInterrupt), stopped_by_signals(stop):
        work(Working(options.project, settings, stop, telling), options.once)
    if stop.is_set():
        telling.line("stopped", "stopped; what was done is kept")
    return 0


class Working:
    """The world of a worker: an index in Postgres, a model, and somebody who is told."""

    def __init__(self, names: Sequence[str], settings: Settings, stop: Event, telling: Telling) -> None:
        self._names, self._settings, self._stop, self._telling = names, settings, stop, telling
        self._done = Embedding()
        self._begun = self._lost = False

    @cached_property
    def embedder(self) -> Embedder:
        found = embedder_or_reason(self._settings)
        if isinstance(found, str):
            raise UsageError(f"a worker needs a model: {found}")
        return found

    def open(self) -> Store:
        store = open_worker(self._settings)
        with ExitStack() as on_error:
            on_error.callback(store.close)
            if not self._begun:
                self._begin(store)
            on_error.pop_all()
        self._begun = True
        return store

    def _begin(self, store: Store) -> None:
        if self._names:
            chosen_projects(store, self._names)  # a name that nothing has is said at the start
        self._telling.line("working", f"embedding with {self.embedder.identity}. Ctrl-C stops")

    def projects(self, store: Store) -> Sequence[Project]:
        if self._lost:
            self._telling.line("notice", "the index answers again")
            self._lost = False
        return [project for project in projects_of(store) if not self._names or project.name in self._names]

    def embedded(self, batch: Embedding, waiting: int) -> None:
        self._done = Embedding(*(sum(pair) for pair in zip(self._done, batch, strict=True)))
        self._telling.line("embedded", "", **batch._asdict(), pending=waiting)

    def idle(self, waiting: int) -> None:
        embedded, failed = self._done
        self._done = Embedding()
        said = f"{embedded:,} passages embedded" if embedded else ""
        said += f"{', ' if said else ''}{failed:,} could not be; see: cutaway doctor" if failed else ""
        others = f"; {waiting:,} are with other workers" if waiting else ""
        if said:
            self._telling.line("idle", f"{said}{others}", embedded=embedded, failed=failed, pending=waiting)
        elif not waiting:
            self._telling.once("idle", "idle", "nothing waits to be embedded", embedded=0, failed=0, pending=0)

    def left_alone(self, project: Project, model: str) -> None:
        said = (
            f"{project.name} is served with vectors of {model}, or from another home; left alone. `cutaway index` under"
        )
        self._telling.once(f"project {project.id}", "notice", f"{said} this worker's settings would change that")

    def lost(self, reason: str) -> None:
        if not self._lost:
            self._telling.line("error", f"{reason} Trying again until it works")
        self._lost = True

    def wait(self, seconds: float) -> object:
        return self._stop.wait(seconds)

    def stopped(self) -> bool:
        return self._stop.is_set()
