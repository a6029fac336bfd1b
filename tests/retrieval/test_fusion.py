"""Calibration and fusion by arithmetic spelled out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import HashEmbedder, ask, index_vault, write_vault
from cutaway.config import Settings
from cutaway.model import ENTITY, ChunkId, RowId
from cutaway.retrieval import fusion
from cutaway.retrieval.tracing import Scored, Stage, best_first

A, B, C = (RowId(ENTITY, number) for number in (1, 2, 3))
ONE, TWO = ChunkId(11), ChunkId(12)
shares = st.dictionaries(st.sampled_from([A, B, C]), st.floats(0.001, 1.0))


def leg(scores: dict[RowId, float], via: dict[RowId, ChunkId] | None = None) -> Stage[RowId]:
    """A leg with these scores, best first."""
    hits = best_first([Scored(row, score, via=(via or {}).get(row)) for row, score in scores.items()])
    return Stage("leg", len(hits), hits)


def dismax(words: dict[RowId, float], similar: dict[RowId, float], tie_breaker: float = 0.5) -> Stage[RowId]:
    return fusion.fuse(leg(words), leg(similar), formula="dismax", tie_breaker=tie_breaker)


def test_a_lexical_score_is_half_way_at_its_half() -> None:
    """L = b / (b + c · √(I · Q / 2)), with 1.5 · √(2 · 4 / 2) = 3."""
    found = fusion.calibrate_lexical(leg({A: 3.0, B: 1.0, C: 9.0}), saturation=1.5, lone_idf=2.0, query_idf=4.0)

    assert {A: 3 / (3 + 3), B: 1 / (1 + 3), C: 9 / (9 + 3)} == found.scores


def test_similarity_is_measured_from_the_mean() -> None:
    """V = (cos - mean) / (1 - mean): the query itself is 1, half way from the mean is a half."""
    found = fusion.calibrate_similarity(leg({A: 1.0, B: 0.8}), baseline=0.6)

    assert {A: 1.0, B: 0.5} == found.scores


def test_the_inherited_normaliser_divides_by_the_best() -> None:
    """The best of the candidate set is 1."""
    assert {A: 1.0, B: 0.25} == fusion.normalize(leg({A: 8.0, B: 2.0})).scores


@pytest.mark.parametrize(
    ("words", "similar", "fused", "parts"),
    [
        ({A: 0.6}, {A: 0.4}, 0.6 + 0.5 * 0.4, (("lexical", 0.6), ("similarity", 0.2))),
        ({A: 0.4}, {A: 0.6}, 0.5 * 0.4 + 0.6, (("lexical", 0.2), ("similarity", 0.6))),
        ({A: 0.4}, {A: 0.4}, 0.4 + 0.5 * 0.4, (("lexical", 0.4), ("similarity", 0.2))),
        ({A: 0.4}, {}, 0.4, (("lexical", 0.4), ("similarity", 0.0))),
        ({}, {A: 0.4}, 0.4, (("lexical", 0.0), ("similarity", 0.4))),
    ],
    ids=["words lead", "similarity leads", "equal", "only words", "only similarity"],
)
def test_dismax_is_the_stronger_plus_a_share_of_the_weaker(
    words: dict[RowId, float], similar: dict[RowId, float], fused: float, parts: tuple[tuple[str, float], ...]
) -> None:
    """F = max(L, V) + .5 · min(L, V), and the record says what either leg gave."""
    (hit,) = dismax(words, similar).kept

    assert (round(fused, 9), parts) == (hit.score, hit.parts)


@pytest.mark.parametrize(("tie_breaker", "fused"), [(0.0, 0.8), (0.3, 0.8 + 0.3 * 0.5), (1.0, 0.8 + 0.5)])
def test_the_tie_breaker_is_the_share_of_the_weaker(tie_breaker: float, fused: float) -> None:
    """None of it, three tenths, all of it."""
    assert {A: round(fused, 9)} == dismax({A: 0.8}, {A: 0.5}, tie_breaker).scores


def test_reciprocal_ranks_are_summed() -> None:
    """1 / (60 + rank) over the legs that found the row."""
    found = fusion.fuse_ranks(leg({A: 9.0, B: 5.0}), leg({B: 0.9, C: 0.8, A: 0.7}), formula="rrf", k=60)

    expected = {B: 1 / 62 + 1 / 61, A: 1 / 61 + 1 / 63, C: 1 / 62}
    assert {row: pytest.approx(score, abs=2e-9) for row, score in expected.items()} == found.scores
    assert [B, A, C] == [hit.id for hit in found.kept]


def test_equal_sums_are_ordered_by_id() -> None:
    """Rows that swap their ranks tie, in dismax as in reciprocal ranks."""
    legs = leg({A: 0.4, B: 0.6}), leg({A: 0.6, B: 0.4})

    assert [A, B] == [hit.id for hit in fusion.fuse(*legs, formula="dismax", tie_breaker=0.5).kept]
    assert [A, B] == [hit.id for hit in fusion.fuse_ranks(*legs, formula="rrf", k=60).kept]


@given(words=shares, similar=shares)
def test_fused_parts_add_up(words: dict[RowId, float], similar: dict[RowId, float]) -> None:
    """What the legs gave is the score, in either formula."""
    ranks = fusion.fuse_ranks(leg(words), leg(similar), formula="rrf", k=60)
    hits = [*dismax(words, similar).kept, *ranks.kept]

    assert [pytest.approx(hit.score, abs=1e-9) for hit in hits] == [sum(part for _, part in hit.parts) for hit in hits]


@given(words=shares, similar=shares)
def test_fusion_loses_and_invents_no_row(words: dict[RowId, float], similar: dict[RowId, float]) -> None:
    """The union of the legs, each row once."""
    rows = [hit.id for hit in dismax(words, similar).kept]

    assert sorted(words.keys() | similar.keys()) == sorted(rows)


def test_a_fused_row_still_stands_by_its_chunk() -> None:
    """The chunk that similarity found goes along; a row of words alone stands by none."""
    found = fusion.fuse(leg({A: 0.9, B: 0.5}), leg({B: 0.5}, {B: ONE}), formula="dismax", tie_breaker=0.5)

    assert {A: None, B: ONE} == {hit.id: hit.via for hit in found.kept}


def test_completion_gives_a_similar_row_its_lexical_score() -> None:
    """A row of the vector leg that holds a term joins the lexical table, marked; one that holds none does not."""
    scores = {B: Scored(B, 4.0, parts=(("sun", 4.0),))}
    found = fusion.complete_lexical(leg({A: 3.0}), leg({A: 0.9, B: 0.8, C: 0.7}), scores)

    assert (Scored(B, 4.0, parts=(("sun", 4.0),), mark="completed"), Scored(A, 3.0)) == found.kept
    assert "1 completed" == found.remark


def test_completion_gives_a_worded_row_its_best_similarity() -> None:
    """A row of the lexical leg that the vector leg did not reach is scored by its best chunk."""
    known = {ONE: 0.3, TWO: 0.4}
    found = fusion.complete_similarity(leg({A: 0.9}), leg({A: 5.0, B: 4.0, C: 3.0}), known, {B: [ONE, TWO]})

    assert (Scored(A, 0.9), Scored(B, 0.4, via=TWO, mark="completed")) == found.kept


def test_completion_leaves_alone_what_a_leg_already_scored() -> None:
    """A known score is never replaced."""
    found = fusion.complete_lexical(leg({A: 3.0}), leg({A: 0.9}), {A: Scored(A, 7.0)})

    assert ({A: 3.0}, None) == (found.scores, found.remark)


def test_the_mean_is_drawn_towards_a_half_while_vectors_are_few(home: Path, vault: Path) -> None:
    """mean = (n · (q·m) + 30 · .5) / (n + 30), where n · (q·m) is the sum of all cosines."""
    texts = ["red", "red sun", "green moon", "blue"]
    index_vault(home, write_vault(vault, {f"{text}.md": text for text in texts}), HashEmbedder())
    answer = ask(home, "red moon", HashEmbedder(), Settings(), mode="vector")
    cosines = [hit.score for hit in answer.stages[0].kept]

    assert 4 == len(cosines) == answer.evidence.baseline.vectors
    assert pytest.approx((sum(cosines) + 30 * 0.5) / (4 + 30), abs=1e-5) == answer.evidence.baseline.mean
