"""An index is copied from a file to Postgres and back: it answers the same, and nothing is embedded for it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from test_postgres import NOTES as SHARED

from builders import HashEmbedder, ask, index_vault, opened, write_vault
from cutaway.config import Settings
from cutaway.errors import CutawayError, IndexBusy, IndexUnfinished, UsageError
from cutaway.index import migrate as migrating
from cutaway.index.migrate import migrate
from cutaway.index.store import alone, open_reader, open_writer
from cutaway.index.writer import Writer
from cutaway.retrieval.pipeline import Answer

NOTES = {
    **{path: SHARED[path] for path in ("bread.md", "rye.md", "folder/Zebra.md", "folder/apple.md", "empty.md")},
    "broken.md": "---\ntitle: [\n---\nBroken frontmatter, sound bread.",
}
QUERIES = (
    *((query, ()) for query in ("salt", "bread salt", '"dense bread"', "str*", "bread -apple", "tag:food", "café")),
    *(("成语", ()), ("bread", ("rating>2",)), ("", ("tag=food",))),
)
FILE = Settings()
TABLES = (
    *("projects", "identities", "embeddings", "notes", "properties", "rows", "words", "chunks", "sums", "problems"),
    "meta WHERE key <> 'schema'",
)


def quiet(*_: object) -> None:
    """No progress."""


@pytest.fixture
def there(database: str) -> Settings:
    return Settings(store=database, vectors="pgvector")


@pytest.fixture
def indexed(home: Path, vault: Path, embedder: HashEmbedder) -> Path:
    """Two projects in a file: one with a chunk that failed and one that waits, one whose folder is gone."""
    write_vault(vault, NOTES)
    index_vault(home, vault, embedder)
    gone = write_vault(vault.parent / "gone", {"salt.md": "# Salt\n\nSalt of the sea."})
    index_vault(home, gone, embedder)
    shutil.rmtree(gone)
    return home


def spoil(home: Path) -> None:
    """Let the chunks of one note have failed, and those of another wait, though their texts were embedded once."""
    failed, waiting = "state = 'failed', error = 'why'", "state = 'pending', space_id = NULL"
    with closing(open_writer(home)) as store, store.transaction():
        for name, state in (("rye.md", failed), ("bread.md", waiting)):
            note = store.execute("SELECT id FROM notes WHERE path = ?", (name,)).get
            Writer(store).manifest.withdraw(note)
            store.execute(f"UPDATE chunks SET {state} WHERE note_id = ?", (note,))


def held(home: Path, settings: Settings) -> dict[str, list[Any]]:
    """All that an index holds, table by table, but for where its vectors are."""
    with closing(open_reader(home, settings)) as store:
        return {table: sorted(map(repr, store.execute(f"SELECT * FROM {table}"))) for table in TABLES}


def there_and_back(home: Path, there: Settings) -> Path:
    """A second home, with the copy of the copy."""
    migrate(home, FILE, there, quiet)
    back = home.parent / "back"
    migrate(back, there, FILE, quiet)
    return back


@pytest.mark.parametrize("spoiled", [False, True], ids=["whole", "with failed and pending passages"])
def test_every_table_is_the_same_there_and_back(indexed: Path, there: Settings, spoiled: bool) -> None:
    """Ids, dates, states and sums; the folder of one of the projects is gone."""
    if spoiled:
        spoil(indexed)
    before = held(indexed, FILE)
    back = there_and_back(indexed, there)

    assert before == held(indexed, there)
    assert before == held(back, FILE)


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
def test_searches_find_the_same_with_the_same_scores(indexed: Path, there: Settings, mode: str) -> None:
    """Hit for hit, with each part of each score. Cursors go on, but where vectors have another home."""
    back, embedder = there_and_back(indexed, there), HashEmbedder()
    for query, where in QUERIES:
        asked: dict[str, Any] = {"mode": mode, "limit": 2, "where": where}
        here = ask(indexed, query, embedder, FILE, **asked)
        copy = ask(indexed, query, embedder, there, **asked)
        again = ask(back, query, embedder, FILE, **asked)

        assert here.page or mode == "vector", query
        assert _hits(here) == _hits(copy) == _hits(again)
        assert here.cursor == again.cursor
        assert mode != "text" or here.cursor == copy.cursor


def _hits(answer: Answer) -> list[object]:
    return [(hit.id, hit.score, hit.parts) for hit in answer.page]


def test_vectors_are_where_the_manifest_says(indexed: Path, there: Settings) -> None:
    """Every ready passage has one, and no other."""
    back = there_and_back(indexed, there)
    for home, settings in ((indexed, there), (back, FILE)):
        with opened(home, settings) as reader:
            assert (0, 0) == reader.vector_faults()


def test_indexing_afterwards_finds_nothing_to_do(indexed: Path, vault: Path, there: Settings) -> None:
    """Nothing is read again and nothing embedded; a note that is new gets a number of its own."""
    back, embedder = there_and_back(indexed, there), HashEmbedder()
    for home, settings in ((indexed, there), (back, FILE)):
        report, embedding = index_vault(home, vault, embedder, settings)

        assert (6, 0, 0, 0) == (report.difference.unchanged, len(report.difference.stale), report.reused, report.moved)
        assert (0, 0) == (embedding.embedded, embedder.calls)
    write_vault(vault, {"new.md": "# New\n\n- [fact] A new thing"})
    write_vault(vault.parent / "third", {"third.md": "Third."})
    assert ("new.md",) == index_vault(indexed, vault, embedder, there)[0].difference.added
    assert ("third.md",) == index_vault(indexed, vault.parent / "third", embedder, there)[0].difference.added


@pytest.mark.parametrize("step", ["_spaces", "_notes", "_feed", "_served_chunks", "_other_chunks", "_finish"])
@pytest.mark.parametrize("back", [False, True], ids=["to Postgres", "to a file"])
def test_a_copy_that_was_stopped_is_said_and_starts_over(
    indexed: Path, there: Settings, monkeypatch: pytest.MonkeyPatch, step: str, back: bool
) -> None:
    """Wherever it was stopped; the source is as it was."""
    home, source, target = (indexed, FILE, there)
    if back:
        migrate(indexed, FILE, there, quiet)
        home, source, target = (indexed.parent / "back", there, FILE)
    before = held(home, source)
    with monkeypatch.context() as patch:
        patch.setattr(migrating._Copy, step, _stopped)
        with pytest.raises(KeyboardInterrupt):
            migrate(home, source, target, quiet)
    for opening in (open_reader, open_writer):
        with pytest.raises(IndexUnfinished, match="run cutaway migrate again"):
            opening(home, target)
    migrate(home, source, target, quiet)

    assert before == held(home, source)
    assert before == held(home, target)


def _stopped(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("dimension", [32, 64])
def test_an_index_is_replaced_only_when_asked(indexed: Path, vault: Path, there: Settings, dimension: int) -> None:
    """What it held before is then gone, its vectors too, whatever their size."""
    other = write_vault(vault.parent / "other", {"other.md": "Other."})
    index_vault(indexed, other, HashEmbedder(dimension=dimension), there)
    before = held(indexed, there)
    with pytest.raises(UsageError, match="--replace"):
        migrate(indexed, FILE, there, quiet)
    assert before == held(indexed, there)

    migrate(indexed, FILE, there, quiet, replace=True)
    assert held(indexed, FILE) == held(indexed, there)
    with opened(indexed, there) as reader:
        assert (0, 0) == reader.vector_faults()


def test_an_unfinished_copy_of_another_index_is_not_taken_over(
    indexed: Path, there: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its own source goes on with it."""
    with monkeypatch.context() as patch:
        patch.setattr(migrating._Copy, "_notes", _stopped)
        with pytest.raises(KeyboardInterrupt):
            migrate(indexed, FILE, there, quiet)
    other = shutil.copytree(indexed, indexed.parent / "other")
    with pytest.raises(UsageError, match="unfinished copy of"):
        migrate(other, FILE, there, quiet)


