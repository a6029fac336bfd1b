"""Properties of notes: what frontmatter, tags and dates come to, and how each compares."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import index_vault, opened, write_vault
from cutaway.index.properties import MAX_CHARS, Property, folded, meets, properties_of
from cutaway.notes.rows import parse

CHANGED = "2020-02-02"


def held(frontmatter: str, body: str = "") -> dict[str, set[str]]:
    """The properties of a note, by key."""
    note = parse("n.md", f"---\n{frontmatter}\n---\n{body}\n".encode())
    found: dict[str, set[str]] = {}
    for value in properties_of(note, CHANGED):
        found.setdefault(value.key, set()).add(value.text)
    return found


def value(text: str, key: str = "key") -> Property:
    """A property as a note with this text under the key has it."""
    return next(
        found for found in properties_of(parse("n.md", f"---\n{key}: {text}\n---\n".encode()), None) if found.key == key
    )


# What a note has


@pytest.mark.parametrize(
    ("frontmatter", "key", "expected"),
    [
        ("status: Active", "status", {"active"}),
        ("Status:  In   Progress ", "status", {"in progress"}),
        ("STATUS: x", "status", {"x"}),
        ("In Review: x", "in review", {"x"}),
        ("rating: 4", "rating", {"4"}),
        ("rating: 4.50", "rating", {"4.5"}),
        ("done: yes", "done", {"true"}),
        ("done: False", "done", {"false"}),
        ("people: [Ann, Bob, Ann]", "people", {"ann", "bob"}),
        ("people:\n  - [Ann, [Bob]]\n  - Cy", "people", {"ann", "bob", "cy"}),
        ("mixed: [1, true, 2024-05-01, x, null]", "mixed", {"1", "true", "2024-05-01", "x"}),
        ("author: {name: Ann, Home: {Town: Rome}}", "author.name", {"ann"}),
        ("author: {name: Ann, Home: {Town: Rome}}", "author.home.town", {"rome"}),
        ("authors: [{name: Ann}, {name: Bob}]", "authors.name", {"ann", "bob"}),
        ('empty: ""', "empty", {""}),
        ("1: x", "1", {"x"}),
        ("due: 2024-05-01", "due", {"2024-05-01"}),
        ("due: 2024-05-01T10:30:00+02:00", "due", {"2024-05-01t10:30:00+02:00"}),
        ("tags: [A/b, '#c', 2024]", "tags", {"a/b", "c", "2024"}),
        ("tags: a, b", "tags", {"a", "b"}),
        ("tag: a", "tags", {"a"}),
        ("Tags: [A]", "tags", {"a"}),
        ("TAG: '#a'", "tags", {"a"}),
        ("tags: [a]\nTags: [b]", "tags", {"a", "b"}),
        ("created: 2024-05-01", "created", {"2024-05-01"}),
        ("date: 2024-05-01", "created", {"2024-05-01"}),
        ("created: 2024-05-01\ndate: 2023-01-01", "created", {"2024-05-01"}),
        ("created: soon\ndate: 2023-01-01", "created", {"2023-01-01"}),
        ("created: 2024", "created", {"2024"}),
        ("created: [2024-05-01, 2021-01-01, 2023-01-01, 2022-01-01]", "created", {"2021-01-01"}),
        ("modified: 2024-05-01", "modified", {"2024-05-01"}),
        ("Updated: 2024-05-01", "modified", {"2024-05-01"}),
        ("modified: 2024-05-01\nupdated: 2025-01-01", "modified", {"2024-05-01"}),
        ("modified: unknown", "modified", {CHANGED}),
        ("status: x", "modified", {CHANGED}),
        ("updated: 2024-05-01", "updated", {"2024-05-01"}),
    ],
)
def test_what_frontmatter_says_becomes_properties(frontmatter: str, key: str, expected: set[str]) -> None:
    """Keys and values folded, lists one by one, nested keys joined by a dot; the first date that is one."""
    assert expected == held(frontmatter)[key]


@pytest.mark.parametrize(
    ("frontmatter", "key"),
    [
        ("status:", "status"),
        ("status: ~", "status"),
        ("status: []", "status"),
        ("status: [null]", "status"),
        ("status: {}", "status"),
        ("author: {name: }", "author.name"),
        ("author: {name: Ann}", "author"),
        ("tags: []", "tags"),
        ("tag: x", "tag"),
        ("created: soon", "created"),
        ("created: 1717171717", "created"),
        ("created: [soon]", "created"),
        ("status: x", "created"),
    ],
)
def test_what_frontmatter_does_not_say_is_no_property(frontmatter: str, key: str) -> None:
    """Nothing, an empty list, a mapping by its own name, a date that is none."""
    assert key not in held(frontmatter)


def test_tags_of_the_text_are_tags() -> None:
    """Beside those of the frontmatter; what looks like one in code is none."""
    assert {"a", "b/c", "d"} == held("tags: [a]", "text #B/c and #a\n\n- [fact] x #d\n\n`#code`")["tags"]


def test_without_a_date_of_its_own_or_of_its_file_a_note_was_never_modified() -> None:
    """Nothing is made up."""
    assert frozenset() == properties_of(parse("n.md", b"text"), None)


def test_a_value_of_any_length_is_kept_by_its_beginning() -> None:
    """The index stays small, and a condition is cut alike."""
    long = "x" * 10_000

    assert {"x" * MAX_CHARS} == held(f"status: {long}")["status"]
    assert meets(value(long), "=", [long])


@pytest.mark.parametrize("digits", [20, 400, 4_000])
def test_a_number_of_any_size_is_kept(digits: int) -> None:
    """As a number where one can hold it, else as text."""
    number = "9" * digits

    assert meets(value(number), "=", [number])
    assert (digits < 300) == meets(value(number), ">", ["5"])


@given(st.text(st.characters()))
def test_folding_is_done_once(text: str) -> None:
    """What is folded stays as it is, composed or not."""
    assert folded(text) == folded(folded(text)) == folded(unicodedata.normalize("NFD", text))


def test_properties_are_kept_by_the_index_whatever_they_are(home: Path, vault: Path) -> None:
    """Values that fold alike, tags that are numbers, keys in two cases: nothing collides, sync goes on."""
    notes = {
        "a.md": "---\nx: [A, a, ' a ', 1, '1', 1.0, true, 'TRUE']\nX: [a, 1]\ntags: [1, '1', A]\nTags: [1, a]\n---\n#a",
        "b.md": "---\ncreated: [2024, '2024', 2024-01-01]\nDate: 2024\nmodified: [x, 2023]\n---\n",
        "c.md": "---\n'': x\n'a.b': 1\na: {b: 2, '': 3}\n---\n",
    }  # fmt: skip
    index_vault(home, write_vault(vault, notes))
    with opened(home) as reader:
        assert 3 == len(reader.notes(note.note for note in reader.catalog))
        assert 1 == len(reader.notes_with("X", "=", ["true"]))
        assert 1 == len(reader.notes_with("tags", "=", ["1"]))
        assert 1 == len(reader.notes_with("a.b", ">", ["1"]))


# How values compare


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Active", "active"),
        ("Active", " ACTIVE "),
        ("In   Progress", "in progress"),
        ("'cafe\u0301'", "caf\u00e9"),
        ("caf\u00e9", "CAFE\u0301"),
        ("Straße", "STRASSE"),
        ("4", "4.0"),
        ("4.0", "4"),
        ("'007'", "7"),
        ("1e3", "1000"),
        ("-2", "-2.00"),
        ("yes", "true"),
        ("yes", "Yes"),
        ("true", "on"),
        ("off", "no"),
        ("'yes'", "yes"),
        ("true", "True"),
        ("2024-05-31", "2024"),
        ("2024-05-31", "2024-05"),
        ("2024-05-31", "2024-05-31"),
        ("2024-05-31 10:30:59", "2024-05-31"),
        ("2024-05-31 10:30:59", "2024-05-31T10"),
        ("2024-05-31T10:30:59Z", "2024-05-31 10:30"),
        ("2024-05-31T10:30:59.123+02:00", "2024-05-31 10:30:59"),
        ("'2024-05-31 10:30 +0200'", "2024-05-31 10:30"),
        ("2024", "2024"),
        ("'2024-05'", "2024"),
        ("''", ""),
    ],
)
def test_values_that_are_one(text: str, asked: str) -> None:
    """Across case, spaces, normal forms and ways to write a number; a date as far as it is given."""
    assert meets(value(text), "=", ["other", asked])


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Active", "act"),
        ("Active", "inactive"),
        ("a/b", "a"),
        ("4", "40"),
        ("4", "four"),
        ("'4 stars'", "4"),
        ("1.2.3", "1.2"),
        ("yes", "yes indeed"),
        ("true", "1"),
        ("true", "no"),
        ("off", "on"),
        ("'2024'", "2024-05"),
        ("2024-05-31", "2024-05-3"),
        ("2024-05-31", "2024-06"),
        ("2024-05-31", "202"),
        ("2024-05-31", "2024-05-31 10"),
        ("'2024-05-31 and on'", "2024"),
        ("nan", "inf"),
        ("resume", "résumé"),
    ],
)
def test_values_that_differ(text: str, asked: str) -> None:
    """Text is whole, a number no text, a date no longer than it is, an accent a letter."""
    assert not meets(value(text), "=", [asked])


@pytest.mark.parametrize(
    ("tag", "asked", "expected"),
    [
        *(("A/b/c", asked, True) for asked in ("a", "a/b", "A/B/C")),
        *(("a/b", asked, False) for asked in ("b", "a/b/c", "a/", "/b", "")),
        ("ab", "a", False),
        ("2024", "2024", True),
        ("2024-05", "2024", True),
    ],
)
def test_a_tag_has_the_tags_above_it(tag: str, asked: str, expected: bool) -> None:
    """`a/b` is `a` too, not `b`; a tag that begins alike is another."""
    assert expected == meets(value(f"['{tag}']", "tags"), "=", [asked])


@pytest.mark.parametrize(
    ("text", "op", "asked", "expected"),
    [
        *(("4", op, "4", expected) for op, expected in (("<", False), ("<=", True), (">", False), (">=", True))),
        *(("10", op, "9", expected) for op, expected in (("<", False), ("<=", False), (">", True), (">=", True))),
        *(("-1.5", op, "-1", expected) for op, expected in (("<", True), ("<=", True), (">", False), (">=", False))),
        ("1e3", ">", "999", True),
        ("'10'", ">", "9", True),
        *(("2024-05-31", op, "2024-05", expected)
          for op, expected in (("<", False), ("<=", True), (">", False), (">=", True))),
        *(("2024-05-31", op, "2024-05-30", expected)
          for op, expected in (("<", False), ("<=", False), (">", True), (">=", True))),
        *(("2024-05-31", op, "2025", expected)
          for op, expected in (("<", True), ("<=", True), (">", False), (">=", False))),
        ("2024-05-31T10:30:00Z", ">", "2024-05-31", False),
        ("2024-05-31T10:30:00Z", ">", "2024-05-31T10", False),
        ("2024-05-31T10:30:00Z", ">", "2024-05-31T09", True),
        ("2024-05-31 10:30:00", "<=", "2024-05-31 10:30", True),
        ("2024-05-31 10:30:00", "<", "2024-05-31T10:31", True),
        *((text, op, "3", False) for text in ("many", "true", "''", "1.2.3") for op in ("<", "<=", ">", ">=")),
        *(("many", op, "2024", False) for op in ("<", "<=", ">", ">=")),
        *(("'2024-05-31'", op, "3", False) for op in ("<", "<=", ">", ">=")),
        *(("7", op, "2024-05", False) for op in ("<", "<=", ">", ">=")),
    ],
)  # fmt: skip
def test_values_in_order(text: str, op: str, asked: str, expected: bool) -> None:
    """Numbers with numbers, dates with dates as far as both are given; anything else is neither less nor more."""
    assert expected == meets(value(text), op, [asked])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2023-12-31", False), ("2024-01-01", True), ("2024-05-31T23:59:00Z", True), ("2024-06-01", False), ("x", False)],
)
def test_a_range_holds_both_its_ends(text: str, expected: bool) -> None:
    """From the first moment of its first to the last of its last."""
    assert expected == meets(value(text), "..", ["2024", "2024-05"])


dates = st.dates().map(str)


@given(dates, dates)
def test_order_and_equality_agree(held_: str, asked: str) -> None:
    """Exactly one of less, equal, more; `<=` and `>=` are what they say."""
    date = Property("key", held_, None)
    less, equal, more = (meets(date, op, [asked]) for op in ("<", "=", ">"))

    assert [True] == [met for met in (less, equal, more) if met]
    assert (less or equal, more or equal) == (meets(date, "<=", [asked]), meets(date, ">=", [asked]))


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from(["<", "<=", ">", ">=", "="]))
def test_numbers_compare_as_numbers(one: float, other: float, op: str) -> None:
    """Whatever they look like."""
    found = value(repr(one))

    assert {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other, "=": one == other}[op] == meets(
        found, op, [repr(other)]
    )
