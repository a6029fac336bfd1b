"""Index runs of a server: one at a time, followed as they go, stopped where they are, never in a search's way."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from builders import HashEmbedder, index_vault, manifest, write_vault
from cutaway.config import Settings
from cutaway.errors import IndexBusy, ModelUnavailable, UnknownProject
from cutaway.faces import indexing, loading
from cutaway.faces.asked import SearchIn
from cutaway.faces.engine import Engine
from cutaway.faces.http import runs as running
from cutaway.faces.http.problems import NoSuchRun
from cutaway.faces.http.runs import Run, RunOut, Runs
from cutaway.faces.indexing import ProjectMissedOut, ProjectRunOut
from cutaway.index.sqlite import alone_in


class Held(HashEmbedder):
    """A model that waits to be let go before each batch."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = Event(), Event()

    def embed(self, texts, query=False):  # type: ignore[no-untyped-def]
        self.asked.set()
        self.go.wait()
        return super().embed(texts, query)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Held:
    model = Held()
    for module in (indexing, loading):
        monkeypatch.setattr(module, "named_embedder", lambda *_, **__: model)
    return model


@pytest.fixture
def runs(home: Path, vault: Path, model: Held) -> Iterator[Runs]:
    """Two projects in words only, so that all passages wait."""
    for name in ("a", "b"):
        notes = {f"{name}{place}.md": f"# Note {place}\n\nAbout {name} and {place}." for place in range(70)}
        index_vault(home, write_vault(vault / name, notes))
    runs = Runs(home, Settings(), loading.Loader())
    yield runs
    model.go.set()
    runs.close(60)
    with alone_in(home):  # whatever happened, the lock is free
        pass


def ended(runs: Runs, run: RunOut) -> RunOut:
    """The state of a run after its end."""
    assert runs.get(run.id).ended.wait(60)
    return runs.get(run.id).state


def test_a_run_brings_everything_in_line(runs: Runs, model: Held, vault: Path) -> None:
    (vault / "a" / "new.md").write_text("# New\n\nSomething new.", encoding="utf-8")
    model.go.set()
    done = ended(runs, runs.start((), embed=True))

    assert ("done", None, 141, 0) == (done.state, done.error, done.embedded, done.pending)
    assert [1, 0] == [project.added for project in done.projects if isinstance(project, ProjectRunOut)]
    assert [done] == runs.all()
    assert done.ended_at


def test_only_the_projects_named_are_read(runs: Runs, model: Held) -> None:
    model.go.set()

    assert ["b"] == [project.project for project in ended(runs, runs.start(("b",), embed=True)).projects]


def test_words_can_do_without_vectors(runs: Runs) -> None:
    done = ended(runs, runs.start((), embed=False))

    assert ("done", 0, 140) == (done.state, done.embedded, done.pending)


def test_there_is_one_run_at_a_time(runs: Runs, model: Held) -> None:
    first = runs.start((), embed=True)
    with pytest.raises(IndexBusy, match=first.id):
        runs.start((), embed=True)
    model.go.set()
    ended(runs, first)

    assert "done" == ended(runs, runs.start((), embed=True)).state


def test_another_process_that_writes_is_not_disturbed(runs: Runs, home: Path) -> None:
    with alone_in(home), pytest.raises(IndexBusy):
        runs.start((), embed=False)

    assert [] == runs.all()
    assert "done" == ended(runs, runs.start((), embed=False)).state


def test_a_lock_that_cannot_be_had_keeps_no_later_run_from_starting(runs: Runs, home: Path) -> None:
    """Here it is a folder; the fault is told to whoever wanted the run."""
    lock = home / "index.lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()
    with pytest.raises(OSError, match="lock"):
        runs.start((), embed=False)
    lock.rmdir()

    assert "done" == ended(runs, runs.start((), embed=False)).state


