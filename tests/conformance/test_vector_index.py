"""This file is the laws of a vector index: every backend runs them, and none may need its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from random import Random
from typing import NamedTuple

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.config import Settings
from cutaway.errors import BadVector
from cutaway.index.exact import ExactIndex
from cutaway.index.homes import Opening
from cutaway.index.schema import DERIVED
from cutaway.index.vectors import Near, Record, Space, StoredVectors, Vector, VectorIndex, histogram, similarities
from cutaway.model import ChunkId

Open = Callable[[Iterable[int]], VectorIndex]
"""Opens the stored vectors anew, for a scope of projects."""

Backend = Callable[[int], AbstractContextManager[Open]]
"""An empty store for vectors of one dimension."""


@contextmanager
def exact(dimension: int) -> Iterator[Open]:
    connection = apsw.Connection(":memory:")
    connection.execute(DERIVED)
    space = Space(1, f"hash/{dimension}", ExactIndex.identity, dimension)
    yield lambda scope: ExactIndex(Opening(connection, space, tuple(scope), Settings()))
    connection.close()


BACKENDS: dict[str, Backend] = {"exact": exact}
every_backend = pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
few = settings(max_examples=30)


class Change(NamedTuple):
    """Deletes, then upserts, through the index at hand or through one opened anew."""

    deletes: list[ChunkId]
    upserts: list[Record]
    anew: bool = False


# Few directions and few ids, so that ties, replacements and reused places are the rule.
PROJECTS = (1, 2)
X, Y = np.eye(4, dtype=np.float32)[:2]
directions = st.lists(st.sampled_from((-1, 0, 1)), min_size=4, max_size=4).filter(any)
vectors = directions.map(lambda signs: unit(signs))
ids = st.one_of(st.integers(1, 12), st.sampled_from((2**40, 2**52 - 1))).map(ChunkId)
records = st.builds(Record, ids, st.sampled_from(PROJECTS), vectors)
collections = st.lists(records, max_size=20, unique_by=lambda record: record.id)
histories = st.lists(
    st.builds(Change, st.lists(ids, max_size=4), st.lists(records, max_size=8), st.booleans()), max_size=5
)


def unit(numbers: Sequence[float]) -> Vector:
    """A vector of length one."""
    vector = np.array(numbers, np.float32)
    return vector / np.linalg.norm(vector)


def hits(index: VectorIndex, query: Vector, k: int, within: Sequence[int] | None = None) -> list[Near]:
    """What is nearest, best first."""
    return list(index.nearest(query, k, within).hits)


def applied(open_index: Open, history: Iterable[Change], scope: Iterable[int] = PROJECTS) -> VectorIndex:
    """Make changes one after another; the index they leave, opened anew."""
    index = open_index(PROJECTS)
    for change in history:
        index = open_index(PROJECTS) if change.anew else index
        index.delete(change.deletes)
        index.upsert(change.upserts)
    return open_index(scope)


def filled(open_index: Open, held: Iterable[Record], scope: Iterable[int] = PROJECTS) -> VectorIndex:
    """An index that was given these vectors at once."""
    return applied(open_index, [Change([], list(held))], scope)


def remaining(history: Iterable[Change]) -> dict[ChunkId, Record]:
    """What a dictionary would hold after the same changes."""
    held: dict[ChunkId, Record] = {}
    for change in history:
        held = {chunk: record for chunk, record in held.items() if chunk not in change.deletes}
        held |= {record.id: record for record in change.upserts}
    return held


def brute_force(held: Iterable[Record], query: Vector) -> list[Near]:
    """Every vector scored alone, in double precision, as half-precision numbers hold it."""
    asked = query.astype(np.float64)
    scored = []
    for record in held:
        stored = record.vector.astype(np.float16).astype(np.float64)
        cosine = sum(stored * asked) / (sum(stored * stored) * sum(asked * asked)) ** 0.5
        scored.append(Near(record.id, round(float(cosine), 9)))
    return sorted(scored, key=lambda near: (-near.similarity, near.id))


# The order


@every_backend
@few
@given(held=collections, query=vectors)
def test_the_best_comes_first_and_equal_scores_are_ordered_by_id(
    backend: Backend, held: list[Record], query: Vector
) -> None:
    """Among many ties, the answer is sorted by similarity and then by id."""
    with backend(4) as open_index:
        found = hits(filled(open_index, held), query, 100)

    assert sorted(found, key=lambda near: (-near.similarity, near.id)) == found


@every_backend
@few
@given(held=collections, query=vectors)
def test_fewer_neighbours_are_a_prefix_of_more(backend: Backend, held: list[Record], query: Vector) -> None:
    """nearest(q, k) is how nearest(q, k + 1) begins, for every k."""
    with backend(4) as open_index:
        index = filled(open_index, held)
        everything = hits(index, query, 100)

        for k in range(len(held) + 2):
            assert everything[:k] == hits(index, query, k)


@every_backend
@few
@given(history=histories, query=vectors, random=st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_how_the_vectors_came(
    backend: Backend, history: list[Change], query: Vector, random: Random
) -> None:
    """After any changes the answer is that of a new index, filled in any order."""
    held = list(remaining(history).values())
    random.shuffle(held)
    with backend(4) as worn, backend(4) as new:
        assert hits(filled(new, held), query, 100) == hits(applied(worn, history), query, 100)


@every_backend
@few
@given(held=collections, query=vectors)
def test_the_answer_is_that_of_a_scan_in_double_precision(backend: Backend, held: list[Record], query: Vector) -> None:
    """Ids and scores are those of a loop over the stored numbers."""
    expected = brute_force(held, query)
    with backend(4) as open_index:
        found = hits(filled(open_index, held), query, 100)

    assert [near.id for near in expected] == [near.id for near in found]
    assert pytest.approx([near.similarity for near in expected], abs=2e-9) == [near.similarity for near in found]


@every_backend
@pytest.mark.parametrize("k", [1, 10, 300, 999])
def test_no_neighbour_is_missed_near_the_cut(backend: Backend, k: int) -> None:
    """Of a thousand crowded vectors of a real model's size, the k nearest are the k nearest."""
    random = np.random.default_rng(7)
    centre = random.normal(size=384)
    crowd = centre + 0.02 * random.normal(size=(1_001, 384))
    held = [Record(ChunkId(number), 1, unit(row)) for number, row in enumerate(crowd[1:])]
    expected = brute_force(held, unit(crowd[0]))
    with backend(384) as open_index:
        found = hits(filled(open_index, held), unit(crowd[0]), k)

    exactly = dict(expected)
    assert k == len(found)
    assert min(exactly[near.id] for near in found) >= expected[k - 1].similarity - 1e-7


