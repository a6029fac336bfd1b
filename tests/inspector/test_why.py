"""Why a note is where it is, or nowhere: the record where there is one, else the same legs asked wide open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import HashEmbedder, LengthReranker, index_vault, opened, write_vault
from cutaway.config import Settings
from cutaway.errors import NoteNotFound, UsageError
from cutaway.index.reader import Reader
from cutaway.inspector.journeys import candidates
from cutaway.inspector.why import Why, why
from cutaway.inspector.why import opened as wide_open
from cutaway.model import ENTITY
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import Request
from retrieval.worlds import SETTINGS, Worlds, answer, requests, seeds, worlds_in

MODELS = Models(HashEmbedder(), LengthReranker())


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    with worlds_in(tmp_path_factory.mktemp("why")) as worlds:
        yield worlds


def asked(reader: Reader, name: str, request: Request, chosen: Settings = SETTINGS) -> Why:
    """Why *name* is where it is for a request."""
    found = answer(reader, request, chosen, MODELS)
    return why(reader, name, found, wide_open(found, reader, MODELS))


@settings(max_examples=40, deadline=None)
@given(seed=seeds, request_=requests, unready=st.booleans(), place=st.integers(0, 50))
def test_inside_the_windows_it_is_what_the_search_recorded(
    worlds: Worlds, seed: int, request_: Request, unready: bool, place: int
) -> None:
    """The note's row that came furthest, with its fate and every step, as the trace has them."""
    reader = worlds.reader(seed, unready)
    card = reader.catalog[place % len(reader.catalog)]
    found = answer(reader, request_, models=MODELS)
    explained = why(reader, card.path, found, wide_open(found, reader, MODELS))

    recorded = [seen for seen in candidates(found) if seen.note == card.note]
    assert explained.recorded == (recorded[0] if recorded else None)
    if explained.recorded and not explained.beyond:
        assert explained.rank == found.ranking.ranks.get(explained.row)


@settings(max_examples=40, deadline=None)
@given(seed=seeds, request_=requests, place=st.integers(0, 50))
def test_outside_the_windows_it_is_what_a_search_without_windows_records(
    worlds: Worlds, seed: int, request_: Request, place: int
) -> None:
    """Rank, score and fate are those of the same request where windows hold everything and nothing is reranked."""
    reader = worlds.reader(seed)
    card = reader.catalog[place % len(reader.catalog)]
    explained = asked(reader, card.path, request_)
    endless = SETTINGS.model_copy(update={"window": 4_096})
    found = answer(reader, request_, endless, MODELS, rerank=False, depth=None)

    whole = next((seen for seen in candidates(found) if seen.note == card.note), None)
    assert (explained.everywhere and explained.everywhere.steps) == (whole and whole.steps)
    if explained.beyond:
        assert explained.rank == found.ranking.ranks.get(explained.row)


@settings(max_examples=30, deadline=None)
@given(seed=seeds, request_=requests, place=st.integers(0, 50))
def test_the_shares_of_its_terms_add_up_to_its_lexical_score(
    worlds: Worlds, seed: int, request_: Request, place: int
) -> None:
    """Terms it lacks give nothing and are named all the same; their sum is what the lexical leg gave."""
    reader = worlds.reader(seed)
    explained = asked(reader, reader.catalog[place % len(reader.catalog)].path, request_)

    lexical = [standing for standing in explained.standings if standing.leg == "lexical"]
    assert sum(term.share for term in explained.terms) == pytest.approx(sum(one.score for one in lexical), abs=1e-8)


@pytest.fixture
def garden(home: Path, vault: Path) -> Iterator[Reader]:
    """Thirty notes of one word, the first ones longer than the last, and one of another word."""
    notes = {f"n{number:02}.md": "red " + "green " * number for number in range(30)}
    notes["other.md"] = "# Other\n\nviolet\n\n- [fact] moon\n"
    index_vault(home, write_vault(vault, notes), HashEmbedder(), SETTINGS)
    with opened(home) as reader:
        yield reader


def test_a_note_outside_the_window_says_what_it_lacked(garden: Reader) -> None:
    """Its exact rank and score, and what the last one inside has more."""
    explained = asked(garden, "n29", Request("red", mode="text"), SETTINGS)
    (standing,) = explained.standings
    last = answer(garden, Request("red", mode="text"), models=MODELS).stages[0].kept[-1]

    assert (None, 30, 30) == (explained.recorded, standing.rank, standing.of)
    assert standing.needed == pytest.approx(last.score - standing.score)
    assert explained.verdict == "outside the windows of this search (lexical rank 30 of 30)"


def test_a_note_without_a_word_of_the_query_says_so(garden: Reader) -> None:
    """No leg has anything of it; the terms it lacks are listed with their weight."""
    explained = asked(garden, "other", Request("red", mode="text"))

    assert (None, None, ()) == (explained.recorded, explained.everywhere, explained.standings)
    assert [("red", 0.0)] == [(term.term, term.share) for term in explained.terms]
    assert explained.verdict.startswith("no word of the query is in it")


def test_a_condition_that_is_not_met_is_named(garden: Reader) -> None:
    """What it meets and what it does not, before anything was ranked; its words are shown all the same."""
    explained = asked(garden, "n01", Request('red -green "red"', mode="text"))

    assert (('"red"',), ("without green",)) == (explained.met, explained.unmet)
    assert "does not meet without green" in explained.verdict
    assert explained.terms[0].share > 0


def test_a_result_on_a_later_page_says_on_which(garden: Reader) -> None:
    """The rank over all pages, and the page it is on."""
    explained = asked(garden, "n08", Request("red", mode="text", limit=4))

    assert (9, 3) == (explained.rank, explained.page)
    assert "on page 3" in explained.verdict


def test_a_line_names_the_row_that_has_it(garden: Reader) -> None:
    """An observation's line is its own row; a line of the text is the note's."""
    request = Request("moon violet", mode="text", group="row")

    assert ["observation", ENTITY] == [asked(garden, f"other:{line}", request).row.kind for line in (5, 3)]


@pytest.mark.parametrize(
    ("name", "error"), [("nobody", NoteNotFound), ("nobody:3", NoteNotFound), ("n01:99", UsageError)]
)
def test_what_is_not_there_is_said(garden: Reader, name: str, error: type[Exception]) -> None:
    """A note that does not exist, a line in no passage."""
    with pytest.raises(error):
        asked(garden, name, Request("red"))


def test_a_note_called_like_a_line_is_found_by_its_name(home: Path, vault: Path) -> None:
    """A title may end in a colon and a number."""
    index_vault(home, write_vault(vault, {"a.md": "---\ntitle: 'Genesis 1:3'\n---\nlight\n"}), HashEmbedder())
    with opened(home) as reader:
        assert None is asked(reader, "Genesis 1:3", Request("light")).entry
