"""Vectors in PostgreSQL, held to the laws of cutaway.conformance, however they are looked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from cutaway.config import Settings
from cutaway.conformance import Open, VectorIndexLaws
from cutaway.index.homes import Opening
from cutaway.index.vectors import Record, Space
from postgres import made_database, run

psycopg = pytest.importorskip("psycopg")
from cutaway.index.pgvector import PgVectorIndex  # noqa: E402


class Settled(PgVectorIndex):
    """Settles when a writer is done, as a run of the product does; gives its connection to the next one."""

    def __init__(self, opening: Opening, idle: list[Any]) -> None:
        super().__init__(opening)
        self._idle, self._wrote = idle, False

    def upsert(self, records: Sequence[Record]) -> None:
        super().upsert(records)
        self._wrote = True

    def close(self) -> None:
        if self._wrote:
            self.settle()
        self._idle.append(self._connection)


class Laws(VectorIndexLaws):
    """The laws on a database of the class's own, with a schema for every store."""

    exact_below: ClassVar[int]
    uri: ClassVar[str]
    numbers: ClassVar[Iterator[int]]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def server(cls, postgres: str) -> Iterator[None]:
        with made_database(postgres) as uri:
            run(uri, "CREATE EXTENSION vector")
            cls.uri, cls.numbers = uri, count(1)
            yield

    @contextmanager
    def backend(self) -> Iterator[Open]:
        idle: list[Any] = []
        schema = f"store_{next(self.numbers)}"
        run(self.uri, f"CREATE SCHEMA {schema}")
        with ExitStack() as connections:

            def open_index(space: Space, scope: Iterable[int]) -> Settled:
                if not idle:
                    new = psycopg.connect(self.uri, autocommit=True, options=f"-csearch_path={schema},public")
                    idle.append(connections.enter_context(new))
                settings = Settings(pgvector_exact_below=self.exact_below)
                return Settled(Opening(SimpleNamespace(connection=idle.pop()), space, tuple(scope), settings), idle)

            yield open_index
        run(self.uri, f"DROP SCHEMA {schema} CASCADE")


class TestScan(Laws):
    exact_below = 1_000_000


class TestHnsw(Laws):
    exact_below = 0
    recall = 0.95
    # pgvector's graph holds rounded directions, so it cannot tell apart what is closer together than they are …
    test_no_neighbour_is_missed_near_the_cut = None
    # … and of a graph full of equal vectors no edge leads to a few others.
    test_ties_across_the_cut_and_across_projects_come_by_id = None

    @pytest.mark.slow
    def test_fifty_thousand_vectors_are_answered_as_the_reference_does(self) -> None:
        """A thousand deep, pgvector keeps no more candidates than are asked for, and misses more."""
        self.recall = 0.6
        super().test_fifty_thousand_vectors_are_answered_as_the_reference_does()


del Laws, VectorIndexLaws