@every_backend
def test_many_equal_vectors_have_one_order_at_every_depth(backend: Backend) -> None:
    """Five thousand equal vectors come by id, whatever k is and however they were stored."""
    chunks = np.random.default_rng(3).permutation(5_000) + 1
    with backend(4) as open_index:
        index = filled(open_index, [Record(ChunkId(int(chunk)), 1, unit([1, 2, 3, 4])) for chunk in chunks])

        for k in (1, 2, 255, 256, 257, 1_000, 4_095, 4_096, 4_097, 4_999, 5_000, 5_001):
            assert list(range(1, min(k, 5_000) + 1)) == [near.id for near in hits(index, X, k)]


# Within some chunks


chosen = st.lists(st.one_of(ids, st.just(ChunkId(777))), max_size=14)


@every_backend
@few
@given(history=histories, query=vectors, within=chosen, k=st.integers(0, 15))
def test_within_some_chunks_the_order_is_that_of_all_of_them_filtered(
    backend: Backend, history: list[Change], query: Vector, within: list[ChunkId], k: int
) -> None:
    """The k nearest of these, with the scores they have anyway; unknown and repeated ones change nothing."""
    with backend(4) as open_index:
        index = applied(open_index, history)
        expected = [near for near in hits(index, query, 100) if near.id in within]

        assert expected[:k] == hits(index, query, k, within)
        assert expected[:k] == hits(index, query, k, [*reversed(within), *within])


