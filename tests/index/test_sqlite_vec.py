"""Vectors in sqlite-vec: the same answers as the exact scan, in the same file and the same transaction."""

from __future__ import annotations

import sys
from pathlib import Path

import apsw
import numpy as np
import pytest
from indexes import SOUND

from builders import HashEmbedder, ask, index_vault, opened, paths, write_vault
from cutaway.config import Settings
from cutaway.errors import ModelUnavailable, UsageError
from cutaway.index.homes import Opening
from cutaway.index.sqlite import SqliteStore, index_file
from cutaway.index.sqlite_vec import SqliteVecIndex
from cutaway.index.vectors import Record, Space
from cutaway.model import ChunkId
from cutaway.retrieval.pipeline import Answer

EXACT, VEC = Settings(vectors="exact"), Settings(vectors="sqlite-vec")
NOTES = {
    f"{folder}/{number}.md": f"# Note {number}\n\nword{number % 7} red {'sun' if number % 3 else 'moon'}\n"
    for folder in ("north", "south")
    for number in range(40)
}
X = np.eye(4, dtype=np.float32)[0]
SPACE = Space(1, "model/4", SqliteVecIndex.identity, 4)


def vec_tables(home: Path) -> list[str]:
    """What vec0 keeps in the file."""
    connection = apsw.Connection(str(index_file(home)))
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE name GLOB 'vec_*'")]
    connection.close()
    return names


def found(answer: Answer) -> list[tuple[object, ...]]:
    """What the vector leg found, and the page: ids, scores and order."""
    return [*answer.evidence.nearest.kept, *((hit.id, hit.score) for hit in answer.page)]


@pytest.fixture
def index(tmp_path: Path) -> SqliteVecIndex:
    """A space of four dimensions in an index file, over project 1."""
    store = SqliteStore.for_writing(tmp_path, VEC)
    return SqliteVecIndex(Opening(store, SPACE, (1,), VEC))


# The same answers


@pytest.mark.parametrize(
    "request_",
    [
        {"mode": "vector"},
        {"mode": "hybrid"},
        {"mode": "hybrid", "limit": 100},
        {"mode": "vector", "where": ("title=Note 7",)},
    ],
    ids=["vector", "hybrid", "deep", "where"],
)
def test_a_search_finds_what_the_exact_scan_finds(
    home: Path, vault: Path, embedder: HashEmbedder, request_: dict[str, object]
) -> None:
    """The same ids and scores, to the last digit, in the same order."""
    answers = []
    for settings, where in ((EXACT, home), (VEC, home.parent / "other")):
        index_vault(where, write_vault(vault, NOTES), embedder, settings)
        answers.append(found(ask(where, "red sun word3", embedder, settings, **request_)))

    assert answers[0] == answers[1] != []


