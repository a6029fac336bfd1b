"""One small note, whole: each of its rows and passages, written out by hand."""

from __future__ import annotations

from builders import WordTokenizer
from cutaway.notes.chunks import Chunking, ChunkSettings, chunked
from cutaway.notes.rows import Note, parse

TEXT = """\
---
title: Pagination laws
tags: [search]
---
# Pagination laws

Pages joined together are one long page. #order

## Facts

- [law] a deeper page
  only appends (core)
- [measured] ties repeat rows, see [[Ties#Windows|windows]]
- uses [[Total order]] (everywhere)
- a plain point

> - [law] somebody said so

## Setup

```sh
# install
pip install pages
```

- [ ] [law] check this

<!-- - [law] not yet -->

### Later

![[diagram.png]]
"""


def golden() -> Note:
    return parse("laws.md", TEXT.encode())


def divided(max_chars: int) -> Chunking:
    return chunked(golden(), WordTokenizer(), ChunkSettings(max_chars=max_chars))


def test_the_rows_of_a_note():
    """
    Kind, title and lines of each: the note, its observations, its relations.
    """
    note = golden()

    assert [
        ("entity", "Pagination laws", (1, 32)),
        ("observation", "[law] a deeper page only appends (core)", (11, 12)),
        ("observation", "[measured] ties repeat rows, see [[Ties#Windows|windows]]", (13, 13)),
        ("relation", "links_to → Ties#Windows", (13, 13)),
        ("relation", "uses → Total order", (14, 14)),
    ] == [(row.kind, row.title, note.source.lines(*row.span)) for row in note.rows]


def test_the_passages_of_a_note():
    """
    Row, lines, heading path and context of each; what a passage says itself is not in its context.
    """
    lines = golden().source.lines

    assert [
        ("entity", (5, 9), ("Pagination laws",), ""),
        ("observation", (11, 12), ("Pagination laws", "Facts"), "Pagination laws › Facts"),
        ("observation", (13, 13), ("Pagination laws", "Facts"), "Pagination laws › Facts"),
        ("entity", (14, 26), ("Pagination laws",), "Pagination laws"),
        ("entity", (30, 32), ("Pagination laws", "Setup", "Later"), "Pagination laws › Setup"),
    ] == [
        (row.kind, lines(passage.start, passage.end), passage.heading_path, passage.context)
        for row, passage in divided(900).chunks
    ]


def test_smaller_passages_of_the_same_note():
    """
    Sections come apart first; a fence and a list stay whole where they fit.
    """
    note = golden()

    assert [
        ((5, 9), ("Pagination laws",)),
        ((11, 12), ("Pagination laws", "Facts")),
        ((13, 13), ("Pagination laws", "Facts")),
        ((14, 17), ("Pagination laws", "Facts")),
        ((19, 26), ("Pagination laws", "Setup")),
        ((30, 32), ("Pagination laws", "Setup", "Later")),
    ] == [
        (note.source.lines(chunk.passage.start, chunk.passage.end), chunk.passage.heading_path)
        for chunk in divided(100).chunks
    ]


def test_the_bytes_of_a_note_that_no_passage_holds():
    """
    Each with its reason.
    """
    lines = golden().source.lines

    assert [((1, 4), "frontmatter"), ((28, 28), "comment")] == [
        (lines(skip.start, skip.end), skip.reason) for skip in divided(900).skips
    ]
