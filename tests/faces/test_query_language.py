"""The query language and conditions as they are typed and shown."""

from __future__ import annotations

import json

import pytest

from builders import Cutaway
from golden import check_golden


def titles(out: str) -> list[str]:
    """The titles of a JSON answer."""
    return [hit["title"] for hit in json.loads(out)["hits"]]


def test_a_search_with_conditions(bread: Cutaway) -> None:
    check_golden("search_conditions.txt", bread("search", 'feed* tag:starter -"float test" is:bread').out)


def test_conditions_are_in_the_json_with_what_each_lets_in(bread: Cutaway) -> None:
    """
    Those of the query and those beside it, as they were understood.
    """
    found = json.loads(bread("search", "dough -salt", "--where", "type=guide", "--json").out)

    assert ["without salt", "type=guide"] == [condition["said"] for condition in found["conditions"]]
    assert 0 < found["admitted"] < min(condition["notes"] for condition in found["conditions"])


def test_a_listing_is_in_order_of_path(bread: Cutaway) -> None:
    """
    Conditions alone find every note that meets them, and say that nothing was ranked.
    """
    found = json.loads(bread("search", "--where", "path=dough/*", "--limit", "50", "--json").out)

    paths = [hit["path"] for hit in found["hits"]]
    assert (sorted(paths), found["total"]) == (paths, len(paths))
    assert all(path.startswith("dough/") for path in paths)
    assert ["nothing to rank by: in order of path"] == found["remarks"]


@pytest.mark.parametrize("page", ["1", "2", "3"])
def test_a_listing_has_pages(bread: Cutaway, page: str) -> None:
    """
    Page after page of what one long page shows.
    """
    whole = titles(bread("search", "is:note", "--limit", "9", "--json").out)
    part = titles(bread("search", "is:note", "--limit", "3", "--page", page, "--json").out)

    assert whole[3 * int(page) - 3 : 3 * int(page)] == part


def test_conditions_that_nothing_meets_are_named(bread: Cutaway) -> None:
    """
    Exit code 1, and the condition that let nothing in.
    """
    ran = bread("search", "dough", "--where", "tga=starter")

    assert (1, True) == (ran.code, "no note meets tga=starter" in ran.out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("dough", "--where", "modified>=soon"), "needs a date"),
        (("dough", "--where", "=x"), "cannot be read"),
        (("dough", "--where", "tag<3"), "can be = or != a value"),
        (("dough", "--where", "rating>high"), "neither a number nor a date"),
        (("dough", "-rye"), "write it in quotes"),
        ((), "the query is empty"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_way_out(bread: Cutaway, arguments: tuple[str, ...], said: str) -> None:
    """
    Exit code 2, and what to write instead.
    """
    ran = bread("search", *arguments)

    assert (2, True) == (ran.code, said in ran.err)


def test_a_literal_query_has_no_operators(bread: Cutaway) -> None:
    """
    Signs that would leave out or demand are text.
    """
    found = json.loads(bread("search", 'dough -dough "no such phrase"', "--literal", "--mode", "text", "--json").out)

    assert ([], True) == (found["conditions"], bool(found["hits"]))


def test_the_trace_shows_what_each_term_found(bread: Cutaway) -> None:
    """
    The words by which it was found, in how many notes, and its share in each field, which add up to the score.
    """
    trace = json.loads(bread("inspect", "query", "feeding starters", "--mode", "text", "--json").out)
    first = trace["candidates"][0]
    score = next(step["score"] for step in first["journey"] if step["stage"] == "match")

    assert [("feeding", True), ("starters", True)] == [(term["term"], term["notes"] > 0) for term in trace["terms"]]
    assert ["starter"] == [word for word in trace["terms"][1]["words"] if word == "starter"]
    assert {"title", "body"} <= {share["field"] for share in first["terms"]}
    assert score == pytest.approx(sum(share["contribution"] for share in first["terms"]), abs=1e-8)
