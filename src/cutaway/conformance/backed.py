"""What the laws share: the store under test, what they draw to fill it with, and how an answer is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from cutaway.conformance.reference import ReferenceIndex
from cutaway.index.vectors import Near, Nearest, Record, Space, StoredVectors, Vector, VectorIndex
from cutaway.model import ChunkId

Open = Callable[[Space, Iterable[int]], VectorIndex]
"""Opens the vectors of a space anew, for a scope of projects, as another process would: what two of them share is the
store alone. What an index writes is stored for good when the call returns. It may be called in any thread."""


class Backed:
    """A store under test, and how good its inexact answers must be."""

    recall: float = 1.0
    """The share of the true neighbours that an answer must have which says that it is not exact."""
    deepest: int | None = None
    """How many neighbours it can give at most, where there is an end to it."""

    def backend(self) -> AbstractContextManager[Open]:
        """An empty store, gone at the end with all that was opened on it."""
        raise NotImplementedError("a subclass says what is opened here")

    def agrees(self, found: Nearest, everything: Sequence[Near], k: int) -> None:
        """Fail unless these are the first k of everything there is, as the reference has it.

        An answer that says it is not exact may miss some, and says why; what it has is true, and in order.
        """
        assert found.hits == in_order(found.hits)
        assert set(found.hits) <= set(everything)
        assert len(found.hits) <= k
        if found.exact:
            assert list(everything[:k]) == list(found.hits)
        else:
            assert found.remark
            assert share(found.hits, everything[: min(k, self.deepest or k)]) >= self.recall


class Change(NamedTuple):
    """Deletes, then upserts, through the index at hand or through one opened anew."""

    deletes: list[ChunkId]
    upserts: list[Record]
    anew: bool = False


def unit(numbers: Sequence[float]) -> Vector:
    """A vector of length one."""
    vector = np.array(numbers, np.float32)
    return vector / np.linalg.norm(vector)


# Few directions and few ids, so that ties, replacements and reused places are the rule.
SPACE = Space(1, "model/4", "conformance/v1", 4)
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
scopes = st.frozensets(st.sampled_from((1, 2, 3)))
chosen = st.lists(st.one_of(ids, st.just(ChunkId(777))), max_size=14)

law = settings(
    max_examples=min(30, settings.default.max_examples if settings.default else 30),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
"""How a law is tried: on 30 examples, or on fewer where the profile in force has fewer."""


def space(number: int, embedding: str, dimension: int) -> Space:
    """Where the vectors of a model are."""
    return Space(number, embedding, SPACE.home, dimension)


def applied(
    open_index: Open, history: Iterable[Change], scope: Iterable[int] = PROJECTS, where: Space = SPACE
) -> VectorIndex:
    """Make changes one after another; the index they leave, opened anew."""
    writer = open_index(where, ())
    for change in history:
        if change.anew:
            writer.close()
            writer = open_index(where, ())
        writer.delete(change.deletes)
        writer.upsert(change.upserts)
    writer.close()
    return open_index(where, scope)


def filled(
    open_index: Open, held: Iterable[Record], scope: Iterable[int] = PROJECTS, where: Space = SPACE
) -> VectorIndex:
    """An index that was given these vectors at once."""
    return applied(open_index, [Change([], list(held))], scope, where)


def remaining(history: Iterable[Change]) -> dict[ChunkId, Record]:
    """What a dictionary would hold after the same changes."""
    held: dict[ChunkId, Record] = {}
    for change in history:
        held = {chunk: record for chunk, record in held.items() if chunk not in change.deletes}
        held |= {record.id: record for record in change.upserts}
    return held


def reference(held: Iterable[Record], scope: Iterable[int] = PROJECTS) -> ReferenceIndex:
    """The reference, given the same vectors at once."""
    by_id = {record.id: record for record in held}
    return ReferenceIndex(by_id, max((len(record.vector) for record in by_id.values()), default=0), scope)


def everything(
    held: Iterable[Record], query: Vector, scope: Iterable[int] = PROJECTS, within: Sequence[int] | None = None
) -> tuple[Near, ...]:
    """All there is to find, best first, as the reference has it."""
    known = list(held)
    return reference(known, scope).nearest(query, len(known), within).hits


def in_order(hits: Iterable[Near]) -> tuple[Near, ...]:
    """The best first; equal scores by id."""
    return tuple(sorted(hits, key=lambda near: (-near.similarity, near.id)))


def share(hits: Sequence[Near], expected: Sequence[Near]) -> float:
    """How many of the expected were found; another chunk that is as close is as good."""
    if not expected:
        return 1.0
    return sum(near.similarity >= expected[-1].similarity for near in hits) / len(expected)


def batches(held: Sequence[Record], size: int = 1_000) -> Iterator[Sequence[Record]]:
    """So many at a time."""
    return (held[start : start + size] for start in range(0, len(held), size))


def stored(index: VectorIndex) -> StoredVectors:
    """The same index, by what more it can do."""
    if not isinstance(index, StoredVectors):
        pytest.skip("this home does not give out its vectors")
    return index
