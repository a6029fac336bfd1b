"""One order: ties, twins, rebuilds, scopes, and vaults whose shape works against a full page."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import HashEmbedder, ask, index_vault, opened, paths, write_vault
from cutaway.config import Settings
from cutaway.index.store import open_writer
from cutaway.retrieval.request import Request
from retrieval.worlds import answer, hits, scoped

NARROW = Settings(window=10, chunk_chars=100)
modes = pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
fusions = pytest.mark.parametrize("fusion", ["calibrated-dismax", "dismax-0.3", "rrf"])


@modes
def test_notes_alike_tie_and_keep_one_order_after_a_rebuild(tmp_path: Path, mode: str) -> None:
    """Identical texts have identical scores; an index made from scratch puts them in the same order."""
    vault = write_vault(tmp_path / "vault", {f"{name}/same.md": "red sun" for name in "abcdefgh"})
    found = []
    for home in (tmp_path / "first", tmp_path / "again"):
        index_vault(home, vault, HashEmbedder())
        found.append(ask(home, "red sun", HashEmbedder(), mode=mode))

    assert 1 == len({hit.score for hit in found[0].page})
    assert hits(found[0]) == hits(found[1])


def test_the_order_does_not_depend_on_the_order_of_indexing(tmp_path: Path) -> None:
    """Notes that came one by one stand where they stand when they came together."""
    notes = {f"{name}.md": "red sun" for name in "abcd"}
    index_vault(tmp_path / "together", write_vault(tmp_path / "x" / "vault", notes), HashEmbedder())
    for path in sorted(notes, reverse=True):
        index_vault(tmp_path / "apart", write_vault(tmp_path / "y" / "vault", {path: notes[path]}), HashEmbedder())

    together, apart = (ask(tmp_path / home, "red sun", HashEmbedder()) for home in ("together", "apart"))
    assert hits(together) == hits(apart)


@modes
@fusions
def test_a_project_outside_the_scope_changes_nothing(home: Path, tmp_path: Path, mode: str, fusion: str) -> None:
    """Same ids, same scores, same order, whatever else the index holds."""
    request = Request("red sun", mode=mode, fusion=fusion, limit=50)  # type: ignore[arg-type]
    mine = {f"n{number}.md": "red " * (number % 3) + "sun moon" for number in range(20)}
    index_vault(home, write_vault(tmp_path / "mine", mine), HashEmbedder())
    with scoped(home, "mine") as reader:
        before = hits(answer(reader, request, NARROW))
    other = {f"o{number}.md": "red sun\n\n- [red] sun [[red]]" for number in range(40)}
    index_vault(home, write_vault(tmp_path / "other", other), HashEmbedder())

    with scoped(home, "mine") as reader:
        assert before == hits(answer(reader, request, NARROW))


@modes
def test_the_one_note_of_a_small_project_is_found(home: Path, tmp_path: Path, mode: str) -> None:
    """A hundred better notes outside the scope take no place in the window."""
    index_vault(home, write_vault(tmp_path / "large", {f"n{n}.md": "red sun" for n in range(100)}), HashEmbedder())
    index_vault(home, write_vault(tmp_path / "small", {"one.md": "red sun moon blue green"}), HashEmbedder())

    with scoped(home, "small") as reader:
        assert ["one.md"] == paths(answer(reader, Request("red sun", mode=mode), NARROW))  # type: ignore[arg-type]


@modes
@fusions
def test_pages_stay_full_although_one_note_has_very_many_passages(
    home: Path, vault: Path, mode: str, fusion: str
) -> None:
    """Sixty passages and sixty observations of one note crowd the windows; every page is still full."""
    crowd = "\n".join(f"- [red] red sun {number}" for number in range(60)) + "\n\n" + "red sun. " * 600
    notes = {"crowd.md": crowd, "noise.md": "blue green. " * 1_500, **{f"n{n}.md": "red sun moon" for n in range(20)}}
    index_vault(home, write_vault(vault, notes), HashEmbedder(), NARROW)
    with opened(home) as reader:
        request = Request("red sun", mode=mode, fusion=fusion, limit=5)  # type: ignore[arg-type]
        found = [answer(reader, request, NARROW, page=page) for page in range(1, 6)]

    assert [5, 5, 5, 5, 1] == [len(page.page) for page in found]
    assert [True, True, True, True, False] == [page.has_more for page in found]


def test_pages_stay_full_although_the_closest_chunks_are_not_ready(home: Path, vault: Path) -> None:
    """Chunks that the manifest does not vouch for take no place that a ready one could have."""
    notes = {f"a{number}.md": "sun" for number in range(15)} | {f"b{n}.md": "sun sun blue" for n in range(15)}
    index_vault(home, write_vault(vault, notes), HashEmbedder())
    connection = open_writer(home)
    connection.execute(
        "UPDATE chunks SET state = 'pending' WHERE note_id IN (SELECT id FROM notes WHERE path LIKE 'a%')"
    )
    connection.close()
    found = ask(home, "sun", HashEmbedder(), NARROW, mode="vector", limit=5)

    assert (5, True) == (len(found.page), found.has_more)


def test_a_tie_on_the_floor_is_not_cut_off_and_called_all(home: Path, vault: Path) -> None:
    """Thirty notes exactly as similar as asked for: a window of ten has not seen them all, and says so."""
    index_vault(home, write_vault(vault, {f"{number}/n.md": "red sun" for number in range(30)}), HashEmbedder())
    floor = ask(home, "red sun moon", HashEmbedder(), NARROW, mode="vector").stages[0].kept[0].score
    found = ask(home, "red sun moon", HashEmbedder(), NARROW, mode="vector", limit=5, min_similarity=floor)

    assert (5, True) == (len(found.page), found.has_more)
    assert found.total == 30 or not found.total_is_exact


@modes
def test_a_page_past_the_end_is_empty(home: Path, vault: Path, mode: str) -> None:
    """Far past it too, and the total is still told."""
    index_vault(home, write_vault(vault, {f"n{number}.md": "red sun" for number in range(3)}), HashEmbedder())
    found = ask(home, "red", HashEmbedder(), mode=mode, page=10**12)

    assert ((), 3, True, False) == (found.page, found.total, found.total_is_exact, found.has_more)


def test_a_page_deeper_than_the_window_goes_on_lawfully(home: Path, vault: Path) -> None:
    """Forty equal notes at a window of ten: four pages of ten, no note missing, none twice."""
    index_vault(home, write_vault(vault, {f"{number}.md": "red sun" for number in range(40)}), HashEmbedder())
    found = [path for page in range(1, 5) for path in paths(ask(home, "red", HashEmbedder(), NARROW, page=page))]

    assert sorted(f"{number}.md" for number in range(40)) == sorted(found)


def test_rows_of_all_kinds_share_one_order(home: Path, vault: Path) -> None:
    """Ungrouped, a note, its observations and its relations are results of their own."""
    index_vault(home, write_vault(vault, {"a.md": "- [fact] red sun\n- likes [[red sun]]\n"}), HashEmbedder())
    found = ask(home, "red sun", HashEmbedder(), group="row")

    assert {"entity", "observation", "relation"} == {hit.id.kind for hit in found.page}
