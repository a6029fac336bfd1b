"""Each candidate's way through a search: regrouped from the record, complete, and right about its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import HashEmbedder, ask, index_vault, opened, write_vault
from cutaway.config import Settings
from cutaway.inspector.journeys import Candidate, candidates, fate, journeys, misses, named_scores
from cutaway.model import ENTITY, ChunkId, RowId
from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.request import Request
from cutaway.retrieval.tracing import Dropped, Scored, Stage
from retrieval.worlds import Worlds, answer, requests, seeds, worlds_in

unready = st.booleans()
limits, pages = st.sampled_from([1, 3, 10]), st.integers(1, 6)
A, B = RowId(ENTITY, 1), RowId(ENTITY, 2)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    with worlds_in(tmp_path_factory.mktemp("worlds")) as worlds:
        yield worlds


def numbers(stages: tuple[Stage[Any], ...]) -> set[float | None]:
    """Every number that stands in the record."""
    hits = [hit for step in stages for hit in step.kept]
    dropped = [out for step in stages for out in step.dropped]
    scores = {hit.score for hit in hits} | {part for hit in hits for _, part in hit.parts}
    return scores | {out.score for out in dropped} | {out.margin for out in dropped} | {None}


def chunk_rows(answered: Answer) -> dict[ChunkId, RowId]:
    return {chunk: entry.row for chunk, entry in answered.evidence.entries.items()}


def last_word(answered: Answer, candidate: Candidate) -> tuple[str, str]:
    """The last stage that dropped a row, or else the best of its chunks, and why."""
    chunks = {chunk for chunk, row in chunk_rows(answered).items() if row == candidate.row}
    said: dict[bool, dict[str, str]] = {True: {}, False: {}}
    for step in answered.stages:
        for out in step.dropped:
            if out.id == candidate.row or out.id in chunks:
                said[out.id == candidate.row].setdefault(step.name, out.reason)
    return list((said[True] or said[False]).items())[-1]


def test_a_journey_is_every_step_in_order() -> None:
    """Where an id stood after each stage, and where and why it fell."""
    first = Stage("match", 2, (Scored(A, 3.0, parts=(("sun", 3.0),)), Scored(B, 2.0)))
    second = Stage("cut", 2, (Scored(A, 0.5, mark="slid"),), (Dropped(B, 0.4, "after this page", 0.1),))
    paths = journeys([first, second])

    assert [("match", 1, 3.0, None), ("cut", 1, 0.5, None)] == [step[:4] for step in paths[A]]
    assert [("match", 2, 2.0, None), ("cut", None, 0.4, "after this page")] == [step[:4] for step in paths[B]]
    assert [(None, (("sun", 3.0),)), ("slid", ())] == [(step.mark, step.parts) for step in paths[A]]


@settings(max_examples=40)
@given(seed=seeds, request_=requests, unready=unready, limit=limits, page=pages)
def test_every_row_the_windows_met_is_a_candidate_once(
    worlds: Worlds, seed: int, request_: Request, unready: bool, limit: int, page: int
) -> None:
    """Rows of the lexical leg, and rows of the chunks of the vector leg."""
    answered = answer(worlds.reader(seed, unready), request_, limit=limit, page=page)
    rows = chunk_rows(answered)
    met = {rows.get(hit.id, hit.id) for leg in answered.evidence.legs for hit in leg.kept}

    assert sorted(met) == sorted(candidate.row for candidate in candidates(answered))


@settings(max_examples=40)
@given(seed=seeds, request_=requests, unready=unready, limit=limits, page=pages)
def test_a_fate_is_the_last_thing_the_record_says(
    worlds: Worlds, seed: int, request_: Request, unready: bool, limit: int, page: int
) -> None:
    """Returned if and only if on the page; else the last stage that dropped it, with its reason."""
    answered = answer(worlds.reader(seed, unready), request_, limit=limit, page=page)
    shown = {hit.id for hit in answered.page}

    for candidate in candidates(answered):
        expected = ("cut", "returned") if candidate.row in shown else last_word(answered, candidate)
        assert expected == candidate.fate[:2]


@settings(max_examples=40)
@given(seed=seeds, request_=requests, unready=unready, limit=limits, page=pages)
def test_journeys_hold_no_number_of_their_own(
    worlds: Worlds, seed: int, request_: Request, unready: bool, limit: int, page: int
) -> None:
    """Every score, part, margin and term share stands in a stage's record."""
    answered = answer(worlds.reader(seed, unready), request_, limit=limit, page=page)
    recorded = numbers(answered.stages)

    for candidate in candidates(answered):
        steps = [*candidate.steps, *(step for trail in candidate.chunks for step in trail.steps)]
        shown = {step.score for step in steps} | {part for step in steps for _, part in step.parts}
        raw = set(named_scores(answered, candidate.row).values())
        assert shown | raw | {share for _, share in candidate.terms} | {candidate.fate.margin} <= recorded


@settings(max_examples=40)
@given(seed=seeds, request_=requests, unready=unready, limit=limits, page=pages)
def test_returned_candidates_come_first_in_page_order(
    worlds: Worlds, seed: int, request_: Request, unready: bool, limit: int, page: int
) -> None:
    """The order of the final ranking, then the others."""
    answered = answer(worlds.reader(seed, unready), request_, limit=limit, page=page)
    final = [hit.id for hit in answered.ranking.kept]

    assert final == [candidate.row for candidate in candidates(answered)][: len(final)]


