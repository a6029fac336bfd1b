"""This file is about the store as a whole: its schema and its rebuilds, its transactions, its count of changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from indexes import SOUND, faults, note_ids, state

from builders import HashEmbedder, ask, index_vault, manifest, opened, paths, write_vault
from cutaway.errors import IndexBusy, IndexMismatch, IndexMissing
from cutaway.index import sqlite
from cutaway.index.store import bump_generation, generation, open_reader, open_writer
from cutaway.index.writer import Writer

NOTES = {
    f"{name}.md": f"# {name}\n\nOne and the same.\n\n- [fact] About {name}\n" for name in ("ash", "elm", "fir", "oak")
}


# The schema


def test_a_new_schema_rebuilds_the_index_and_embeds_nothing(
    home: Path, vault: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was derived is derived again; projects and embeddings last."""
    write_vault(vault, NOTES)
    index_vault(home, vault, embedder)
    before = manifest(home), note_ids(home)
    embedder.embedded.clear()
    monkeypatch.setattr(sqlite, "SCHEMA_VERSION", sqlite.SCHEMA_VERSION + 1)

    index_vault(home, vault, embedder)

    assert before == (manifest(home), note_ids(home))
    assert ([], SOUND) == (embedder.embedded, faults(home))


def test_a_rebuild_empties_what_is_derived_and_keeps_the_projects(
    home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after opening under a new schema, the index knows its folders and none of their notes."""
    write_vault(vault, NOTES)
    index_vault(home, vault)
    monkeypatch.setattr(sqlite, "SCHEMA_VERSION", sqlite.SCHEMA_VERSION + 1)

    open_writer(home).close()

    with opened(home) as reader:
        assert [("vault", vault)] == [(project.name, project.root) for project in reader.scope]
    assert ({}, []) == (note_ids(home), manifest(home))


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
def test_an_index_made_anew_gives_the_same_ids_and_the_same_order_of_equals(
    home: Path, vault: Path, embedder: HashEmbedder, mode: str
) -> None:
    """Notes that score the same are in one order, whichever index answers and however its notes came."""
    names = ("ash", "beech", "elm", "fir", "hazel", "lime", "oak", "yew")
    write_vault(vault, {f"{name}.md": "One and the same." for name in reversed(names)})
    index_vault(home, vault, embedder)
    (vault / "elm.md").unlink()
    index_vault(home, vault, embedder)
    write_vault(vault, {"elm.md": "One and the same."})
    index_vault(home, vault, embedder)

    index_vault(home.parent / "anew", vault, embedder)

    assert manifest(home) == manifest(home.parent / "anew")
    worn, new = (paths(ask(place, "one same", embedder, mode=mode)) for place in (home, home.parent / "anew"))
    assert (8, worn) == (len(worn), new)


def test_a_reader_refuses_another_schema_and_says_what_to_do(
    home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index of an older version is not read as if it were one of ours."""
    index_vault(home, vault)
    monkeypatch.setattr(sqlite, "SCHEMA_VERSION", 99)

    with pytest.raises(IndexMismatch, match=r"reads schema 99.*cutaway index"):
        open_reader(home)


def test_a_reader_creates_no_index(home: Path) -> None:
    """Where nothing was indexed a reader says so, and leaves nothing behind."""
    with pytest.raises(IndexMissing, match="cutaway index FOLDER"):
        open_reader(home)
    assert not home.exists()


# Transactions


def test_a_transaction_that_fails_leaves_no_trace(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Everything inside is undone together: notes, vectors, words and the count of changes."""
    write_vault(vault, NOTES)
    index_vault(home, vault, embedder)
    before, connection = state(home), open_writer(home)

    with pytest.raises(ZeroDivisionError), connection.transaction():
        Writer(connection).remove(note_ids(home).values())
        bump_generation(connection)
        raise ZeroDivisionError
    connection.close()

    assert (before, SOUND) == (state(home), faults(home))


def test_a_second_writer_is_told_that_the_index_is_busy(
    home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting has an end, and the message says what to do."""
    monkeypatch.setattr(sqlite, "_BUSY_SECONDS", 0.01)
    index_vault(home, vault)
    first, second = open_writer(home), open_writer(home)

    with first.transaction(), pytest.raises(IndexBusy, match="another process"), second.transaction():
        pass
    first.close()
    second.close()


def test_the_generation_grows_with_every_change(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """A warm reader can tell by one number that it must read again: after an addition, an edit, a move, a removal."""
    seen = []
    for step in (write_vault, edit, move, remove):
        step(vault, NOTES)
        index_vault(home, vault, embedder)
        connection = open_reader(home)
        seen.append(generation(connection))
        connection.close()

    assert sorted(set(seen)) == seen


def edit(vault: Path, _: object) -> None:
    (vault / "ash.md").write_text("Edited.")


def move(vault: Path, _: object) -> None:
    (vault / "elm.md").rename(vault / "moved.md")


def remove(vault: Path, _: object) -> None:
    (vault / "oak.md").unlink()