@every_backend
@few
@given(history=histories, query=vectors)
def test_within_all_or_none(backend: Backend, history: list[Change], query: Vector) -> None:
    """All chunks are as good as no word of them; no chunk has no neighbour."""
    with backend(4) as open_index:
        index = applied(open_index, history)

        assert hits(index, query, 100) == hits(index, query, 100, list(remaining(history)))
        assert [] == hits(index, query, 100, [])


@every_backend
@few
@given(history=histories, query=vectors, within=chosen)
def test_what_is_out_of_scope_is_not_found_by_naming_it(
    backend: Backend, history: list[Change], query: Vector, within: list[ChunkId]
) -> None:
    """A chunk of another project is no neighbour, asked for or not."""
    expected = {chunk for chunk, record in remaining(history).items() if record.project == 1 and chunk in within}
    with backend(4) as open_index:
        found = hits(applied(open_index, history, scope=(1,)), query, 100, within)

    assert expected == {near.id for near in found}


@every_backend
def test_the_few_within_are_found_behind_a_crowd(backend: Backend) -> None:
    """One admitted vector is the first neighbour, though five thousand others are closer."""
    crowd = [Record(ChunkId(chunk), 1, X) for chunk in range(1, 5_001)]
    with backend(4) as open_index:
        index = filled(open_index, [*crowd, Record(ChunkId(9_000), 1, Y)])

        assert [9_000] == [near.id for near in hits(index, X, 1, [ChunkId(9_000)])]
        assert [1, 2, 9_000] == [near.id for near in hits(index, X, 5, [ChunkId(n) for n in (9_000, 2, 1)])]


# What is held


@every_backend
@settings(max_examples=60)
@given(history=histories)
def test_an_index_holds_what_a_dictionary_would(backend: Backend, history: list[Change]) -> None:
    """An upsert replaces, a delete is final, and no vector takes another's place."""
    expected = {near.id: near.similarity for near in brute_force(remaining(history).values(), unit([1, 2, 3, 4]))}
    with backend(4) as open_index:
        found = dict(hits(applied(open_index, history), unit([1, 2, 3, 4]), 100))

    assert pytest.approx(expected, abs=1e-6) == found


@every_backend
def test_the_place_of_a_deleted_vector_is_given_out_once(backend: Backend) -> None:
    """Two vectors stored right after one was deleted are both kept."""
    with backend(4) as open_index:
        index = filled(open_index, [Record(ChunkId(1), 1, X), Record(ChunkId(2), 1, X)])
        index.delete([ChunkId(1)])
        index.upsert([Record(ChunkId(3), 1, X), Record(ChunkId(4), 1, X)])
        found = hits(open_index(PROJECTS), X, 10)

    assert [2, 3, 4] == [near.id for near in found]


@every_backend
@few
@given(history=histories, query=vectors, scope=st.frozensets(st.sampled_from((1, 2, 3))))
def test_a_scope_sees_all_of_its_own_and_nothing_else(
    backend: Backend, history: list[Change], query: Vector, scope: frozenset[int]
) -> None:
    """What lies outside the scope is not returned, and takes no place among the k."""
    expected = [record.id for record in remaining(history).values() if record.project in scope]
    with backend(4) as open_index:
        found = hits(applied(open_index, history, scope), query, len(expected))

    assert sorted(expected) == sorted(near.id for near in found)


@every_backend
def test_a_small_project_is_found_beside_a_large_one(backend: Backend) -> None:
    """One vector in scope is the first neighbour, though a thousand outside it are closer."""
    crowd = [Record(ChunkId(chunk), 1, X) for chunk in range(1, 1_001)]
    with backend(4) as open_index:
        found = hits(filled(open_index, [*crowd, Record(ChunkId(5_000), 2, Y)], scope=(2,)), X, 1)

    assert [5_000] == [near.id for near in found]


@every_backend
def test_an_index_sees_its_own_changes(backend: Backend) -> None:
    """An index that has answered before answers anew after an upsert and after a delete."""
    with backend(4) as open_index:
        index = open_index((1,))
        before = hits(index, X, 5)
        index.upsert([Record(ChunkId(1), 1, X)])
        between = hits(index, X, 5)
        index.delete([ChunkId(1)])

        assert ([], [(1, 1.0)], []) == (before, between, hits(index, X, 5))


