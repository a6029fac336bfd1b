"""The laws of a search hold wherever notes and vectors are kept, and every place gives the answers of every other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import HashEmbedder, LengthReranker, index_vault, opened, write_vault
from cutaway.config import Settings
from cutaway.index.reader import Reader
from cutaway.retrieval.bm25 import Bm25
from cutaway.retrieval.pipeline import Answer, search
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import MAX_RESULTS, Request
from postgres import made_database
from retrieval.worlds import QUERIES, SETTINGS, hits, notes

PLACES: dict[str, dict[str, Any]] = {
    "SQLite, exact": {"store": None, "vectors": "exact"},
    "SQLite, sqlite-vec": {"store": None, "vectors": "sqlite-vec"},
    "Postgres, pgvector": {"store": "…", "vectors": "pgvector"},
    "Postgres, milvus": {"store": "…", "vectors": "milvus", "milvus_timeout": 300},
}
SEEDS = (2, 4)
"""Two vaults in one index, so that there is something out of scope; one has a note with very many passages."""


class Kept(NamedTuple):
    """An index in one place, opened for one of its projects, and beside it the same in the place of reference."""

    here: Reader
    reference: Reader


@pytest.fixture(scope="module", params=PLACES)
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    chosen = dict(PLACES[request.param])
    with ExitStack() as stack:
        if chosen["store"]:
            chosen["store"] = stack.enter_context(made_database(request.getfixturevalue("postgres")))
        folder = tmp_path_factory.mktemp("kept")
        if chosen["vectors"] == "milvus":
            chosen["milvus_uri"] = str(folder / "milvus.db")
        readers = []
        for name, place in (("here", chosen), ("reference", {})):
            where = Settings(**{**SETTINGS.model_dump(), **place})
            readers.append(stack.enter_context(_built(folder, name, where)))
        yield Kept(*readers)


def _built(folder: Path, name: str, where: Settings) -> Any:
    for seed in SEEDS:
        vault = write_vault(folder / f"vault{seed}", notes(seed))
        index_vault(folder / name, vault, HashEmbedder(), where)
    return opened(folder / name, where)


def of_one(reader: Reader) -> Reader:
    """The same index, for the larger of its projects alone."""
    return Reader(reader._store, reader.scope[-1:])  # type: ignore[arg-type]


def asked(reader: Reader, request: Request, models: Models | None = None, **changes: Any) -> Answer:
    made = Request(**{**{name: getattr(request, name) for name in request.__slots__}, **changes})
    return search(made, SETTINGS, reader, models or Models(HashEmbedder(), LengthReranker()))


requests = st.builds(
    Request,
    text=st.sampled_from((*QUERIES, '"red sun"', "red -moon", "gre*")),
    mode=st.sampled_from(["text", "vector", "hybrid"]),
    group=st.sampled_from(["note", "row"]),
    min_similarity=st.sampled_from([None, 0.6]),
    rerank=st.booleans(),
)
few = settings(max_examples=25)
scopes = pytest.mark.parametrize("alone", [False, True], ids=["all", "one project"])


@scopes
@few
@given(request_=requests, size=st.sampled_from([1, 3, 7]))
def test_pages_concatenate(kept: Kept, alone: bool, request_: Request, size: int) -> None:
    """Page by page or all at once: the same results, order and scores."""
    reader = of_one(kept.here) if alone else kept.here
    pages = [asked(reader, request_, limit=size, page=page) for page in range(1, 5)]

    assert hits(asked(reader, request_, limit=MAX_RESULTS))[: 4 * size] == [hit for page in pages for hit in hits(page)]


@few
@given(request_=requests, size=st.integers(1, 20))
def test_a_larger_limit_only_appends(kept: Kept, request_: Request, size: int) -> None:
    """What two limits share they agree on."""
    small, large = hits(asked(kept.here, request_, limit=size)), hits(asked(kept.here, request_, limit=size + 1))

    assert small == large[: len(small)]


@few
@given(request_=requests)
def test_nothing_vanishes(kept: Kept, request_: Request) -> None:
    """What a stage keeps and drops together is what it was given, by stages that are given one table."""
    found = asked(kept.here, request_, limit=3)
    cut = found.stages[-1]

    assert len(cut.kept) + len(cut.dropped) == len(found.ranking.kept)
    assert all(not set(step.ranks) & {lost.id for lost in step.dropped} for step in found.stages)


@scopes
@few
@given(request_=requests)
def test_every_place_gives_the_answers_of_every_other(kept: Kept, alone: bool, request_: Request) -> None:
    """To the last digit, where the vector index is exact: ids, scores, order, and what is said beside them."""
    here, reference = ((of_one(reader) if alone else reader) for reader in kept)
    found, expected = (asked(reader, request_, limit=MAX_RESULTS) for reader in (here, reference))

    assert hits(expected) == hits(found)
    assert (expected.total, expected.weak, expected.degraded) == (found.total, found.weak, found.degraded)


@few
@given(request_=requests)
def test_a_scope_holds(kept: Kept, request_: Request) -> None:
    """No result, candidate or passage of another project."""
    reader = of_one(kept.here)
    found = asked(reader, request_, limit=MAX_RESULTS)
    own = {card.note for card in reader.catalog}

    assert set(found.evidence.notes.values()) <= own
    assert {entry.note for entry in found.evidence.entries.values()} <= own


@pytest.mark.parametrize("page", [1, 2, 30])
def test_one_of_everything(kept: Kept, monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    """One embedding, one read of each leg, one call of the reranker, on every page."""
    reads: list[str] = []

    def noted(method: Any, name: str) -> Any:
        def called(*arguments: Any, **options: Any) -> Any:
            reads.append(name)
            return method(*arguments, **options)

        return called

    monkeypatch.setattr(kept.here.home, "nearest", noted(kept.here.home.nearest, "nearest"))  # type: ignore[attr-defined]
    monkeypatch.setattr(Bm25, "ranked", noted(Bm25.ranked, "ranked"))
    models = Models(HashEmbedder(), LengthReranker())
    asked(kept.here, Request("red sun", rerank=True, limit=3, page=page), models)

    assert ["nearest", "ranked"] == sorted(reads)
    assert (1, 1) == (models.embedder.calls, models.reranker.calls)  # type: ignore[union-attr]