def test_going_over_and_back_embeds_nothing(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Each way, `cutaway index` moves the vectors; the answers stay, and nothing stays behind."""
    index_vault(home, write_vault(vault, NOTES), embedder, EXACT)
    seen = []
    for settings in (EXACT, VEC, EXACT):
        _, embedding = index_vault(home, vault, embedder, settings)
        with opened(home, settings) as reader:
            assert (0, SOUND) == (embedding.embedded, (reader.integrity_faults(), reader.vector_faults()))
        seen.append(found(ask(home, "red sun", embedder, settings)))

    assert seen[0] == seen[1] == seen[2]
    assert [] == vec_tables(home)


def test_an_index_that_is_half_way_over_says_so(home: Path, tmp_path: Path, embedder: HashEmbedder) -> None:
    """The project that was not indexed again is searched by its words alone, until it is."""
    for name in ("first", "second"):
        index_vault(home, write_vault(tmp_path / name, {f"{name}.md": "red sun"}), embedder, EXACT)
    index_vault(home, tmp_path / "first", embedder, VEC)
    half = ask(home, "red", embedder, VEC)
    index_vault(home, tmp_path / "second", embedder, VEC)

    assert {"first.md", "second.md"} == set(paths(half))
    assert ["second is embedded as hash/32 in exact-f16/v1, not hash/32 in sqlite-vec-f32/v1"] == [
        part.reason.split(":")[0] for part in half.degraded
    ]
    assert () == ask(home, "red", embedder, VEC).degraded


def test_another_setting_before_indexing_searches_words(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """No vector is there yet, which is said; no table is missed."""
    index_vault(home, write_vault(vault, {"a.md": "red sun"}), embedder, EXACT)
    answer = ask(home, "red", embedder, VEC)

    assert (["a.md"], 1) == (paths(answer), len(answer.degraded))


# What it cannot see


@pytest.mark.parametrize("k", [1, 4_096, 9_000])
def test_more_ties_than_it_looks_at_are_said(index: SqliteVecIndex, k: int) -> None:
    """The answer is no longer exact, and says why; it is in order, and a prefix of a deeper one."""
    index.upsert([Record(ChunkId(chunk), 1, X) for chunk in range(5_000, 0, -1)])
    found, deepest = index.nearest(X, k), index.nearest(X, 5_000)

    assert (False, "sqlite-vec gives 4,096 neighbours of a project") == (found.exact, str(found.remark).split(":")[0])
    assert (min(k, 4_096), deepest.hits[:k]) == (len(found.hits), found.hits)


def test_what_is_behind_all_it_looks_at_makes_no_answer_inexact(index: SqliteVecIndex) -> None:
    """Ten that stand out are ten, though more than 4,096 are stored."""
    near = [Record(ChunkId(chunk), 1, np.array([1, chunk / 100, 0, 0], np.float32)) for chunk in range(1, 11)]
    index.upsert([*near, *(Record(ChunkId(chunk), 1, -X) for chunk in range(20, 5_020))])

    assert ([*range(1, 11)], True) == ([hit.id for hit in index.nearest(X, 10).hits], index.nearest(X, 10).exact)


# One transaction


def test_what_is_rolled_back_was_never_stored(index: SqliteVecIndex) -> None:
    """Its table neither; and it can be stored after all."""
    store = index._connection
    with pytest.raises(KeyboardInterrupt), store.transaction():
        index.upsert([Record(ChunkId(1), 1, X)])
        raise KeyboardInterrupt
    before = index.nearest(X, 5).hits
    with store.transaction():
        index.upsert([Record(ChunkId(2), 1, X)])

    assert ((), ((2, 1.0),)) == (before, index.nearest(X, 5).hits)


def test_a_batch_that_fails_half_way_leaves_nothing(index: SqliteVecIndex) -> None:
    """Though its caller goes on, and commits."""
    store = index._connection
    index.upsert([Record(ChunkId(1), 1, X)])
    with store.transaction(), pytest.raises(OverflowError):
        index.upsert([Record(ChunkId(1), 1, -X), Record(ChunkId(2), 1, X), Record(ChunkId(2**70), 1, X)])

    assert ((1, 1.0),) == index.nearest(X, 5).hits


def test_a_new_schema_drops_the_tables(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """They are derived as all the rest; indexing brings them back, and embeds nothing."""
    index_vault(home, write_vault(vault, {"a.md": "red sun"}), embedder, VEC)
    connection = apsw.Connection(str(index_file(home)))
    connection.pragma("user_version", 1)
    connection.close()
    SqliteStore.for_writing(home, VEC).close()
    left = vec_tables(home)
    _, embedding = index_vault(home, vault, embedder, VEC)

    assert ([], 0, ()) == (left, embedding.embedded, ask(home, "red", embedder, VEC).degraded)


def test_two_models_in_one_space_number_have_tables_of_their_own(index: SqliteVecIndex) -> None:
    """What could not be dropped when a space went is not taken for its follower's."""
    index.upsert([Record(ChunkId(1), 1, X)])
    follower = SqliteVecIndex(Opening(index._connection, SPACE._replace(embedding="new/2", dimension=2), (1,), VEC))

    assert () == follower.nearest(X[:2], 5).hits


# Where it cannot be had


def test_without_the_package_the_error_says_what_to_install(
    home: Path, vault: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When indexing and when searching."""
    index_vault(home, write_vault(vault, {"a.md": "red sun"}), embedder, VEC)
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)

    for attempt in (
        lambda: ask(home, "red", embedder, VEC),
        lambda: index_vault(home, write_vault(vault, {"b.md": "sea"}), embedder, VEC),
    ):
        with pytest.raises(ModelUnavailable, match=r"pip install 'cutaway\[sqlite-vec\]'"):
            attempt()


def test_without_the_package_the_index_can_still_go_back(
    home: Path, vault: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the exact scan, embedding nothing; and a new schema is made."""
    index_vault(home, write_vault(vault, {"a.md": "red sun"}), embedder, VEC)
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    _, embedding = index_vault(home, vault, embedder, EXACT)
    answer = ask(home, "red", embedder, EXACT)
    store = SqliteStore.for_writing(home, EXACT)
    store.pragma("user_version", 1)
    store.close()
    SqliteStore.for_writing(home, EXACT).close()

    assert (0, ()) == (embedding.embedded, answer.degraded)


def test_a_store_that_is_no_file_is_refused() -> None:
    """With the home that is meant for it."""
    with pytest.raises(UsageError, match="pgvector"):
        SqliteVecIndex(Opening(object(), SPACE, (1,), VEC))
