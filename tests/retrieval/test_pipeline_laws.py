"""Laws of order: pages, limits and windows never change what comes first, or its score."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.index.reader import Reader
from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.request import MAX_RESULTS, Request
from retrieval.worlds import Worlds, answer, hits, requests, seeds, worlds_in

_PAGES = 8
sizes = st.sampled_from([1, 3, 7])
manifest_states = pytest.mark.parametrize("unready", [False, True], ids=["all ready", "half unready"])


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    with worlds_in(tmp_path_factory.mktemp("worlds")) as worlds:
        yield worlds


def whole(reader: Reader, request: Request) -> Answer:
    """Everything on one long page."""
    return answer(reader, request, limit=MAX_RESULTS)


def pages(reader: Reader, request: Request, size: int) -> list[Answer]:
    """The first pages, up to the one that says it is the last."""
    found = []
    for page in range(1, _PAGES + 1):
        found.append(answer(reader, request, limit=size, page=page))
        if not found[-1].has_more:
            break
    return found


@manifest_states
@settings(max_examples=40)
@given(seed=seeds, request_=requests, size=sizes)
def test_pages_concatenate_to_one_long_page(
    worlds: Worlds, unready: bool, seed: int, request_: Request, size: int
) -> None:
    """Page by page or all at once: the same results in the same order with the same scores."""
    reader = worlds.reader(seed, unready)
    read = pages(reader, request_, size)

    expected = hits(whole(reader, request_))[: size * _PAGES]
    assert expected == [hit for page in read for hit in hits(page)]


@manifest_states
@settings(max_examples=50)
@given(seed=seeds, request_=requests, size=sizes, page=st.integers(1, _PAGES))
def test_has_more_is_right_on_every_page(
    worlds: Worlds, unready: bool, seed: int, request_: Request, size: int, page: int
) -> None:
    """There is more after a page if and only if the long page goes on after it."""
    reader = worlds.reader(seed, unready)

    expected = len(whole(reader, request_).page) > size * page
    assert expected == answer(reader, request_, limit=size, page=page).has_more


@manifest_states
@settings(max_examples=50)
@given(seed=seeds, request_=requests, size=sizes, page=st.integers(1, _PAGES))
def test_a_total_that_calls_itself_exact_is_exact(
    worlds: Worlds, unready: bool, seed: int, request_: Request, size: int, page: int
) -> None:
    """An exact total counts the long page, whatever page says it."""
    reader = worlds.reader(seed, unready)
    found = answer(reader, request_, limit=size, page=page)

    assert not found.total_is_exact or len(whole(reader, request_).page) == found.total


@manifest_states
@settings(max_examples=50)
@given(seed=seeds, request_=requests)
def test_the_long_page_reached_its_end(worlds: Worlds, unready: bool, seed: int, request_: Request) -> None:
    """A page larger than the vault has nothing after it and knows how much there is."""
    found = whole(worlds.reader(seed, unready), request_)

    assert (len(found.page), True, False) == (found.total, found.total_is_exact, found.has_more)


@manifest_states
@settings(max_examples=50)
@given(seed=seeds, request_=requests, page=st.integers(1, 3))
def test_two_limits_agree_on_what_they_share(
    worlds: Worlds, unready: bool, seed: int, request_: Request, page: int
) -> None:
    """The first five of fifty are the five: ids, scores, order."""
    reader = worlds.reader(seed, unready)
    place = (page - 1) * 5

    few = answer(reader, request_, limit=5, page=page)
    many = answer(reader, request_, limit=50)
    assert hits(many)[place : place + 5] == hits(few)


@manifest_states
@settings(max_examples=15)
@given(seed=seeds, request_=requests)
def test_a_larger_limit_only_appends(worlds: Worlds, unready: bool, seed: int, request_: Request) -> None:
    """Each of the limits 1 to 20 gives the head of what the next one gives."""
    reader = worlds.reader(seed, unready)
    found = [hits(answer(reader, request_, limit=limit)) for limit in range(1, 21)]

    assert [found[-1][:limit] for limit in range(1, 21)] == found


@manifest_states
@settings(max_examples=50)
@given(seed=seeds, request_=requests)
def test_no_result_stands_on_the_page_twice(worlds: Worlds, unready: bool, seed: int, request_: Request) -> None:
    """Rows are distinct; grouped by note, so are the notes."""
    found = whole(worlds.reader(seed, unready), request_)
    groups = [hit.id if request_.group == "row" else found.evidence.notes[hit.id] for hit in found.page]

    assert len(groups) == len(set(groups))


@manifest_states
@settings(max_examples=50)
@given(seed=seeds, request_=requests)
def test_equal_scores_are_ordered_by_id(worlds: Worlds, unready: bool, seed: int, request_: Request) -> None:
    """The order is by score, then by id, on the page and in every stage behind it."""
    found = whole(worlds.reader(seed, unready), request_)
    orders = [[(-hit.score, hit.id) for hit in step.kept] for step in found.stages]

    assert [sorted(order) for order in orders] == orders
