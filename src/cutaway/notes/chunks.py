"""A note into passages: verbatim byte ranges that follow its structure and fit the embedder.

The note is first told apart into regions (skipped spans, observations, the rest), then each
region is divided. Every byte ends up in exactly one passage or one skip.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from cutaway.model import OBSERVATION, Passage, Skip, Span
from cutaway.notes.divider import ChunkSettings, Divider
from cutaway.notes.rows import Note, Row
from cutaway.notes.spans import remaining
from cutaway.notes.tokenizer import Tokenizer

CHUNK_FORMAT = "structure/v4"


class Chunk(NamedTuple):
    """A passage and the row it speaks for."""

    row: Row
    passage: Passage


class Chunking(NamedTuple):
    """A note's chunks in source order, and every byte that is in none of them."""

    chunks: tuple[Chunk, ...]
    skips: tuple[Skip, ...]


def chunked(note: Note, tokenizer: Tokenizer | None, settings: ChunkSettings) -> Chunking:
    """Divide a note into chunks. Without a tokenizer, sizes are judged by characters alone."""
    if not note.frontmatter.flag("embed"):
        rest = remaining(Span(0, len(note.source)), note.skips)
        return Chunking((), tuple(sorted((*note.skips, *(Skip(*span, "embed: false") for span in rest)))))
    divider = Divider(note, tokenizer, settings)
    chunks: list[Chunk] = []
    skips = list(note.skips)
    regions = list(_regions(note))
    for (span, row), following in zip(regions, [*(row for _, row in regions[1:]), None], strict=False):
        if reason := _why_not_embedded(divider, span, row, following):
            skips.append(Skip(*span, reason))
            continue
        for passage in divider.passages(span):
            if passage.text.strip():
                chunks.append(Chunk(row, passage))
            else:
                skips.append(Skip(passage.start, passage.end, "blank"))
    return Chunking(tuple(chunks), tuple(sorted(skips)))


def _regions(note: Note) -> Iterator[tuple[Span, Row]]:
    """The note without its skips, each observation apart from the text around it."""
    entity = note.rows[0]
    observed = [row for row in note.rows if row.kind == OBSERVATION]
    for span in remaining(Span(0, len(note.source)), note.skips):
        inside = []
        for row in observed[bisect_right(observed, span.start, key=lambda row: row.span.end) :]:
            if row.span.start >= span.end:
                break
            inside.append(row)
        parts = [(Span(max(row.span.start, span.start), min(row.span.end, span.end)), row) for row in inside]
        rest = [(part, entity) for part in remaining(span, tuple(part for part, _ in parts))]
        yield from sorted(parts + rest)


def _why_not_embedded(divider: Divider, span: Span, row: Row, following: Row | None) -> str | None:
    if not divider.source.slice(*span).strip():
        return "blank"
    if following is not None and following.kind == OBSERVATION and row.kind != OBSERVATION:
        every = divider.note.outline.headings
        headings = every[bisect_left(every, (span.start,)) : bisect_left(every, (span.end,))]
        between = remaining(span, tuple(Span(heading.start, heading.end) for heading in headings))
        only_headings = headings and not "".join(divider.source.slice(*part) for part in between).strip()
        context = divider.context_at(span.end)
        if only_headings and all(heading.text in context for heading in headings):
            return "heading, kept as context"
    return None
