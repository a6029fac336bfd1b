"""A search of many projects is one search: one embedding, one read of each leg, at most one reranking."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from builders import HashEmbedder, LengthReranker, index_vault, opened, write_vault
from cutaway.index.exact import ExactIndex
from cutaway.index.means import Means
from cutaway.index.reader import Reader
from cutaway.retrieval.bm25 import Bm25
from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.plan import Models, Request
from retrieval.worlds import answer, hits, notes, scoped

COUNTS = (1, 2, 5, 9)
NAMES = tuple(f"p{number}" for number in range(max(COUNTS)))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine small projects, which share names and texts."""
    folder = tmp_path_factory.mktemp("many")
    for number, name in enumerate(NAMES):
        index_vault(folder / "home", write_vault(folder / name, notes(number % 3 + 3)), HashEmbedder())
    return folder / "home"


@pytest.fixture(scope="module", params=COUNTS)
def reader(request: pytest.FixtureRequest, home: Path) -> Iterator[Reader]:
    with scoped(home, *NAMES[: request.param]) as opened_reader:
        yield opened_reader


@pytest.mark.parametrize("rerank", [False, True])
@pytest.mark.parametrize("page", [1, 4, 60])
@pytest.mark.parametrize(("mode", "similar", "matched"), [("text", 0, 1), ("vector", 1, 0), ("hybrid", 1, 1)])
def test_however_many_projects_there_is_one_query(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, mode: Any, similar: int, matched: int, page: int, rerank: bool
) -> None:
    """Whatever the page: the query is embedded once, each leg is read once, what is reranked is read in one call."""
    reads: list[str] = []
    for owner, name in ((ExactIndex, "nearest"), (Means, "mean"), (Bm25, "ranked")):
        monkeypatch.setattr(owner, name, noted(getattr(owner, name), name, reads))
    models = Models(HashEmbedder(), LengthReranker())
    answer(reader, Request("red sun", mode=mode, limit=3, page=page, rerank=rerank), models=models)

    legs = tuple(reads.count(name) for name in ("nearest", "mean", "ranked"))
    assert (similar, similar, similar, matched) == (models.embedder.calls, *legs)  # type: ignore[union-attr]
    assert int(rerank) == models.reranker.calls  # type: ignore[union-attr]


def test_no_more_is_asked_of_the_database_for_more_projects(home: Path) -> None:
    """The statements are the same, and no more of them: only the list of projects in them is longer."""
    asked = []
    for count in COUNTS:
        told: list[str] = []
        with scoped(home, *NAMES[:count]) as reader:
            reader._store.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event, told=told: told.append(event["sql"]))
            answer(reader, Request("red sun", limit=3), models=Models(HashEmbedder()))
        ours = (sql for sql in told if "'main'" not in sql)  # the others are of the lexical index itself
        asked.append(sorted(re.sub(r"[?,\s]+", " ", sql).replace("( )", "()") for sql in ours))

    assert len(asked[0]) > 5
    assert [set(asked[0])] * len(COUNTS) == list(map(set, asked))
    assert len(asked[0]) == max(map(len, asked))


def test_every_result_says_of_which_project_it_is(reader: Reader) -> None:
    """Also where paths, titles and texts are the same in all of them: each is there once, under its own name."""
    found = answer(reader, Request("red sun", limit=500, fusion="rrf"), models=Models(HashEmbedder()))
    places = placed(found)

    assert len(set(places)) == len(places)
    assert {project.name for project in reader.scope} == {project for project, _ in places}


def test_two_that_are_alike_in_all_stand_side_by_side(tmp_path: Path) -> None:
    """Equal texts of different projects have equal scores and vectors; their ids order them, on every page the same."""
    for name in NAMES:
        index_vault(tmp_path / "home", write_vault(tmp_path / name, {"same.md": "# Same\n\nred sun"}), HashEmbedder())
    with opened(tmp_path / "home") as reader:
        whole = answer(reader, Request("red sun", limit=50), models=Models(HashEmbedder()))
        pages = [
            answer(reader, Request("red sun", limit=2, page=page), models=Models(HashEmbedder()))
            for page in range(1, 6)
        ]

    assert {hit.score for hit in whole.page} == {whole.page[0].score}
    assert hits(whole) == [hit for page in pages for hit in hits(page)]
    assert sorted(NAMES) == sorted(project for project, _ in placed(whole))


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
def test_a_small_project_beside_a_huge_one_gets_its_due(tmp_path: Path, mode: Any) -> None:
    """Alone in scope, all of it is found though hundreds elsewhere are better; in a scope of both, the best leads."""
    write_vault(tmp_path / "huge", {f"{number}.md": f"red sun {'red ' * (number % 7)}" for number in range(300)})
    write_vault(tmp_path / "small", {f"{number}.md": f"red and {'blue moon ' * number}" for number in range(5)})
    write_vault(tmp_path / "small", {"best.md": "red sun violet"})
    for name in ("huge", "small"):
        index_vault(tmp_path / "home", tmp_path / name, HashEmbedder())
    with scoped(tmp_path / "home", "small") as small, opened(tmp_path / "home") as both:
        alone = answer(small, Request("red sun", mode=mode, limit=3), models=Models(HashEmbedder()))
        beside = answer(both, Request("red sun violet", mode=mode), models=Models(HashEmbedder()))

    assert {"small"} == {project for project, _ in placed(alone)}
    assert ("small", "best.md") == placed(beside)[0]
    assert ("small", "best.md") == placed(alone)[0]


def noted(method: Any, name: str, reads: list[str]) -> Any:
    def called(*arguments: Any, **settings: Any) -> Any:
        reads.append(name)
        return method(*arguments, **settings)

    return called


def placed(found: Answer) -> list[tuple[str, str]]:
    """Project and path of each result."""
    notes = [found.shelf.notes[found.shelf.rows[hit.id].note] for hit in found.page]
    return [(note.project.name, note.path) for note in notes]
