"""Tokens that can only be estimated: where they begin, how many there are."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from cutaway.models.onnx import BGE_SMALL_EN
from cutaway.models.tokens import EstimatedTokenizer, FileTokenizer
from cutaway.notes.chunks import chunked
from cutaway.notes.divider import ChunkSettings
from cutaway.notes.rows import parse

FAMILY = "👩\u200d👩\u200d👧"


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("", []),
        ("abcdefg", [0, 3, 6]),
        ("день", [0, 1, 3]),
        ("日本語", [0, 1, 2]),
        (f"a{FAMILY}b", [0, *[1] * 6]),
        ("\ud800x", [0, 1]),
    ],
    ids=["empty", "Latin", "Cyrillic", "Han", "family", "surrogate"],
)
def test_a_token_is_three_bytes(text: str, starts: list[int]) -> None:
    """So a letter of a script with many signs counts more."""
    assert starts == list(EstimatedTokenizer(512).starts(text))


@given(st.text())
def test_no_token_begins_within_a_grapheme(text: str) -> None:
    """A passage is never cut within a sign."""
    starts = list(EstimatedTokenizer(512).starts(text))

    assert sorted(starts) == starts
    assert set(starts) <= {found.start() for found in regex.finditer(r"\X", text)}


def test_counts_have_room_for_special_tokens_and_the_prefix() -> None:
    assert [2, 3] == EstimatedTokenizer(512).counts(["", "abc"])
    assert [5, 6] == EstimatedTokenizer(512, "passage: ").counts(["", "abc"])


def test_a_prefix_counts_with_a_models_own_tokenizer_too() -> None:
    plain, prefixed = (FileTokenizer(512, BGE_SMALL_EN.tokenizer, prefix) for prefix in ("", "passage: "))

    assert prefixed.counts(["bread"])[0] == plain.counts(["bread"])[0] + 2


@pytest.mark.parametrize("text", ["Prose in plain words. " * 90, "日本語の文章です。" * 90, f"{FAMILY} " * 90])
def test_passages_stay_within_the_estimate(text: str) -> None:
    """Prefix included, in any script."""
    tokenizer = EstimatedTokenizer(100, "search_document: ")
    passages = chunked(parse("a.md", text.encode()), tokenizer, ChunkSettings())
    texts = [chunk.passage.text for chunk in passages.chunks]

    assert len(texts) > 1
    assert max(tokenizer.counts(texts)) <= 100
