"""Laws of homes that give back what they store (StoredVectors); another home skips them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.conformance.backed import (
    Backed,
    Change,
    applied,
    collections,
    filled,
    histories,
    ids,
    law,
    reference,
    remaining,
    scopes,
    stored,
    unit,
    vectors,
)
from cutaway.index.vectors import Record, Vector, histogram, similarities
from cutaway.model import ChunkId


class StoredLaws(Backed):
    """Vectors by id, and the scores that are reckoned from them."""

    @law
    @given(history=histories, scope=scopes)
    def test_vectors_come_back_as_they_were_stored(self, history: list[Change], scope: frozenset[int]) -> None:
        """Those of the scope, at length one, as half-precision numbers hold them; an unknown chunk has none."""
        held = remaining(history)
        asked = [*held, ChunkId(777), *held]
        expected = reference(held.values(), scope).vectors(asked)
        with self.backend() as open_index:
            found = stored(applied(open_index, history, scope)).vectors(asked)

        assert expected.keys() == found.keys()
        assert all(np.array_equal(found[chunk], vector) for chunk, vector in expected.items())
        assert all(np.linalg.norm(vector) == pytest.approx(1, abs=1e-6) for vector in found.values())

    @law
    @given(history=histories, scope=scopes)
    def test_every_chunk_that_has_a_vector_is_known(self, history: list[Change], scope: frozenset[int]) -> None:
        """All of the scope, and no other."""
        held = {chunk for chunk, record in remaining(history).items() if record.project in scope}
        with self.backend() as open_index:
            found = stored(applied(open_index, history, scope)).stored_ids()

        assert held == found

    def test_thousands_of_vectors_come_back_at_once(self) -> None:
        """As many as are asked for: no limit of a statement or a page is met."""
        held = [Record(ChunkId(chunk), 1, unit([1, chunk % 7, 2, 3])) for chunk in range(1, 20_001)]
        with self.backend() as open_index:
            index = stored(filled(open_index, held))

            assert {record.id for record in held} == index.vectors([record.id for record in held]).keys()
            assert {record.id for record in held} == index.stored_ids()

    @law
    @given(history=histories, query=vectors)
    def test_scores_by_id_are_the_numbers_nearest_gives(self, history: list[Change], query: Vector) -> None:
        """A chunk's similarity is the same number, found or asked for; an unknown chunk has none."""
        with self.backend() as open_index:
            index = applied(open_index, history)
            found = dict(index.nearest(query, 100).hits)

            assert found == similarities(stored(index), query, [*found, ChunkId(777), *found])

    @law
    @given(held=collections)
    def test_similarity_by_stored_vectors_is_symmetric(self, held: list[Record]) -> None:
        """What one chunk is to another, that is the same number as the other is to it."""
        with self.backend() as open_index:
            index = filled(open_index, held)
            known = stored(index).vectors([record.id for record in held])
            table = {chunk: similarities(stored(index), vector, list(known)) for chunk, vector in known.items()}

        assert all(table[one][other] == table[other][one] for one in table for other in table)

    @law
    @given(
        held=collections,
        queries=st.lists(vectors, min_size=1, max_size=3),
        inner=st.lists(st.sampled_from([-0.5, 0.0, 0.5, 0.707106781]), unique=True).map(sorted),
        some=st.lists(ids, max_size=4),
    )
    def test_a_histogram_counts_the_best_of_each_chunk(
        self, held: list[Record], queries: list[Vector], inner: list[float], some: list[ChunkId]
    ) -> None:
        """The numbers are those of nearest, an edge belongs to the range above it; only these chunks count."""
        edges = [-1.0, *inner, 1.0]
        within = [record.id for record in held if record.id not in some]
        with self.backend() as open_index:
            index = stored(filled(open_index, held))
            each = [similarities(index, query, within) for query in queries]
            found = histogram(index, within, queries, edges)
            total = histogram(index, [record.id for record in held], queries, edges)

        best = [max(scores[chunk] for scores in each) for chunk in within]
        places = [max(place for place, edge in enumerate(edges[:-1]) if edge <= score) for score in best]
        assert [places.count(place) for place in range(len(edges) - 1)] == found
        assert len(held) == sum(total)
