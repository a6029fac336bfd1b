"""Cursors: whole or refused, good for one order only, and clear about what has changed."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import HashEmbedder, LengthReranker, ask, index_vault, opened, write_vault
from cutaway.config import Settings
from cutaway.errors import ModelUnavailable, StaleCursor, UsageError
from cutaway.index.state import ScoreCache
from cutaway.retrieval.cursor import Cursor, sealed, unsealed
from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import MAX_RESULTS, Request
from retrieval.worlds import Judge, Worlds, answer, hits, requests, scoped, seeds, worlds_in

WHOLE = "the cursor was not made by this index, or is not whole"
ASKED = "the cursor belongs to another query, mode, grouping or scope"
DECIDED = "settings or models that decide the order have changed since the page before"
INDEXED = "the index has changed since the page before"
REPLACING = Settings(rerank_formula="replace")
NOTES = {f"n{number:02}.md": f"red sun {'moon ' * number}" for number in range(12)}

numbers, digests = st.integers(0, 2**64 - 1), st.binary(min_size=8, max_size=8)
cursors = st.builds(Cursor, numbers, digests, digests, numbers, st.integers(0, 255), digests)
keys = st.text("0123456789abcdef", min_size=1, max_size=32)
FAULTS: dict[str, tuple[type, str, Exception]] = {
    "reranked": (LengthReranker, "relevance", RuntimeError("no memory left")),
    "answered by meaning too": (HashEmbedder, "embed", ModelUnavailable("no model left")),
}
"""What a page cannot be called where a model's method fails."""


def break_down(quality: str, patch: pytest.MonkeyPatch) -> None:
    """Let the model that gives pages a quality fail from now on."""
    owner, method, error = FAULTS[quality]

    def fail(*_: object) -> NoReturn:
        raise error

    patch.setattr(owner, method, fail)


def change_mind(patch: pytest.MonkeyPatch) -> None:
    """Let the reranker prefer from now on what it liked least."""
    relevance = LengthReranker.relevance
    patch.setattr(LengthReranker, "relevance", lambda *asked: [1 - score for score in relevance(*asked)])


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    with worlds_in(tmp_path_factory.mktemp("worlds")) as worlds:
        yield worlds


@pytest.fixture
def stars(home: Path, vault: Path) -> Path:
    """A home with twelve notes: four pages of three."""
    index_vault(home, write_vault(vault, NOTES), HashEmbedder())
    return home


def search(home: Path, cursor: str | None = None, **changes: Any) -> Answer:
    """A page of three; a request without changes is always the same one."""
    models = Models(HashEmbedder(), LengthReranker())
    asked = {"text": "red sun", "models": models, "limit": 3, "rerank": True, "depth": 5, **changes}
    return ask(home, cursor=cursor, **asked)


def followed(reader: Any, request: Request, models: Models, sizes: Sequence[int]) -> list[Answer]:
    """Every page by cursor, with the page sizes in turn; more than two hundred pages are too many."""
    pages = [answer(reader, request, models=models, limit=sizes[0])]
    for size in itertools.islice(itertools.cycle([*sizes[1:], sizes[0]]), 200):
        if pages[-1].cursor is None:
            return pages
        pages.append(answer(reader, request, models=models, limit=size, cursor=pages[-1].cursor))
    raise AssertionError("the pages do not end")


# The seal


@given(cursor=cursors, key=keys)
def test_a_cursor_comes_back_as_it_was_sealed(cursor: Cursor, key: str) -> None:
    """Every place, digest and outcome there can be."""
    assert cursor == unsealed(sealed(cursor, key), key)


