"""The record of a search: nothing vanishes between stages, sums add up, the world is read once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import HashEmbedder
from cutaway.index.exact import ExactIndex
from cutaway.model import RowId
from cutaway.retrieval.bm25 import Bm25
from cutaway.retrieval.pipeline import Answer, search
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import Request
from cutaway.retrieval.tracing import Stage
from retrieval.worlds import SETTINGS, Worlds, answer, requests, seeds, worlds_in

# For each stage the tables it reads; of the names of one table, the first that was executed. The
# heads of the legs are called by what they hold.
WORDS = ("head of rows", "match")
FEEDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "head of rows": (("match",),),
    "head of chunks": (("nearest",),),
    "hydrate": (("head of chunks", "nearest"),),
    "collapse": (("hydrate",),),
    "threshold": (("complete_similarity", "collapse"),),
    "calibrate_lexical": (("complete_lexical", *WORDS),),
    "calibrate_similarity": (("threshold",),),
    "normalize": (WORDS,),
    "fuse": (("calibrate_lexical", "normalize"), ("calibrate_similarity", "threshold")),
    "fuse_ranks": (WORDS, ("threshold",)),
    "blend": (("quote",), ("rerank",)),
    "replace_scores": (("quote",), ("rerank",)),
    "cut": (("blend", "replace_scores", "quote"),),
}
COMPLETIONS = {
    "complete_lexical": (WORDS, ("threshold",)),
    "complete_similarity": (("collapse",), WORDS),
}
LAST = ("fuse", "fuse_ranks", "calibrate_lexical", "calibrate_similarity")
unready = st.booleans()
limits, pages = st.sampled_from([1, 3, 10]), st.integers(1, 8)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    with worlds_in(tmp_path_factory.mktemp("worlds")) as worlds:
        yield worlds


def label(step: Stage[Any]) -> str:
    """A stage's name within its pass."""
    name = step.name.removeprefix("prefix.")
    if name != "head":
        return name
    return "head of rows" if isinstance((*step.kept, *step.dropped)[0].id, RowId) else "head of chunks"


def traced(answered: Answer) -> Iterator[tuple[Stage[Any], list[Stage[Any]]]]:
    """Every stage after the legs, with the tables it was given."""
    legs = {step.name: step for step in answered.evidence.legs}
    passes: dict[bool, dict[str, Stage[Any]]] = {True: dict(legs), False: dict(legs)}
    before = None
    for step in answered.stages[len(legs) :]:
        executed = passes[step.name.startswith("prefix.")]
        feeds = FEEDS.get(label(step)) or COMPLETIONS.get(label(step))
        if feeds:
            given_ = [next(executed[name] for name in names if name in executed) for names in feeds]
        elif step.name == "append":
            given_ = [next(done[name] for name in LAST if name in done) for done in (passes[True], passes[False])]
        else:  # group, quote and rerank read the stage before them
            assert before is not None
            given_ = [before]
        executed[label(step)] = before = step
        yield step, given_


def ids(tables: list[Stage[Any]]) -> set[Any]:
    return {hit.id for table in tables for hit in table.kept}


@settings(max_examples=40)
@given(seed=seeds, request_=requests, unready=unready, limit=limits, page=pages)
def test_nothing_vanishes_at_any_stage(
    worlds: Worlds, seed: int, request_: Request, unready: bool, limit: int, page: int
) -> None:
    """What a stage kept and what it dropped are what it was given; a row kept may stand for a chunk given."""
    answered = answer(worlds.reader(seed, unready), request_, limit=limit, page=page)

    for step, given_ in traced(answered):
        if label(step) not in COMPLETIONS:
            kept = {hit.via if step.name.endswith("collapse") else hit.id for hit in step.kept}
            assert ids(given_) == kept | {out.id for out in step.dropped}, step.name


@settings(max_examples=40)
@given(seed=seeds, request_=requests, unready=unready, limit=limits, page=pages)
def test_completion_keeps_all_of_its_leg(
    worlds: Worlds, seed: int, request_: Request, unready: bool, limit: int, page: int
) -> None:
    """Completing a leg with the other's rows loses none of its own and takes none from elsewhere."""
    answered = answer(worlds.reader(seed, unready), request_, limit=limit, page=page)

    for step, given_ in traced(answered):
        if label(step) in COMPLETIONS:
            assert ids(given_[:1]) <= ids([step]) <= ids(given_), step.name


