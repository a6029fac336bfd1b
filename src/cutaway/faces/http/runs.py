"""Index runs that a server starts, watches and stops: one at a time, each on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Literal

from pydantic import Field

from cutaway.config import Settings
from cutaway.errors import CutawayError, IndexBusy, RootMissing
from cutaway.faces.http.problems import NoSuchRun
from cutaway.faces.indexing import (
    Outcome,
    ProjectMissedOut,
    ProjectRunOut,
    Work,
    brought_in_line,
    chosen_projects,
    embedder_or_notice,
    summary_of,
    waiting,
)
from cutaway.faces.loading import Loader
from cutaway.faces.schemas import Out
from cutaway.index.store import alone, now, open_reader, open_writer
from cutaway.index.sync import Embedding, Report
from cutaway.model import Project
from cutaway.models.embedder import Embedder

_KEPT = 50
"""How many ended runs are remembered."""
_PROBLEMS = 100
"""How many problems of a project are told, and remembered, of each run."""
_APART = 0.2
"""Seconds between two states that one follower is told."""
_LOG = logging.getLogger("cutaway.serve")
_UNEXPECTED = "an unexpected error; the server's log says more"


class RunOut(Out):
    """A run that brings projects in line with their folders."""

    id: str
    state: Literal["running", "done", "failed", "stopped"]
    started_at: str
    ended_at: str | None = None
    step: str | None = Field(None, description="`scan`, `index` or `embed`; null before the first.")
    done: int = Field(0, description="Notes or passages that this step is done with.")
    total: int = Field(0, description="Of how many; 0 where nobody knows yet.")
    projects: tuple[ProjectRunOut | ProjectMissedOut, ...] = Field(
        (),
        description="What became of each project that is synced so far, as `cutaway index --json`; of the problems in "
        f"one, {_PROBLEMS} at most: `cutaway doctor` has all.",
    )
    embedded: int = Field(0, description="Passages embedded so far.")
    failed: int = Field(0, description="Passages that could not be embedded so far.")
    pending: int = Field(
        0, description="Passages that wait: as counted when it began and, unless it broke off, when it ended."
    )
    notice: str | None = Field(None, description="Why only words are indexed, where that is so.")
    error: str | None = Field(None, description="What went wrong.")


class _Stopped(BaseException):
    """A run was told to end. Not an Exception: nothing on its way may take it for a failure."""


class Run:
    """One run: what is known of it, who is told, and whether it should end."""

    def __init__(self) -> None:
        self.state = RunOut(id=secrets.token_urlsafe(9), state="running", started_at=now())
        self.begun: Future[None] = Future()
        self.ending, self.ended = Event(), Event()
        self._followers: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._guard = Lock()

    def say(self, **values: object) -> None:
        """Something has changed."""
        with self._guard:
            self.state = self.state.model_copy(update=values)
            if self.state.state != "running":
                self.ended.set()
            for loop, news in self._followers:
                with suppress(RuntimeError):  # that loop has ended
                    loop.call_soon_threadsafe(news.set)

    def progress(self, step: str, done: int, total: int) -> None:
        """Told by the run between two steps, where it may end. Raises _Stopped."""
        if self.ending.is_set():
            raise _Stopped
        self.say(step=step, done=done, total=total)

    def synced(self, project: Project, report: Report | RootMissing) -> None:
        """A project is in line, or could not be brought there."""
        told = summary_of(project, report)
        if isinstance(told, ProjectRunOut):
            told = told.model_copy(update={"problems": told.problems[:_PROBLEMS]})
        self.say(projects=(*self.state.projects, told))

    def embedded(self, so_far: Embedding) -> None:
        """One more batch."""
        self.say(embedded=so_far.embedded, failed=so_far.failed)

    async def follow(self) -> AsyncIterator[RunOut]:
        """The state now, then the newest after each change, until it has ended."""
        follower = asyncio.get_running_loop(), asyncio.Event()
        with self._guard:
            self._followers.add(follower)
        try:
            while True:
                follower[1].clear()
                state = self.state
                yield state
                if state.state != "running":
                    return
                await follower[1].wait()
                if not self.ended.is_set():
                    await asyncio.sleep(_APART)  # what happens meanwhile is told at once
        finally:
            with self._guard:
                self._followers.discard(follower)


class Runs:
    """The runs of one server. Nothing but projects that the index already has is ever read."""

    def __init__(self, home: Path, settings: Settings, loader: Loader) -> None:
        self._home, self._settings, self._loader = home, settings, loader
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._guard = Lock()

    def start(self, names: tuple[str, ...], embed: bool) -> RunOut:
        """Begin a run. Raises IndexBusy, UnknownProject, UsageError, and what opening an index raises."""
        with self._guard:
            going = [run.state.id for run in self._runs.values() if not run.ended.is_set()]
            if going:
                raise IndexBusy(f"run {going[0]} is going on. Wait for it to end, or stop it.")
            self._check(names)
            run = Run()
            Thread(target=self._run, args=(run, names, embed), name=f"run {run.state.id}").start()
            run.begun.result()
            self._runs[run.state.id] = run
            while len(self._runs) > _KEPT:
                self._runs.popitem(last=False)
        return run.state

    def get(self, name: str) -> Run:
        """A run. Raises NoSuchRun."""
        found = self._runs.get(name)
        if found is None:
            raise NoSuchRun(f"there is no run {name!r} of this server.")
        return found

    def all(self) -> list[RunOut]:
        """Every run that is remembered, the latest first."""
        return [run.state for run in reversed(list(self._runs.values()))]  # another thread may start one meanwhile

    def stop(self, name: str) -> RunOut:
        """Let a run end between two steps. Raises NoSuchRun."""
        run = self.get(name)
        run.ending.set()
        return run.state

    def close(self, patience: float) -> None:
        """Stop what is going on, and wait for it."""
        for run in list(self._runs.values()):
            run.ending.set()
            run.ended.wait(patience)

    def _check(self, names: tuple[str, ...]) -> None:
        store = open_reader(self._home, self._settings)
        try:
            chosen_projects(store, names)
        finally:
            store.close()

    def _run(self, run: Run, names: tuple[str, ...], embed: bool) -> None:
        ended: dict[str, object] = {"state": "failed", "error": _UNEXPECTED}
        try:
            with alone(self._home, self._settings):  # a lock belongs to the thread that took it
                run.begun.set_result(None)
                ended = self._ran(run, names, embed)
        except Exception as error:  # noqa: BLE001 - whatever it was, the run has ended, and is said to have
            if not run.begun.done():
                run.begun.set_exception(error)
            elif isinstance(error, CutawayError):
                ended = {"state": "failed", "error": str(error)}
            else:
                _LOG.exception("index run failed")
        finally:
            run.say(**ended, ended_at=now())  # not before the lock is free: who is told may start the next

    def _ran(self, run: Run, names: tuple[str, ...], embed: bool) -> dict[str, object]:
        embedder, notice = self._embedder()
        run.say(notice=notice)
        store = open_writer(self._home, self._settings)
        try:
            projects = chosen_projects(store, names)
            run.say(pending=waiting(store, projects))
            work = Work(self._settings, embedder, run.progress, embed, synced=run.synced, embedded=run.embedded)
            return _ended(brought_in_line(projects, store, work))
        except _Stopped:
            return {"state": "stopped", "pending": waiting(store, projects)}
        finally:
            store.close()

    def _embedder(self) -> tuple[Embedder | None, str | None]:
        """The embedder that searches have, too. Where it must be downloaded, they do not wait for that."""
        held = self._loader.embedder(self._settings)
        embedder, notice = embedder_or_notice(self._settings, None if isinstance(held, str) else held)
        return self._loader.keep(self._settings, embedder) if embedder else None, notice


def _ended(outcome: Outcome) -> dict[str, object]:
    lost = [str(report) for _, report in outcome.reports if isinstance(report, RootMissing)]
    trouble = "; ".join(filter(None, (outcome.trouble, *lost))) or None
    return {"state": "failed" if trouble else "done", "error": trouble, "pending": outcome.waiting}
