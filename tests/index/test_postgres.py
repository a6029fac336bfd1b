"""The store in Postgres is the store: the same notes, rows, terms and answers as in SQLite, on a real server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from builders import HashEmbedder, ask, index_vault, opened, paths, write_vault
from cutaway.config import Settings, load_settings
from cutaway.errors import IndexBusy, IndexMissing, SettingsError, StoreUnavailable
from cutaway.index.postgres import PostgresStore
from cutaway.index.store import alone, open_reader, open_writer
from postgres import run

NOTES = {
    "bread.md": "---\ntitle: Bread\ntags: [food, baking/bread]\nrating: 3\n---\n# Bread\n\nBread needs salt and time.\n"
    "\n- [fact] Bread rises #yeast\n- needs [[Rye]]\n",
    "rye.md": "# Rye\n\nRye is a dense bread; salt it.\n",
    "folder/Zebra.md": "Stripes and stripes. C++ and café.",
    "folder/apple.md": "An apple a day. 我喜欢成语接龙",
    "nul.md": "before\0after NUL",
    "long.md": "x" * 9_000 + " tail " + "salt " * 300,
    "empty.md": "",
}
QUERIES = (
    "salt",
    "bread salt",
    '"dense bread"',
    "str*",
    "bread -apple",
    "tag:food",
    "成语",
    "café",
    "tail",
    "NUL",
    "rises",
)


@pytest.fixture
def both(home: Path, vault: Path, database: str) -> tuple[Path, Settings]:
    """The same vault in SQLite and in Postgres."""
    write_vault(vault, NOTES)
    index_vault(home, vault)
    index_vault(home, vault, settings=Settings(store=database))
    return home, Settings(store=database)


@pytest.mark.parametrize("query", QUERIES)
def test_words_find_the_same_with_the_same_scores(both: tuple[Path, Settings], query: str) -> None:
    """Hit for hit: paths, scores, ids, and each term's share."""
    home, there = both
    here = ask(home, query, mode="text")
    found = ask(home, query, mode="text", settings=there)

    assert paths(here)
    assert [(hit.id, hit.score, hit.parts) for hit in here.page] == [
        (hit.id, hit.score, hit.parts) for hit in found.page
    ]


READ: dict[str, Callable[[Any], object]] = {
    "catalog": lambda reader: sorted(reader.catalog),
    "notes": lambda reader: {
        key: (card.path, card.title, card.aliases, card.tags, card.metadata, card.source, card.hash, card.skips)
        for key, card in sorted(reader.notes([card.note for card in reader.catalog]).items())
    },
    "rows": lambda reader: [reader.rows_of_note(card.note) for card in sorted(reader.catalog)],
    "entries": lambda reader: [
        [entry._replace(updated_at="") for entry in reader.entries_of_note(card.note)]
        for card in sorted(reader.catalog)
    ],
    "lengths": lambda reader: reader.lexicon.lengths.tolist(),
    "numbers": lambda reader: reader.numbers("rating"),
    "tags": lambda reader: sorted(reader.notes_with("tags", "=", ["baking"])),
    "counts": lambda reader: reader.counts(reader.scope[0]),
    "spoken": lambda reader: reader.spoken,
    "problems": lambda reader: reader.problems(),
    "readiness": lambda reader: reader.readiness(None),
    "categories": lambda reader: len(reader.rows_in(["fact"])),
}


@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_a_reader_gives_out_the_same(both: tuple[Path, Settings], read: Callable[[Any], object]) -> None:
    """But for what Postgres cannot hold: a NUL in a text is shown as a sign of its own."""
    home, there = both
    with opened(home) as here, opened(home, there) as found:
        assert _without_nul(read(here)) == _without_nul(read(found))


def _without_nul(value: object) -> str:
    return repr(value).replace("\\x00", "\ufffd").replace("\\ufffd", "\ufffd")


