"""Laws of reranking: one call a request, one order for all pages and limits, whatever the cross-encoder says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import HashEmbedder, LengthReranker, index_vault, opened, paths, write_vault
from cutaway.config import Settings
from cutaway.index.exact import ExactIndex
from cutaway.index.reader import Reader
from cutaway.index.store import open_writer
from cutaway.model import RowId
from cutaway.retrieval.bm25 import Bm25
from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import MAX_RESULTS, Request
from cutaway.retrieval.tracing import Stage
from retrieval.worlds import SETTINGS, Judge, Worlds, answer, hits, requests, seeds, worlds_in


def coarse(texts: Sequence[str]) -> list[float]:
    """One of three scores, by a hash of the text."""
    return [hashlib.blake2b(text.encode()).digest()[0] % 3 / 2 for text in texts]


def broken(_: Sequence[str]) -> NoReturn:
    raise RuntimeError("broken")


RERANKERS: dict[str, Callable[[], Judge | LengthReranker]] = {
    "short first": LengthReranker,
    "long first": lambda: LengthReranker(shortest_first=False),
    "coarse": lambda: Judge(coarse),
    "all zero": lambda: Judge(lambda texts: [0.0] * len(texts)),
    "broken": lambda: Judge(broken),
}
rerankers = st.sampled_from(list(RERANKERS))
reranked = requests.map(lambda request: replace(request, rerank=True))
sizes, deep = st.sampled_from([1, 3, 7]), st.integers(2, 8)
by_any = given(seed=seeds, request_=reranked, unready=st.booleans(), name=rerankers, size=sizes)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    with worlds_in(tmp_path_factory.mktemp("worlds")) as worlds:
        yield worlds


def ask(reader: Reader, request: Request, name: str, **changes: Any) -> Answer:
    """One search with a reranker of that name."""
    return answer(reader, request, models=Models(HashEmbedder(), RERANKERS[name]()), **changes)


def step_of(found: Answer, *names: str) -> Stage[RowId] | None:
    return next((step for step in found.stages if step.name in names), None)


def read_in(found: Answer) -> set[RowId]:
    """The rows that the cross-encoder read."""
    step = step_of(found, "rerank")
    return {hit.id for hit in step.kept} if step else set()


# Calls


@pytest.mark.parametrize(("mode", "embedded", "matched"), [("text", 0, 1), ("vector", 1, 0), ("hybrid", 1, 1)])
@pytest.mark.parametrize("page", [1, 3, 30])
@pytest.mark.parametrize("name", RERANKERS)
def test_the_world_is_asked_once(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch, name: str, page: int, mode: str, embedded: int, matched: int
) -> None:
    """On any page: one reranking, one embedding, one read of the vectors, one of the lexical index."""
    reads: list[str] = []
    for owner, method in ((ExactIndex, "nearest"), (Bm25, "ranked")):
        monkeypatch.setattr(owner, method, noted(getattr(owner, method), method, reads))
    models = Models(HashEmbedder(), RERANKERS[name]())
    answer(worlds.reader(20), Request("red sun", mode=mode, limit=2, page=page, rerank=True), models=models)  # type: ignore[arg-type]

    calls = (models.reranker.calls, models.embedder.calls)  # type: ignore[union-attr]
    assert (1, embedded, embedded, matched) == (*calls, reads.count("nearest"), reads.count("ranked"))


def noted(method: Any, name: str, reads: list[str]) -> Any:
    """A method that notes each call."""

    def call(self: Any, *arguments: Any) -> Any:
        reads.append(name)
        return method(self, *arguments)

    return call


@settings(max_examples=40)
@given(seed=seeds, request_=reranked, size=sizes, page=st.integers(1, 30))
def test_there_is_a_call_if_and_only_if_something_was_found(
    worlds: Worlds, seed: int, request_: Request, size: int, page: int
) -> None:
    """Never a second one, and none for an empty list."""
    model = LengthReranker()
    found = answer(worlds.reader(seed), request_, models=Models(HashEmbedder(), model), limit=size, page=page)

    assert (1 if found.ranking.kept else 0) == model.calls


# One order


@settings(max_examples=25)
@by_any
def test_reranked_pages_concatenate(
    worlds: Worlds, seed: int, request_: Request, unready: bool, name: str, size: int
) -> None:
    """Page by page or all at once: the same results in the same order with the same scores."""
    reader = worlds.reader(seed, unready)
    read = [ask(reader, request_, name, limit=size, page=page) for page in range(1, 6)]

    assert hits(ask(reader, request_, name, limit=MAX_RESULTS))[: 5 * size] == [
        hit for page in read for hit in hits(page)
    ]


@settings(max_examples=10)
@given(seed=seeds, request_=reranked, name=rerankers)
def test_a_larger_limit_only_appends_to_what_was_reranked(
    worlds: Worlds, seed: int, request_: Request, name: str
) -> None:
    """Each of the limits 1 to 20 gives the head of what the next one gives."""
    reader = worlds.reader(seed)
    found = [hits(ask(reader, request_, name, limit=limit)) for limit in range(1, 21)]

    assert [found[-1][:limit] for limit in range(1, 21)] == found


@settings(max_examples=25)
@given(seed=seeds, request_=reranked, name=rerankers, page=st.integers(1, 4))
def test_two_limits_agree_on_what_was_reranked(
    worlds: Worlds, seed: int, request_: Request, name: str, page: int
) -> None:
    """Any five of fifty are the five: ids, scores, order."""
    reader, place = worlds.reader(seed), (page - 1) * 5

    few, many = ask(reader, request_, name, limit=5, page=page), ask(reader, request_, name, limit=50)
    assert hits(many)[place : place + 5] == hits(few)


@settings(max_examples=25)
@by_any
def test_a_deeper_page_reads_the_same_documents(
    worlds: Worlds, seed: int, request_: Request, unready: bool, name: str, size: int
) -> None:
    """Whatever the page, the same rows are read; so no score on an earlier page changes."""
    reader = worlds.reader(seed, unready)
    first, *others = (ask(reader, request_, name, limit=size, page=page) for page in (1, 2, 5, 30))

    assert [read_in(first)] * 3 == [read_in(other) for other in others]


@settings(max_examples=25)
@given(seed=seeds, request_=reranked, unready=st.booleans(), name=rerankers, size=sizes, page=deep)
def test_a_deeper_page_changes_no_earlier_score(
    worlds: Worlds, seed: int, request_: Request, unready: bool, name: str, size: int, page: int
) -> None:
    """The order that it is cut from begins as page one did."""
    reader = worlds.reader(seed, unready)
    first, deeper = (ask(reader, request_, name, limit=size, page=number) for number in (1, page))

    assert hits(first) == [(hit.id, hit.score) for hit in deeper.ranking.kept[:size]]


# Nothing vanishes


@settings(max_examples=40)
@by_any
def test_reranking_keeps_every_result(
    worlds: Worlds, seed: int, request_: Request, unready: bool, name: str, size: int
) -> None:
    """Each is read or in the tail, and each has a place in the new order."""
    found = ask(worlds.reader(seed, unready), request_, name, limit=size)
    before, read, after = (step_of(found, *names) for names in (("quote",), ("rerank",), ("blend", "replace_scores")))

    given_ = {hit.id for hit in before.kept} if before else set()
    for done in (read, after):
        assert done is None or given_ == {hit.id for hit in done.kept} | {out.id for out in done.dropped}


@settings(max_examples=40)
@by_any
def test_whoever_was_read_stands_before_the_tail(
    worlds: Worlds, seed: int, request_: Request, unready: bool, name: str, size: int
) -> None:
    """Reranking moves results among the best only; the tail stays in its order."""
    found = ask(worlds.reader(seed, unready), request_, name, limit=size)
    read, before = read_in(found), step_of(found, "quote")
    order = [hit.id for hit in found.ranking.kept]

    assert read == set(order[: len(read)])
    assert before is None or [hit.id for hit in before.kept][len(read) :] == order[len(read) :]


@settings(max_examples=40)
@given(seed=seeds, request_=reranked, size=sizes, score=st.floats(0, 1))
def test_a_reranker_that_cannot_tell_documents_apart_keeps_the_blended_order(
    worlds: Worlds, seed: int, request_: Request, size: int, score: float
) -> None:
    """The same for all is the same as nothing, but for the size of scores."""
    reader, model = worlds.reader(seed), Judge(lambda texts: [score] * len(texts))
    request = replace(request_, rerank_formula="blend", limit=size)
    fused = answer(reader, request, rerank=False)

    assert paths(fused) == paths(answer(reader, request, models=Models(HashEmbedder(), model)))


@settings(max_examples=40)
@given(seed=seeds, request_=reranked, unready=st.booleans(), size=sizes, page=st.integers(1, 8))
def test_a_reranker_that_always_fails_leaves_the_pages_of_fusion(
    worlds: Worlds, seed: int, request_: Request, unready: bool, size: int, page: int
) -> None:
    """Every page of the fused order, to the last digit."""
    reader = worlds.reader(seed, unready)
    failed, fused = (ask(reader, replace(request_, limit=size, page=page, rerank=on), "broken") for on in (True, False))

    assert (fused.page, fused.has_more) == (failed.page, failed.has_more)


@settings(max_examples=20)
@given(seed=seeds, request_=reranked, name=rerankers, page=st.sampled_from([100, 10**6, 10**12]))
def test_a_reranked_page_past_the_end_is_empty(
    worlds: Worlds, seed: int, request_: Request, name: str, page: int
) -> None:
    """And says that nothing follows."""
    found = ask(worlds.reader(seed), request_, name, limit=MAX_RESULTS, page=page)

    assert ((), False, None) == (found.page, found.has_more, found.cursor)


# Many


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
@pytest.mark.parametrize("name", ["coarse", "broken"])
def test_a_hundred_and_one_results_are_one_order(home: Path, vault: Path, mode: str, name: str) -> None:
    """On one page, or on three."""
    notes = {f"n{number}.md": f"red sun {'moon ' * (number % 7)}" for number in range(130)}
    index_vault(home, write_vault(vault, {**notes, "far.md": "blue green. " * 2_500}), HashEmbedder(), SETTINGS)
    request = Request("red sun", mode=mode, rerank=True, depth=50)  # type: ignore[arg-type]
    with opened(home) as reader:
        whole = hits(ask(reader, request, name, limit=101))
        pages = [hit for page in (1, 2, 3) for hit in hits(ask(reader, request, name, limit=40, page=page))]

    assert (101, whole) == (len(whole), pages[:101])


def test_five_thousand_equal_vectors_have_one_order(tmp_path: Path) -> None:
    """Whatever is asked for, the same results stand in the same places; in an index made anew too."""
    notes = {f"{number}/same.md": "- [fact] red sun\n" * 100 for number in range(50)}
    vault = write_vault(tmp_path / "vault", notes)
    request = Request("red sun", mode="vector", group="row", rerank=True)
    asked = [(1, 1), (7, 3), (50, 4), (101, 7), (999, 4), (1_000, 5)]
    orders, parts = [], []
    for home in (tmp_path / "first", tmp_path / "again"):
        index_vault(home, vault, HashEmbedder())
        with opened(home) as reader:
            whole = [ask(reader, request, "coarse", limit=1_000, page=page) for page in range(1, 6)]
            orders.append([hit for page in whole for hit in hits(page)])
            found = [hits(ask(reader, request, "coarse", limit=limit, page=page)) for limit, page in asked]
        parts.append([orders[0][limit * (page - 1) : limit * page] for limit, page in asked] == found)

    assert (5_000, 1) == (len(set(orders[0])), len({hit.score for hit in whole[0].stages[0].kept}))
    assert orders[0] == orders[1]
    assert [True, True] == parts


@pytest.mark.parametrize("policy", ["fallback", "error"])
def test_nothing_to_read_is_no_failure(home: Path, vault: Path, policy: str) -> None:
    """Where the prefix is empty (all its chunks are pending) the model is not asked, and nothing is degraded by it."""
    notes = {f"a{number}.md": "sun" for number in range(15)} | {f"b{n}.md": "sun sun blue" for n in range(15)}
    index_vault(home, write_vault(vault, notes), HashEmbedder())
    connection = open_writer(home)
    connection.execute(
        "UPDATE chunks SET state = 'pending' WHERE note_id IN (SELECT id FROM notes WHERE path LIKE 'a%')"
    )
    connection.close()
    reranker = LengthReranker()
    narrow = Settings(window=10, rerank_failure=policy)  # type: ignore[arg-type]
    with opened(home) as reader:
        asked = Request("sun", mode="vector", rerank=True)
        found = answer(reader, asked, narrow, Models(HashEmbedder(), reranker))

    assert (0, 10) == (reranker.calls, len(found.page))
    assert "rerank" not in [part.stage for part in found.degraded]
