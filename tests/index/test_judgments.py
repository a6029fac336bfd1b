"""Judgments in the state file: what people said of results, kept all or none, beside the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutaway.errors import StateUnavailable
from cutaway.index.state import Judgment, Judgments, ScoreCache, state_file

SALT = Judgment("bread", "salt", "salt.md", 3)
OTHERS = [
    Judgment("bread", "crust", "b.md", 0),
    Judgment("bread", "crust", "a.md", 1),
    Judgment("log", "salt", "a.md", 2),
]


def test_judgments_are_read_back_by_query_and_path(home: Path) -> None:
    """Of the projects asked for, whatever the order they were stored in."""
    Judgments(home).keep([SALT, *OTHERS])

    assert [OTHERS[1], OTHERS[0], SALT] == Judgments(home).of(["bread"])
    assert [OTHERS[1], OTHERS[0], OTHERS[2], SALT] == Judgments(home).of(["log", "bread"])
    assert [] == Judgments(home).of(["nowhere"])


def test_queries_are_kept_as_they_were_typed(home: Path) -> None:
    """Letters of another size, quotes and other scripts are other queries."""
    typed = [SALT._replace(query=query) for query in ("Salt", "it's “salt”", "salt", "塩")]
    Judgments(home).keep(typed)

    assert typed == Judgments(home).of(["bread"])


def test_a_failure_half_way_stores_nothing(home: Path) -> None:
    """All or none: the second of these has no grade."""
    Judgments(home).keep(OTHERS)
    with pytest.raises(StateUnavailable):
        Judgments(home).keep([SALT, SALT._replace(query="sugar", grade=None)])  # type: ignore[arg-type]

    assert 3 == len(Judgments(home).of(["bread", "log"]))


@pytest.mark.parametrize("differs", [{"project": "log"}, {"query": "Salt"}, {"path": "b.md"}])
def test_only_the_judgment_that_was_named_is_forgotten(home: Path, differs: dict[str, str]) -> None:
    """By project, query and path."""
    Judgments(home).keep([SALT])

    assert not Judgments(home).forget(SALT._replace(**differs))
    assert [SALT] == Judgments(home).of(["bread"])


def test_reading_makes_no_file(home: Path) -> None:
    """Where nothing was judged there is nothing to keep."""
    assert [] == Judgments(home).of(["bread"])
    assert not home.exists()


def test_scores_and_judgments_share_a_file(home: Path) -> None:
    """Whichever was stored first."""
    home.mkdir()
    ScoreCache(home, 10).keep("model", "salt", {"a document": 0.5})
    assert [] == Judgments(home).of(["bread"])
    Judgments(home).keep([SALT])

    assert [state_file(home)] == [file for file in home.iterdir() if file.suffix == ".sqlite"]
    assert {"a document": 0.5} == ScoreCache(home, 10).scores("model", "salt", ["a document"])
