"""Reranking stage by stage: the arithmetic of both formulas, and what the cross-encoder is given to read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import HashEmbedder, LengthReranker, ask, index_vault, paths, write_vault
from cutaway.config import Settings
from cutaway.inspector.reranking import reranked
from cutaway.model import ENTITY, RowId
from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.plan import Models
from cutaway.retrieval.rerank import MAX_DOCUMENT_CHARS, CachedEncoder, blend, replace_scores, rerank
from cutaway.retrieval.tracing import Scored, Stage
from retrieval.worlds import Judge

A, B, C, D = (RowId(ENTITY, number) for number in (1, 2, 3, 4))
NARROW = Settings(window=10, chunk_chars=100)
both = pytest.mark.parametrize("formula", ["blend", "replace"])


def table(name: str, **scores: float) -> Stage[RowId]:
    """A stage that kept the rows so called, in this order."""
    rows = {"A": A, "B": B, "C": C, "D": D}
    return Stage(name, len(scores), tuple(Scored(rows[row], score) for row, score in scores.items()))


def blended(order: Stage[RowId], read: Stage[RowId], weight: float = 0.15, scale: float = 1.0) -> Stage[RowId]:
    return blend(order, read, formula="blend/v1", weight=weight, scale=scale)


def replaced(order: Stage[RowId], read: Stage[RowId]) -> Stage[RowId]:
    return replace_scores(order, read, formula="replace/v1")


def order_of(step: Stage[Any]) -> list[tuple[Any, float]]:
    return [(hit.id, hit.score) for hit in step.kept]


def read_by(model: Judge | LengthReranker, texts: dict[RowId, str], order: Stage[RowId]) -> Stage[RowId]:
    return rerank(order, texts, CachedEncoder(model, None), query="red", model=model.identity, depth=len(texts))


def search(home: Path, text: str, model: Judge | LengthReranker, settings: Settings = NARROW, **asked: Any) -> Answer:
    """A reranked search by words and meaning, unless asked otherwise."""
    return ask(home, text, settings=settings, models=Models(HashEmbedder(), model), **{"rerank": True, **asked})


def documents(home: Path, text: str, **asked: Any) -> list[str]:
    """What the cross-encoder is given to read."""
    model = LengthReranker()
    search(home, text, model, **asked)
    return model.read


# blend


def test_blending_adds_a_share_of_the_cross_encoders_score() -> None:
    """F' = F + w · r."""
    done = blended(table("quote", A=0.6, B=0.5), table("rerank", B=0.8, A=0.2))

    assert [(A, 0.6 + 0.15 * 0.2), (B, 0.5 + 0.15 * 0.8)] == order_of(done)


def test_blending_scales_the_share_to_the_fused_score() -> None:
    """F' = F + w · s · r."""
    done = blended(table("quote", A=0.02, B=0.01), table("rerank", A=0.5, B=1.0), weight=2.0, scale=0.25)

    assert [(B, 0.01 + 2 * 0.25 * 1.0), (A, 0.02 + 2 * 0.25 * 0.5)] == order_of(done)


@pytest.mark.parametrize(
    ("mode", "fusion", "expected"),
    [
        ("hybrid", "rrf", 0.15 * 2 / 61),
        ("hybrid", "dismax-0.3", 0.15),
        ("hybrid", "calibrated-dismax", 0.15),
        ("text", "rrf", 0.15),
        ("vector", "rrf", 0.15),
    ],
)
def test_a_perfect_score_adds_the_weight_on_the_scale_of_the_formula(
    home: Path, vault: Path, mode: str, fusion: str, expected: float
) -> None:
    """Reciprocal ranks are at most 2 / 61; all other scores reach about 1."""
    index_vault(home, write_vault(vault, {"a.md": "red sun"}), HashEmbedder())
    (hit,) = search(home, "red", Judge(lambda _: [1.0]), mode=mode, fusion=fusion).page

    assert round(expected, 9) == dict(hit.parts)["rerank"]


def test_the_parts_of_a_blended_score_add_up_to_it() -> None:
    """What it was, and what reranking gave it."""
    done = blended(table("quote", A=0.3, B=0.2), table("rerank", A=0.7, B=0.3))

    assert (("fused", 0.3), ("rerank", 0.105)) == done.kept[0].parts
    assert [round(sum(dict(hit.parts).values()), 9) for hit in done.kept] == [hit.score for hit in done.kept]


def test_blending_leaves_the_tail_as_it_is() -> None:
    """Same hits, same scores, same parts, behind whoever was read."""
    order = table("quote", A=0.6, B=0.5, C=0.5, D=0.1)
    done = blended(order, table("rerank", B=1.0, A=0.0))

    assert order.kept[2:] == done.kept[2:]


def test_blending_puts_no_one_read_behind_the_tail() -> None:
    """Not even with the worst score: nothing is ever taken away."""
    done = blended(table("quote", A=0.5, B=0.5, C=0.5), table("rerank", B=0.1, A=0.0))

    assert [(B, 0.515), (A, 0.5), (C, 0.5)] == order_of(done)