@given(cursor=cursors, key=keys, place=st.integers(0, 8 * 50 - 1))
def test_a_cursor_with_one_bit_changed_is_refused(cursor: Cursor, key: str, place: int) -> None:
    """Wherever it is."""
    content = bytearray(base64.urlsafe_b64decode(sealed(cursor, key) + "="))
    content[place // 8] ^= 1 << place % 8

    with pytest.raises(UsageError, match=WHOLE):
        unsealed(base64.urlsafe_b64encode(content).decode().rstrip("="), key)


@given(cursor=cursors, key=keys, length=st.integers(0, 66))
def test_a_cursor_cut_short_is_refused(cursor: Cursor, key: str, length: int) -> None:
    """By one character or by all."""
    with pytest.raises(UsageError, match=WHOLE):
        unsealed(sealed(cursor, key)[:length], key)


@given(cursor=cursors, key=keys, more=st.text("AQgw", min_size=1, max_size=90))
def test_a_cursor_with_more_behind_it_is_refused(cursor: Cursor, key: str, more: str) -> None:
    """One cursor or none."""
    with pytest.raises(UsageError, match=WHOLE):
        unsealed(sealed(cursor, key) + more, key)


@given(text=st.text(max_size=120), key=keys)
def test_what_is_no_cursor_is_refused(text: str, key: str) -> None:
    """Any text at all."""
    with pytest.raises(UsageError, match=WHOLE):
        unsealed(text, key)


@pytest.mark.parametrize("text", ["", " ", "=", "====", "\ud800", "A" * 67, "é" * 67, "\0", "A" * 100_000])
def test_what_is_no_cursor_is_refused_by_a_search(stars: Path, text: str) -> None:
    """Before anything is read."""
    with pytest.raises(UsageError, match=WHOLE):
        search(stars, text)


@given(cursor=cursors, key=keys, other=keys)
def test_a_cursor_of_another_index_is_refused(cursor: Cursor, key: str, other: str) -> None:
    """Each index has a key of its own."""
    if key != other:
        with pytest.raises(UsageError, match=WHOLE):
            unsealed(sealed(cursor, key), other)


def test_an_index_of_the_same_notes_is_another_index(stars: Path, vault: Path, tmp_path: Path) -> None:
    """Its cursors cannot be told from old ones, so they are not taken."""
    index_vault(tmp_path / "again", vault, HashEmbedder())

    with pytest.raises(UsageError, match=WHOLE):
        search(tmp_path / "again", search(stars).cursor)


# Reading on


@settings(max_examples=25)
@given(
    seed=seeds,
    request_=requests,
    unready=st.booleans(),
    sizes=st.lists(st.sampled_from([3, 7, 20]), min_size=1, max_size=3),
    works=st.booleans(),
)
def test_cursors_lead_through_the_one_long_page(
    worlds: Worlds, seed: int, request_: Request, unready: bool, sizes: list[int], works: bool
) -> None:
    """From the first result to the last, whatever the sizes of pages on the way; also where reranking always fails."""
    reader, models = (
        worlds.reader(seed, unready),
        Models(HashEmbedder(), LengthReranker() if works else Judge(lambda _: [])),
    )
    pages = followed(reader, request_, models, sizes)

    whole = hits(answer(reader, request_, models=models, limit=MAX_RESULTS))
    assert whole == [hit for page in pages for hit in hits(page)]


def test_the_last_page_has_no_cursor(stars: Path) -> None:
    """All others have one."""
    cursors = [search(stars, page=page).cursor for page in (1, 2, 3, 4, 5)]

    assert [True, True, True, False, False] == [cursor is not None for cursor in cursors]


def test_a_cursor_and_a_page_are_refused(stars: Path) -> None:
    """They say two things."""
    with pytest.raises(UsageError, match="a cursor and a page were given"):
        search(stars, search(stars).cursor, page=2)


# What has changed


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"text": "red moon"}, ASKED),
        ({"mode": "text"}, ASKED),
        ({"mode": "vector"}, ASKED),
        ({"group": "row"}, ASKED),
        ({"fusion": "rrf"}, DECIDED),
        ({"min_similarity": 0.2}, DECIDED),
        ({"rerank": False}, DECIDED),
        ({"depth": 6}, DECIDED),
        ({"models": Models(HashEmbedder(), LengthReranker("another"))}, DECIDED),
        ({"models": Models(HashEmbedder(), "not installed")}, DECIDED),
        ({"models": Models("not installed", LengthReranker())}, DECIDED),
        ({"models": Models(HashEmbedder("another"), LengthReranker())}, DECIDED),
        ({"settings": Settings(window=100)}, DECIDED),
        ({"settings": Settings(tie_breaker=0.4)}, DECIDED),
        ({"settings": Settings(saturation=2)}, DECIDED),
        ({"settings": Settings(rerank_weight=0.2)}, DECIDED),
        ({"settings": Settings(rerank_formula="replace")}, DECIDED),
    ],
)
def test_a_cursor_belongs_to_one_order(stars: Path, changes: dict[str, Any], said: str) -> None:
    """Another request, or other settings or models: which of them is said."""
    with pytest.raises(StaleCursor, match=said):
        search(stars, search(stars).cursor, **changes)


