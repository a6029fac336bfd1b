"""Workers over one index in a real Postgres: each text is embedded once, whatever is killed or edited meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import numpy as np
import pytest
from indexes import BatchEmbedder

import builders
from builders import HashEmbedder, ask, index_vault, opened, paths, write_vault
from cutaway.config import Settings
from cutaway.errors import IndexMissing, StoreUnavailable, UsageError
from cutaway.index.store import Store, open_worker, open_writer
from cutaway.index.sync import Embedding, embed_batch, sync
from cutaway.index.worker import work
from cutaway.index.writer import Writer
from cutaway.model import Project
from cutaway.models.embedder import Embedder, Vectors
from postgres import run

NOTES = {f"{number:03}.md": f"Note number{number} says word{number}." for number in range(300)}


class Slow(HashEmbedder):
    """Takes its time, so that others come in between."""

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        time.sleep(0.05)
        return super().embed(texts, query)


class Hired:
    """A worker's world: an index, a model, and a record of what it was told."""

    def __init__(self, settings: Settings, embedder: Embedder | None = None, names: Sequence[str] = ()) -> None:
        self.settings, self.names = settings, names
        self.embedder = embedder or Slow()
        self.told: list[tuple[str, Any]] = []
        self.stop = Event()
        self.pauses: list[float] = []
        self.after_wait: Callable[[], object] = lambda: None

    def open(self) -> Store:
        return open_worker(self.settings)

    def projects(self, store: Store) -> list[Project]:
        return [found for found in Writer(store).projects() if not self.names or found.name in self.names]

    def embedded(self, batch: Embedding, waiting: int) -> None:
        self.told.append(("embedded", batch))
        self.left = waiting

    def idle(self, waiting: int) -> None:
        self.told.append(("idle", waiting))

    def left_alone(self, project: Project, model: str) -> None:
        self.told.append(("left alone", (project.name, model)))

    def lost(self, reason: str) -> None:
        self.told.append(("lost", reason))

    def wait(self, seconds: float) -> None:
        self.pauses.append(seconds)
        time.sleep(0.01)
        self.after_wait()

    def stopped(self) -> bool:
        return self.stop.is_set()


@pytest.fixture
def there(database: str) -> Settings:
    return Settings(store=database, vectors="pgvector")


@pytest.fixture
def waiting(home: Path, vault: Path, there: Settings) -> Settings:
    """An index whose 300 passages wait for workers."""
    index_vault(home, write_vault(vault, NOTES), settings=there)
    return there


