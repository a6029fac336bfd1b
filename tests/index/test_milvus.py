"""This file is about vectors in Milvus: the real Milvus Lite, what a stop leaves behind, and a server that is away."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from indexes import faults, states

from builders import HashEmbedder, ask, index_vault, opened, paths, write_vault
from cutaway.config import Settings, validated
from cutaway.errors import SettingsError, VectorsUnavailable
from cutaway.index import milvus, milvus_server
from cutaway.index.homes import Opening
from cutaway.index.milvus import MilvusIndex
from cutaway.index.sqlite import SqliteStore
from cutaway.index.store import open_writer
from cutaway.index.vectors import Record, Space
from cutaway.model import ChunkId

pytest.importorskip("milvus_lite")
from milvus_lite.adapter.grpc.servicer import MilvusServicer

MILVUS = Settings(vectors="milvus")
AWAY = Settings(vectors="milvus", milvus_uri="http://127.0.0.1:1", milvus_token="very-secret", milvus_timeout=1)
SPACE = Space(1, "hash/4", MilvusIndex.identity, 4)
TEXT = "# Note {0}\n\nAbout subject{0} and theme{1}.\n\n- [fact] Theme {1} has many notes\n"
NOTES = {f"{number:02}.md": TEXT.format(number, number % 5) for number in range(20)}
Call = Callable[..., Any]


class Stopped(BaseException):
    """The process ends here."""


@contextmanager
def store(home: Path, settings: Settings = MILVUS) -> Iterator[SqliteStore]:
    connection = open_writer(home, settings)
    try:
        yield connection
    finally:
        connection.close()


def index_of(connection: SqliteStore, scope: tuple[int, ...] = (1,), space: Space = SPACE) -> MilvusIndex:
    return MilvusIndex(Opening(connection, space, scope, connection.settings))


def record(chunk: int, *numbers: float, project: int = 1) -> Record:
    vector = np.array(numbers or (1, 0, 0, 0), np.float32)
    return Record(ChunkId(chunk), project, vector / np.linalg.norm(vector))


def stopping(monkeypatch: pytest.MonkeyPatch, method: str, when: str = "after", place: int = 1) -> None:
    """Stop just before or just after the n-th call of a method of Milvus; nothing is said to it after that."""
    ask_milvus, calls = milvus_server.Server.ask, [0]

    def asked(self: Any, called: str, timeout: float, **arguments: Any) -> Any:
        calls[0] += called == method
        if calls[0] >= place and (when == "before" or called != method or calls[0] > place):
            raise Stopped
        answer = ask_milvus(self, called, timeout, **arguments)
        if called == method and calls[0] == place:
            raise Stopped
        return answer

    monkeypatch.setattr(milvus_server.Server, "ask", asked)


# Served from Milvus


def test_a_search_gives_the_same_results_from_milvus_as_from_the_index_file(
    home: Path, vault: Path, embedder: HashEmbedder
) -> None:
    """Rows, scores and order are equal to the last digit; and changing homes embeds nothing."""
    write_vault(vault, NOTES)
    index_vault(home, vault, embedder)
    queries = ("theme 3 notes", "subject7", "nothing of it")
    before, calls = [ask(home, query, embedder, limit=30).page for query in queries], embedder.calls - 3
    index_vault(home, vault, embedder, MILVUS)

    assert before == [ask(home, query, embedder, MILVUS, limit=30).page for query in queries]
    assert calls == embedder.calls - 6
    assert ([], (0, 0)) == faults_of(home)


def faults_of(home: Path) -> tuple[list[str], tuple[int, int]]:
    with opened(home, MILVUS) as reader:
        return reader.integrity_faults(), reader.vector_faults()


def test_moving_back_leaves_nothing_in_milvus(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """The collection goes when the last project has left it."""
    write_vault(vault, NOTES)
    index_vault(home, vault, embedder, MILVUS)
    calls = embedder.calls
    index_vault(home, vault, embedder)
    with store(home) as connection:
        server = index_of(connection)._connection
        left = server._connected(5).list_collections()

    assert ([], calls, ([], (0, 0))) == (left, embedder.calls, faults(home))


def test_two_indexes_on_one_server_do_not_meet(tmp_path: Path) -> None:
    """Each has collections of its own, whatever ids they share."""
    shared = Settings(vectors="milvus", milvus_uri=str(tmp_path / "shared.db"))
    with store(tmp_path / "one", shared) as one, store(tmp_path / "two", shared) as two:
        index_of(one).upsert([record(1)])

        assert [1] == [near.id for near in index_of(one).nearest(record(1).vector, 5).hits]
        assert () == index_of(two).nearest(record(1).vector, 5).hits


def test_an_answer_that_the_server_cuts_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more are equally close than a call can give, the order among them is not promised."""
    monkeypatch.setattr(milvus, "MOST_HITS", 8)
    with store(home) as connection:
        index = index_of(connection)
        index.upsert([record(chunk) for chunk in range(1, 11)])
        found = index.nearest(record(1).vector, 3)

    assert (3, False) == (len(found.hits), found.exact)
    assert "at most 8" in str(found.remark)


