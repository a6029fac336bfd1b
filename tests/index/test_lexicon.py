"""This file is about the lexical index as ranking reads it: where each term stands, how often, in which scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import index_vault, opened, write_vault
from cutaway.index.lexicon import Lexicon
from cutaway.index.note_tables import Draft
from cutaway.index.schema import DERIVED, FIELD_COLUMNS, LASTING, OCCURRENCES
from cutaway.index.sqlite import SqliteStore
from cutaway.index.writer import Writer
from cutaway.model import Project, RowId
from cutaway.notes.analyzer import note_terms, tokens
from cutaway.notes.chunks import chunked
from cutaway.notes.divider import ChunkSettings
from cutaway.notes.rows import parse

BODY = FIELD_COLUMNS.index("body")
HERE = Project(1, "here", Path("/here"))


@contextmanager
def memory(notes: Mapping[str, str], project: Project = HERE) -> Iterator[tuple[SqliteStore, Writer]]:
    """A store in memory that holds these notes."""
    connection = SqliteStore(":memory:")
    connection.execute(LASTING + DERIVED + OCCURRENCES)
    writer = Writer(connection)
    for path, text in notes.items():
        put(writer, path, text, project)
    yield connection, writer
    connection.close()


def put(writer: Writer, path: str, text: str, project: Project = HERE) -> None:
    note = parse(path, text.encode())
    writer.write(project, Draft(note, chunked(note, None, ChunkSettings()), "form"))


def terms_of(text: str) -> list[str]:
    """The distinct terms of a text, in reading order."""
    return list(dict.fromkeys(token.term for token in tokens(text)))


def found(lexicon: Lexicon, term: str) -> dict[RowId, tuple[int, ...]]:
    """The rows that hold a term, with its count in each field."""
    postings = lexicon.postings(term)
    counts = [tuple(map(int, row)) for row in postings.counts]
    return {lexicon.rows([place])[0]: count for place, count in zip(postings.places, counts, strict=True)}


NOTE = """---
title: Maple
aliases: [maple tree]
tags: [maple, wood]
---
# Maple syrup

Maple and maple again.