@pytest.mark.parametrize("error", [None, ModelUnavailable("the model is broken"), LookupError("a fault of ours")])
def test_who_is_told_of_the_end_may_start_the_next(
    runs: Runs, model: Held, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    """However a run ends, it is still running as long as it holds the lock."""
    told: list[str] = []

    @contextmanager
    def watched(home: Path, _: Settings) -> Iterator[None]:
        with alone_in(home):
            try:
                yield
            finally:
                told.append(runs.all()[0].state)

    def broken(*_: object) -> None:
        assert error
        model.go.wait()
        raise error

    monkeypatch.setattr(running, "alone", watched)
    if error:
        monkeypatch.setattr(running, "brought_in_line", broken)
    run = runs.start((), embed=True)
    model.go.set()
    state = ended(runs, run).state

    assert (["running"], "failed" if error else "done") == (told, state)


def test_an_unknown_project_is_named(runs: Runs) -> None:
    with pytest.raises(UnknownProject, match="nowhere"):
        runs.start(("nowhere",), embed=True)


def test_a_run_stops_where_it_is_and_the_next_goes_on(runs: Runs, model: Held, home: Path) -> None:
    run = runs.start((), embed=True)
    assert model.asked.wait(60)
    runs.stop(run.id)
    model.go.set()
    stopped = ended(runs, run)
    ready = [entry for entry in manifest(home) if "ready" in entry]

    assert ("stopped", len(ready), 140 - len(ready)) == (stopped.state, stopped.embedded, stopped.pending)
    assert ["a", "b"] == [project.project for project in stopped.projects]
    assert 0 < len(ready) < 140
    assert stopped.pending == ended(runs, runs.start((), embed=True)).embedded


def test_what_is_done_is_told_while_the_rest_goes_on(runs: Runs, model: Held, vault: Path) -> None:
    """A project when it is synced, or could not be; the passages that wait, from the beginning."""
    shutil.rmtree(vault / "a")
    run = runs.start((), embed=True)
    assert model.asked.wait(60)
    state = runs.get(run.id).state

    assert ("running", "embed", 140) == (state.state, state.step, state.pending)
    assert [ProjectMissedOut, ProjectRunOut] == [type(project) for project in state.projects]


def test_a_model_that_fails_on_its_way_takes_back_nothing(
    runs: Runs, model: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was embedded before is counted."""
    texts: list[str] = []

    def tiring(asked: list[str], query: bool = False) -> object:
        if texts:
            raise ModelUnavailable("the model is broken")
        texts.extend(asked)
        return HashEmbedder.embed(model, asked, query)

    monkeypatch.setattr(model, "embed", tiring)
    done = ended(runs, runs.start((), embed=True))

    assert ("failed", len(texts), 140 - len(texts)) == (done.state, done.embedded, done.pending)


def test_a_run_remembers_some_of_many_problems(runs: Runs, vault: Path) -> None:
    """They are told again with each change, and of each run that is remembered."""
    write_vault(vault / "a", {f"bad{place}.md": b"\xff" for place in range(running._PROBLEMS + 1)})
    (told,) = ended(runs, runs.start(("a",), embed=False)).projects

    assert isinstance(told, ProjectRunOut)
    assert running._PROBLEMS == len(told.problems)


def test_a_server_that_ends_stops_its_run(runs: Runs, model: Held) -> None:
    run = runs.start((), embed=True)
    assert model.asked.wait(60)
    closing = Thread(target=runs.close, args=(60,))
    closing.start()
    model.go.set()
    closing.join()

    assert "stopped" == runs.get(run.id).state.state


def test_a_project_whose_folder_is_gone_stops_no_other(runs: Runs, model: Held, vault: Path) -> None:
    shutil.rmtree(vault / "a")
    model.go.set()
    done = ended(runs, runs.start((), embed=True))

    assert ("failed", 70) == (done.state, done.embedded)
    assert str(vault / "a") in (done.error or "")


def test_a_model_that_fails_is_said(runs: Runs, model: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ModelUnavailable("the model is broken")

    monkeypatch.setattr(model, "embed", broken)
    done = ended(runs, runs.start((), embed=True))

    assert ("failed", "the model is broken", 140) == (done.state, done.error, done.pending)


def test_a_model_without_its_tokenizer_is_a_missing_model(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for `cutaway index`: words are indexed until it is there."""

    class Half(Held):
        @property
        def tokenizer(self) -> None:
            raise ModelUnavailable("the package tokenizers is missing.")

        @tokenizer.setter
        def tokenizer(self, _: object) -> None: ...

    half = Half()
    monkeypatch.setattr(loading, "named_embedder", lambda *_, **__: half)
    done = ended(runs, runs.start((), embed=True))

    assert ("done", None) == (done.state, done.error)
    assert "tokenizers is missing" in (done.notice or "")


def test_a_model_is_downloaded_by_a_run_and_then_there_for_searches(
    runs: Runs, model: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named once more, and loaded once."""
    fetched: list[bool] = []

    def named(_: Settings, at_once: bool = False, fetch: bool = False) -> Held:  # noqa: ARG001
        fetched.append(fetch)
        if not fetch:
            raise ModelUnavailable("it is not downloaded.")
        return model

    for place in (indexing, loading):
        monkeypatch.setattr(place, "named_embedder", named)
    model.go.set()
    done = ended(runs, runs.start((), embed=True))

    assert ("done", 140) == (done.state, done.embedded)
    assert runs._loader.embedder(Settings()) is model
    assert [False, True] == fetched


def test_a_fault_of_ours_ends_the_run_and_says_nothing_of_itself(
    runs: Runs, model: Held, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is in the log, with its traceback."""

    def broken(*_: object, **__: object) -> None:
        raise LookupError("secret")

    monkeypatch.setattr(model, "embed", broken)
    done = ended(runs, runs.start((), embed=True))

    assert ("failed", True, False) == (done.state, "log" in (done.error or ""), "secret" in (done.error or ""))
    assert [("cutaway.serve", True)] == [(said.name, bool(said.exc_info)) for said in caplog.records]


def test_a_run_is_followed_to_its_end(runs: Runs, model: Held) -> None:
    """By as many as like to: all see the same end, each step forward, and none waits for another."""

    async def watched() -> list[list[RunOut]]:
        run = runs.get(runs.start((), embed=True).id)

        async def follow() -> list[RunOut]:
            seen = []
            async for state in run.follow():
                seen.append(state)
                if len(seen) == 1:
                    model.go.set()
            return seen

        async def glance() -> list[RunOut]:
            async for state in run.follow():
                return [state]
            return []

        return list(await asyncio.gather(follow(), follow(), glance()))

    first, second, _ = asyncio.run(watched())

    assert ("done", "done") == (first[-1].state, second[-1].state)
    assert all(state.state == "running" for state in first[:-1])
    (run,) = runs.all()
    assert not runs.get(run.id)._followers


def test_who_reads_slowly_is_told_the_newest() -> None:
    """Of all that happened meanwhile, one state."""

    async def read() -> list[int]:
        run = Run()
        following = run.follow()
        first = await anext(following)
        for done in range(100):
            run.progress("embed", done, 100)
        second = await anext(following)
        run.say(state="done")
        return [first.done, second.done, *[state.done async for state in following]]

    assert [0, 99, 99] == asyncio.run(read())


def test_who_follows_is_told_nothing_until_something_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is not asked again and again either: there is one more state for one change."""
    monkeypatch.setattr(running, "_APART", 0)

    async def read() -> list[int]:
        run, seen = Run(), []

        async def follow() -> None:
            async for state in run.follow():
                seen.append(state.done)  # noqa: PERF401 - it is cancelled on its way

        following = asyncio.create_task(follow())
        for turn in range(100):
            await asyncio.sleep(0)
            if turn == 50:
                run.progress("embed", 1, 2)
        following.cancel()
        return seen

    assert [0, 1] == asyncio.run(read())


def test_who_comes_late_is_told_the_end(runs: Runs) -> None:
    run = ended(runs, runs.start((), embed=False))

    async def follow() -> list[RunOut]:
        return [state async for state in runs.get(run.id).follow()]

    assert [run] == asyncio.run(follow())


def test_a_search_does_not_wait_for_a_run(runs: Runs, model: Held, home: Path) -> None:
    run = runs.start((), embed=True)
    assert model.asked.wait(60)
    engine, asked = Engine(home, Settings()), SearchIn(query="note about b", mode="text", all_projects=True)
    with engine.session(asked) as session:
        assert session.answer(asked).page

    assert "running" == runs.get(run.id).state.state


def test_a_run_that_is_not_known_is_said(runs: Runs) -> None:
    ask: list[Callable[[str], object]] = [runs.get, runs.stop]
    for method in ask:
        with pytest.raises(NoSuchRun, match="made-up"):
            method("made-up")
