"""Relation rows: what a note links to, and how it says it does."""

from __future__ import annotations

import pytest

from cutaway.model import RELATION
from cutaway.notes.rows import Row, parse

LINE_ENDS = pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])


def relations(text: str) -> list[Row]:
    return [row for row in parse("a.md", text.encode()).rows if row.kind == RELATION]


def titles(text: str) -> list[str]:
    return [row.title for row in relations(text)]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("- uses [[Target]]", "uses → Target"),
        ("- uses [[Target|Alias]]", "uses → Target"),
        ("- uses [[Target#Section]]", "uses → Target#Section"),
        ("- uses [[Target#Section|Alias]]", "uses → Target#Section"),
        ("* depends on [[Target]] (always (really))", "depends on → Target"),
        ("+ relates_to [[a/b/Target]]", "relates_to → a/b/Target"),
        ("- **uses**: [[Target]]", "uses → Target"),
        ("- uses [[Target]]\n  (goes on)", "uses → Target"),
        ("- uses [[Long\n  Target]]", "uses → Long Target"),
        ("- what it\n  uses [[Target]]", "links_to → Target"),
        ("- a\n\t- uses [[Target]]", "uses → Target"),
        ("- [[Target]]", "links_to → Target"),
        ("- [ ] uses [[Target]]", "links_to → Target"),
        ("- uses [[Target]] for its speed", "links_to → Target"),
        ("- one two three four five six [[Target]]", "links_to → Target"),
        ("- [fact] see [[Target]]", "links_to → Target"),
        ("> - uses [[Target]]", "links_to → Target"),
        ("# About [[Target]]", "links_to → Target"),
        ("See [[Target|Alias]].", "links_to → Target"),
        ("| [[Target\\|Alias]] |\n|---|", "links_to → Target"),
    ],
)
@LINE_ENDS
def test_a_wikilink_is_a_relation_of_the_type_its_list_item_names(written: str, expected: str, end: str):
    """
    A short list item that says a type, a target and perhaps a context; any other link is `links_to`.
    """
    assert [expected] == titles(f"{written}\n".replace("\n", end))


@pytest.mark.parametrize(
    "written",
    [
        "![[pic.png]]",
        "- ![[pic.png]]",
        "- shows ![[pic.png]]",
        "[[#Section]]",
        "`[[A]]`",
        "<!-- [[A]] -->",
        "%% [[A]] %%",
    ],
)
def test_what_points_at_no_other_note_in_words_is_no_relation(written: str):
    """
    Embeds, links within the note, code and comments.
    """
    assert [] == titles(f"{written}\n")


@LINE_ENDS
def test_a_relation_is_found_by_its_type_target_alias_and_context(end: str):
    """
    All that its line says is searchable, and its bytes are that line.
    """
    text = f"é{end}{end}- uses [[Target#Part|Alias]] (since{end}  May){end}{end}After.{end}"
    (row,) = relations(text)

    assert "uses Target#Part Alias since May" == row.fields.body
    assert f"- uses [[Target#Part|Alias]] (since{end}  May)" == text.encode()[slice(*row.span)].decode().rstrip()


def test_a_link_amid_text_is_a_row_of_its_own_bytes():
    """
    Where the sentence is not a relation, only the link is.
    """
    text = "See [[A]] and [[B|b]].\n"

    assert ["[[A]]", "[[B|b]]"] == [text[slice(*row.span)] for row in relations(text)]


def test_relations_come_in_source_order_each_once():
    """
    The same target under another type or another section is another relation; the same again is not.
    """
    text = "[[B]] [[A]] [[B|again]] [[B#part]]\n\n- uses [[B]]\n- uses [[B]]\n"

    assert ["links_to → B", "links_to → A", "links_to → B#part", "uses → B"] == titles(text)
    assert [0, 1, 2, 3] == [row.ordinal for row in relations(text)]