def test_indexing_twice_changes_nothing(both: tuple[Path, Settings], vault: Path) -> None:
    """And what changed on disk is followed."""
    home, there = both
    again, _ = index_vault(home, vault, settings=there)
    (vault / "rye.md").rename(vault / "dark rye.md")
    (vault / "bread.md").unlink()
    changed, _ = index_vault(home, vault, settings=there)

    assert (7, 0) == (again.difference.unchanged, len(again.difference.stale))
    assert ([("rye.md", "dark rye.md")], ("bread.md",)) == (
        list(changed.difference.renamed),
        changed.difference.removed,
    )
    assert ["dark rye.md"] == paths(ask(home, "dense", mode="text", settings=there))


def test_a_failed_transaction_leaves_nothing(both: tuple[Path, Settings]) -> None:
    """All of it or none."""
    home, there = both
    store = open_writer(home, there)
    with pytest.raises(ZeroDivisionError), store.transaction():
        store.execute("DELETE FROM notes")
        raise ZeroDivisionError
    held = store.execute("SELECT count(*) FROM notes").get
    store.close()

    assert 7 == held


def test_a_snapshot_does_not_see_what_is_written_meanwhile(both: tuple[Path, Settings]) -> None:
    """All reads of a search are of one state."""
    home, there = both
    reading, writing = open_reader(home, there), open_writer(home, there)
    with reading.snapshot():
        before = reading.execute("SELECT count(*) FROM notes").get
        writing.execute("DELETE FROM notes")
        during = reading.execute("SELECT count(*) FROM notes").get
    after = reading.execute("SELECT count(*) FROM notes").get
    reading.close()
    writing.close()

    assert (7, 7, 0) == (before, during, after)


def test_a_reader_writes_nothing(both: tuple[Path, Settings]) -> None:
    """The server refuses."""
    home, there = both
    store = open_reader(home, there)
    with pytest.raises(Exception, match="read-only"):
        store.execute("DELETE FROM notes")
    store.close()


def test_one_run_writes_at_a_time(home: Path, database: str) -> None:
    """On whatever machine it runs."""
    there = Settings(store=database)
    with alone(home, there), pytest.raises(IndexBusy), alone(home, there):
        pass
    with alone(home, there):
        pass


def test_indexes_of_two_schemas_do_not_meet(home: Path, tmp_path: Path, database: str) -> None:
    """One server, many indexes."""
    for name in ("one", "two"):
        vault = write_vault(tmp_path / name, {f"{name}.md": "salt"})
        index_vault(home, vault, settings=Settings(store=database, store_schema=name))
    found = [
        paths(ask(home, "salt", mode="text", settings=Settings(store=database, store_schema=name)))
        for name in ("one", "two")
    ]

    assert [["one.md"], ["two.md"]] == found


def test_an_empty_database_says_what_to_do(home: Path, database: str) -> None:
    """As a missing file does."""
    with pytest.raises(IndexMissing, match="cutaway index FOLDER"):
        open_reader(home, Settings(store=database))


@pytest.mark.parametrize(
    "address", ["postgresql://nobody:secret@127.0.0.1:1/none", "postgresql://nobody:secret@no.such.host.invalid/none"]
)
def test_a_server_that_is_not_there_is_named_without_its_password(home: Path, address: str) -> None:
    """One line, and no secret in it."""
    with pytest.raises(StoreUnavailable) as refused:
        open_reader(home, Settings(store=address))

    assert "secret" not in str(refused.value)
    assert 1 == len(str(refused.value).splitlines())


def test_a_connection_that_was_lost_is_said(both: tuple[Path, Settings]) -> None:
    """In the middle of a search as at its beginning."""
    home, there = both
    store, other = open_reader(home, there), open_writer(home, there)
    assert isinstance(store, PostgresStore)
    other.execute("SELECT pg_terminate_backend(?)", (store.connection.info.backend_pid,))
    with pytest.raises(StoreUnavailable):
        store.execute("SELECT count(*) FROM notes")
    other.close()


