"""Laws at the size of a large vault: they take seconds, so they are marked slow."""

from __future__ import annotations

import numpy as np
import pytest

from cutaway.conformance.backed import Backed, batches, everything, space, unit
from cutaway.index.vectors import Record
from cutaway.model import ChunkId

MANY, DIMENSION = 50_000, 384
WHERE = space(1, f"model/{DIMENSION}", DIMENSION)


class ScaleLaws(Backed):
    """Fifty thousand vectors of a real model's size, crowded as those of texts are."""

    @pytest.mark.slow
    def test_fifty_thousand_vectors_are_answered_as_the_reference_does(self) -> None:
        """A thousand deep, in all projects and in one of five, among all chunks and among some.

        An exact answer is the reference's; another has at least the share of it that the subclass states.
        """
        held, queries = crowded()
        some = [record.id for record in held if record.id % 7 == 0]
        with self.backend() as open_index:
            writer = open_index(WHERE, ())
            for batch in batches(held):
                writer.upsert(batch)
            writer.close()

            for scope, within in (((0, 1, 2, 3, 4), None), ((3,), None), ((0, 1), some)):
                index = open_index(WHERE, scope)
                for query in queries:
                    expected = everything(held, query, scope, within)
                    for k in (1, 10, 100, 1_000):
                        self.agrees(index.nearest(query, k, within), expected, k)


def crowded() -> tuple[list[Record], list[np.ndarray]]:
    """Vectors around a hundred centres that are close to each other, in five projects; and three queries."""
    random = np.random.default_rng(11)
    centres = random.normal(size=DIMENSION) + 0.7 * random.normal(size=(100, DIMENSION))
    rows = centres[random.integers(100, size=MANY + 3)] + 0.5 * random.normal(size=(MANY + 3, DIMENSION))
    held = [Record(ChunkId(number), number % 5, unit(row)) for number, row in enumerate(rows[3:], 1)]
    return held, [unit(row) for row in rows[:3]]
