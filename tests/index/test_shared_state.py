"""Over an index in Postgres, what is remembered is there too, for all processes; and their connections are kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread

import pytest

from builders import HashEmbedder, LengthReranker, ask, index_vault, write_vault
from cutaway.config import Settings
from cutaway.errors import StateUnavailable, StoreUnavailable
from cutaway.faces.asked import SearchIn
from cutaway.faces.engine import Engine
from cutaway.index.migrate import migrate
from cutaway.index.state import Judgment, Judgments, ScoreCache, state_file
from cutaway.index.store import keeping_connections, open_reader, open_writer
from cutaway.retrieval.plan import Models
from postgres import run

SALT = Judgment("bread", "salt", "a.md", 2)
OTHERS = [Judgment("log", "salt", "a.md", 1), Judgment("bread", "air", "b.md", 0)]


@pytest.fixture
def there(database: str) -> Settings:
    """An index in Postgres, made."""
    settings = Settings.model_validate({"store": database, "vectors": "pgvector"})
    open_writer(Path(), settings).close()
    return settings


@pytest.fixture
def judgments(there: Settings, home: Path) -> Iterator[Judgments]:
    yield Judgments(home, there)
    assert not home.exists()  # nothing of it is a file


def test_judgments_are_kept_replaced_and_taken_back(judgments: Judgments) -> None:
    assert [] == judgments.of(["bread"])
    judgments.keep([SALT, *OTHERS])
    judgments.keep([SALT._replace(grade=3)])

    assert [OTHERS[1], SALT._replace(grade=3)] == judgments.of(["bread"])
    assert (True, False) == (judgments.forget(SALT), judgments.forget(SALT))
    assert [OTHERS[1]] == judgments.of(["bread"])


def test_all_are_kept_or_none(judgments: Judgments) -> None:
    with pytest.raises(StateUnavailable):
        judgments.keep([SALT, SALT._replace(query="sugar", grade=None)])  # type: ignore[arg-type]

    assert [] == judgments.of(["bread"])


def test_judgments_follow_a_name_also_where_the_other_had_some(judgments: Judgments) -> None:
    judgments.keep([SALT, *OTHERS])
    judgments.rename("log", "bread")

    assert [OTHERS[1], OTHERS[0]._replace(project="bread")] == judgments.of(["bread"])
    assert [] == judgments.of(["log"])


def test_processes_share_what_is_remembered(there: Settings, home: Path, tmp_path: Path) -> None:
    """Whatever their homes are."""
    ScoreCache(home, 100, settings=there).keep("model", "salt", {"one": 0.5, "two": 0.25})
    other = ScoreCache(tmp_path / "elsewhere", 100, settings=there)

    assert {"one": 0.5} == other.scores("model", "salt", ["one", "three"])
    assert other.trouble is None


def test_the_oldest_scores_go_first(there: Settings, home: Path) -> None:
    cache = ScoreCache(home, 2, settings=there)
    for text in ("one", "two", "one", "three"):
        cache.keep("model", "q", {text: 0.5})

    assert {"one": 0.5, "three": 0.5} == cache.scores("model", "q", ["one", "two", "three"])


def test_the_same_score_may_be_kept_at_once(there: Settings, home: Path) -> None:
    start = Barrier(4)
    caches = [ScoreCache(home, 100, settings=there) for _ in range(4)]

    def keep(cache: ScoreCache) -> None:
        start.wait()
        cache.keep("model", "q", {f"text {place}": place / 10 for place in range(10)})

    threads = [Thread(target=keep, args=(cache,)) for cache in caches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 10 == len(caches[0].scores("model", "q", [f"text {place}" for place in range(10)]))


def test_a_rebuilt_index_forgets_no_judgment(there: Settings, home: Path, database: str) -> None:
    Judgments(home, there).keep([SALT])
    run(database, "UPDATE cutaway.meta SET value = '1' WHERE key = 'schema'")
    open_writer(home, there).close()

    assert [SALT] == Judgments(home, there).of(["bread"])


def test_a_search_goes_on_where_nothing_can_be_remembered(there: Settings, home: Path, database: str) -> None:
    """The server refuses the table: the search is answered, and says so."""
    vault = write_vault(home.parent / "vault", {"a.md": "Salt slows yeast.", "b.md": "Salt keeps bread."})
    index_vault(home, vault, HashEmbedder(), there)
    ScoreCache(home, 100, settings=there).keep("m", "q", {"x": 0.5})
    run(database, "ALTER TABLE cutaway.relevance RENAME COLUMN score TO other")
    cache = ScoreCache(home, 100, settings=there)
    asked = there.model_copy(update={"rerank": True})
    answer = ask(home, "salt", settings=asked, models=Models(HashEmbedder(), LengthReranker(), cache))

    assert 2 == len(answer.page)
    assert "cannot be used" in (cache.trouble or "")


def test_a_server_that_is_away_is_said(home: Path) -> None:
    gone = Settings.model_validate({"store": "postgresql://127.0.0.1:1/nowhere", "vectors": "pgvector"})
    with pytest.raises(StateUnavailable, match="cannot be used"):
        Judgments(home, gone).of(["bread"])


def test_judgments_move_with_an_index(there: Settings, home: Path) -> None:
    index_vault(home, write_vault(home.parent / "bread", {"a.md": "Salt slows yeast."}))
    Judgments(home).keep([SALT])
    copied = migrate(home, Settings(), there, lambda *_: None)
    state_file(home).unlink()

    assert (1, [SALT]) == (copied.judgments, Judgments(home, there).of(["bread"]))
    Judgments(home, there).keep(OTHERS)
    assert 3 == migrate(home, there, Settings(), lambda *_: None, replace=True).judgments
    assert [OTHERS[1], SALT] == Judgments(home).of(["bread"])


# Connections


def backends(database: str) -> set[int]:
    """Who else is connected."""
    others = "pid <> pg_backend_pid() AND datname = current_database()"
    return {pid for (pid,) in run(database, f"SELECT pid FROM pg_stat_activity WHERE {others}")}


def test_a_process_that_answers_many_keeps_its_connections(there: Settings, home: Path, database: str) -> None:
    with keeping_connections(there):
        open_reader(home, there).close()
        first = backends(database)
        for _ in range(5):
            open_reader(home, there).close()
        assert (1, first) == (len(first), backends(database))
    assert set() == backends(database)


def test_a_connection_that_died_between_two_requests_is_replaced(there: Settings, home: Path, database: str) -> None:
    """As after a restart of the server, or a failover: the next request does not notice."""
    index_vault(home, write_vault(home.parent / "vault", {"a.md": "Salt slows yeast."}), HashEmbedder(), there)
    engine, asked = Engine(home, there), SearchIn(query="salt", mode="text")
    with keeping_connections(there):
        for _ in range(3):
            with engine.session(asked) as session:
                assert 1 == len(session.answer(asked).page)
            run(database, f"SELECT pg_terminate_backend(pid) FROM unnest(ARRAY{sorted(backends(database))}) AS pid")


def test_a_server_that_goes_away_in_a_request_is_said_and_the_next_is_answered(
    there: Settings, home: Path, database: str
) -> None:
    index_vault(home, write_vault(home.parent / "vault", {"a.md": "Salt slows yeast."}), HashEmbedder(), there)
    engine, asked = Engine(home, there), SearchIn(query="salt", mode="text")
    with keeping_connections(there):
        with pytest.raises(StoreUnavailable, match="did not answer"), engine.session(asked) as session:
            run(database, f"SELECT pg_terminate_backend(pid) FROM unnest(ARRAY{sorted(backends(database))}) AS pid")
            session.answer(asked)
        with engine.session(asked) as session:
            assert 1 == len(session.answer(asked).page)


def test_a_kept_connection_is_as_a_new_one(there: Settings, home: Path) -> None:
    """A reader's cannot write, what is remembered can; whichever had it before."""
    with keeping_connections(there):
        for _ in range(2):
            reader = open_reader(home, there)
            with pytest.raises(StoreUnavailable):
                reader.execute("DELETE FROM meta")
            reader.close()
            Judgments(home, there).keep([SALT])