@settings(max_examples=40)
@given(seed=seeds, request_=requests, unready=unready, limit=limits, page=pages)
def test_the_funnel_adds_up(worlds: Worlds, seed: int, request_: Request, unready: bool, limit: int, page: int) -> None:
    """The count of what went into a stage is the count of what it kept and what it dropped."""
    answered = answer(worlds.reader(seed, unready), request_, limit=limit, page=page)

    counts = [(step.name, len(step.kept) + len(step.dropped)) for step in answered.stages]
    assert [(step.name, step.received) for step in answered.stages] == counts


@settings(max_examples=40)
@given(seed=seeds, request_=requests, unready=unready, limit=limits, page=pages)
def test_no_candidate_is_both_kept_and_dropped(
    worlds: Worlds, seed: int, request_: Request, unready: bool, limit: int, page: int
) -> None:
    """One stage says one thing of a candidate."""
    answered = answer(worlds.reader(seed, unready), request_, limit=limit, page=page)

    for step in answered.stages:
        said = [hit.id for hit in step.kept] + [out.id for out in step.dropped]
        assert len(set(said)) == len(said), step.name


@settings(max_examples=40)
@given(seed=seeds, request_=requests, unready=unready, limit=limits, page=pages)
def test_parts_add_up_to_scores(
    worlds: Worlds, seed: int, request_: Request, unready: bool, limit: int, page: int
) -> None:
    """Terms add up to the lexical score, the legs' shares to the fused one."""
    answered = answer(worlds.reader(seed, unready), request_, limit=limit, page=page)
    summed = [step for step in answered.stages if label(step) in ("match", "complete_lexical", "fuse", "fuse_ranks")]

    for hit in (hit for step in summed for hit in step.kept):
        assert math.isclose(hit.score, sum(part for _, part in hit.parts), rel_tol=0, abs_tol=1e-9)


@settings(max_examples=40)
@given(seed=seeds, request_=requests, unready=unready, limit=limits, page=pages)
def test_every_number_is_finite(
    worlds: Worlds, seed: int, request_: Request, unready: bool, limit: int, page: int
) -> None:
    """No score, part or margin is NaN or infinite, and no margin is below zero."""
    answered = answer(worlds.reader(seed, unready), request_, limit=limit, page=page)
    hits = [hit for step in answered.stages for hit in step.kept]
    dropped = [out for step in answered.stages for out in step.dropped]

    scores = [hit.score for hit in hits] + [part for hit in hits for _, part in hit.parts]
    assert all(map(math.isfinite, scores + [out.score for out in dropped]))
    assert all(0 <= out.margin < math.inf for out in dropped if out.margin is not None)


@pytest.mark.parametrize(("mode", "embedded", "matched"), [("text", 0, 1), ("vector", 1, 0), ("hybrid", 1, 1)])
@pytest.mark.parametrize("page", [1, 3, 30])
def test_the_world_is_read_once(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch, page: int, mode: str, embedded: int, matched: int
) -> None:
    """On any page: one embedding, one read of the vectors, one of the lexical index."""
    reads: list[str] = []
    for owner, name in ((ExactIndex, "nearest"), (Bm25, "ranked")):
        monkeypatch.setattr(owner, name, counted(getattr(owner, name), name, reads))
    embedder = HashEmbedder()
    request_ = Request("red sun", mode=mode, limit=2, page=page)  # type: ignore[arg-type]
    search(request_, SETTINGS, worlds.reader(20), Models(embedder))

    assert (embedded, embedded, matched) == (embedder.calls, reads.count("nearest"), reads.count("ranked"))


def counted(method: Any, name: str, reads: list[str]) -> Any:
    """A method that notes each call."""

    def call(self: Any, *arguments: Any) -> Any:
        reads.append(name)
        return method(self, *arguments)

    return call


def test_a_trace_says_what_each_stage_was_told(worlds: Worlds) -> None:
    """Formula, constants and floors stand beside the stage that used them."""
    answered = answer(worlds.reader(5), Request("red sun", mode="hybrid", min_similarity=0.6))
    settings_of = {step.name: step.settings for step in answered.stages}

    assert {"formula": "calibrated-dismax/v3", "tie_breaker": 0.5} == settings_of["fuse"]
    assert {"min_similarity": 0.6, "baseline": answered.evidence.baseline.mean} == settings_of["threshold"]
    assert (1.2, 0.75) == (settings_of["match"]["k1"], settings_of["match"]["b"])


def test_the_page_is_the_record_of_its_last_stage(worlds: Worlds) -> None:
    """Nothing stands between the trace and what is shown."""
    answered = answer(worlds.reader(5), Request("red sun"))

    assert answered.stages[-1].kept is answered.page


def test_the_same_search_twice_is_the_same_record(worlds: Worlds) -> None:
    """All but the seconds."""
    reader = worlds.reader(5)

    assert answer(reader, Request("red sun")).stages == answer(reader, Request("red sun")).stages
