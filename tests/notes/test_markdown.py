"""The outline of a note: headings, list items, links, comments, code, and where it may be cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.model import Span
from cutaway.notes.markdown import BLOCK, CODE_LINE, ITEM, NESTED, Outline, Wikilink, covers, outline
from cutaway.notes.source import Source

LINE_ENDS = pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
PIECES = [
    *(
        "# ",
        "###### ",
        "=== ",
        "---\n",
        "- ",
        "  - ",
        "1. ",
        "> ",
        "```",
        "~~~",
        "    ",
        "|",
        "|-|-|\n",
        "[[",
        "]]",
        "![[",
    ),
    *("[", "](", ")", "<!--", "-->", "%%", "<div>", "$$", "`", "*", "[^1]: ", "- [ ] ", "\\", "&amp;", "\0", "\ufeff"),
    *("\n", "\n\n", "\r\n", "\r", "\t", "a", "é", "🐘"),
]
markdown = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=25).map("".join)


def seen(text: str) -> Outline:
    return outline(Source(text.encode()), 0)


def headings(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in seen(text).headings]


def texts(text: str, spans: list[Span]) -> list[str]:
    return [text.encode()[span.start : span.end].decode() for span in spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n\n###### Six\n", [(1, "One"), (6, "Six")]),
        ("One\n===\n\nTwo\n---\n", [(1, "One"), (2, "Two")]),
        ("## Closed ##\n", [(2, "Closed")]),
        ("# With `code`, *stress* and [[A|a link]]\n", [(1, "With code, stress and a link")]),
        ("#  Wide   spaces \n", [(1, "Wide spaces")]),
        ("Over two\nlines\n===\n", [(1, "Over two lines")]),
        ("# A<br>B &amp; C\n", [(1, "AB & C")]),
        ("##\n", [(2, "")]),
        ("####### Seven\n\n#tag\n\n\\# Escaped\n", []),
    ],
)
def test_headings_have_a_level_and_a_text(text: str, expected: list[tuple[int, str]]):
    """
    Both ways to write them; the text is what a reader sees, on one line.
    """
    assert expected == headings(text)


@pytest.mark.parametrize("written", ["# {}\n", "{}\n---\n", "{}\n===\n"])
def test_a_heading_of_a_whole_paragraph_is_shortened_with_a_sign(written: str):
    """
    Every passage below carries its text: a long paragraph above a rule would be stored with each of them.
    """
    ((_, whole),) = headings(written.format("a" * 200))
    ((_, cut),) = headings(written.format("word " * 20_000))

    assert ("a" * 200, 200, "word…") == (whole, len(cut), cut[-5:])


@LINE_ENDS
@pytest.mark.parametrize(
    "disguise",
    [
        "```sh\n# install\n```\n",
        "~~~\n# install\n~~~\n",
        "```\n# install\n",
        "    # install\n",
        "> # install\n",
        "> > # install\n",
        "> [!note]\n> # install\n",
        "- # install\n",
        "- text\n\n  # install\n",
        "1. # install\n",
        "<!--\n# install\n-->\n",
        "<div>\n# install\n</div>\n",
        "%%\n# install\n%%\n",
        "%%\n\n# install\n\n%%\n",
        "[^1]: note\n\n    # install\n",
        "| a |\n|---|\n| # install |\n",
        "$$\n# install\n$$\n",
        "$$ x\n=\ny $$\n",
        "$$\nx\n---\n$$\n",
        "> $$\n> # install\n> $$\n",
    ],
    ids=ascii,
)
def test_what_looks_like_a_heading_inside_something_else_is_none(disguise: str, end: str):
    """
    Code, quotes, list items, comments, HTML, footnotes, tables and formulas have no headings of the note.
    """
    assert [(1, "Note")] == headings(f"# Note\n\n{disguise}".replace("\n", end))


@pytest.mark.parametrize("text", ["$$ is money\n# Real\n", "$$ a\n\n# Real\n\nb $$\n", "```\n$$\n```\n# Real\n$$\n"])
def test_no_heading_is_lost_because_a_text_speaks_of_money(text: str):
    """
    A formula has both its marks, and no blank line between them.
    """
    assert [(1, "Real")] == headings(text)


@LINE_ENDS
@pytest.mark.parametrize("lead", ["", "é🐘 intro"])
def test_a_heading_spans_its_own_line_exactly(lead: str, end: str):
    """
    Byte ranges hold whatever the line ends and whatever stood before.
    """
    text = f"{lead}{end}{end}## Títle{end}{end}text{end}"
    (heading,) = seen(text).headings

    assert "## Títle" == text.encode()[heading.start : heading.end].decode().rstrip()


def test_an_item_ends_its_own_words_where_a_nested_list_begins():
    """
    What a point says itself and what it holds are told apart.
    """
    text = "- one\n  more\n  - nested\n- two\n"
    items = sorted(seen(text).items)

    assert ["- one\n  more\n", "- nested\n", "- two\n"] == [text[item.start : item.own_end] for item in items]
    assert ["- one\n  more\n  - nested\n", "- nested\n", "- two\n"] == [text[item.start : item.end] for item in items]


@LINE_ENDS
@pytest.mark.parametrize(
    "lines",
    [
        ["- one", "\t- two", "\t\t- three", "\t- four", "- five"],
        ["1. one", "\t1. two", "\t\t- three", "   - four"],
        ["- one", "", "\t- two", "", "\t- three"],
        ["- [ ] one", "\t- [x] two", "* three", "\t+ four"],
        ["-\tone", "\t-\ttwo", "    - three", "- four"],
        ["- öne 🐘", "\t- twö", "\t\t- thrée"],
    ],
    ids=ascii,
)
def test_an_item_begins_at_its_own_marker_however_it_is_indented(lines: list[str], end: str):
    """
    Not on the line before it: tabs are as good as spaces.
    """
    items = sorted(seen("".join(line + end for line in lines)).items)
    found = texts("".join(line + end for line in lines), [Span(item.start, item.own_end) for item in items])

    assert [line.strip() for line in lines if line] == [text.strip() for text in found]
    assert [] == [text for text in found if text != text.lstrip()]


@LINE_ENDS
@pytest.mark.parametrize("indent", ["  ", "\t"], ids=["spaces", "tab"])
@pytest.mark.parametrize("quote", ["", "> ", ">> ", ">"], ids=["plain", "quoted", "quoted twice", "quoted closely"])
def test_a_nested_list_is_cut_between_its_lines(quote: str, indent: str, end: str):
    """
    Every item is a place to cut, and there is no other.
    """
    lines = [f"{quote}{line}{end}" for line in ("- one", f"{indent}- two", f"{indent}{indent}- three", "- four")]
    starts = {len("".join(lines[:place])) for place in range(len(lines))}

    assert starts == set(seen("".join(lines)).cuts)


@pytest.mark.parametrize(
    ("box", "expected"), [("[ ]", True), ("[x]", True), ("[X]", True), ("[a b]", False), ("", False)]
)
def test_a_box_makes_a_task(box: str, expected: bool):
    """
    Only an empty or a ticked box does.
    """
    assert [expected] == [item.task for item in seen(f"- {box} words\n").items]


@pytest.mark.parametrize("text", ["> - quoted\n", "> [!tip]\n> 1. quoted\n", "> > - quoted\n", "- a\n\n  > - quoted\n"])
def test_a_quoted_item_is_not_the_notes_own(text: str):
    """
    Lists inside quotes and callouts are what somebody else said.
    """
    assert [] == [item for item in texts(text, seen(text).items) if item.startswith("- quoted")]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[[Note]]", ("Note", None, None, False)),
        ("[[Note|Alias]]", ("Note", None, "Alias", False)),
        ("[[Note#Section]]", ("Note", "Section", None, False)),
        ("[[Note#Section|Alias]]", ("Note", "Section", "Alias", False)),
        ("[[Note#^block]]", ("Note", "^block", None, False)),
        ("[[#Section]]", ("", "Section", None, False)),
        ("[[ folder/Note ]]", ("folder/Note", None, None, False)),
        ("![[pic.png]]", ("pic.png", None, None, True)),
        ("![[pic.png|300]]", ("pic.png", None, "300", True)),
    ],
)
def test_a_wikilink_is_read_in_its_parts(written: str, expected: tuple[object, ...]):
    """
    Target, section and alias are kept apart, and an embed is known as one.
    """
    text = f"é {written} x"
    (link,) = seen(text).links

    assert Wikilink(3, 3 + len(written), *expected) == link


@LINE_ENDS
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[[Near\nfield]]", ("Near field", None, None)),
        ("[[Note#Some\n  part|the\n  words]]", ("Note", "Some part", "the words")),
        ("> [[Near\n> field|the\n> words]]", ("Near field", None, "the words")),
        ("- > [[Near\n  > field]]", ("Near field", None, None)),
    ],
)
def test_a_wikilink_that_is_wrapped_says_the_same(written: str, expected: tuple[object, ...], end: str):
    """
    Editors break long lines; a line end is a space, and the mark of a quote is no part of a name.
    """
    (link,) = seen(written.replace("\n", end)).links

    assert expected == (link.target, link.section, link.alias)


def test_a_wikilink_in_a_table_may_hide_its_bar():
    """
    The bar of an alias is escaped in a table; the escape belongs to neither side.
    """
    (link,) = seen("| [[Note#Part\\|Alias]] |\n|---|\n").links

    assert ("Note", "Part", "Alias") == (link.target, link.section, link.alias)


@pytest.mark.parametrize(
    "text", ["`[[A]]`", "```\n[[A]]\n```", "    [[A]]", "<!-- [[A]] -->", "\\[[A]]", "[[]]", "[A](b)"]
)
def test_what_only_looks_like_a_wikilink_is_none(text: str):
    """
    Code, comments, escapes, empty brackets and ordinary links are not wikilinks.
    """
    assert [] == seen(text).links


@LINE_ENDS
@pytest.mark.parametrize("mark", ["", "\ufeff", "text"], ids=["at the head", "byte order mark", "later"])
@pytest.mark.parametrize("comment", ["<!-- one -->", "<!--|# two||lines|-->", "%% one %%", "%%|two||lines|%%"])
def test_comments_that_stand_alone_are_known(comment: str, mark: str, end: str):
    """
    HTML and percent comments, on one line or many, wherever they stand and however lines end.
    """
    comment = comment.replace("|", end)
    head = mark if mark in ("", "\ufeff") else f"{mark}{end}{end}"
    text = f"{head}{comment}{end}{end}text{end}"
    found = outline(Source(text.encode()), 3 if mark == "\ufeff" else 0).comments

    assert [comment] == texts(text, found)


@pytest.mark.parametrize(
    "text",
    [
        "```\n%% a %%\n```\n",
        "    %% a %%\n",
        "- item\n\n      %% a %%\n",
        "```\n<!-- a -->\n```\n",
        "`%% a %%`\n",
        "100 %% and 50 %% of it\n",
        "%% never closed\n",
        "<!-- a --> and text\n",
        "text <!-- a -->\n",
    ],
    ids=ascii,
)
def test_text_is_not_hidden_because_it_mentions_a_comment(text: str):
    """
    Code that shows a comment is code; a comment amid a sentence stays with the sentence.
    """
    assert [] == seen(text).comments


def test_code_and_drawings_are_known_by_their_bytes():
    """
    Fences with their ticks, code inside a line, and the fence in which a drawing is stored.
    """
    text = "é `in` line\n\n```py\nx = 1\n```\n\n```compressed-json\nN4KAkA\n```\n"
    found = seen(text)

    assert ["`in`", "```py\nx = 1\n```", "```compressed-json\nN4KAkA\n```"] == texts(text, found.code)
    assert ["```compressed-json\nN4KAkA\n```"] == texts(text, found.drawings)


EXPECTED_CUTS = {
    "## Two": 2,
    "text": BLOCK,
    "- one": BLOCK,
    "  - nested": NESTED,
    "- two": ITEM,
    "```\na": BLOCK,
    "a\nb": CODE_LINE,
    "b\n```": CODE_LINE,
    "```\n\n|": CODE_LINE,
    "| h |": BLOCK,
    "| r |": ITEM,
}


def test_cuts_follow_the_structure():
    """
    Headings break by their level, then blocks, then items and rows of a table, then what is nested, then lines of code.
    """
    text = "## Two\n\ntext\n\n- one\n  - nested\n- two\n\n```\na\nb\n```\n\n| h |\n|---|\n| r |\n"
    lines = {text[: text.index(words)].count("\n"): level for words, level in EXPECTED_CUTS.items()}
    source = Source(text.encode())

    assert lines == {source.line(cut) - 1: level for cut, level in seen(text).cuts.items()}


@given(markdown)
def test_every_range_of_an_outline_lies_in_the_text_and_cuts_no_character(text: str):
    """
    Whatever is written, what the parser saw can be read back from the note's bytes.
    """
    source, found = Source(text.encode()), seen(text)
    spans = [*found.headings, *found.items, *found.links, *found.code, *found.comments, *found.drawings]
    bounds = [*found.cuts, *(bound for span in spans for bound in (span.start, span.end))]

    assert [] == [span for span in spans if not 0 <= span.start <= span.end <= len(source)]
    assert [] == [bound for bound in bounds if source.byte(source.char(bound)) != bound]


@given(markdown)
def test_headings_links_code_and_comments_come_in_order(text: str):
    """
    What later steps search by position is ordered by position.
    """
    found = seen(text)
    tables = (found.headings, found.links, found.code, found.comments)

    assert [sorted(table) for table in tables] == list(tables)


@pytest.mark.parametrize(
    ("position", "expected"), [(1, False), (2, True), (3, True), (4, False), (9, True), (10, False)]
)
def test_a_span_covers_its_first_byte_and_not_its_end(position: int, expected: bool):
    """
    Ranges are half open.
    """
    assert expected is covers([Span(2, 4), Span(6, 7), Span(9, 10)], position)