# Stopped


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("method", "place"),
    [("create_collection", 1), ("create_index", 1), ("load_collection", 1), ("upsert", 1), ("upsert", 2)],
)
def test_a_first_run_that_was_stopped_serves_nothing_that_is_not_stored(
    home: Path, vault: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch, when: str, method: str, place: int
) -> None:
    """No ready chunk is without its vector; the next run finishes, and no vector is left over."""
    write_vault(vault, {f"{n}.md": f"# Note {n}\n\nAbout subject{n}.\n" for n in range(100)})
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        stopping(patch, method, when, place)
        index_vault(home, vault, embedder, MILVUS)
    _, (_, missing) = faults_of(home)
    index_vault(home, vault, embedder, MILVUS)

    assert (0, ([], (0, 0))) == (missing, faults_of(home))
    assert 100 == states(home)["ready"]


CHANGED = {"00.md": NOTES["01.md"], "01.md": NOTES["00.md"], "new.md": NOTES["02.md"] + NOTES["03.md"]}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("method", ["delete", "upsert"])
def test_an_update_that_was_stopped_serves_no_vector_of_another_text(
    home: Path, vault: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch, when: str, method: str
) -> None:
    """What is ready has the vector of its own text, even where known texts changed places; the next run finishes."""
    write_vault(vault, NOTES)
    index_vault(home, vault, embedder, MILVUS)
    write_vault(vault, CHANGED)
    (vault / "05.md").unlink()
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        stopping(patch, method, when)
        index_vault(home, vault, embedder, MILVUS)
    after_the_stop = foreign_vectors(home)
    index_vault(home, vault, embedder, MILVUS)

    assert ([], [], ([], (0, 0))) == (after_the_stop, foreign_vectors(home), faults_of(home))


def foreign_vectors(home: Path) -> list[int]:
    """Ready chunks whose stored vector is not that of their text, or is not there."""
    with opened(home, MILVUS) as reader:
        space = reader.space(HashEmbedder().identity)
        assert space
        held = reader.vectors(space).vectors(reader.served_chunks(space))  # type: ignore[attr-defined]
        query = (
            "SELECT c.id, e.vector FROM chunks c JOIN embeddings e ON e.text_hash = c.text_hash WHERE c.state = 'ready'"
        )
        stored = {chunk: np.frombuffer(vector, np.float16) for chunk, vector in reader._store.execute(query)}
    at_length_one = {chunk: vector / np.linalg.norm(vector.astype(np.float64)) for chunk, vector in stored.items()}
    return [c for c, vector in at_length_one.items() if c not in held or not np.allclose(held[c], vector, atol=1e-6)]


def test_a_vector_goes_only_when_its_loss_is_committed(home: Path) -> None:
    """Rolled back, a delete has not happened; committed, it has."""
    with store(home) as connection:
        index_of(connection).upsert([record(1), record(2)])
        with pytest.raises(KeyboardInterrupt), connection.transaction():
            index_of(connection).delete([ChunkId(1)])
            raise KeyboardInterrupt
        after_the_rollback = index_of(connection).stored_ids()
        with connection.transaction():
            index_of(connection).delete([ChunkId(1)])
        assert ({1, 2}, {2}) == (after_the_rollback, index_of(connection).stored_ids())


