"""Laws of the order: best first, ties by id, and the same answer however deep one looks."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.conformance.backed import (
    PROJECTS,
    SPACE,
    Backed,
    Change,
    X,
    Y,
    applied,
    collections,
    everything,
    filled,
    histories,
    in_order,
    law,
    remaining,
    space,
    unit,
    vectors,
)
from cutaway.index.vectors import Near, Record, Vector
from cutaway.model import ChunkId


class OrderLaws(Backed):
    """What comes before what."""

    @law
    @given(held=collections, query=vectors)
    def test_the_best_comes_first_and_equal_scores_are_ordered_by_id(self, held: list[Record], query: Vector) -> None:
        """Among many ties, the answer is sorted by similarity and then by id: an inexact one as well."""
        with self.backend() as open_index:
            found = filled(open_index, held).nearest(query, 100)

        assert in_order(found.hits) == found.hits

    @law
    @given(held=collections, query=vectors)
    def test_fewer_neighbours_are_a_prefix_of_more(self, held: list[Record], query: Vector) -> None:
        """nearest(q, k) is how nearest(q, k + 1) begins, for every k, where both say that they are exact."""
        with self.backend() as open_index:
            index = filled(open_index, held)
            answers = [index.nearest(query, k) for k in range(len(held) + 2)]

        for k, (fewer, more) in enumerate(pairwise(answers)):
            if fewer.exact and more.exact:
                assert fewer.hits == more.hits[:k]

    @law
    @given(history=histories, query=vectors, random=st.randoms(use_true_random=False))
    def test_the_order_does_not_depend_on_how_the_vectors_came(
        self, history: list[Change], query: Vector, random: Random
    ) -> None:
        """After any changes the answer is that of a new index, filled in any order, where both are exact."""
        held = list(remaining(history).values())
        random.shuffle(held)
        with self.backend() as worn, self.backend() as new:
            one, other = filled(new, held).nearest(query, 100), applied(worn, history).nearest(query, 100)

        if one.exact and other.exact:
            assert one.hits == other.hits

    @law
    @given(held=collections, query=vectors, k=st.integers(0, 25))
    def test_the_answer_is_that_of_the_reference(self, held: list[Record], query: Vector, k: int) -> None:
        """The same ids, and the same numbers to the last digit."""
        with self.backend() as open_index:
            found = filled(open_index, held).nearest(query, k)

        self.agrees(found, everything(held, query), k)

    @law
    @given(held=collections, query=vectors)
    def test_the_scores_are_those_of_a_scan_in_double_precision(self, held: list[Record], query: Vector) -> None:
        """Reckoned another way than the reference does, from the numbers that half precision holds."""
        expected = dict(brute_force(held, query))
        with self.backend() as open_index:
            found = dict(filled(open_index, held).nearest(query, 100).hits)

        assert pytest.approx({chunk: expected[chunk] for chunk in found}, abs=2e-9) == found

    @pytest.mark.parametrize("k", [1, 10, 300, 999])
    def test_no_neighbour_is_missed_near_the_cut(self, k: int) -> None:
        """Of a thousand crowded vectors of a real model's size, the k nearest are the k nearest."""
        random = np.random.default_rng(7)
        centre = random.normal(size=384)
        crowd = centre + 0.02 * random.normal(size=(1_001, 384))
        held = [Record(ChunkId(number), 1, unit(row)) for number, row in enumerate(crowd[1:])]
        query = unit(crowd[0])
        with self.backend() as open_index:
            found = filled(open_index, held, where=space(1, "model/384", 384)).nearest(query, k)

        self.agrees(found, everything(held, query), k)

    def test_many_equal_vectors_have_one_order_at_every_depth(self) -> None:
        """Five thousand equal vectors come by id, whatever k is and however they were stored."""
        chunks = np.random.default_rng(3).permutation(5_000) + 1
        held = [Record(ChunkId(int(chunk)), 1, unit([1, 2, 3, 4])) for chunk in chunks]
        expected = everything(held, X)
        with self.backend() as open_index:
            index = filled(open_index, held)

            for k in (1, 2, 255, 256, 257, 1_000, 4_095, 4_096, 4_097, 4_999, 5_000, 5_001):
                self.agrees(index.nearest(X, k), expected, k)

    @pytest.mark.parametrize("scope", [(1,), (2, 3), (1, 2, 3)])
    def test_ties_across_the_cut_and_across_projects_come_by_id(self, scope: tuple[int, ...]) -> None:
        """A few better ones, three thousand equal ones of three projects, some worse: any cut has the lowest ids."""
        near, tied, far = X, unit([1, 1, 0, 0]), Y
        crowd = [Record(ChunkId(chunk), 1 + chunk % 3, tied) for chunk in range(3_000, 0, -1)]
        held = [*crowd, *(Record(ChunkId(9_000 - n), 1 + n % 3, near if n < 12 else far) for n in range(24))]
        expected = everything(held, X, scope)
        with self.backend() as open_index:
            index = filled(open_index, held, scope)

            for k in (1, 4, 5, 100, 999, 1_000, 1_001, 1_010, 2_500, 3_024):
                self.agrees(index.nearest(X, k), expected, k)

    @law
    @given(held=collections, query=vectors)
    def test_the_same_question_has_the_same_answer(self, held: list[Record], query: Vector) -> None:
        """Asked twice, and of an index opened anew; an inexact one as well, while nothing is written."""
        with self.backend() as open_index:
            index = filled(open_index, held)
            first = index.nearest(query, 7)

            assert first == index.nearest(query, 7)
            assert first == open_index(SPACE, PROJECTS).nearest(query, 7)


def brute_force(held: list[Record], query: Vector) -> list[Near]:
    """Every vector scored alone, in double precision, as half-precision numbers hold it."""
    asked = query.astype(np.float64)
    scored = []
    for record in held:
        stored = record.vector.astype(np.float16).astype(np.float64)
        cosine = sum(stored * asked) / (sum(stored * stored) * sum(asked * asked)) ** 0.5
        scored.append(Near(record.id, round(float(cosine), 9)))
    return scored
