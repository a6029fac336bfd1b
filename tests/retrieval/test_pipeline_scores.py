"""Laws of scores: a row has one score and one passage, however wide the windows and deep the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.request import Request
from retrieval.worlds import SETTINGS, Worlds, answer, requests, seeds, worlds_in

manifest_states = pytest.mark.parametrize("unready", [False, True], ids=["all ready", "half unready"])


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    with worlds_in(tmp_path_factory.mktemp("worlds")) as worlds:
        yield worlds


@manifest_states
@settings(max_examples=50)
@given(seed=seeds, request_=requests, window=st.sampled_from([11, 25, 200, 4_096]))
def test_a_calibrated_score_does_not_know_the_window(
    worlds: Worlds, unready: bool, seed: int, request_: Request, window: int
) -> None:
    """A row that two windows both met has one fused score."""
    reader = worlds.reader(seed, unready)
    calibrated = replace(request_, mode="hybrid", fusion="calibrated-dismax", limit=3)
    small = fused(answer(reader, calibrated))
    large = fused(answer(reader, calibrated, SETTINGS.model_copy(update={"window": window})))

    shared = small.keys() & large.keys()
    assert {row: large[row] for row in shared} == {row: small[row] for row in shared}


@manifest_states
@settings(max_examples=50)
@given(seed=seeds, request_=requests, page=st.integers(2, 6))
def test_a_calibrated_score_does_not_know_the_page(
    worlds: Worlds, unready: bool, seed: int, request_: Request, page: int
) -> None:
    """However deep a page makes the legs read, a row has the fused score it has on page one."""
    reader = worlds.reader(seed, unready)
    calibrated = replace(request_, mode="hybrid", fusion="calibrated-dismax", limit=5)
    first = fused(answer(reader, calibrated))
    deep = answer(reader, calibrated, page=page)

    for name in ("prefix.fuse", "fuse"):
        shared = first.keys() & fused(deep, name).keys()
        assert {row: first[row] for row in shared} == {row: fused(deep, name)[row] for row in shared}


@manifest_states
@settings(max_examples=50)
@given(seed=seeds, request_=requests)
def test_a_shared_hit_shows_one_passage(worlds: Worlds, unready: bool, seed: int, request_: Request) -> None:
    """What stands behind a result is the same chunk, however many results were asked for."""
    reader = worlds.reader(seed, unready)
    few, many = answer(reader, request_, limit=5), answer(reader, request_, limit=50)

    assert [hit.via for hit in many.page[:5]] == [hit.via for hit in few.page]


def fused(found: Answer, name: str = "fuse") -> dict[object, float]:
    """The scores that a fusion stage gave."""
    return next((dict(step.scores) for step in found.stages if step.name == name), {})
