"""Why one result beats another: parts whose differences add up to that of the scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from builders import HashEmbedder, LengthReranker
from cutaway.inspector.compare import final, score_parts, versus
from cutaway.inspector.journeys import candidates
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import Request
from retrieval.worlds import Worlds, answer, requests, seeds, worlds_in

MODELS = Models(HashEmbedder(), LengthReranker())
pairs = st.tuples(st.integers(0, 100), st.integers(0, 100))


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    with worlds_in(tmp_path_factory.mktemp("compare")) as worlds:
        yield worlds


@settings(max_examples=60, deadline=None)
@given(seed=seeds, request_=requests, pair=pairs, page=st.integers(1, 3))
def test_the_parts_add_up_to_the_gap(
    worlds: Worlds, seed: int, request_: Request, pair: tuple[int, int], page: int
) -> None:
    """In every mode, fusion and reranking, on every page: score, words and similarity alike."""
    found = candidates(answer(worlds.reader(seed), replace(request_, limit=4), models=MODELS, page=page))
    assume(found)
    a, b = (found[place % len(found)] for place in pair)
    seen = versus(a, b)

    assert sum(part.difference for part in seen.parts) == pytest.approx(seen.score.difference, abs=1e-8)
    assert sum(part.difference for _, part in seen.terms) == pytest.approx(seen.bm25.difference, abs=1e-8)
    assert (final(a), final(b)) == (seen.score.a, seen.score.b)


@settings(max_examples=60, deadline=None)
@given(seed=seeds, request_=requests, page=st.integers(1, 3))
def test_the_parts_of_every_score_add_up_to_it(worlds: Worlds, seed: int, request_: Request, page: int) -> None:
    """Whatever a candidate's way was."""
    for seen in candidates(answer(worlds.reader(seed), replace(request_, limit=4), models=MODELS, page=page)):
        assert sum(score_parts(seen).values()) == pytest.approx(final(seen), abs=1e-8), seen


@settings(max_examples=40, deadline=None)
@given(seed=seeds, request_=requests)
def test_the_other_way_round_is_the_same_with_the_signs_turned(worlds: Worlds, seed: int, request_: Request) -> None:
    """A − B and B − A."""
    found = candidates(answer(worlds.reader(seed), request_, models=MODELS))
    assume(len(found) > 1)
    one, other = versus(found[0], found[1]), versus(found[1], found[0])

    assert {part.name: part.difference for part in one.parts} == {part.name: -part.difference for part in other.parts}
    assert one.decided == other.decided


@settings(max_examples=40, deadline=None)
@given(seed=seeds, request_=requests)
def test_from_the_deciding_stage_on_the_leader_leads(worlds: Worlds, seed: int, request_: Request) -> None:
    """And right before it, it did not, or the two could not be compared."""
    found = candidates(answer(worlds.reader(seed), request_, models=MODELS))
    assume(len(found) > 1)
    seen = versus(found[0], found[1])
    shared = [at for at in seen.stages if at.a and at.b and at.a.rank and at.b.rank]
    assume(seen.decided and shared)

    ahead = [at.a.rank < at.b.rank for at in shared if at.a and at.b and at.a.rank and at.b.rank]
    place = [at.stage for at in shared].index(str(seen.decided))
    assert {ahead[-1]} == set(ahead[place:])
    assert place == 0 or ahead[place - 1] != ahead[-1]


def test_what_only_one_has_counts_against_nothing(worlds: Worlds) -> None:
    """A term that B lacks is a part of A alone."""
    found = candidates(answer(worlds.reader(7), Request("red blue sun", mode="text"), models=MODELS))
    one = next(seen for seen in found if {"red"} == {where.term for where, _ in seen.terms})
    two = next(seen for seen in found if {"red"} < {where.term for where, _ in seen.terms})

    alone = [part for where, part in versus(one, two).terms if where.term != "red"]
    assert alone
    assert {0.0} == {part.a for part in alone}