def test_blended_scores_that_are_equal_are_ordered_by_id() -> None:
    """Whoever was ahead before."""
    done = blended(table("quote", B=0.5, A=0.35), table("rerank", A=1.0, B=0.0))

    assert [(A, 0.5), (B, 0.5)] == order_of(done)


# replace


def test_replacing_lets_the_cross_encoder_alone_decide() -> None:
    """Its score is the score, and its only part."""
    done = replaced(table("quote", A=0.9, B=0.8, C=0.7), table("rerank", C=0.9, A=0.5, B=0.1))

    assert [(C, 0.9), (A, 0.5), (B, 0.1)] == order_of(done)
    assert [(("rerank", 0.9),), (("rerank", 0.5),), (("rerank", 0.1),)] == [hit.parts for hit in done.kept]


def test_replacing_lets_the_tail_slide_beneath_in_its_order() -> None:
    """A half of the last score, a third of it, whatever the scores were; each is marked."""
    done = replaced(table("quote", A=0.9, C=0.8, B=0.8, D=0.7), table("rerank", A=0.3))

    assert [(A, 0.3), (C, 0.3 / 2), (B, 0.3 / 3), (D, 0.3 / 4)] == order_of(done)
    assert [None, "slid", "slid", "slid"] == [hit.mark for hit in done.kept]


def test_replacing_by_exact_zeros_still_leaves_room_for_the_tail() -> None:
    """Those read are equal and ordered by id; the tail is below them and keeps its order."""
    done = replaced(table("quote", B=0.9, A=0.8, D=0.7, C=0.7), table("rerank", A=0.0, B=0.0))
    scores = [hit.score for hit in done.kept]

    assert [A, B, D, C] == [hit.id for hit in done.kept]
    assert scores[0] == scores[1] > scores[2] > scores[3] > 0


def test_replaced_scores_that_are_equal_are_ordered_by_id() -> None:
    """Whoever was ahead before."""
    done = replaced(table("quote", C=0.9, B=0.8, A=0.7), table("rerank", B=0.4, C=0.4, A=0.2))

    assert [(B, 0.4), (C, 0.4), (A, 0.2)] == order_of(done)


@pytest.mark.parametrize("join", [blended, replaced])
def test_the_new_order_says_how_many_were_reranked(join: Any) -> None:
    """And how many follow that were not."""
    assert "1 reranked, 2 in the tail" == join(table("quote", A=0.9, B=0.8, C=0.7), table("rerank", A=0.5)).remark


# What is read


def test_the_cross_encoders_order_is_its_own() -> None:
    """Best first, then by id; the tail is dropped with the reason."""
    model = Judge(lambda texts: [{"x": 0.2, "y": 0.7, "z": 0.7}[text] for text in texts])
    done = read_by(model, {A: "x", C: "y", B: "z"}, table("quote", A=0.9, C=0.8, B=0.7, D=0.6))

    assert [(B, 0.7), (C, 0.7), (A, 0.2)] == order_of(done)
    assert [(D, 0.6, "in the tail: not read")] == [out[:3] for out in done.dropped]


def test_equal_documents_are_asked_once_and_scored_alike() -> None:
    """Three rows, two texts."""
    model = Judge(lambda texts: [0.5 for _ in texts])
    done = read_by(model, {A: "same", B: "other", C: "same"}, table("quote", A=0.9, B=0.8, C=0.7))

    assert ["same", "other"] == model.read
    assert [(A, 0.5), (B, 0.5), (C, 0.5)] == order_of(done)


def test_notes_alike_are_one_document(home: Path, vault: Path) -> None:
    """Every one of them is reranked by the one score."""
    index_vault(home, write_vault(vault, {f"{name}/same.md": "red sun" for name in "abcd"}), HashEmbedder())
    model = LengthReranker()
    found = search(home, "red", model)

    assert (1, ["red sun"], 4) == (model.calls, model.read, len(reranked(found).movements))


def test_a_document_is_the_chosen_passage_with_its_context_line(home: Path, vault: Path) -> None:
    """The part of the note that answers, not its beginning."""
    note = f"# One\n\nred {'blue ' * 25}\n\n## Two\n\nred sun moon\n\n## Three\n\n{'green ' * 20}\n"
    index_vault(home, write_vault(vault, {"n.md": note}), HashEmbedder(), NARROW)

    assert ["One\n## Two\n\nred sun moon"] == documents(home, "red sun moon")


def test_a_document_names_the_headings_over_its_passage(home: Path, vault: Path) -> None:
    """Where the passage begins below them, they stand in the context line."""
    note = f"# One\n\n## Two\n\n{'blue ' * 25}\n\nred sun moon {'green ' * 10}\n"
    index_vault(home, write_vault(vault, {"n.md": note}), HashEmbedder(), NARROW)

    assert [f"One › Two\nred sun moon {'green ' * 10}".strip()] == documents(home, "red sun moon")


