"""Frontmatter: where it ends, what it says, and what is not frontmatter at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cutaway.notes.frontmatter import Frontmatter, read_frontmatter

BODY = "Body.\n"
SIGNS = ["a: ", "b:\n", "- ", "? ", "\n", "\n  ", " ", ", ", "&x ", "*x", "<<: ", "> ", "---", *"[]{}|#'\"=~@\t\x07é"]
TAGS = [f"!!{tag} " for tag in ("int", "bool", "float", "timestamp", "binary", "set", "omap", "null", "own")]
SCALARS = ["1", "0x", "1.5", ".nan", "-.inf", "12:30", "2024-13-45", "yes", "9" * 200, ":59" * 200]
LONG_NUMBERS = {
    "decimal": "9" * 5_000,
    "hexadecimal": "0x" + "f" * 5_000,
    "octal": "0" + "7" * 6_000,
    "binary": "0b" + "1" * 20_000,
    "by sixties": "1" + ":59" * 3_000,
    "by sixties with a fraction": "1" + ":59" * 300 + ".5",
}
yaml_texts = st.lists(st.sampled_from([*SIGNS, *TAGS, *SCALARS]) | st.text(max_size=3), max_size=12).map("".join)


def block(yaml: str) -> str:
    """The head of a note, with these lines between the dashes."""
    return f"---\n{yaml}\n---\n"


def read(yaml: str) -> Frontmatter:
    return read_frontmatter(block(yaml) + BODY)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["no mark", "byte order mark"])
def test_frontmatter_ends_where_the_body_begins(mark: str, end: str):
    """
    Delimiters, every kind of line end and a byte order mark are part of it; the body is not.
    """
    head = f"{mark}---{end}title: Ties{end}tags: [a, b]{end}---{end}"
    found = read_frontmatter(head + BODY)

    assert (len(head), {"title": "Ties", "tags": ["a", "b"]}) == (found.length, found.metadata)


@pytest.mark.parametrize(
    "text",
    ["---\ntitle: x\n---", "---\ntitle: x\n...\n", "---  \ntitle: x\n---\t\n", "---\n---\n", "---\n# a remark\n---\n"],
    ids=["end of file", "dots", "spaces behind", "empty", "only a remark"],
)
def test_every_way_to_close_frontmatter_is_known(text: str):
    """
    A block may be closed by dashes or dots or by the end of the file, and may hold nothing.
    """
    assert (len(text), None) == (read_frontmatter(text).length, read_frontmatter(text).problem)


@pytest.mark.parametrize(
    "text",
    [
        "---\nWe met at noon and talked.\n---\nMore.\n",
        "---\nDear all: we met: it was good\n---\nMore.\n",
        "---\n- one\n- two\n---\nMore.\n",
        "---\ntitle: never closed\n\nText.\n",
        "----\ntitle: x\n----\n",
        "--- title: x\n---\n",
        "\n---\ntitle: x\n---\n",
        " ---\ntitle: x\n---\n",
        "Text.\n\n---\ntitle: x\n---\n",
        "",
    ],
    ids=[
        "prose",
        "colons",
        "list",
        "open",
        "four",
        "one line",
        "blank",
        "indented",
        "later",
        "empty",
    ],
)
def test_text_between_rules_is_text(text: str):
    """
    Only a mapping between dashes at the very head is frontmatter; anything else stays in the note.
    """
    assert Frontmatter() == read_frontmatter(text)


@pytest.mark.parametrize(
    "value",
    [
        *("[a, b", "{a: b", "'open", "a: b", "@home", "2024-13-45", "!own x", "&x [*x]", "'\x07'", "*unknown"),
        *("!!timestamp never", "!!bool perhaps", "!!int ''", "!!int many", "!!binary é"),
        *("[" * 5000 + "]" * 5000, "[" * 500 + "]" * 500),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_frontmatter_that_is_no_valid_yaml_is_set_aside_and_named(value: str):
    """
    Its keys never become the passage of a note, and the reader is told what is wrong.
    """
    found = read(f"kind: note\ntitle: {value}")

    assert (len(block(f"kind: note\ntitle: {value}")), {}) == (found.length, found.metadata)
    assert (found.problem or "").startswith("frontmatter is not valid YAML: ")


@pytest.mark.parametrize("key", ["tags", "'tags'", '"tags"', "my-tags", "note.tags", "теги", "# a remark\n\ntags"])
def test_broken_frontmatter_is_known_by_its_first_key(key: str):
    """
    However the key is spelled; what begins with anything else is prose between two rules.
    """
    found = read(f"{key}: [a, b")

    assert (len(block(f"{key}: [a, b")), True) == (found.length, bool(found.problem))


def test_a_problem_is_named_with_its_line_in_the_file():
    """
    The opening dashes are line 1, so that an editor can be sent to the place.
    """
    problem = read("title: x\nwhen: a: b").problem

    assert "frontmatter is not valid YAML: mapping values are not allowed in this context (line 3)" == problem


@given(yaml_texts)
@example("!!bool ")
@example("!!int ")
def test_whatever_stands_between_the_dashes_it_can_be_read_and_stored(yaml: str):
    """
    No content raises, and what was read can always be written as strict JSON.
    """
    assert json.dumps(read(f"key: {yaml}").metadata, allow_nan=False)


@pytest.mark.parametrize("written", LONG_NUMBERS.values(), ids=LONG_NUMBERS.keys())
def test_a_number_too_long_to_count_with_is_a_text(written: str):
    """
    Python refuses to write some of them, and the index stores what it reads: one such note would stop them all.
    """
    found = read(f"digest: {written}")

    assert (written, None) == (json.loads(json.dumps(found.metadata))["digest"], found.problem)


@pytest.mark.parametrize("levels", [5, 30])
def test_aliases_that_expand_without_bound_are_a_problem_not_a_hang(levels: int):
    """
    Ten references in each of thirty levels would be 10 to the 30 values.
    """
    lines = [f"k{level}: &k{level} [{', '.join([f'*k{level - 1}'] * 10)}]" for level in range(1, levels)]
    found = read("\n".join(["k0: &k0 [x, x, x]", *lines]))

    assert ({}, "frontmatter is not valid YAML: more than 10,000 values") == (found.metadata, found.problem)


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("when: 2024-05-06", "2024-05-06"),
        ("when: 2024-05-06T07:08:09Z", "2024-05-06T07:08:09+00:00"),
        ("when: .nan", "nan"),
        ("when: -.inf", "-inf"),
        ("when: [1, [two, null]]", [1, ["two", None]]),
        ("when: {1: {x: yes}}", {"1": {"x": True}}),
        ("when: !!set {a}", ["a"]),
        ("when: 'a\U0001f418'", "a🐘"),
    ],
)
def test_metadata_is_kept_in_types_that_json_knows(yaml: str, expected: object):
    """
    Dates and odd numbers become text; lists and mappings keep their shape.
    """
    assert expected == read(yaml).metadata["when"]


@pytest.mark.parametrize("written", ["Ties", "2024", "2024-05-06", "No", "1.10", "010", "12:30", "1_000", "1e3", "C#"])
def test_a_title_or_an_alias_is_what_was_written(written: str):
    """
    YAML reads some plain words as numbers or as yes and no; a name is found by what its author typed.
    """
    found = read(f"title: {written}\naliases: [{written}]")

    assert (written, (written,)) == (found.text("title"), found.texts("aliases"))


@pytest.mark.parametrize("yaml", ["title: |\n  Over\n  two", "title: >-\n  Over\n  two", 'title: "Over\\n  two"'])
def test_a_title_is_one_line(yaml: str):
    """
    It is printed in lists, one line for each note.
    """
    assert "Over two" == read(yaml).text("title")


@pytest.mark.parametrize("yaml", ["title:", "title: ''", "title: '  '", "title: [a]", "title: {a: b}", "other: x"])
def test_a_value_that_is_no_text_is_none(yaml: str):
    """
    A missing, empty or structured value cannot be a title.
    """
    assert read(yaml).text("title") is None


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("tags: [a, b]", ("a", "b")),
        ("tags:\n  - a\n  - b", ("a", "b")),
        ("tags: a, b", ("a", "b")),
        ("tags: a", ("a",)),
        ("tags: [b, a, b, ' ', null]", ("b", "a")),
        ("tag: a\ntags: [b]", ("b", "a")),
        ("tags: 7", ("7",)),
        ("tags: [[Note]]", ("Note",)),
        ("tags:\n- [[A]]\n- [b, [c]]", ("A", "b", "c")),
        ("tags:\n- Momentum: a law\n- b", ("Momentum: a law", "b")),
        ("tags:\n- over\n  two lines", ("over two lines",)),
        ("tags: {a: b}", ()),
        ("tags:", ()),
        ("other: x", ()),
    ],
)
def test_a_list_may_be_written_in_every_usual_way(yaml: str, expected: tuple[str, ...]):
    """
    Flow and block lists, one word, words with commas; each value once, in the order written.
    """
    assert expected == read(yaml).texts("tags", "tag")


@pytest.mark.parametrize(("yaml", "expected"), [("embed: false", False), ("embed: no", False), ("embed: true", True)])
def test_a_flag_says_yes_or_no(yaml: str, expected: bool):
    """
    Both spellings of a clear no are understood.
    """
    assert expected is read(yaml).flag("embed")


@pytest.mark.parametrize("yaml", ["other: x", "embed:", "embed: perhaps", "embed: 0", "embed: [false]"])
def test_a_flag_that_says_nothing_clear_is_its_default(yaml: str):
    """
    Only a clear no turns something off.
    """
    assert (True, False) == (read(yaml).flag("embed"), read(yaml).flag("embed", default=False))
