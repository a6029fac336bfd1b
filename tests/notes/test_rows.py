"""A note's rows: itself and its observations; what is one, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.model import ENTITY, OBSERVATION, Span
from cutaway.notes.rows import Note, Row, parse, remaining

LINE_ENDS = pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
DISGUISES = [
    "- [ ] {}",
    "- [x] [fact] {}",
    "- [-] {}",
    "- [00:11] {}",
    "- [12:30 - 13:00] {}",
    "- [2024-05-06] {}",
    "- [fact](https://example.org) {}",
    "- [fact][guide] {}",
    "- [fact]: {}",
    "- [[fact]] {}",
    "- [^1] {}",
    "- [!fact] {}",
    "- \\[fact] {}",
    "- `[fact] {}`",
    "- **[fact]** {}",
    "- [fact]{}",
    "> - [fact] {}",
    "> [!note]\n> - [fact] {}",
    "> > 1. [fact] {}",
    "```\n- [fact] {}\n```",
    "~~~ md\n- [fact] {}\n~~~",
    "    - [fact] {}",
    "- code\n\n      - [fact] {}",
    "-     [fact] {}",
    "- ```\n  [fact] {}\n  ```",
    "| a |\n|---|\n| - [fact] {} |",
    "<!-- - [fact] {} -->",
    "<!--\n- [fact] {}\n-->",
    "%%\n- [fact] {}\n%%",
    "<div>\n- [fact] {}\n</div>",
    "# - [fact] {}",
    "## [fact] {}",
    "- # [fact] {}",
    "[fact] {}",
    "Text, then - [fact] {}",
    "\\- [fact] {}",
    "-[fact] {}",
    "- a\n\t> - [fact] {}",
    "# {} #tag",
    "Fixes issue #123 {}",
    "- Fixes #123 {} #tag",
    "- [[{}]] #tag",
]


def note(text: str) -> Note:
    return parse("folder/name.md", text.encode())


def observations(text: str) -> list[Row]:
    return [row for row in note(text).rows if row.kind == OBSERVATION]


def titles(text: str) -> list[str]:
    return [row.title for row in observations(text)]


@LINE_ENDS
@pytest.mark.parametrize("marker", ["-", "*", "+", "1.", "2)", "  -", "-  "])
@pytest.mark.parametrize("category", ["fact", "design decision", "größe", "想法", "open-question", "v2"])
def test_a_list_item_that_opens_with_a_category_is_an_observation(category: str, marker: str, end: str):
    """
    Any marker, any language; the category is what stands in the brackets.
    """
    assert [f"[{category}] pages repeat"] == titles(f"Intro.{end}{end}{marker} [{category}] pages repeat{end}")


@LINE_ENDS
@pytest.mark.parametrize("disguise", DISGUISES, ids=ascii)
def test_what_only_looks_like_an_observation_is_none(disguise: str, end: str):
    """
    Tasks, clocks, links, quotes, code, tables, comments, HTML, headings and plain text are not.
    """
    assert [] == titles(f"Intro.\n\n{disguise}\n".format("words").replace("\n", end))


@pytest.mark.parametrize("definition", ["[Guide]: https://example.org", "[guide]: /a 'A title'"])
def test_a_reference_link_at_the_head_of_an_item_is_no_category(definition: str):
    """
    Brackets that are defined as a link somewhere in the note are a link.
    """
    assert [] == titles(f"- [Guide] explains it\n\n{definition}\n")


@given(st.lists(st.sampled_from(["- [idea] {}", "* [idea] {}", *DISGUISES])), st.sampled_from(["\n", "\r\n", "\r"]))
def test_the_observations_of_a_note_are_those_written_and_no_others(blocks: list[str], end: str):
    """
    Whatever stands around them and in whatever order, each is found once, in source order.
    """
    text = "\n\nBetween.\n\n".join(block.format(f"words {number}") for number, block in enumerate(blocks))
    expected = [f"[idea] words {number}" for number, block in enumerate(blocks) if "[idea]" in block]

    assert expected == titles(text.replace("\n", end))


@LINE_ENDS
def test_continuation_lines_belong_to_the_observation(end: str):
    """
    Lines that go on with the item, indented or lazily, and a second paragraph of it.
    """
    text = f"- [fact] one{end}  two{end}three{end}{end}  four{end}{end}After.{end}"
    (row,) = observations(text)

    assert "[fact] one two three four" == row.title
    assert f"- [fact] one{end}  two{end}three{end}{end}  four" == text[row.span.start : row.span.end].rstrip()


@LINE_ENDS
@pytest.mark.parametrize("indent", ["  ", "\t"], ids=["spaces", "tab"])
def test_an_observation_ends_where_the_next_one_begins(indent: str, end: str):
    """
    A nested observation is its own row and not also a part of the one above; plain points are a part.
    """
    expected = [f"- [fact] parent\n{indent}- plain\n", f"{indent}- [idea] child\n", "- [fact] last\n"]
    text = "".join(expected).replace("\n", end)

    assert expected == [text[row.span.start : row.span.end].replace(end, "\n") for row in observations(text)]


@LINE_ENDS
@pytest.mark.parametrize("indent", ["  ", "\t", "    "], ids=["spaces", "tab", "many spaces"])
def test_an_observation_holds_nothing_of_the_point_it_stands_under(indent: str, end: str):
    """
    Its first line is its own.
    """
    text = f"- point{end}{indent}- [fact] one{end}{indent}{indent}- [fact] two{end}"

    assert [f"{indent}- [fact] one", f"{indent}{indent}- [fact] two"] == [
        text[row.span.start : row.span.end].rstrip() for row in observations(text)
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a #one b #two/three (c)", "fact\none\ntwo/three"),
        ("no mark, C# and #123", "fact\n"),
        ("`sed #code` stays code", "fact\n"),
        ("[jump](#below) and [[#Below]]", "fact\n"),
    ],
)
def test_an_observation_carries_its_category_and_its_own_tags(written: str, expected: str):
    """
    A tag has a letter and a mark before it; code, links, numbers and names that end in the mark are none.
    """
    (row,) = observations(f"- [fact] {written}\n")

    assert expected.rstrip() == row.fields.tags.rstrip()


@pytest.mark.parametrize("letters", [73, 74])
def test_a_long_title_is_shortened_with_a_sign(letters: int):
    """
    A title has at most eighty characters; one that lost words says so.
    """
    (title,) = titles(f"- [fact] {'x' * letters}\n")

    assert (f"[fact] {'x' * 73}" if letters == 73 else f"[fact] {'x' * 72}…") == title


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\ntitle: Given\n---\n# Heading\n", "Given"),
        ("# Heading\n\n# Another\n", "Heading"),
        ("## Minor\n\n# Heading\n", "name"),
        ("#\n\n# Heading\n", "name"),
        ("---\ntitle:\n---\n# Heading\n", "Heading"),
        ("## Minor\n\ntext\n", "name"),
        ("", "name"),
    ],
)
def test_a_note_is_called_by_its_title_its_heading_or_its_file(text: str, expected: str):
    """
    The first that there is, in this order.
    """
    assert expected == note(text).title


def test_the_notes_own_row_can_be_found_by_every_name_it_has():
    """
    Title and file name, aliases and permalink, headings, tags; the text comes without what is skipped.
    """
    text = "---\ntitle: T\naliases: [K8s]\npermalink: p/q\ntags: [x]\n---\n# H #y\n\nText.\n\n<!-- no -->\n"
    row = note(text).rows[0]

    assert (ENTITY, "T", Span(0, len(text))) == (row.kind, row.title, row.span)
    assert ("T\nname", "K8s\np/q", "H #y", "x\ny") == row.fields[:4]
    assert ["# H #y", "Text."] == [line for line in row.fields.body.splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\ntags: [one, '#two']\n---\n#three #one\n", ("one", "two", "three")),
        ("(#paren) #a/b #año #日本 #x-y\n", ("paren", "a/b", "año", "日本", "x-y")),
        ("# Title #tag\n\n> #quoted\n\n- #item\n", ("tag", "quoted", "item")),
        ("`#code`\n\n```\n#fence\n```\n\n    #indented\n", ()),
        ("<!-- #hidden -->\n\n%% #hidden %%\n", ()),
        ("amid <!-- #hidden --> text, <b title=' #hidden'>bold</b> #shown\n", ("shown",)),
        ("Fixes #123, C#, a#b, #, ##x, https://e.org/#part\n", ()),
        ("[jump](#install) and [[#Section]] and [[Note#Part]]\n", ()),
    ],
)
def test_the_tags_of_a_note(text: str, expected: tuple[str, ...]):
    """
    Declared ones first, then those in the text, each once; code, comments, numbers and links to sections have none.
    """
    assert expected == note(text).tags


@given(st.lists(st.integers(0, 50), max_size=12, unique=True), st.tuples(st.integers(0, 50), st.integers(0, 50)))
def test_what_remains_of_a_span_and_what_was_taken_make_it_whole(bounds: list[int], whole: tuple[int, int]):
    """
    Each byte is either taken or remains, and nothing outside the span is given.
    """
    taken = tuple(Span(*pair) for pair in zip(*[iter(sorted(bounds))] * 2, strict=False))
    span = Span(*sorted(whole))
    left = {byte for part in remaining(span, taken) for byte in range(*part)}

    assert set(range(*span)) - {byte for part in taken for byte in range(*part)} == left


@pytest.mark.parametrize("before", ["Some text.\n\n", "## Part\n\n", "- item\n\n"])
def test_a_level_1_heading_further_down_is_no_title(before: str) -> None:
    """A note that does not open with its title is named by its file."""
    assert "Impulse" == parse("physics/Impulse.md", f"{before}# Formulas\n\nmv\n".encode()).title


@pytest.mark.parametrize("before", ["", "\n\n", "<!-- draft -->\n\n", "---\ntags: [a]\n---\n"])
def test_the_level_1_heading_a_note_opens_with_is_its_title(before: str) -> None:
    """Blank lines, comments and frontmatter do not count."""
    assert "Momentum" == parse("Impulse.md", f"{before}# Momentum\n\nmv\n".encode()).title