def test_a_relation_is_read_with_the_title_of_its_note(home: Path, vault: Path) -> None:
    """It has no chunk that could say where it stands."""
    index_vault(home, write_vault(vault, {"n.md": "# Star\n\nBefore.\n\n- depends on [[Red Sun]]\n\nAfter.\n"}))

    assert "Star\n- depends on [[Red Sun]]" in documents(home, "depends", mode="text", group="row")


def test_a_note_kept_out_of_embedding_is_read_by_its_own_text(home: Path, vault: Path) -> None:
    """Its title, then its words; the frontmatter is not among them."""
    index_vault(home, write_vault(vault, {"n.md": "---\nembed: false\ntitle: Off\n---\nred sun\n"}), HashEmbedder())

    assert ["Off\nred sun"] == documents(home, "red")


@pytest.mark.parametrize(
    "note",
    [f"# Title\n\n{'blue ' * 1_550}\n\n{'red sun! ' * 900}", f"---\nembed: false\ntitle: {'T' * 9_000}\n---\nred"],
    ids=["a long passage", "a long title"],
)
def test_a_document_is_bounded(home: Path, vault: Path, note: str) -> None:
    """The longest there can be, with its context line."""
    settings = Settings(chunk_chars=8_000)
    index_vault(home, write_vault(vault, {"n.md": note}), HashEmbedder(limit=10_000), settings)
    (document,) = documents(home, "red", settings=settings, mode="text")

    assert MAX_DOCUMENT_CHARS == len(document)


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
@pytest.mark.parametrize("group", ["note", "row"])
def test_documents_are_the_same_on_any_page(home: Path, vault: Path, mode: str, group: str) -> None:
    """The same texts in the same order, so that the scores are the same."""
    notes = {f"n{n}.md": f"# N{n}\n\n{'sun ' * 25}\n\nred moon\n\n{'blue ' * 25}\n\n- [x] red {n}" for n in range(15)}
    index_vault(home, write_vault(vault, notes), HashEmbedder(), NARROW)
    first, *others = (documents(home, "red moon", mode=mode, group=group, limit=3, page=page) for page in (1, 2, 5, 30))

    assert [first] * 3 == others


# How many are read


@pytest.mark.parametrize(("depth", "expected"), [(1, 1), (5, 5), (10, 10), (50, 10)])
@pytest.mark.parametrize("limit", [1, 10, 25])
def test_at_most_depth_results_of_the_prefix_are_read(
    home: Path, vault: Path, depth: int, expected: int, limit: int
) -> None:
    """A base window of ten gives ten results whose order no page changes; the others are not read."""
    index_vault(home, write_vault(vault, {f"n{n}.md": f"red sun {n}" for n in range(25)}), HashEmbedder())

    assert expected == len(documents(home, "red", mode="text", depth=depth, limit=limit))


@both
@pytest.mark.parametrize("limit", [5, 21])
def test_a_note_that_fills_the_window_is_alone_in_the_prefix(home: Path, vault: Path, formula: Any, limit: int) -> None:
    """Hundreds of its passages are closest: only this one note is read, and the twenty others stay behind it."""
    crowd = "\n\n".join(f"# Part {number}\n\n{'red sun ' * 8}" for number in range(300))
    notes = {"crowd.md": crowd, "noise.md": "blue green. " * 2_500}
    write_vault(vault, {f"n{n:02}.md": "red sun moon" for n in range(20)})
    index_vault(home, write_vault(vault, notes), HashEmbedder(), NARROW)
    model, settings = LengthReranker(), NARROW.model_copy(update={"rerank_formula": formula})
    found = search(home, "red sun", model, settings, mode="vector", limit=limit, depth=50)

    assert (1, ["crowd.md"], limit) == (len(model.read), paths(found)[:1], len(found.page))


def test_an_answer_says_where_each_result_stood(home: Path, vault: Path) -> None:
    """Before, in the cross-encoder's order, and after: each a rank and a score of that order."""
    index_vault(home, write_vault(vault, {"a.md": "red red sun", "b.md": "red sun moon", "c.md": "red sun blue green"}))
    model = Judge(lambda texts: [{"red r": 0.0, "red s": 1.0}[text[:5]] for text in texts])
    found = search(home, "red", model, mode="text", depth=2)
    fused = next(step for step in found.stages if step.name == "quote").scores
    (risen, fallen), first = reranked(found).movements, found.ranking.kept[0]

    assert [("b.md", 1), ("a.md", -1)] == list(zip(paths(found), (risen.moved, fallen.moved), strict=False))
    assert [(2, fused[risen.row]), (1, 1.0), (1, first.score)] == [risen.before, risen.read, risen.after]
    assert 1 == reranked(found).tail


@both
def test_the_formula_of_a_score_names_both_steps(home: Path, vault: Path, formula: Any) -> None:
    """What joined the legs, and what reranking made of it."""
    index_vault(home, write_vault(vault, {"a.md": "red"}), HashEmbedder())
    settings = NARROW.model_copy(update={"rerank_formula": formula})

    assert f"calibrated-dismax/v3 + {formula}/v1" == search(home, "red", LengthReranker(), settings).formula
