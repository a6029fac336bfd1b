"""Laws of writing: an upsert replaces, a delete is final, what is wrong is refused, a restart changes nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from hypothesis import given

from cutaway.conformance.backed import (
    PROJECTS,
    SPACE,
    Backed,
    Change,
    Open,
    X,
    Y,
    applied,
    everything,
    filled,
    histories,
    law,
    remaining,
    space,
    unit,
    vectors,
)
from cutaway.errors import BadVector
from cutaway.index.vectors import Near, Record, Vector
from cutaway.model import ChunkId

BAD = {
    "NaN": [np.nan, 1, 0, 0],
    "infinite": [np.inf, 0, 0, 0],
    "minus infinite": [0, -np.inf, 0, 0],
    "zero": [0, 0, 0, 0],
    "too short": [1, 0, 0],
    "too long": [1, 0, 0, 0, 0],
    "empty": [],
}
CHURN = space(1, "model/64", 64)


class ChangeLaws(Backed):
    """What is held after changes, and while they are made."""

    @law
    @given(history=histories, query=vectors)
    def test_an_index_holds_what_a_dictionary_would(self, history: list[Change], query: Vector) -> None:
        """An upsert replaces, a delete is final, and no vector takes another's place."""
        with self.backend() as open_index:
            found = applied(open_index, history).nearest(query, 100)

        self.agrees(found, everything(remaining(history).values(), query), 100)

    def test_the_place_of_a_deleted_vector_is_given_out_once(self) -> None:
        """Two vectors stored right after one was deleted are both kept."""
        with self.backend() as open_index:
            index = filled(open_index, [Record(ChunkId(1), 1, X), Record(ChunkId(2), 1, X)])
            index.delete([ChunkId(1)])
            index.upsert([Record(ChunkId(3), 1, X), Record(ChunkId(4), 1, X)])
            found = open_index(SPACE, PROJECTS).nearest(X, 10)

        self.agrees(found, [Near(ChunkId(chunk), 1.0) for chunk in (2, 3, 4)], 10)

    def test_an_index_sees_its_own_changes(self) -> None:
        """An index that has answered before answers anew after an upsert and after a delete."""
        with self.backend() as open_index:
            index = open_index(SPACE, (1,))
            before = index.nearest(X, 5).hits
            index.upsert([Record(ChunkId(1), 1, X)])
            between = index.nearest(X, 5).hits
            index.delete([ChunkId(1)])

            assert (before, between, index.nearest(X, 5).hits) == ((), ((1, 1.0),), ())

    def test_an_upsert_replaces_though_the_project_is_another(self) -> None:
        """A chunk is in one project: the one it was last stored for. So no two projects share an id."""
        with self.backend() as open_index:
            filled(open_index, [Record(ChunkId(1), 1, X), Record(ChunkId(2), 1, X)]).close()
            filled(open_index, [Record(ChunkId(1), 2, Y)]).close()
            found = [open_index(SPACE, scope).nearest(X, 5).hits for scope in ((1,), (2,), (1, 2))]

        assert found == [((2, 1.0),), ((1, 0.0),), ((2, 1.0), (1, 0.0))]

    def test_to_delete_what_is_unknown_changes_nothing(self) -> None:
        """Among known ones, twice, or alone."""
        with self.backend() as open_index:
            index = filled(open_index, [Record(ChunkId(1), 1, X), Record(ChunkId(2), 1, X)])
            for gone in ([777], [777, 1, 1], [1], []):
                index.delete([ChunkId(chunk) for chunk in gone])

            assert open_index(SPACE, PROJECTS).nearest(X, 5).hits == ((2, 1.0),)

    @pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
    def test_a_vector_that_cannot_be_compared_is_refused(self, bad: list[float]) -> None:
        """Such a vector is an error, and nothing that came with it is stored or replaced."""
        batch = [
            Record(ChunkId(1), 1, Y),
            Record(ChunkId(2), 1, np.array(bad, np.float32)),
            Record(ChunkId(3), 1, Y),
        ]
        with self.backend() as open_index:
            index = filled(open_index, [Record(ChunkId(1), 1, X)])
            with pytest.raises(BadVector):
                index.upsert(batch)
            found = open_index(SPACE, PROJECTS).nearest(X, 5).hits

        assert found == ((1, 1.0),)

    @law
    @given(history=histories, query=vectors)
    def test_what_was_answered_is_answered_after_a_restart(self, history: list[Change], query: Vector) -> None:
        """With everything closed and opened anew, the answer is the same, an inexact one as well."""
        with self.backend() as open_index:
            index = applied(open_index, history)
            before = index.nearest(query, 100)
            index.close()
            after = open_index(SPACE, PROJECTS).nearest(query, 100)

        assert before == after

    def test_readers_see_whole_vectors_of_their_scope_while_others_are_written(self) -> None:
        """Whatever a reader finds was stored like that at some time, for its project, and is found once.

        A writer replaces twenty vectors again and again, moves some to another project and back, and deletes some.
        """
        query, versions = _versions()
        true = {near for held in versions for near in everything(held, query, (1,))}
        done = Event()
        with self.backend() as open_index, ThreadPoolExecutor() as threads:
            filled(open_index, versions[0], where=CHURN).close()
            readers = [threads.submit(_read, open_index, query, done) for _ in range(2)]
            try:
                _write(open_index, versions)
            finally:
                done.set()
            answers = [answer for reader in readers for answer in reader.result()]
            last = open_index(CHURN, (1,)).nearest(query, 100)

        assert all(set(answer) <= true for answer in answers)
        assert all(len({near.id for near in answer}) == len(answer) for answer in answers)
        self.agrees(last, everything(versions[-1], query, (1,)), 100)


def _versions() -> tuple[Vector, list[list[Record]]]:
    """A query, and what twenty chunks are one after another; every third of them is now and then another project's."""
    random = np.random.default_rng(5)
    rounds = [
        [
            Record(ChunkId(chunk), 2 if chunk % 3 == 0 and version % 2 else 1, unit(random.normal(size=64).tolist()))
            for chunk in range(1, 21)
        ]
        for version in range(25)
    ]
    return unit(random.normal(size=64).tolist()), rounds


def _write(open_index: Open, versions: list[list[Record]]) -> None:
    writer = open_index(CHURN, ())
    for held in versions:
        writer.delete([ChunkId(1), ChunkId(2)])
        writer.upsert(held)
    writer.close()


def _read(open_index: Open, query: Vector, done: Event) -> list[tuple[Near, ...]]:
    answers: list[tuple[Near, ...]] = []
    while not (done.is_set() and answers):
        index = open_index(CHURN, (1,))
        answers.append(index.nearest(query, 100).hits)
        index.close()
    return answers