@settings(max_examples=40)
@given(seed=seeds, request_=requests, unready=unready, limit=limits, page=pages)
def test_a_miss_is_on_no_page_so_far(
    worlds: Worlds, seed: int, request_: Request, unready: bool, limit: int, page: int
) -> None:
    """Neither the row nor, grouped, its note was shown on this page or on one before it."""
    answered = answer(worlds.reader(seed, unready), request_, limit=limit, page=page)
    so_far = answered.ranking.kept[: answered.plan.offset + limit]
    notes = answered.evidence.notes
    shown = {notes[hit.id] for hit in so_far} if request_.group == "note" else {hit.id for hit in so_far}

    missed = {miss.note if request_.group == "note" else miss.row for miss in misses(answered)}
    assert set() == missed & shown


def test_a_row_that_no_stage_saw_has_no_fate(worlds: Worlds) -> None:
    """The inspector never implies that it listed the whole index."""
    answered = answer(worlds.reader(3), Request("red", mode="text"))

    with pytest.raises(LookupError):
        fate(answered, RowId(ENTITY, 0), [])


# Fates by hand


def path_of(home: Path, candidate: Candidate) -> str:
    """The note a candidate belongs to."""
    with opened(home) as reader:
        return reader.notes([candidate.note])[candidate.note].path


def test_why_a_note_was_not_found(home: Path, vault: Path) -> None:
    """Returned, past the page, or below the floor: each note has the stage and the reason."""
    notes = {"best.md": "sun sun sun", "next.md": "sun moon", "far.md": "blue green moon red"}
    index_vault(home, write_vault(vault, notes), HashEmbedder())
    found = candidates(ask(home, "sun", HashEmbedder(), mode="vector", limit=1, min_similarity=0.6))

    expected = {
        "best.md": ("cut", "returned"),
        "next.md": ("cut", "after this page"),
        "far.md": ("threshold", "below min_similarity"),
    }
    assert expected == {path_of(home, candidate): candidate.fate[:2] for candidate in found}


def test_every_end_on_a_deep_page_has_its_reason(home: Path, vault: Path) -> None:
    """Shown, shown before, to be shown later, outranked in its own note, or past the base window."""
    index_vault(home, write_vault(vault, {f"n{number}.md": "- [red] red\n" * 3 for number in range(8)}))
    found = candidates(ask(home, "red", "none", Settings(window=10), mode="text", limit=1, page=2))

    expected = {
        *[("cut", "returned"), ("cut", "on an earlier page"), ("cut", "after this page")],
        *[("group", "a better row of the same note"), ("head", "past the base window")],
    }
    assert expected == {candidate.fate[:2] for candidate in found}


def test_the_nearest_miss_comes_first(home: Path, vault: Path) -> None:
    """Of those that fell at one stage, the one that lacked least."""
    notes = {"near.md": "sun moon", "nearer.md": "sun sun moon", "far.md": "sun moon blue green"}
    index_vault(home, write_vault(vault, notes), HashEmbedder())
    missed = misses(ask(home, "sun", HashEmbedder(), mode="vector", min_similarity=1.0))
    margins = [miss.fate.margin for miss in missed]

    assert ["nearer.md", "near.md", "far.md"] == [path_of(home, miss) for miss in missed]
    assert sorted(margins, key=float) == margins  # type: ignore[arg-type]


def test_each_stage_is_read_a_few_times_however_many_candidates_there_are(home: Path, vault: Path) -> None:
    """Not once for each of them, or thousands of candidates would take minutes."""
    index_vault(home, write_vault(vault, {f"n{n}.md": "- [red] red\n" * 3 + "sun" for n in range(30)}), HashEmbedder())
    found = ask(home, "red sun", HashEmbedder(), limit=5)
    reads = 0

    class Counted(tuple):  # type: ignore[type-arg]
        def __iter__(self) -> Iterator[Any]:
            nonlocal reads
            reads += 1
            return super().__iter__()

    stages = [replace(step, kept=Counted(step.kept), dropped=Counted(step.dropped)) for step in found.stages]
    seen = candidates(replace(found, stages=tuple(stages)))

    assert len(seen) > 100
    assert reads < 8 * len(stages)


def test_a_row_shows_the_terms_that_scored_it(home: Path, vault: Path) -> None:
    """Also where only the vector leg found it and its lexical score was completed."""
    index_vault(home, write_vault(vault, {f"n{n}.md": "red " * (20 - n) + "sun" for n in range(20)}), HashEmbedder())
    found = candidates(ask(home, "red sun", HashEmbedder(), Settings(window=10)))

    assert {("red", "sun")} == {tuple(where.term for where, _ in candidate.terms) for candidate in found}


def test_named_scores_are_those_of_the_stages(home: Path, vault: Path) -> None:
    """BM25 and cosine before any calibration, then what fusing made of them; a stage that gave none has none."""
    index_vault(home, write_vault(vault, {"n.md": "red sun"}), HashEmbedder())
    hybrid, text = ask(home, "red", HashEmbedder()), ask(home, "red", mode="text")
    (row,) = [hit.id for hit in hybrid.page]
    bm25, cosine = hybrid.stages[0].kept[0].score, hybrid.stages[1].kept[0].score

    fused = {"fused": hybrid.page[0].score, "rerank": None}
    assert {"bm25": bm25, "cosine": cosine, **fused} == named_scores(hybrid, row)
    assert {"bm25": bm25, "cosine": None} == {name: named_scores(text, row)[name] for name in ("bm25", "cosine")}