@every_backend
@pytest.mark.parametrize(
    "bad",
    [[np.nan, 1, 0, 0], [np.inf, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0], [1, 0, 0, 0, 0]],
    ids=["NaN", "infinite", "zero", "too short", "too long"],
)
def test_a_vector_that_cannot_be_compared_is_refused(backend: Backend, bad: list[float]) -> None:
    """Such a vector is an error, and nothing that came with it is stored."""
    with backend(4) as open_index:
        with pytest.raises(BadVector):
            open_index((1,)).upsert([Record(ChunkId(1), 1, X), Record(ChunkId(2), 1, np.array(bad, np.float32))])
        found = hits(open_index((1,)), X, 5)

    assert [] == found


# Scores by id, where a backend can give them


@every_backend
@few
@given(history=histories, query=vectors)
def test_scores_by_id_are_the_numbers_nearest_gives(backend: Backend, history: list[Change], query: Vector) -> None:
    """A chunk's similarity is the same number, found or asked for; an unknown chunk has none."""
    with backend(4) as open_index:
        index = applied(open_index, history)
        found = dict(hits(index, query, 100))

        assert found == similarities(stored(index), query, [*found, ChunkId(777), *found])


# What is stored, where a backend gives it out


def stored(index: VectorIndex) -> StoredVectors:
    """The same index, by what more it can do."""
    if not isinstance(index, StoredVectors):
        pytest.skip("this backend does not give out its vectors")
    return index


@every_backend
@few
@given(history=histories, scope=st.frozensets(st.sampled_from(PROJECTS)))
def test_vectors_come_back_as_they_were_stored(backend: Backend, history: list[Change], scope: frozenset[int]) -> None:
    """Those of the scope, at length one, as half-precision numbers hold them; an unknown chunk has none."""
    held = {chunk: record for chunk, record in remaining(history).items() if record.project in scope}
    with backend(4) as open_index:
        found = stored(applied(open_index, history, scope)).vectors([*remaining(history), ChunkId(777)])

    assert held.keys() == found.keys()
    assert all(np.allclose(found[chunk], record.vector, atol=1e-3) for chunk, record in held.items())
    assert all(np.linalg.norm(vector) == pytest.approx(1, abs=1e-6) for vector in found.values())


@every_backend
@few
@given(held=collections)
def test_similarity_by_stored_vectors_is_symmetric(backend: Backend, held: list[Record]) -> None:
    """What one chunk is to another, that is the same number as the other is to it."""
    with backend(4) as open_index:
        index = filled(open_index, held)
        vectors = stored(index).vectors([record.id for record in held])
        table = {chunk: dict(hits(index, vector, 100)) for chunk, vector in vectors.items()}

    assert all(table[one][other] == table[other][one] for one in table for other in table)


@every_backend
@few
@given(
    held=collections,
    queries=st.lists(vectors, min_size=1, max_size=3),
    inner=st.lists(st.sampled_from([-0.5, 0.0, 0.5, 0.707106781]), unique=True).map(sorted),
    some=st.lists(ids, max_size=4),
)
def test_a_histogram_counts_the_best_of_each_chunk(
    backend: Backend, held: list[Record], queries: list[Vector], inner: list[float], some: list[ChunkId]
) -> None:
    """The numbers are those of nearest, an edge belongs to the range above it; *within* counts these chunks only."""
    edges = [-1.0, *inner, 1.0]
    within = [record.id for record in held if record.id not in some]
    with backend(4) as open_index:
        index = filled(open_index, held)
        each = [dict(hits(index, query, 100, within)) for query in queries]
        found = histogram(stored(index), within, queries, edges)
        everything = histogram(stored(index), [record.id for record in held], queries, edges)

    best = [max(scores[chunk] for scores in each) for chunk in within]
    places = [max(place for place, edge in enumerate(edges[:-1]) if edge <= score) for score in best]
    assert [places.count(place) for place in range(len(edges) - 1)] == found
    assert len(held) == sum(everything)
