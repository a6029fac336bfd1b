"""What a search will do: defaults resolved, windows sized, bad input refused by name and range."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import HashEmbedder, index_vault, opened, terms, write_vault
from cutaway.config import Settings
from cutaway.errors import UsageError
from cutaway.index.reader import Reader
from cutaway.notes.analyzer import ANALYZER
from cutaway.retrieval.plan import Models, Plan, make_plan
from cutaway.retrieval.request import MAX_QUERY_CHARS, Request


@pytest.fixture
def reader(home: Path, vault: Path) -> Iterator[Reader]:
    """Twelve notes of one passage, and one of three passages: two observations, and text with a relation."""
    notes = {f"n{number}.md": "red sun" for number in range(12)}
    large = "- [fact] red\n- [fact] blue\n\nSee [[n1]].\n"
    index_vault(home, write_vault(vault, {**notes, "large.md": large}), HashEmbedder())
    with opened(home) as reader:
        yield reader


def planned(reader: Reader, text: str = "red sun", settings: Settings | None = None, **request: object) -> Plan:
    return make_plan(Request(text, **request), settings or Settings(), reader, Models(HashEmbedder()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("limit", 0, ["limit", "0", "1 to 1,000"]),
        ("limit", -3, ["limit", "-3", "1 to 1,000"]),
        ("limit", 100_000, ["limit", "100000", "1 to 1,000"]),
        ("page", 0, ["page", "0", "from 1"]),
        ("page", -1, ["page", "-1", "from 1"]),
        ("min_similarity", 5, ["min_similarity", "less than or equal to 1"]),
        ("min_similarity", -1, ["min_similarity", "greater than or equal to 0"]),
        ("min_similarity", float("nan"), ["min_similarity"]),
        ("mode", "fuzzy", ["mode", "'text', 'vector' or 'hybrid'"]),
        ("group", "folder", ["group", "'note' or 'row'"]),
        ("fusion", "sum", ["fusion", "'calibrated-dismax', 'dismax-0.3' or 'rrf'"]),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(reader: Reader, field: str, value: object, said: list[str]) -> None:
    """The message names the field and what it may be."""
    with pytest.raises(UsageError) as refusal:
        planned(reader, **{field: value})

    assert [] == [part for part in said if part not in str(refusal.value)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        (" \n\t\u3000", "empty"),
        ("red\0sun", "NUL"),
        ("x" * (MAX_QUERY_CHARS + 1), "20,001 characters; at most 20,000"),
    ],
    ids=["nothing", "only spaces", "NUL", "too long"],
)
def test_a_query_that_cannot_be_read_is_refused(reader: Reader, text: str, said: str) -> None:
    """The only queries refused: empty ones, ones with a NUL, ones past the limit."""
    with pytest.raises(UsageError, match=said):
        planned(reader, text)


def test_the_longest_query_is_planned(reader: Reader) -> None:
    """At the limit, not past it."""
    text = "red " * (MAX_QUERY_CHARS // 4 - 1) + "suns"

    assert (MAX_QUERY_CHARS, terms("red", "suns")) == (len(text), planned(reader, text).terms)


def test_what_the_request_leaves_open_the_settings_decide(reader: Reader) -> None:
    """Mode, grouping, page size, fusion and floor."""
    settings = Settings(mode="text", group="row", limit=7, fusion="rrf", min_similarity=0.25)
    plan = planned(reader, settings=settings)

    assert ("text", "row", 7, 0.25) == (plan.mode, plan.group, plan.limit, plan.min_similarity)


def test_what_the_request_says_goes_before_the_settings(reader: Reader) -> None:
    """Zero included: a floor of 0 is an answer, not an omission."""
    settings = Settings(mode="text", group="row", limit=7, min_similarity=0.25)
    plan = planned(reader, settings=settings, mode="hybrid", group="note", limit=3, min_similarity=0)

    assert ("hybrid", "note", 3, 0.0) == (plan.mode, plan.group, plan.limit, plan.min_similarity)


@pytest.mark.parametrize(
    ("mode", "fusion", "formula", "tie_breaker"),
    [
        ("text", "rrf", "bm25-saturated/v3", 0.5),
        ("vector", "rrf", "cosine-calibrated/v1", 0.5),
        ("hybrid", "calibrated-dismax", "calibrated-dismax/v3", 0.5),
        ("hybrid", "dismax-0.3", "dismax-0.3/v1", 0.3),
        ("hybrid", "rrf", "rrf-60/v1", 0.5),
    ],
)
def test_every_score_has_a_formula_with_a_version(
    reader: Reader, mode: str, fusion: str, formula: str, tie_breaker: float
) -> None:
    """The mode alone decides where there is one leg; the fusion where there are two."""
    plan = planned(reader, mode=mode, fusion=fusion)

    assert (formula, tie_breaker) == (plan.formula, plan.tie_breaker)


@pytest.mark.parametrize(("page", "offset", "end"), [(1, 0, 11), (2, 10, 21), (7, 60, 71)])
def test_a_page_is_ranked_one_result_past_its_end(reader: Reader, page: int, offset: int, end: int) -> None:
    """So that it can tell whether another follows."""
    plan = planned(reader, limit=10, page=page)

    assert (offset, end) == (plan.offset, plan.end)


@pytest.mark.parametrize(
    ("group", "limit", "lexical", "vector"),
    [
        ("note", 1, 10, 10),  # the base is enough
        ("note", 9, 4 + 9, 3 + 9),  # ten notes, the large one among them
        ("note", 12, 4 + 12, 3 + 12),
        ("row", 9, 10, 10),
        ("row", 13, 14, 14),
    ],
)
def test_windows_hold_as_many_results_as_the_page_needs(
    reader: Reader, group: str, limit: int, lexical: int, vector: int
) -> None:
    """The most rows or chunks that so many notes can have between them: reading these meets enough notes."""
    plan = planned(reader, settings=Settings(window=10), group=group, limit=limit)

    assert (lexical, vector) == (plan.lexical_window, plan.vector_window)


def test_a_window_never_shrinks_below_the_base(reader: Reader) -> None:
    """Page one reads as deep as the setting says, whatever its size."""
    plan = planned(reader, settings=Settings(window=50), limit=1)

    assert (50, 50, 50) == (plan.base, plan.lexical_window, plan.vector_window)


def test_the_plan_names_every_identity(reader: Reader) -> None:
    """Analyzer, model, vector index and projects: what could change an order is in the trace."""
    plan = planned(reader)

    assert ("hash/32", "exact-f16/v1", ("vault",)) == (plan.embedding_identity, plan.index_identity, plan.projects)
    assert ANALYZER == plan.analyzer


def test_terms_are_distinct_and_in_the_order_typed(reader: Reader) -> None:
    """A word typed twice is one term."""
    assert terms("moon", "red") == planned(reader, "Moon red MOON red").terms


def test_without_a_model_hybrid_plans_words_and_says_why(reader: Reader) -> None:
    """The vector leg is wanted, cannot be read, and the reason is kept."""
    plan = make_plan(Request("red", mode="hybrid"), Settings(), reader, Models("the model is not installed"))

    assert (True, False, "the model is not installed") == (plan.lexical, plan.vector, plan.unavailable)


def test_without_a_model_vector_search_is_refused(reader: Reader) -> None:
    """Nothing else could answer, so the refusal says why."""
    with pytest.raises(UsageError, match="vector search is not possible: the model is not installed"):
        make_plan(Request("red", mode="vector"), Settings(), reader, Models("the model is not installed"))


def test_text_search_misses_no_model(reader: Reader) -> None:
    """What is not wanted is not unavailable."""
    assert make_plan(Request("red", mode="text"), Settings(), reader, Models("no model")).unavailable is None