def test_an_older_schema_is_rebuilt_and_nothing_is_embedded_twice(both: tuple[Path, Settings], vault: Path) -> None:
    """Projects and embeddings outlive it."""
    home, there = both
    store = open_writer(home, there)
    store.execute("INSERT INTO identities (name) VALUES ('kept')")
    store.execute("UPDATE meta SET value = '0' WHERE key = 'schema'")
    store.close()
    again, _ = index_vault(home, vault, settings=there)
    with opened(home, there) as reader:
        kept = reader._store.execute("SELECT count(*) FROM identities").get

    assert (7, 1) == (len(again.difference.added), kept)


def test_means_do_not_lose_what_two_writers_add(home: Path, database: str) -> None:
    """Workers publish side by side."""
    from threading import Thread

    from cutaway.index.means import Means
    from cutaway.index.vectors import Space

    there, space = Settings(store=database), Space(1, "hash/4", "none/v1", 4)
    open_writer(home, there).close()

    def add() -> None:
        store = open_writer(home, there)
        for _ in range(25):
            with store.transaction():
                Means(store).add(space, 1, [np.ones(4, np.float16)])
        store.close()

    threads = [Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = open_reader(home, there)
    mean, count = Means(store).mean(space, [1])
    store.close()

    assert ([1.0] * 4, 100) == (mean.tolist(), count)


@pytest.mark.parametrize("address", ["mysql://u:secret@h/d", "garbage", "", "host=h password=secret"])
def test_an_address_of_something_else_is_refused_as_a_setting(home: Path, address: str) -> None:
    """It says how to write one, and repeats nothing of it."""
    home.mkdir()
    (home / "config.toml").write_text(f'store = "{address}"', encoding="utf-8")
    with pytest.raises(SettingsError, match="postgresql://USER") as refused:
        load_settings(home)

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("address", ["postgresql://u:secret@[h/d", "postgresql://u:sec ret@h/d?nonsense=1"])
def test_an_address_that_cannot_be_read_is_refused_without_its_password(home: Path, address: str) -> None:
    """The driver's own words would have it in them."""
    with pytest.raises(SettingsError, match="postgresql://USER") as refused:
        open_reader(home, Settings(store=address))

    assert "sec" not in str(refused.value)


def test_vectors_that_need_a_file_are_refused_in_words(home: Path, vault: Path, database: str) -> None:
    """Before anything is embedded; words alone can be indexed all the same."""
    embedder, there = HashEmbedder(), Settings(store=database)
    write_vault(vault, {"a.md": "salt"})
    with pytest.raises(SettingsError, match="set vectors = 'pgvector'"):
        index_vault(home, vault, embedder, there)
    index_vault(home, vault, settings=there)

    assert 0 == embedder.calls
    assert ["a.md"] == paths(ask(home, "salt", embedder, settings=there))


def test_who_may_not_make_a_schema_is_told(home: Path, database: str) -> None:
    """In one line, with what the server said."""
    run(database, "DROP ROLE IF EXISTS guest_of_cutaway", "CREATE ROLE guest_of_cutaway LOGIN")
    try:
        guest = urlsplit(database)
        as_guest = guest._replace(netloc=f"guest_of_cutaway@{guest.netloc.rpartition('@')[2]}").geturl()
        with pytest.raises(StoreUnavailable, match="does not allow it: permission denied"):
            open_writer(home, Settings(store=as_guest))
    finally:
        run(database, "DROP ROLE guest_of_cutaway")


@pytest.mark.parametrize(
    ("vectors", "said"), [("pgvector", "Delete the index's schema in Postgres and run"), ("milvus", "Run")]
)
def test_what_brings_lost_vectors_back_is_said_of_the_place_they_are_in(
    home: Path, vault: Path, database: str, vectors: str, said: str
) -> None:
    """There is no index file to delete."""
    settings = Settings(store=database, vectors=vectors, milvus_uri=str(home / "milvus.db"))
    index_vault(home, write_vault(vault, {"a.md": "salt"}), settings=settings)
    with opened(home, settings) as reader:
        assert f"{said}: cutaway index" == reader.remedy
