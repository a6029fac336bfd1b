"""Laws of what may be seen: the scope, the chunks that are asked for, and one space beside another."""

from __future__ import annotations

import numpy as np
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
    chosen,
    everything,
    filled,
    histories,
    law,
    remaining,
    scopes,
    space,
    unit,
    vectors,
)
from cutaway.index.vectors import Record, StoredVectors, Vector
from cutaway.model import ChunkId

OTHER = space(2, "another model/4", 4)
LARGER = space(3, "a larger model/6", 6)


class ScopeLaws(Backed):
    """Nothing foreign, and all that is one's own."""

    @law
    @given(history=histories, query=vectors, scope=scopes, k=st.integers(0, 15))
    def test_a_scope_sees_all_of_its_own_and_nothing_else(
        self, history: list[Change], query: Vector, scope: frozenset[int], k: int
    ) -> None:
        """What lies outside the scope is not returned, and takes no place among the k."""
        with self.backend() as open_index:
            found = applied(open_index, history, scope).nearest(query, k)

        self.agrees(found, everything(remaining(history).values(), query, scope), k)

    @law
    @given(history=histories, query=vectors)
    def test_an_empty_scope_finds_nothing(self, history: list[Change], query: Vector) -> None:
        """Not even what is named."""
        with self.backend() as open_index:
            index = applied(open_index, history, ())

            assert index.nearest(query, 100).hits == ()
            assert index.nearest(query, 100, list(remaining(history))).hits == ()
            assert not isinstance(index, StoredVectors) or index.vectors(list(remaining(history))) == {}

    @law
    @given(history=histories, query=vectors, within=chosen, k=st.integers(0, 15))
    def test_within_some_chunks_the_order_is_that_of_all_of_them_filtered(
        self, history: list[Change], query: Vector, within: list[ChunkId], k: int
    ) -> None:
        """The k nearest of these, with the scores they have anyway; unknown and repeated ones change nothing."""
        expected = everything(remaining(history).values(), query, within=within)
        with self.backend() as open_index:
            index = applied(open_index, history)

            self.agrees(index.nearest(query, k, within), expected, k)
            self.agrees(index.nearest(query, k, [*reversed(within), *within]), expected, k)

    @law
    @given(history=histories, query=vectors)
    def test_within_all_or_none(self, history: list[Change], query: Vector) -> None:
        """All chunks are as good as no word of them, where the answers are exact; no chunk has no neighbour."""
        with self.backend() as open_index:
            index = applied(open_index, history)
            free, named = index.nearest(query, 100), index.nearest(query, 100, list(remaining(history)))

            assert index.nearest(query, 100, []).hits == ()
            if free.exact and named.exact:
                assert free.hits == named.hits

    @law
    @given(history=histories, query=vectors, within=chosen)
    def test_what_is_out_of_scope_is_not_found_by_naming_it(
        self, history: list[Change], query: Vector, within: list[ChunkId]
    ) -> None:
        """A chunk of another project is no neighbour, asked for or not."""
        with self.backend() as open_index:
            found = applied(open_index, history, scope=(1,)).nearest(query, 100, within)

        self.agrees(found, everything(remaining(history).values(), query, (1,), within), 100)

    def test_ids_are_as_large_as_they_are(self) -> None:
        """Ids of 52 bits, as the product makes them: none of those asked for is lost."""
        random = np.random.default_rng(9)
        ids = [ChunkId(int(chunk)) for chunk in random.integers(1, 2**52, 400)]
        held = [Record(chunk, 1 + chunk % 2, unit(random.normal(size=4).tolist())) for chunk in ids]
        with self.backend() as open_index:
            index = filled(open_index, held)

            for within in (None, ids, ids[::2], ids[:3]):
                self.agrees(index.nearest(X, 400, within), everything(held, X, within=within), 400)

    def test_the_few_within_are_found_behind_a_crowd(self) -> None:
        """One admitted vector is the first neighbour, though five thousand others are closer."""
        held = [*(Record(ChunkId(chunk), 1, X) for chunk in range(1, 5_001)), Record(ChunkId(9_000), 1, Y)]
        with self.backend() as open_index:
            index = filled(open_index, held)

            for within in ([9_000], [9_000, 2, 1], list(range(4_000, 9_001))):
                self.agrees(index.nearest(X, 5, within), everything(held, X, within=within), 5)

    def test_a_small_project_is_found_beside_a_large_one(self) -> None:
        """One vector in scope is the first neighbour, though five thousand outside it are closer."""
        held = [*(Record(ChunkId(chunk), 1, X) for chunk in range(1, 5_001)), Record(ChunkId(9_000), 2, Y)]
        with self.backend() as open_index:
            index = filled(open_index, held, scope=(2,))

            for within in (None, [1, 2, 9_000], list(range(1, 9_001))):
                self.agrees(index.nearest(X, 1, within), everything(held, X, (2,), within), 1)

    # Spaces

    @law
    @given(here=histories, there=histories, query=vectors)
    def test_two_models_side_by_side_are_never_mixed(
        self, here: list[Change], there: list[Change], query: Vector
    ) -> None:
        """The same chunks under two models: each space has its own vectors, whatever happens in the other."""
        with self.backend() as open_index:
            for one, other in zip([*here, *[Change([], [])] * 5], [*there, *[Change([], [])] * 5], strict=False):
                applied(open_index, [one], where=SPACE).close()
                applied(open_index, [other], where=OTHER).close()

            for where, history in ((SPACE, here), (OTHER, there)):
                found = open_index(where, PROJECTS).nearest(query, 100)
                self.agrees(found, everything(remaining(history).values(), query), 100)

    def test_spaces_of_different_sizes_stand_side_by_side(self) -> None:
        """The same chunk has four numbers here and six there."""
        large = unit([1, 2, 3, 4, 5, 6])
        with self.backend() as open_index:
            small = filled(open_index, [Record(ChunkId(1), 1, X)])
            larger = filled(open_index, [Record(ChunkId(1), 1, large)], where=LARGER)

            self.agrees(small.nearest(X, 5), everything([Record(ChunkId(1), 1, X)], X), 5)
            self.agrees(larger.nearest(large, 5), everything([Record(ChunkId(1), 1, large)], large), 5)

    @law
    @given(history=histories)
    def test_a_dropped_space_is_empty_and_leaves_the_other(self, history: list[Change]) -> None:
        """In every project, for whoever opens it next; it may be filled again, and dropped twice."""
        held = remaining(history).values()
        with self.backend() as open_index:
            applied(open_index, history).close()
            applied(open_index, history, where=OTHER).close()
            for _ in range(2):
                writer = open_index(SPACE, ())
                writer.drop()
                writer.close()

            assert open_index(SPACE, PROJECTS).nearest(X, 100).hits == ()
            self.agrees(open_index(OTHER, PROJECTS).nearest(X, 100), everything(held, X), 100)
            self.agrees(filled(open_index, held).nearest(X, 100), everything(held, X), 100)

    def test_a_space_nobody_wrote_to_is_empty(self) -> None:
        """Read, asked for its vectors, deleted from and dropped: nothing is there, and nothing is wrong."""
        with self.backend() as open_index:
            index = open_index(SPACE, PROJECTS)
            index.delete([ChunkId(1)])

            assert index.nearest(X, 5).hits == ()
            assert index.nearest(X, 5, [1, 2]).hits == ()
            assert not isinstance(index, StoredVectors) or ({}, frozenset()) == (
                index.vectors([ChunkId(1)]),
                index.stored_ids(),
            )
            index.drop()
