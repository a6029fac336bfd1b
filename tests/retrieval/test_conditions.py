"""Conditions beside the query: what each comes to, and what is refused with its name and a way out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.errors import UsageError
from cutaway.retrieval.conditions import TITLE, Condition, Has, Holds, IsRow, Test, Under, where


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("status=active", Has("status", "=", ("active",))),
        ("Status = In Progress ", Has("status", "=", ("In Progress",))),
        ("status=a, b,,c", Has("status", "=", ("a", "b", "c"))),
        ("status=a=b", Has("status", "=", ("a=b",))),
        ("status=a\nb", Has("status", "=", ("a b",))),
        ("author.name=Ann", Has("author.name", "=", ("Ann",))),
        ("статус=готово", Has("статус", "=", ("готово",))),
        ("due-date>=2024-05", Has("due-date", ">=", ("2024-05",))),
        ("rating>3", Has("rating", ">", ("3",))),
        ("rating >= 3", Has("rating", ">=", ("3",))),
        ("rating<-3.5", Has("rating", "<", ("-3.5",))),
        ("rating<=+3", Has("rating", "<=", ("+3",))),
        ("status", Has("status")),
        ("tag", Has("tags")),
        ("tags", Has("tags")),
        ("type", Has("type")),
        ("created", Has("created")),
        ("Modified", Has("modified")),
        ("tag=a,#b/c", Has("tags", "=", ("a", "b/c"))),
        ("tags=#a", Has("tags", "=", ("a",))),
        ("type=guide", Has("type", "=", ("guide",))),
        ("path=a b/*", Under("a b/*")),
        ("is=observation", IsRow("observation")),
        ("IS=Note", IsRow("entity")),
        ("category=fact,idea", IsRow("observation", ("fact", "idea"))),
        ("title=rye", Holds(("rye",), TITLE)),
        ("title=rye bread", Holds(("rye", "bread"), TITLE, exact=True)),
        ("title=ferm*", Holds(("ferm",), TITLE, prefix=True)),
        ("title=the", Holds(("the",), TITLE)),
        ("title=the rye", Holds(("the", "rye"), TITLE, exact=True)),
        ("created=2024", Has("created", "=", ("2024",))),
        ("created>=2024-05-31", Has("created", ">=", ("2024-05-31",))),
        ("created<2024-02-29", Has("created", "<", ("2024-02-29",))),
        ("modified=2023..2024-05", Has("modified", "..", ("2023", "2024-05"))),
        ("modified=2023 .. 2024-05", Has("modified", "..", ("2023", "2024-05"))),
        ("created<=2024-05-31T23:59:59", Has("created", "<=", ("2024-05-31T23:59:59",))),
        ("created>2024-05-31 10:30", Has("created", ">", ("2024-05-31 10:30",))),
    ],
)
def test_a_condition_is_read(text: str, test: Test) -> None:
    """Name, comparison and values, spaces around them left out; it is called what was typed."""
    assert Condition((test,), False, " ".join(text.split())) == where(text)


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("status!=done,old", Has("status", "=", ("done", "old"))),
        ("status != done", Has("status", "=", ("done",))),
        ("!status", Has("status")),
        (" !tags", Has("tags")),
        ("tag!=a", Has("tags", "=", ("a",))),
        ("path!=x", Under("x")),
        ("is!=note", IsRow("entity")),
        ("title!=rye", Holds(("rye",), TITLE)),
        ("created!=2024", Has("created", "=", ("2024",))),
        ("created!=2023..2024", Has("created", "..", ("2023", "2024"))),
    ],
)
def test_a_condition_can_be_turned_around(text: str, test: Test) -> None:
    """`!=` and a leading `!` are the same test, negated."""
    assert Condition((test,), True, " ".join(text.split())) == where(text)


FORM = "Write NAME=VALUE (or !=, <, <=, >, >=), NAME where it must be there, !NAME where it must not."
DATE = "needs a date as 2024, 2024-05 or 2024-05-31, after >, >=, <, <= or as from..to"


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        *((text, FORM) for text in ("", " ", "=", "=a", "status=", "status= ", "status>", "!", "!status=a")),
        ("! status", FORM),
        *((text, FORM) for text in ("!!status", "<3", "status!", "status!a")),
        *((f"created{value}", DATE) for value in ("=soon", ">soon", "=2024..", "=..2024", ">2023..2024", "==2024")),
        *((f"created={value}", DATE) for value in ("2024-13", "2024-00", "2024-02-30", "2023-02-29", "0000", "24")),
        *((f"modified<{value}", DATE) for value in ("2024-5", "20240501", "2024-05-01T25", "2024-05-01T10:61")),
        *((f"{name}{op}3", f"{name} can be = or != a value")
          for name in ("tag", "path", "type", "is", "category", "title") for op in ("<", ">=")),
        ("modified=２０２４", DATE),
        ("created>=not a date", DATE),
        ("tags>3", "tag can be = or != a value"),
        *((f"{mark}{name}", f"{name} needs a value, as {name}=VALUE")
          for name in ("path", "is", "category", "title") for mark in ("", "!")),
        ("is=foo", "`is:` knows note, observation, relation"),
        ("is=note,relation", "`is:` knows note, observation, relation"),
        ("title=—", "`title:` needs a word"),
        ("title!=—", "`title:` needs a word"),
        *((text, "it needs a value") for text in ("status=,", "status!=,", "tag=#", "category=,", "type=, ,")),
        *((f"rating{op}many", "neither a number nor a date (as 2024-05-31)") for op in ("<", "<=", ">", ">=")),
        ("rating>3 stars", "neither a number nor a date"),
        ("rating>2024-02-30", "neither a number nor a date"),
    ],
)  # fmt: skip
def test_a_condition_that_cannot_be_met_is_refused(text: str, way_out: str) -> None:
    """The message names the condition and says what it may be."""
    with pytest.raises(UsageError) as refusal:
        where(text)

    assert str(refusal.value).startswith(f"condition {text!r}")
    assert way_out in str(refusal.value)


@given(st.text(st.characters(), max_size=30))
def test_any_text_is_a_condition_or_is_refused_by_name(text: str) -> None:
    """Half a character becomes a question mark; nothing but a UsageError is raised."""
    try:
        condition = where(text)
    except UsageError as refusal:
        assert "condition" in str(refusal)
    else:
        assert str(condition).encode()


names = st.sampled_from(
    ["tag", "tags", "path", "type", "is", "category", "title", "created", "modified", "status", "ſ"]
)
values = st.one_of(
    st.text(st.characters(), max_size=12), st.sampled_from(["note", "2024", "3", "2023..2024", "a,b", "x*"])
)


@given(names, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), values)
def test_every_name_takes_every_value_or_refuses_it(name: str, op: str, value: str) -> None:
    """And what it takes it negates only for `!=`."""
    try:
        condition = where(f"{name}{op}{value}")
    except UsageError as refusal:
        assert "condition" in str(refusal)
    else:
        assert (op == "!=") == condition.negated
        assert 1 == len(condition.tests)


@pytest.mark.parametrize("change", [str.upper, str.title, lambda name: f"  {name}"])
@pytest.mark.parametrize("name", ["tag", "path", "type", "status"])
def test_names_have_no_case(name: str, change: Callable[[str], str]) -> None:
    """Nor spaces before them."""
    assert where(f"{name}=a").tests == where(f"{change(name)}=a").tests


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('author="Doe, John"', ("Doe, John",)),
        ('author="Doe, John", Roe', ("Doe, John", "Roe")),
        ("author=Doe, John", ("Doe", "John")),
        ('size=5"', ('5"',)),
        ("due date=2024-05", ("2024-05",)),
    ],
)
def test_a_value_in_quotes_may_hold_a_comma_and_a_name_may_hold_a_space(text: str, values: tuple[str, ...]) -> None:
    """As properties of notes do."""
    (test,) = where(text).tests

    assert isinstance(test, Has)
    assert (values, text.split("=")[0]) == (test.values, test.key)
