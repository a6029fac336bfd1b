"""This file is about reading: a reader writes nothing, waits for nobody, and sees one state of the index."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from builders import HashEmbedder, ask, index_vault, opened, paths, vectors_of, write_vault
from cutaway.config import Settings
from cutaway.index.projects import projects_of
from cutaway.index.reader import Reader
from cutaway.index.store import open_reader, open_writer
from cutaway.index.writer import Writer
from cutaway.inspector.chunk_map import chunk_map
from cutaway.inspector.health import examine, overview
from cutaway.inspector.neighbours import Asked, neighbours
from cutaway.inspector.stale import behind

NOTES = {f"{number}.md": f"# Tree {number}\n\nLeaves and roots, number{number}.\n" for number in range(20)}


@pytest.fixture
def indexed(home: Path, vault: Path, embedder: HashEmbedder) -> Path:
    """A home with twenty notes, all ready."""
    index_vault(home, write_vault(vault, NOTES), embedder)
    return home


READS: dict[str, Callable[[Path], object]] = {
    "text search": lambda home: paths(ask(home, "leaves", mode="text")),
    "hybrid search": lambda home: paths(ask(home, "leaves number7", HashEmbedder())),
    "chunk map": lambda home: read(home, lambda reader: chunk_map(reader, "7.md", "hash/32")),
    "overview": lambda home: read(home, overview),
    "neighbours": lambda home: read(home, lambda reader: neighbours(Asked("7.md#1"), reader, HashEmbedder())),
    "neighbours of words": lambda home: read(
        home, lambda reader: neighbours(Asked(text="leaves"), reader, HashEmbedder())
    ),
    "what lags": lambda home: read(home, lambda reader: behind(reader, Settings(), HashEmbedder())),
    "health check": lambda home: read(home, lambda reader: examine(reader, HashEmbedder())),
}
every_read = pytest.mark.parametrize("ask_for", READS.values(), ids=READS)


def read(home: Path, view: Callable[[Reader], object]) -> object:
    with opened(home) as reader:
        return view(reader)


def bytes_of(home: Path) -> dict[str, bytes]:
    """The content of the index file and of its log, told apart by their hashes; the shared memory is no content."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).digest()
        for file in home.iterdir()
        if not file.name.endswith("-shm")
    }


# Nothing is written


@every_read
def test_reading_changes_no_byte(indexed: Path, ask_for: Callable[[Path], object]) -> None:
    """Whatever is looked at, the index file and its log are what they were."""
    before = bytes_of(indexed)

    ask_for(indexed)

    assert before == bytes_of(indexed)


@pytest.mark.parametrize(
    "statement",
    [
        *("DELETE FROM notes", "INSERT INTO meta VALUES ('a', 'b')", "UPDATE chunks SET state = 'ready'"),
        *("DROP TABLE segments", "CREATE TABLE extra (a)", "PRAGMA user_version = 9"),
    ],
)
def test_writing_through_a_reader_is_an_error(indexed: Path, statement: str) -> None:
    """The connection itself refuses, so no mistake above it can write."""
    connection = open_reader(indexed)

    with pytest.raises(apsw.ReadOnlyError):
        connection.execute(statement)


def test_a_reader_does_not_store_vectors(indexed: Path, embedder: HashEmbedder) -> None:
    """Not even through the index object it reads from."""
    with opened(indexed) as reader, pytest.raises(apsw.ReadOnlyError):
        vectors = vectors_of(reader, embedder)
        vectors.delete(list(vectors.stored_ids()))


# Nobody is waited for


@every_read
def test_a_reader_answers_while_the_index_is_being_written(indexed: Path, ask_for: Callable[[Path], object]) -> None:
    """With the write lock held and changes not yet committed, the answer is that of the last commit."""
    before, content = ask_for(indexed), bytes_of(indexed)
    writing = open_writer(indexed)
    writer = Writer(writing)

    with writing.transaction():
        writer.remove(known.id for known in writer.known(writer.projects()[0]).values())
        assert before == ask_for(indexed)
        assert content == bytes_of(indexed)
    writing.close()


def test_many_readers_answer_at_once_beside_a_writer(indexed: Path) -> None:
    """Eight readers inside one writer's transaction, each with an answer of its own."""
    writing = open_writer(indexed)
    writer = Writer(writing)

    with writing.transaction(), ThreadPoolExecutor(8) as pool:
        writer.remove(known.id for known in writer.known(writer.projects()[0]).values())
        answers = list(pool.map(lambda number: paths(ask(indexed, f"number{number}")), range(8)))
    writing.close()

    assert [[f"{number}.md"] for number in range(8)] == answers


# One state


def test_a_snapshot_sees_nothing_of_what_is_committed_meanwhile(
    indexed: Path, vault: Path, embedder: HashEmbedder
) -> None:
    """Rows, words and vectors read before and after a sync belong to the same state."""
    connection = open_reader(indexed)
    with connection.snapshot():
        reader = Reader(connection, tuple(projects_of(connection)))
        known = len(reader.named("7"))
        for path in NOTES:
            if path != "0.md":
                (vault / path).unlink()
        index_vault(indexed, vault, embedder)

        vectors = vectors_of(reader, embedder).nearest(embedder.embed(["leaves"])[0], 100).hits
        words = reader.lexicon.postings("leaves")
        assert (1, 20, 20, 20) == (known, reader.readiness(None).ready, len(vectors), len(words.places))
    connection.close()


def test_a_reader_opened_after_a_commit_sees_it(indexed: Path, vault: Path, embedder: HashEmbedder) -> None:
    """A long-lived reader's state is its own; the next one reads the new state."""
    with opened(indexed) as before:
        assert 20 == before.readiness(None).ready
        (vault / "7.md").unlink()
        index_vault(indexed, vault, embedder)

        with opened(indexed) as after:
            assert 19 == after.readiness(None).ready


def test_a_few_ids_are_looked_up_and_no_project_is_read_through(
    home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However large the projects are: SQLite, left to itself, would find chunks by their project."""
    index_vault(home, write_vault(vault, {f"{n}.md": f"# {n}\n\nText {n}." for n in range(5)}), HashEmbedder())
    asked: list[tuple[str, tuple[object, ...]]] = []
    with opened(home) as reader:
        space = reader.space("hash/32", 32)
        assert space
        execute = type(reader._store).execute
        monkeypatch.setattr(
            type(reader._store), "execute", lambda self, *given: (asked.append(given), execute(self, *given))[1]
        )
        (note, *_) = [card.note for card in reader.catalog]
        rows = [row.id for row in reader.rows_of_note(note)]
        chunks = [entry.id for entry in reader.entries_of_note(note)]
        asked.clear()
        reader.entries(chunks), reader.entries_of_note(note), reader.entries_of_rows(rows)
        reader.served(rows, space), reader.rows(rows), reader.notes([note]), reader.rows_of_note(note)
        plans = [execute(reader._store, f"EXPLAIN QUERY PLAN {query}", values).fetchall() for query, values in asked]

    assert 7 == len(plans)
    steps = [step[3] for plan in plans for step in plan]
    assert not [step for step in steps if "project_id=" in step or step.startswith(("SCAN c", "SCAN r", "SCAN n"))]
