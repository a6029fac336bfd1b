"""The state file: scores that are remembered, judgments that are kept, and trouble that is not silent."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest

from builders import HashEmbedder, LengthReranker, ask, index_vault, write_vault
from cutaway.index.sqlite import index_file
from cutaway.index.state import Judgment, Judgments, ScoreCache, state_file
from cutaway.retrieval.plan import Models


def cache(home: Path, capacity: int = 100, read_only: bool = False) -> ScoreCache:
    home.mkdir(exist_ok=True)
    return ScoreCache(home, capacity, read_only=read_only)


# Scores


def test_what_is_kept_is_found_again(home: Path) -> None:
    """By another object, as by another process."""
    cache(home).keep("model", "query", {"one": 0.25, "two \ud800": 1.0})

    assert {"one": 0.25, "two \ud800": 1.0} == cache(home).scores("model", "query", ["one", "two \ud800", "three"])


def test_half_a_sign_is_not_mistaken_for_another(home: Path) -> None:
    """Lone surrogates, which a command line may hold, are themselves: no replacement, no other half."""
    cache(home).keep("model", "query \ud800", {"text \ud800": 0.5})

    assert {"text \ud800": 0.5} == cache(home).scores("model", "query \ud800", ["text \ud800", "text ?", "text \udc00"])
    assert {} == cache(home).scores("model", "query \ufffd", ["text \ud800"])


@pytest.mark.parametrize(("model", "query", "document"), [("b", "q", "d"), ("a", "Q", "d"), ("a", "q", "d ")])
def test_another_model_query_or_document_is_another_score(home: Path, model: str, query: str, document: str) -> None:
    cache(home).keep("a", "q", {"d": 0.5})

    assert {} == cache(home).scores(model, query, [document])


def test_a_score_given_anew_replaces_the_old_one(home: Path) -> None:
    for score in (0.1, 0.9):
        cache(home).keep("model", "query", {"one": score})

    assert {"one": 0.9} == cache(home).scores("model", "query", ["one"])


def test_no_more_are_kept_than_were_allowed_and_the_oldest_go_first(home: Path) -> None:
    for number in range(10):
        cache(home, 4).keep("model", "query", {str(number): number / 10})

    assert ["6", "7", "8", "9"] == sorted(cache(home, 4).scores("model", "query", [str(n) for n in range(10)]))


def test_the_oldest_go_first_whatever_they_belong_to(home: Path) -> None:
    """One bound for all models and queries together; a score given anew is young again."""
    for model, query in [("a", "q"), ("a", "Q"), ("b", "q"), ("a", "q"), ("b", "Q")]:
        cache(home, 3).keep(model, query, {"one": 0.5})

    held = {(model, query) for model in "ab" for query in "qQ" if cache(home, 3).scores(model, query, ["one"])}
    assert {("b", "q"), ("a", "q"), ("b", "Q")} == held


def test_a_smaller_bound_holds_from_the_next_score_on(home: Path) -> None:
    """What is too much by then goes."""
    texts = [str(number) for number in range(10)]
    cache(home).keep("model", "query", dict.fromkeys(texts, 0.5))
    cache(home, 2).keep("model", "query", {"new": 0.5})

    assert {"new": 0.5, "9": 0.5} == cache(home).scores("model", "query", [*texts, "new"])


def test_a_cache_of_nothing_remembers_nothing(home: Path) -> None:
    """Not even what is in the file."""
    cache(home).keep("model", "query", {"one": 0.5})

    assert {} == cache(home, 0).scores("model", "query", ["one"])


def test_one_answer_larger_than_the_cache_is_cut_too(home: Path) -> None:
    cache(home, 3).keep("model", "query", {str(number): 0.5 for number in range(10)})

    assert 3 == len(cache(home, 3).scores("model", "query", [str(number) for number in range(10)]))


@pytest.mark.parametrize(("capacity", "read_only"), [(0, False), (100, True)])
def test_a_cache_that_must_not_write_makes_no_file(home: Path, capacity: int, read_only: bool) -> None:
    cache(home, capacity, read_only).keep("model", "query", {"one": 0.5})

    assert not state_file(home).exists()


def test_reading_changes_no_byte(home: Path) -> None:
    cache(home).keep("model", "query", {"one": 0.5})
    before = state_file(home).read_bytes()

    assert {"one": 0.5} == cache(home, read_only=True).scores("model", "query", ["one"])
    assert before == state_file(home).read_bytes()


def test_a_reader_keeps_nothing_in_a_file_that_is_there(home: Path) -> None:
    """No score, no byte, no file beside it."""
    cache(home).keep("model", "query", {"one": 0.5})
    before = state_file(home).read_bytes()
    reader = cache(home, read_only=True)
    reader.keep("model", "query", {"two": 0.5})

    assert (before, [state_file(home)]) == (state_file(home).read_bytes(), [*home.iterdir()])
    assert ({"one": 0.5}, None) == (reader.scores("model", "query", ["one", "two"]), reader.trouble)


def test_texts_are_not_in_the_file(home: Path) -> None:
    """Neither what was asked nor what was read: hashes stand for them."""
    cache(home).keep("model", "a secret question", {"a secret passage": 0.5})

    assert b"secret" not in state_file(home).read_bytes()


def spoiled(home: Path) -> None:
    state_file(home).write_bytes(b"this is no database" * 100)


def folder(home: Path) -> None:
    state_file(home).mkdir()


def locked(home: Path) -> apsw.Connection:
    cache(home).keep("other", "query", {"one": 0.5})
    held = apsw.Connection(str(state_file(home)))
    held.execute("BEGIN EXCLUSIVE")
    return held


def halved(home: Path) -> None:
    cache(home).keep("other", "query", {str(number): 0.5 for number in range(500)})
    state_file(home).write_bytes(state_file(home).read_bytes()[:5_000])


def foreign(home: Path) -> None:
    connection = apsw.Connection(str(state_file(home)))
    connection.execute("CREATE TABLE relevance (something TEXT)")
    connection.close()


@pytest.mark.parametrize("hindrance", [spoiled, halved, foreign, folder, locked])
def test_trouble_with_the_file_is_said_and_stops_no_search(home: Path, vault: Path, hindrance: object) -> None:
    """Scores come from the model; the stage says that they could not be remembered."""
    index_vault(home, write_vault(vault, {"a.md": "red sun", "b.md": "red moon"}), HashEmbedder())
    held = hindrance(home)  # type: ignore[operator]
    reranker = LengthReranker()
    found = ask(home, "red", models=Models(HashEmbedder(), reranker, cache(home)), rerank=True)
    (stage,) = [step for step in found.stages if step.name == "rerank"]

    assert (1, 2, ()) == (reranker.calls, len(stage.kept), found.degraded)
    assert "scores could not be" in (stage.remark or "")
    if held:
        held.close()


@pytest.mark.parametrize("hindrance", [spoiled, halved, foreign, locked])
def test_scores_that_cannot_be_read_are_unknown(home: Path, hindrance: Callable[[Path], Any]) -> None:
    """And it is said why."""
    home.mkdir()
    held = hindrance(home)
    remembered = cache(home)

    assert {} == remembered.scores("model", "query", ["one"])
    assert (remembered.trouble or "").startswith("remembered scores could not be read: ")
    if held:
        held.close()


def test_a_home_that_is_gone_is_not_made_for_a_score(tmp_path: Path) -> None:
    """Said, and left alone."""
    gone = ScoreCache(tmp_path / "gone", 100)
    gone.keep("model", "query", {"one": 0.5})

    assert (gone.trouble or "").startswith("scores could not be kept: ")
    assert ({}, False) == (gone.scores("model", "query", ["one"]), (tmp_path / "gone").exists())


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_home_that_may_not_be_written_keeps_nothing_and_says_so(home: Path) -> None:
    """What it holds is still found."""
    cache(home).keep("model", "query", {"one": 0.5})
    state_file(home).chmod(0o400)
    home.chmod(0o500)
    remembered = cache(home)
    remembered.keep("model", "query", {"two": 0.5})
    home.chmod(0o700)

    assert (remembered.trouble or "").startswith("scores could not be kept: ")
    assert {"one": 0.5} == remembered.scores("model", "query", ["one", "two"])


def test_scores_are_found_while_another_is_writing(home: Path) -> None:
    """Those that were there before."""
    cache(home).keep("model", "query", {"one": 0.5})
    other = apsw.Connection(str(state_file(home)))
    other.execute("BEGIN IMMEDIATE; DELETE FROM relevance")
    remembered = cache(home)
    found = remembered.scores("model", "query", ["one"])
    other.close()

    assert ({"one": 0.5}, None) == (found, remembered.trouble)


def test_of_many_writing_at_once_each_keeps_its_scores_or_says_so(home: Path) -> None:
    """None is lost in silence, and none breaks the file."""
    caches = {str(number): cache(home) for number in range(12)}
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda text: caches[text].keep("model", "query", {text: 0.5}), caches))

    assert {text for text in caches if not caches[text].trouble} == {*cache(home).scores("model", "query", [*caches])}


def test_another_process_finds_them_too(home: Path) -> None:
    """And keeps its own beside them."""
    cache(home).keep("model", "query", {"one": 0.5})
    program = (
        "import sys; from pathlib import Path; from cutaway.index.state import ScoreCache\n"
        "cache = ScoreCache(Path(sys.argv[1]), 100); cache.keep('model', 'query', {'two': 0.25})\n"
        "print(cache.scores('model', 'query', ['one', 'two']) == {'one': 0.5, 'two': 0.25})"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(home)], capture_output=True, text=True, check=False)

    assert ("True\n", "") == (ran.stdout, ran.stderr)
    assert {"two": 0.25} == cache(home).scores("model", "query", ["two"])


def test_two_searches_at_once_both_keep_their_scores(home: Path) -> None:
    one, two = cache(home), cache(home)
    one.keep("model", "query", {"one": 0.1})
    two.keep("model", "query", {"two": 0.2})

    assert {"one": 0.1, "two": 0.2} == one.scores("model", "query", ["one", "two"])


# Judgments


def test_judgments_are_kept_by_project_query_and_note(home: Path) -> None:
    store = Judgments(home)
    store.keep([Judgment("a", "query", "n.md", 1), Judgment("b", "query", "n.md", 3)])
    store.keep([Judgment("a", "query", "n.md", 2)])

    assert [Judgment("a", "query", "n.md", 2)] == store.of(["a"])
    assert 2 == len(Judgments(home).of(["a", "b"]))


def test_a_judgment_can_be_taken_back_once(home: Path) -> None:
    store = Judgments(home)
    store.keep([Judgment("a", "query", "n.md", 1)])

    assert store.forget(Judgment("a", "query", "n.md", 0))
    assert not store.forget(Judgment("a", "query", "n.md", 0))
    assert [] == store.of(["a"])


def test_judgments_survive_the_index(home: Path, vault: Path) -> None:
    """They are nowhere but in the state file."""
    index_vault(home, write_vault(vault, {"n.md": "red sun"}), HashEmbedder())
    Judgments(home).keep([Judgment("vault", "red", "n.md", 3)])
    index_file(home).unlink()

    assert [Judgment("vault", "red", "n.md", 3)] == Judgments(home).of(["vault"])