def test_an_index_of_another_version_is_not_rebuilt_unasked(indexed: Path, there: Settings) -> None:
    """It is refused as any other index is, and keeps its notes."""
    migrate(indexed, FILE, there, quiet)
    with closing(open_writer(indexed, there)) as store:
        store.execute("UPDATE meta SET value = '0' WHERE key = 'schema'")
        with pytest.raises(UsageError, match="--replace"):
            migrate(indexed, FILE, there, quiet)
        assert 7 == store.execute("SELECT count(*) FROM notes").get


def test_pages_end_anywhere(indexed: Path, there: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of one row lose none, repeat none, and count to the end."""
    for size in ("_NOTES", "_CHUNKS", "_EMBEDDINGS", "_WORDS"):
        monkeypatch.setattr(migrating, size, 1)
    told: list[tuple[int, int]] = []
    back = indexed.parent / "back"
    migrate(indexed, FILE, there, lambda _, done, total: told.append((done, total)))
    migrate(back, there, FILE, quiet)

    assert held(indexed, FILE) == held(indexed, there) == held(back, FILE)
    assert told[-1][0] == told[-1][1]


@pytest.mark.parametrize("which", ["source", "target"])
def test_nobody_writes_meanwhile(indexed: Path, there: Settings, which: str) -> None:
    """The writers' lock of both is held."""
    with alone(indexed, FILE if which == "source" else there), pytest.raises(IndexBusy):
        migrate(indexed, FILE, there, quiet)


SAME: dict[str, Callable[[Settings], tuple[Settings, Settings]]] = {
    "file": lambda _: (FILE, Settings(store_schema="another")),
    "server": lambda there: (there, there),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_a_store_is_not_copied_onto_itself(
    indexed: Path, there: Settings, pair: Callable[[Settings], tuple[Settings, Settings]]
) -> None:
    """Not even where it is to be replaced."""
    with pytest.raises(CutawayError, match="the store in use"):
        migrate(indexed, *pair(there), quiet, replace=True)
