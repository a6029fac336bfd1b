"""Each project is served from one space: vectors of one model in one home. Others wait, or only their words count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from builders import HashEmbedder, ask, index_vault, opened, paths, vectors_of, write_vault
from cutaway.index.means import Means
from cutaway.index.store import open_writer
from cutaway.index.writer import Writer
from cutaway.retrieval.pipeline import Answer

OLD, NEW = HashEmbedder("old"), HashEmbedder("new")


@pytest.fixture
def two(home: Path, tmp_path: Path) -> Path:
    """Two projects of the same words; the second was embedded with another model than the first."""
    index_vault(home, write_vault(tmp_path / "first", {"a.md": "red sun", "b.md": "red moon"}), NEW)
    index_vault(home, write_vault(tmp_path / "second", {"c.md": "red sun", "d.md": "green sea"}), OLD)
    return home


def by_meaning(answer: Answer) -> list[str]:
    """The projects of what the vector leg found."""
    found = {entry.note for entry in answer.evidence.entries.values()}
    return sorted({note.project.name for number, note in answer.shelf.notes.items() if number in found})


def test_a_project_under_another_model_is_searched_by_words_alone(two: Path) -> None:
    """Its words are found, its vectors are not looked at, and the answer says which and why."""
    answer = ask(two, "red", NEW)

    assert {"a.md", "b.md", "c.md"} == set(paths(answer))
    assert ["first"] == by_meaning(answer)
    assert [
        (
            "nearest",
            "second is embedded as old/32 in exact-f16/v1, not new/32 in exact-f16/v1: only its words were searched."
            " Run: cutaway index",
        )
    ] == [tuple(part) for part in answer.degraded]
    assert (2, 0, 0, 2) == answer.plan.readiness


def test_either_model_finds_what_was_embedded_with_it(two: Path) -> None:
    """Indexing one project leaves the vectors of the other as they were."""
    found = {model.identity: by_meaning(ask(two, "red", model)) for model in (NEW, OLD)}

    assert {"new/32": ["first"], "old/32": ["second"]} == found


def test_a_scope_that_is_wholly_under_another_model_names_both(two: Path) -> None:
    """No vector is compared."""
    third = HashEmbedder("third")
    ((_, reason),) = ask(two, "red", third).degraded

    assert all(identity in reason for identity in ("old/32", "new/32", "third/32"))
    assert 0 == third.calls


def test_indexing_again_brings_the_project_over(two: Path, tmp_path: Path) -> None:
    """And what nothing uses any more is gone from the index."""
    index_vault(two, tmp_path / "second", NEW)
    answer = ask(two, "red", NEW)
    connection = open_writer(two)
    spaces = connection.execute("SELECT embedding FROM spaces").fetchall()
    segments = connection.execute("SELECT DISTINCT space_id FROM segments").fetchall()
    connection.close()

    assert ((), ["first", "second"]) == (answer.degraded, by_meaning(answer))
    assert ([("new/32",)], 1) == (spaces, len(segments))


def test_what_was_embedded_before_comes_back_without_embedding(two: Path, tmp_path: Path) -> None:
    """Back and forth between two models: each text is embedded once with each."""
    for model in (NEW, OLD, NEW):
        index_vault(two, tmp_path / "second", model)
    calls = NEW.calls, OLD.calls
    report, embedding = index_vault(two, tmp_path / "second", OLD)

    assert (calls, 0, 2) == ((NEW.calls, OLD.calls), embedding.embedded, report.reused)


def test_embedding_one_project_leaves_what_waits_in_another(home: Path, tmp_path: Path) -> None:
    """Only what was asked for is embedded."""
    index_vault(home, write_vault(tmp_path / "first", {"a.md": "red"}))
    index_vault(home, write_vault(tmp_path / "second", {"b.md": "sun"}), NEW)
    with opened(home) as reader:
        waiting = [(held.project.name, held.state) for held in reader.standings]

    assert [("first", "pending"), ("second", "ready")] == waiting


def test_the_mean_is_that_of_the_vectors_there_are(home: Path, vault: Path) -> None:
    """After notes came, changed, moved and went: to the last digit the mean of a new index over the same notes."""
    notes = {f"{number}.md": f"word{number} red" for number in range(9)}
    index_vault(home, write_vault(vault, notes), NEW)
    write_vault(vault, {"1.md": "green sea", "new.md": "blue"})
    (vault / "2.md").unlink()
    (vault / "3.md").rename(vault / "moved.md")
    index_vault(home, vault, NEW)
    index_vault(home.parent / "anew", vault, NEW)
    found = []
    for where in (home, home.parent / "anew"):
        with opened(where) as reader:
            space = reader.space(NEW.identity)
            assert space
            mean, count = Means(reader._store).mean(space, [project.id for project in reader.scope])
            held = vectors_of(reader, NEW).vectors(reader.served_chunks(space))
            found.append((mean.tolist(), count))
            assert np.allclose(mean, np.mean(list(held.values()), axis=0), atol=1e-3)

    assert found[0] == found[1]


def test_a_removed_project_leaves_no_sum_behind(two: Path) -> None:
    """Nor a vector."""
    connection = open_writer(two)
    with connection.transaction():
        writer = Writer(connection)
        writer.remove_project(next(project for project in writer.projects() if project.name == "second"))
    sums = connection.execute("SELECT sum(vectors) FROM sums").get
    connection.close()

    assert 2 == sums