- [fact] A maple is a tree #maple
- grows_in [[Maple street]]
"""


def test_a_term_is_counted_in_each_field_of_each_row() -> None:
    """Title, aliases, headings, tags and body apart; the note, its observation and its relation apart."""
    with memory({"maple.md": NOTE}) as (connection, _):
        counts = {row.kind: count for row, count in found(Lexicon(connection, (1,)), "maple").items()}

    fields = dict(zip(FIELD_COLUMNS, counts["entity"], strict=True))
    assert {"title": 2, "aliases": 1, "headings": 1, "tags": 1} == {name: fields[name] for name in FIELD_COLUMNS[:4]}
    assert (0, 0, 0, 1, 2, 0) == counts["observation"]
    assert (0, 0, 0, 0, 1, 0) == counts["relation"]


def test_a_word_is_counted_however_often_it_stands_there() -> None:
    """Thousands of times in one field are all counted, and spill into no other."""
    with memory({"a.md": "word " * 5_000}) as (connection, _):
        assert [(0, 0, 0, 0, 5_000, 0)] == list(found(Lexicon(connection, (1,)), "word").values())


words = st.lists(
    st.sampled_from(["oak", "elm", "Über", "café", "C++", "2026.4.10", "don't", "成语接龙", "🐘"]), max_size=6
)


@settings(max_examples=50)
@given(texts=st.lists(words.map(" ".join), min_size=1, max_size=5))
def test_postings_are_what_counting_by_hand_gives(texts: list[str]) -> None:
    """For every term of every note: the notes that hold it, and how often."""
    with memory({f"n{place}.md": text for place, text in enumerate(texts)}) as (connection, _):
        lexicon = Lexicon(connection, (1,))
        bags = [Counter(note_terms(text)) for text in texts]
        for term in {term for bag in bags for term in bag}:
            expected = sorted(bag[term] for bag in bags if bag[term])
            assert expected == sorted(count[BODY] for count in found(lexicon, term).values())


signs = st.text(
    st.one_of(st.sampled_from("oOk \"'*^:(){}-+#@._/\0\n"), st.characters(exclude_categories=["Cs"])), max_size=12
)


@settings(max_examples=100)
@given(text=signs, query=signs)
def test_any_text_is_found_by_its_terms_and_by_no_others(text: str, query: str) -> None:
    """Whatever the signs in note or query, a term is looked up as it is: no operator, no filter, no error."""
    with memory({"name.md": text}) as (connection, _):
        lexicon = Lexicon(connection, (1,))
        fields = [field for row in parse("name.md", text.encode()).rows for field in row.fields]
        held = {term for field in fields for term in note_terms(field)}

        for term in {*terms_of(query), *terms_of(text)}:
            assert (term in held) == bool(found(lexicon, term)), term


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("o*", []),
        ("aliases:oak", ["oak"]),
        ("{title} : ash", ["ash"]),
        ("NEAR(oak zebra, 1)", ["oak"]),
        ("-oak", ["oak"]),
        ("^ash", ["ash"]),
        ('"ash" AND "oak', ["ash", "oak"]),
        ("ash NOT oak", ["ash", "not", "oak"]),
    ],
)
def test_signs_of_a_query_language_mean_nothing(query: str, expected: list[str]) -> None:
    """No operator, no column filter and no prefix search: the words themselves are looked up."""
    with memory({"a.md": "# oak\n\nNot an ash."}) as (connection, _):
        lexicon = Lexicon(connection, (1,))

        assert expected == [term for term in terms_of(query) if found(lexicon, term)]


@pytest.mark.parametrize(
    "text", ["c++", "C#", "don't", "2026.4.10", "my-app_v2", "user.name", "node.js", "成语", "naïve"]
)
def test_every_term_of_a_query_is_found_where_the_same_text_stands(text: str) -> None:
    """What the analyzer makes of a text is stored as it is, so the same text finds it, all terms of it."""
    with memory({"a.md": f"It says {text} here."}) as (connection, _):
        lexicon = Lexicon(connection, (1,))

        assert dict.fromkeys(terms_of(text), 1) == {term: len(found(lexicon, term)) for term in terms_of(text)}


def test_a_term_is_found_in_scope_only() -> None:
    """Rows of other projects are neither listed nor counted."""
    with memory({"a.md": "oak"}) as (connection, writer):
        put(writer, "b.md", "oak", Project(2, "there", Path("/there")))

        assert [1, 1, 2, 0] == [
            len(Lexicon(connection, scope).postings("oak").places) for scope in ((1,), (2,), (1, 2), (3,))
        ]


def test_a_removed_or_rewritten_note_leaves_no_term_behind() -> None:
    """The old words are gone at once, and the file's own check finds nothing."""
    with memory({"a.md": "oak", "b.md": "oak elm"}) as (connection, writer):
        writer.remove_paths(HERE, ["a.md"])
        put(writer, "b.md", "ash elm")
        lexicon = Lexicon(connection, (1,))

        assert [0, 1, 1] == [len(found(lexicon, term)) for term in ("oak", "ash", "elm")]
        assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()


def test_places_lead_from_rows_and_back() -> None:
    """A row's place is where it stands by number; a row that is not there has none."""
    with memory({"maple.md": NOTE, "oak.md": "oak"}) as (connection, _):
        lexicon = Lexicon(connection, (1,))
        rows = lexicon.rows(list(range(len(lexicon))))
        strangers = [RowId("relation", rows[0].number), RowId("entity", 7), RowId("entity", 2**52)]

        assert {row: place for place, row in enumerate(rows)} == lexicon.places([*strangers, *reversed(rows)])
        assert sorted(row.number for row in rows) == [row.number for row in rows]


@pytest.mark.parametrize(
    ("group", "unit", "expected"),
    [
        ("row", "rows", [0, 1, 2, 3, 4, 5, 5]),
        ("row", "chunks", [0, 2, 3, 4, 4, 4, 4]),
        ("note", "rows", [0, 4, 5, 5, 5, 5, 5]),
        ("note", "chunks", [0, 3, 4, 4, 4, 4, 4]),
    ],
)
def test_the_widest_groups_bound_what_a_leg_must_read(group: str, unit: str, expected: list[int]) -> None:
    """How many rows or chunks the largest 0, 1, 2, … notes or rows have between them."""
    large = (
        "# Part 1\n\n" + "word " * 150 + "\n\n- [fact] It is so\n- part_of [[A]]\n- part_of [[B]]\n\n" + "more " * 150
    )
    with memory({"large.md": large, "small.md": "Text."}) as (connection, _):
        lexicon = Lexicon(connection, (1,))

        assert expected == [lexicon.widest(group, count, unit) for count in range(7)]


def test_an_empty_lexicon_answers(home: Path, vault: Path) -> None:
    """No note, no row, no term: nothing is found and nothing fails."""
    index_vault(home, write_vault(vault, {}))

    with opened(home) as reader:
        lexicon = reader.lexicon
        assert (0, {}, 0) == (len(lexicon), found(lexicon, "oak"), lexicon.widest("note", 3, "chunks"))
        assert {} == lexicon.places([RowId("entity", 1)])
