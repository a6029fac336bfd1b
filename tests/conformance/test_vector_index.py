"""Our own vector homes, held to the laws of cutaway.conformance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from stores import in_milvus, in_sqlite

from cutaway.conformance import Open, ReferenceIndex, VectorIndexLaws
from cutaway.index.homes import home
from cutaway.index.milvus import MOST_HITS
from cutaway.index.milvus_server import entered
from cutaway.index.vectors import Record, Space
from cutaway.model import ChunkId


class TestReference(VectorIndexLaws):
    test_fifty_thousand_vectors_are_answered_as_the_reference_does = None  # it would be compared with itself

    @contextmanager
    def backend(self) -> Iterator[Open]:
        spaces: dict[Space, dict[ChunkId, Record]] = defaultdict(dict)
        yield lambda space, scope: ReferenceIndex(spaces[space], space.dimension, scope)


class TestSqliteVec(VectorIndexLaws):
    deepest = 4_096

    def backend(self) -> AbstractContextManager[Open]:
        return in_sqlite(home("sqlite-vec"))


class TestExact(VectorIndexLaws):
    def backend(self) -> AbstractContextManager[Open]:
        return in_sqlite(home("exact"))


class TestMilvus(VectorIndexLaws):
    deepest = MOST_HITS
    file: str

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def lite(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        """One Milvus Lite for all laws, held open: to start it takes longer than most of them."""
        pytest.importorskip("milvus_lite")
        cls.file = str(tmp_path_factory.mktemp("milvus") / "laws.db")
        server = entered(cls.file, "")
        yield
        server.leave()

    def backend(self) -> AbstractContextManager[Open]:
        return in_milvus(self.file)