def side_by_side(*jobs: Callable[[], object]) -> None:
    """Run all at once; an error in one is the test's."""
    errors: list[BaseException] = []
    ready = Barrier(len(jobs))

    def ran(job: Callable[[], object]) -> None:
        try:
            ready.wait(60)
            job()
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [Thread(target=ran, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not errors, errors
    assert not any(thread.is_alive() for thread in threads)


def readiness(home: Path, settings: Settings) -> tuple[int, ...]:
    with opened(home, settings) as reader:
        return tuple(reader.readiness(None))[:3]


def faults(home: Path, settings: Settings) -> tuple[int, int]:
    with opened(home, settings) as reader:
        return reader.vector_faults()


def sums(settings: Settings) -> list[tuple[Any, ...]]:
    """How many vectors each project's mean is of, and their exact sum."""
    store = open_worker(settings)
    found = store.execute(
        "SELECT project_id, vectors, total FROM sums WHERE vectors > 0 ORDER BY project_id"
    ).fetchall()
    store.close()
    return found


def sums_by_one(home: Path, vault: Path, settings: Settings, embedder: HashEmbedder | None = None) -> Any:
    """The same of the same notes, where one process indexed and embedded them."""
    alone = settings.model_copy(update={"store_schema": "alone"})
    index_vault(home, vault, embedder or HashEmbedder(), settings=alone)
    return sums(alone)


# Together


def test_several_workers_embed_every_text_once(home: Path, vault: Path, waiting: Settings) -> None:
    """All is ready at the end, and the means are those of an index that one process embedded."""
    workers = [Hired(waiting) for _ in range(4)]
    side_by_side(*(lambda worker=worker: work(worker, once=True) for worker in workers))
    texts = [text for worker in workers for text in worker.embedder.embedded]  # type: ignore[attr-defined]

    assert (300, 300) == (len(texts), len(set(texts)))
    assert ((300, 0, 0), (0, 0)) == (readiness(home, waiting), faults(home, waiting))
    assert sums(waiting) == sums_by_one(home, vault, waiting)


def test_workers_and_an_indexer_that_embeds_share_the_work(home: Path, vault: Path, waiting: Settings) -> None:
    """`cutaway index` takes its part, and leaves the others theirs."""
    worker, indexer = Hired(waiting), Slow()
    side_by_side(lambda: work(worker, once=True), lambda: index_vault(home, vault, indexer, settings=waiting))
    texts = worker.embedder.embedded + indexer.embedded  # type: ignore[attr-defined]

    assert (300, 300) == (len(texts), len(set(texts)))
    assert (300, 0, 0) == readiness(home, waiting)
    assert sums(waiting) == sums_by_one(home, vault, waiting)


def test_a_text_that_many_notes_share_is_one_workers(home: Path, vault: Path, there: Settings) -> None:
    """Whichever of its chunks another looks at."""
    write_vault(vault, {f"{number}.md": "The same words everywhere." for number in range(20)})
    index_vault(home, vault, settings=there)
    workers = [Hired(there) for _ in range(3)]
    side_by_side(*(lambda worker=worker: work(worker, once=True) for worker in workers))

    assert 1 == sum(len(worker.embedder.embedded) for worker in workers)  # type: ignore[attr-defined]
    assert (20, 0, 0) == readiness(home, there)


def test_a_worker_takes_the_shortest_texts_first_and_few_at_a_time(waiting: Settings) -> None:
    """So that no batch is held long."""
    embedder = BatchEmbedder()
    work(Hired(waiting, embedder), once=True)
    sizes = [len(text) for text in embedder.embedded]

    assert 64 == max(map(len, embedder.batches))
    assert sorted(sizes) == sizes


def test_a_text_that_was_embedded_before_is_not_embedded_again(home: Path, vault: Path, waiting: Settings) -> None:
    """Workers, too, publish what is kept."""
    work(Hired(waiting), once=True)
    store = open_writer(home, waiting)
    store.execute("UPDATE chunks SET state = 'pending', space_id = NULL")
    store.execute("DELETE FROM sums")
    store.close()
    again = Hired(waiting)
    work(again, once=True)

    assert [] == again.embedder.embedded  # type: ignore[attr-defined]
    assert sums(waiting) == sums_by_one(home, vault, waiting)


def test_a_search_meanwhile_says_how_much_is_ready(home: Path, waiting: Settings) -> None:
    """And finds what is."""
    store = open_worker(waiting)
    writer, embedder = Writer(store), HashEmbedder()
    space = writer.manifest.space(embedder.identity, embedder.dimension)
    embed_batch(writer.projects(), store, embedder, space)
    store.close()
    answer = ask(home, "word7", embedder, settings=waiting)

    assert "partial_vectors: 64 of 300 chunks are embedded" in answer.degraded[0].reason
    assert "007.md" == paths(answer)[0]


def test_what_waits_later_is_found(home: Path, vault: Path, waiting: Settings) -> None:
    """A worker goes on looking until it is stopped."""
    worker = Hired(waiting)

    def add() -> None:
        if "new.md" in {path.name for path in vault.iterdir()}:
            worker.stop.set()
        index_vault(home, write_vault(vault, {"new.md": "Something new."}), settings=waiting)

    worker.after_wait = add
    work(worker)
    work(Hired(waiting), once=True)

    assert "Something new." in [text for batch in [worker.embedder.embedded] for text in batch]  # type: ignore[attr-defined]
    assert (301, 0, 0) == readiness(home, waiting)


@pytest.mark.parametrize("value", [np.nan, 0.0])
def test_a_vector_that_cannot_be_compared_marks_its_chunk_failed(
    home: Path, vault: Path, there: Settings, value: float
) -> None:
    """As indexing does; the others are ready."""
    write_vault(vault, {"bad.md": "This text is spoiled.", "good.md": "This text is fine."})
    index_vault(home, vault, settings=there)
    worker = Hired(there, BatchEmbedder(spoiled="spoiled", value=value))
    work(worker, once=True)

    assert [("embedded", Embedding(1, 1)), ("idle", 0)] == worker.told
    assert (1, 0, 1) == readiness(home, there)


def test_a_project_can_be_left_to_others(home: Path, tmp_path: Path, there: Settings) -> None:
    """A worker for some projects touches no other."""
    for name in ("one", "two"):
        index_vault(home, write_vault(tmp_path / name, {"a.md": f"words of {name}"}), settings=there)
    worker = Hired(there, names=["two"])
    work(worker, once=True)

    assert ["words of two"] == worker.embedder.embedded  # type: ignore[attr-defined]
    assert (1, 1, 0) == readiness(home, there)


def test_a_project_under_another_model_is_left_alone(home: Path, tmp_path: Path, there: Settings) -> None:
    """Only indexing moves a project to another model; what has none yet is embedded."""
    old, new = HashEmbedder("old"), HashEmbedder("new")
    index_vault(home, write_vault(tmp_path / "one", {"a.md": "words of one"}), old, settings=there)
    index_vault(home, write_vault(tmp_path / "one", {"b.md": "more words of one"}), settings=there)
    index_vault(home, write_vault(tmp_path / "two", {"a.md": "words of two"}), settings=there)
    worker = Hired(there, new)
    work(worker, once=True)

    assert ["words of two"] == new.embedded
    assert ("left alone", ("one", old.identity)) in worker.told


# Beside changes


def test_notes_that_change_under_workers_end_consistent(home: Path, vault: Path, waiting: Settings) -> None:
    """Syncs replace, remove and rename what is being embedded; nothing is lost, doubled or left of what is gone."""
    workers = [Hired(waiting) for _ in range(2)]

    def change() -> None:
        for turn in range(4):
            write_vault(vault, {f"{number:03}.md": f"Turn {turn} of number{number}." for number in range(turn, 300, 7)})
            (vault / f"{turn * 7 + 6:03}.md").unlink()
            (vault / f"{turn * 7 + 5:03}.md").rename(vault / f"moved{turn}.md")
            index_vault(home, vault, settings=waiting)

    def until_changed(worker: Hired) -> None:
        while changing.is_alive():
            work(worker, once=True)

    changing = Thread(target=change)
    changing.start()
    side_by_side(*(lambda worker=worker: until_changed(worker) for worker in workers))
    changing.join()
    work(Hired(waiting), once=True)

    assert ((296, 0, 0), (0, 0)) == (readiness(home, waiting), faults(home, waiting))
    assert sums(waiting) == sums_by_one(home, vault, waiting)


@pytest.mark.parametrize("change", ["changed", "removed", "project removed", "model changed"])
def test_what_a_worker_has_in_hand_is_waited_for(home: Path, vault: Path, waiting: Settings, change: str) -> None:
    """The batch is published first, and then replaced: no vector and no sum stays of what is gone."""
    embedding, going_on = Event(), Event()

    class Held(HashEmbedder):
        def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
            embedding.set()
            assert going_on.wait(60)
            return super().embed(texts, query)

    def disturb() -> None:
        assert embedding.wait(60)
        Thread(target=lambda: (time.sleep(0.3), going_on.set())).start()
        store = open_writer(home, waiting)
        writer = Writer(store)
        (project,) = writer.projects()
        if change == "project removed":
            with store.transaction():
                writer.remove_project(project)
        elif change == "model changed":
            sync(project, store, HashEmbedder("other"), waiting, lambda *_: None)
        else:
            for file in sorted(vault.iterdir())[:150]:
                file.unlink() if change == "removed" else file.write_text(f"changed {file.name}")
            sync(project, store, None, waiting, lambda *_: None)
        store.close()

    store = open_worker(waiting)
    writer, embedder = Writer(store), Held()
    with store.transaction():
        space = writer.manifest.space(embedder.identity, embedder.dimension)
    side_by_side(disturb, lambda: embed_batch(writer.projects(), store, embedder, space))
    store.close()
    work(Hired(waiting, HashEmbedder("other" if change == "model changed" else "hash")), once=True)

    if change == "project removed":
        assert ([], 0) == (sums(waiting), run_count(waiting, "chunks"))
    else:
        same = HashEmbedder("other") if change == "model changed" else HashEmbedder()
        assert (0, 0) == faults(home, waiting)
        assert sums(waiting) == sums_by_one(home, vault, waiting, same)


def run_count(settings: Settings, table: str) -> int:
    assert settings.store is not None
    ((count,),) = run(settings.store.get_secret_value(), f"SELECT count(*) FROM cutaway.{table}")
    return int(count)


# Killed, and cut off

CHILD = """
import sys, time
from builders import HashEmbedder
from cutaway.config import Settings
from cutaway.index.worker import work
from test_workers import Hired

class Stuck(HashEmbedder):
    def embed(self, texts, query=False):
        if self.calls == 1:
            print("embedding", flush=True)
            time.sleep(600)
        return super().embed(texts, query)

work(Hired(Settings(store=sys.argv[1], vectors="pgvector"), Stuck()))
"""


@pytest.fixture
def stuck(waiting: Settings) -> Iterator[subprocess.Popen[str]]:
    """A worker process that holds its second batch for ever."""
    assert waiting.store is not None
    path = os.pathsep.join([str(Path(builders.__file__).parent), str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-c", CHILD, waiting.store.get_secret_value()]
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        assert "embedding\n" == child.stdout.readline()
        yield child
        child.kill()


def test_a_worker_that_is_killed_loses_nothing(
    home: Path, vault: Path, waiting: Settings, stuck: subprocess.Popen[str]
) -> None:
    """While it lives nobody waits for it or takes its texts; when it is gone, others have them."""
    worker, killed = Hired(waiting), []

    def kill() -> None:
        if not killed:
            killed.append(readiness(home, waiting))
            stuck.send_signal(signal.SIGKILL)
            stuck.wait(60)

    worker.after_wait = kill
    work(worker, once=True)

    assert [(236, 64, 0)] == killed
    assert 300 - 64 == len(worker.embedder.embedded)  # type: ignore[attr-defined]
    assert ((300, 0, 0), (0, 0)) == (readiness(home, waiting), faults(home, waiting))
    assert sums(waiting) == sums_by_one(home, vault, waiting)


def test_a_worker_that_is_cut_off_connects_again_and_goes_on(home: Path, vault: Path, waiting: Settings) -> None:
    """What it had in hand is embedded anew, by whoever comes first."""
    assert waiting.store is not None
    uri = waiting.store.get_secret_value()

    class CutOff(HashEmbedder):
        def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
            if self.calls == 1:
                run(uri, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state LIKE 'idle in%'")
            return super().embed(texts, query)

    worker = Hired(waiting, CutOff())
    work(worker, once=True)

    assert ["lost"] == [kind for kind, _ in worker.told if kind not in ("embedded", "idle")]
    assert (300, 0, 0) == readiness(home, waiting)
    assert sums(waiting) == sums_by_one(home, vault, waiting)


def test_pauses_grow_up_to_a_bound_and_begin_anew(waiting: Settings) -> None:
    """A server that is away for long is not besieged."""
    worker = Hired(waiting)
    refused = iter([True] * 8 + [False] + [True] * 2)
    opening = worker.open

    def open_or_not() -> Store:
        if next(refused, None):
            raise StoreUnavailable("no")
        return opening()

    def cut() -> None:
        if worker.told[-1][0] == "idle":
            if len(worker.pauses) > 10:
                worker.stop.set()
            raise StoreUnavailable("cut")

    worker.open = open_or_not  # type: ignore[method-assign]
    worker.after_wait = cut
    work(worker)

    assert [1, 2, 4, 8, 16, 30, 30, 30, 2, 1, 2, 4, 2, 1] == worker.pauses


def test_an_index_that_is_not_there_yet_is_waited_for(home: Path, vault: Path, there: Settings) -> None:
    """So workers and the indexer may be started in any order; with `once` there is nothing to wait for."""
    worker = Hired(there)

    def index() -> None:
        if worker.told[-1][0] == "idle":
            worker.stop.set()
        else:
            index_vault(home, write_vault(vault, {"a.md": "words"}), settings=there)

    worker.after_wait = index
    with pytest.raises(IndexMissing):
        work(Hired(there), once=True)
    work(worker)

    assert ["words"] == worker.embedder.embedded  # type: ignore[attr-defined]


def test_an_index_of_another_version_is_left_as_it_is(waiting: Settings) -> None:
    """A worker cannot read the notes, so it rebuilds nothing: it waits for one that can."""
    assert waiting.store is not None
    uri = waiting.store.get_secret_value()
    run(uri, "UPDATE cutaway.meta SET value = '0' WHERE key = 'schema'")
    worker = Hired(waiting)
    worker.after_wait = worker.stop.set
    work(worker)

    assert ["lost"] == [kind for kind, _ in worker.told]
    assert 300 == run_count(waiting, "chunks")


@pytest.mark.parametrize(
    ("settings", "said"),
    [({}, "cutaway index"), ({"store": "postgresql://127.0.0.1:1/none"}, "pgvector")],
    ids=["SQLite", "vectors in a file"],
)
def test_workers_are_refused_where_they_cannot_work(settings: dict[str, Any], said: str) -> None:
    """And told what to do."""
    with pytest.raises(UsageError, match=said):
        open_worker(Settings(**settings))