def test_vectors_that_were_lost_are_stored_again_and_nothing_is_embedded(
    home: Path, vault: Path, embedder: HashEmbedder
) -> None:
    """A search says that they are gone, the doctor counts them, the next run puts them back."""
    write_vault(vault, NOTES)
    index_vault(home, vault, embedder, MILVUS)
    (home / "milvus.db").rename(home / "lost")
    answer, (_, lost), calls = ask(home, "subject7", embedder, MILVUS), faults_of(home), embedder.calls
    index_vault(home, vault, embedder, MILVUS)

    assert "has lost all 40 vectors" in answer.degraded[0].reason
    assert ((0, 40), ([], (0, 0)), calls) == (lost, faults_of(home), embedder.calls)


# Away


def test_a_server_that_is_away_leaves_a_search_its_words(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """The answer says why there are no vectors in it, without the token; a vector search is an error."""
    write_vault(vault, NOTES)
    index_vault(home, vault, embedder, MILVUS)
    answer = ask(home, "subject7", embedder, AWAY)

    assert ["07.md"] == paths(answer)
    assert "Milvus at http://127.0.0.1:1 cannot be opened" in answer.degraded[0].reason
    assert "secret" not in repr(answer)
    with pytest.raises(VectorsUnavailable):
        ask(home, "subject7", embedder, AWAY, mode="vector")


def test_a_server_that_does_not_answer_in_time_is_one_that_is_away(
    home: Path, vault: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit holds for every call, and the answer says in a line that it was reached."""
    write_vault(vault, NOTES)
    index_vault(home, vault, embedder, MILVUS)
    connected, answered = milvus_server.Server._connected, MilvusServicer.Search

    def slowly(*asked: Any) -> Any:
        time.sleep(1)
        return answered(*asked)

    monkeypatch.setattr(milvus_server.Server, "_connected", lambda self, _: connected(self, 10))
    monkeypatch.setattr(MilvusServicer, "Search", slowly)
    (degraded,) = ask(home, "subject7", embedder, Settings(vectors="milvus", milvus_timeout=0.1)).degraded

    assert re.search(r"milvus.db failed: .*(?i:deadline|timeout|retry)", degraded.reason)
    assert len(degraded.reason) < 400


def test_without_a_server_words_are_indexed_and_chunks_wait(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Nothing is ready that is not stored; when the server is back, nothing is embedded twice."""
    write_vault(vault, NOTES)
    with pytest.raises(VectorsUnavailable):
        index_vault(home, vault, embedder, AWAY)

    assert 0 == states(home)["ready"]
    assert ["07.md"] == paths(ask(home, "subject7", embedder, AWAY))
    index_vault(home, vault, embedder, MILVUS)
    assert ([], (0, 0)) == faults_of(home)


def test_known_vectors_that_cannot_be_stored_now_wait(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Every change of the notes is found by its words, though the first thing Milvus was asked failed."""
    write_vault(vault, NOTES)
    index_vault(home, vault, embedder)
    write_vault(vault, {"late.md": NOTES["03.md"].replace("Note 3", "Latecomer")})
    with pytest.raises(VectorsUnavailable):
        index_vault(home, vault, embedder, AWAY)

    assert ["late.md"] == paths(ask(home, "latecomer", embedder, AWAY))
    assert 0 == states(home)["ready"]


def test_a_missing_package_says_what_to_install(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with store(home) as connection, pytest.raises(VectorsUnavailable, match=r"pip install 'cutaway\[milvus\]'"):
        index_of(connection).upsert([record(1)])


def test_one_process_at_a_time_holds_a_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one is told so, soon, and what to do; it is let in when the first has closed."""
    monkeypatch.setattr(milvus_server, "_PATIENCE", 0.1)
    child = (
        "import sys; from pathlib import Path; from filelock import FileLock\n"
        "with FileLock(sys.argv[1]): print('held', flush=True); sys.stdin.read()"
    )
    with store(home) as connection:
        command = [sys.executable, "-c", child, str(home / "milvus.db.lock")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout and process.stdout.readline()
            with pytest.raises(VectorsUnavailable, match=r"another process holds .*milvus_uri"):
                index_of(connection).upsert([record(1)])
    with store(home) as connection:
        index_of(connection).upsert([record(1)])


@pytest.mark.parametrize("uri", ["http://user:pw@host:19530", "ftp://host/x.db", "vectors.sqlite", ""])
def test_an_address_that_is_none_is_refused(uri: str) -> None:
    """A server's address holds no password: the token has its own setting."""
    with pytest.raises(SettingsError, match="milvus_uri"):
        validated({"milvus_uri": uri}, "the test")