@pytest.mark.parametrize("changes", [{"limit": 5}, {"settings": Settings(weak_below=1)}, {"text": " red sun\n"}])
def test_what_does_not_decide_the_order_may_change(stars: Path, changes: dict[str, Any]) -> None:
    """The next page begins where the last one ended."""
    assert hits(search(stars, page=2)) == hits(search(stars, search(stars).cursor, **changes))[:3]


def test_a_cursor_belongs_to_one_scope(stars: Path, tmp_path: Path) -> None:
    """More projects are another search."""
    index_vault(stars, write_vault(tmp_path / "other", NOTES), HashEmbedder())
    with scoped(stars, "vault") as one, opened(stars) as all_:
        cursor = answer(one, Request("red sun", limit=3)).cursor

        with pytest.raises(StaleCursor, match=ASKED):
            answer(all_, Request("red sun", limit=3, cursor=cursor))


@pytest.mark.parametrize("change", [{"n03.md": "red sun sun"}, {"new.md": "blue"}], ids=["edited", "added"])
def test_a_cursor_ends_with_the_state_of_the_index(stars: Path, vault: Path, change: dict[str, str]) -> None:
    """A note was edited or added, and the index was brought in line."""
    cursor = search(stars).cursor
    index_vault(stars, write_vault(vault, change), HashEmbedder())

    with pytest.raises(StaleCursor, match=INDEXED):
        search(stars, cursor)


def test_a_cursor_survives_a_look_at_the_files(stars: Path, vault: Path) -> None:
    """Nothing had changed, so nothing does."""
    cursor = search(stars).cursor
    index_vault(stars, vault, HashEmbedder())

    assert search(stars, page=2).page == search(stars, cursor).page


# How it turned out


@pytest.mark.parametrize("quality", FAULTS)
def test_a_model_that_fails_on_a_later_page_is_said(stars: Path, monkeypatch: pytest.MonkeyPatch, quality: str) -> None:
    """No page of another order, but the reason, and what to do."""
    cursor = search(stars).cursor
    break_down(quality, monkeypatch)
    with pytest.raises(StaleCursor) as refusal:
        search(stars, cursor)

    assert str(refusal.value).startswith(f"the page before was {quality}, this one could not be ({FAULTS[quality][2]}")
    assert str(refusal.value).endswith("Try again, or: Start again from the first page, without the cursor.")


@pytest.mark.parametrize("quality", FAULTS)
def test_a_model_that_is_back_on_a_later_page_is_said(
    stars: Path, monkeypatch: pytest.MonkeyPatch, quality: str
) -> None:
    """The better order is not the one that the first page began."""
    with monkeypatch.context() as patch:
        break_down(quality, patch)
        cursor = search(stars).cursor

    with pytest.raises(StaleCursor, match=f"this page is {quality}, the page before could not be"):
        search(stars, cursor)


def test_a_reranker_that_changes_its_mind_is_found_out(stars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same model, asked again, gives another order."""
    cursor = search(stars, settings=REPLACING).cursor
    change_mind(monkeypatch)

    with pytest.raises(StaleCursor, match="the reranker no longer gives the order that the page before had"):
        search(stars, cursor, settings=REPLACING)


def test_remembered_scores_keep_the_order(stars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the reranker said once holds for all pages, whatever it would say now."""
    same = {"models": Models(HashEmbedder(), LengthReranker(), ScoreCache(stars, 100)), "settings": REPLACING}
    cursor, whole = search(stars, **same).cursor, hits(search(stars, limit=12, **same))
    change_mind(monkeypatch)

    assert whole[3:6] == hits(search(stars, cursor, **same))


@pytest.mark.parametrize("more", ["====", "!!!!", "\n", "    "])
def test_what_base64_would_forgive_is_refused(more: str) -> None:
    """A cursor is the very signs that were given out: nothing added, no other last sign for the same bytes."""
    text = sealed(Cursor(10, b"a" * 8, b"b" * 8, 3, 1, b"c" * 8), "key")
    others = [text[:-1] + sign for sign in "abcdefghijklmnopqrstuvwxyz" if sign != text[-1]]

    for spoiled in (text + more, *others):
        with pytest.raises(UsageError):
            unsealed(spoiled, "key")


def test_asking_in_other_words_for_the_same_reranking_continues(stars: Path) -> None:
    """By flag or by naming the depth that is set anyway: the order is one."""
    first = search(stars, rerank=True)
    second = search(stars, first.cursor, rerank=None)

    assert ("asked for", "asked for by naming a depth") == (first.plan.reranking.why, second.plan.reranking.why)
    assert hits(search(stars, page=2)) == hits(second)
