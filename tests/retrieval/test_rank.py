"""Each stage of ranking by itself, on tables written out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from cutaway.index.cards import Entry
from cutaway.model import ENTITY, OBSERVATION, ChunkId, NoteId, RowId
from cutaway.retrieval import rank
from cutaway.retrieval.tracing import Dropped, Scored, Stage

A, B, C, D = (RowId(ENTITY, number) for number in (1, 2, 3, 4))
A_FACT = RowId(OBSERVATION, 5)
ONE, TWO, THREE, FOUR = (ChunkId(number) for number in (11, 12, 13, 14))


def table(*hits: tuple[Any, float]) -> Stage[Any]:
    """A stage that kept these, in this order."""
    return Stage("given", len(hits), tuple(Scored(name, score) for name, score in hits))


def entry(chunk: ChunkId, row: RowId, state: str = "ready", embedding: str = "hash", index: str = "exact") -> Entry:
    """A chunk of a row in the manifest."""
    place: tuple[Any, ...] = (1, 0, 10, (1, 1), (), "", None, b"")
    return Entry(chunk, row, NoteId(1), *place, state, None, embedding, index, "")


def manifest(*entries: Entry) -> dict[ChunkId, Entry]:
    return {held.id: held for held in entries}


# hydrate


def test_a_ready_chunk_under_the_identities_in_use_is_kept() -> None:
    """It keeps its score and place."""
    live = rank.hydrate(table((ONE, 0.9)), manifest(entry(ONE, A)), embedding="hash", index="exact")

    assert (Scored(ONE, 0.9),) == live.kept


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        (manifest(entry(ONE, A, "pending")), "pending"),
        (manifest(entry(ONE, A, "failed")), "failed"),
        (manifest(entry(ONE, A, embedding="other")), "embedded under another identity"),
        (manifest(entry(ONE, A, index="other")), "embedded under another identity"),
        ({}, "not in the manifest"),
    ],
    ids=["pending", "failed", "another model", "another vector index", "unknown"],
)
def test_a_chunk_the_manifest_does_not_vouch_for_is_dropped(held: dict[ChunkId, Entry], reason: str) -> None:
    """A vector whose chunk is not ready does not exist, and the trace says why."""
    live = rank.hydrate(table((ONE, 0.9)), held, embedding="hash", index="exact")

    assert ((), (Dropped(ONE, 0.9, reason),)) == (live.kept, live.dropped)


# collapse


def test_a_row_is_scored_by_its_best_chunk() -> None:
    """MaxP: the row says which chunk it stands by; the others fall with what they lacked."""
    chunks = table((ONE, 0.9), (TWO, 0.8), (THREE, 0.65))
    rows = rank.collapse(chunks, manifest(entry(ONE, A), entry(TWO, B), entry(THREE, A)))

    assert (Scored(A, 0.9, via=ONE), Scored(B, 0.8, via=TWO)) == rows.kept
    assert (Dropped(THREE, 0.65, "a better chunk of the same row", 0.9 - 0.65),) == rows.dropped


def test_rows_of_equal_chunks_are_ordered_by_row() -> None:
    """Chunk order decides nothing between rows."""
    rows = rank.collapse(table((ONE, 0.9), (TWO, 0.9)), manifest(entry(ONE, B), entry(TWO, A)))

    assert [A, B] == [hit.id for hit in rows.kept]


def test_rows_of_different_kinds_and_one_number_stay_apart() -> None:
    """A row is its kind and its number."""
    twin = RowId(OBSERVATION, A.number)
    rows = rank.collapse(table((ONE, 0.9), (TWO, 0.8)), manifest(entry(ONE, A), entry(TWO, twin)))

    assert {A: 0.9, twin: 0.8} == rows.scores


# threshold


def test_a_row_below_the_floor_is_dropped_with_what_it_lacks() -> None:
    """The margin is the distance to the floor; a row on the floor is kept."""
    rows = rank.threshold(table((A, 0.8), (B, 0.75), (C, 0.5)), min_similarity=0.75, baseline=0.4)

    assert {A: 0.8, B: 0.75} == rows.scores
    assert (Dropped(C, 0.5, "below min_similarity", 0.25),) == rows.dropped


def test_a_row_no_closer_than_the_mean_is_no_evidence() -> None:
    """The mean itself is not above the mean."""
    rows = rank.threshold(table((A, 0.8), (B, 0.5), (C, 0.25)), min_similarity=0.0, baseline=0.5)

    reason = "no closer than the mean passage"
    assert {A: 0.8} == rows.scores
    assert (Dropped(B, 0.5, reason, 0.0), Dropped(C, 0.25, reason, 0.25)) == rows.dropped


# group


def test_a_note_is_ranked_by_its_best_row() -> None:
    """Its other rows fall, each with its distance to the best."""
    notes = {A: NoteId(1), A_FACT: NoteId(1), B: NoteId(2)}
    found = rank.group(table((A_FACT, 0.9), (B, 0.8), (A, 0.5)), notes)

    assert {A_FACT: 0.9, B: 0.8} == found.scores
    assert (Dropped(A, 0.5, "a better row of the same note", 0.9 - 0.5),) == found.dropped


# head, append


def test_the_head_of_a_leg_is_its_first_candidates() -> None:
    """What is past the base window is dropped by name."""
    found = rank.head(table((A, 0.9), (B, 0.8), (C, 0.7)), base=2)

    assert ({A: 0.9, B: 0.8}, (Dropped(C, 0.7, "past the base window"),)) == (found.scores, found.dropped)


def test_newcomers_queue_behind_the_prefix_in_order_of_first_appearance() -> None:
    """Their own scores do not matter: the prefix stays, the queue is by raw rank, ties by id."""
    prefix, window = table((A, 0.6)), table((D, 0.9), (C, 0.8), (B, 0.7), (A, 0.6))
    order = rank.append(prefix, window, {A: 0, B: 11, C: 10, D: 11})

    assert [A, C, B, D] == [hit.id for hit in order.kept]


def test_scores_of_the_queue_slide_beneath_the_prefix() -> None:
    """The prefix's last score over 2, 3, 4 and so on, marked; a place has one score on every page."""
    order = rank.append(table((A, 0.9), (B, 0.6)), table((C, 0.8), (D, 0.7)), {C: 10, D: 11})

    assert {A: 0.9, B: 0.6, C: 0.6 / 2, D: 0.6 / 3} == order.scores
    assert [None, None, "slid", "slid"] == [hit.mark for hit in order.kept]


def test_a_queue_behind_nothing_starts_at_a_half() -> None:
    """An empty prefix counts as one of score 1."""
    assert {C: 0.5} == rank.append(table(), table((C, 0.8)), {C: 10}).scores
