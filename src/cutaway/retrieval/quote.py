"""The passage that is shown for each result, and which of its words matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import regex

from cutaway.index.cards import Entry, NoteCard, RowCard
from cutaway.index.reader import Reader
from cutaway.model import ENTITY, ChunkId, NoteId, RowId, Span
from cutaway.notes.analyzer import Term, answering, note_terms, note_tokens
from cutaway.notes.source import Source
from cutaway.notes.spans import remaining
from cutaway.retrieval.tracing import Outcome, Scored, Stage, stage

MAX_CHARS = 2_000
_SIGN = regex.compile(r"\X")


class Quote(NamedTuple):
    """A verbatim range of a note, and the query's terms in it.

    ``highlights`` are character ranges of ``text``; ``truncated`` says that the passage goes on.
    """

    chunk: ChunkId | None
    start: int
    end: int
    lines: tuple[int, int]
    heading_path: tuple[str, ...]
    text: str
    terms: tuple[str, ...]
    highlights: tuple[tuple[int, int], ...]
    truncated: bool


class Shelf(NamedTuple):
    """What the rows of a page hold: their notes, their own ranges, their chunks.

    A note's own row has the chunks of its observations too: their words are the note's.
    """

    notes: Mapping[NoteId, NoteCard]
    rows: Mapping[RowId, RowCard]
    chunks: Mapping[RowId, Sequence[Entry]]

    def text(self, note: NoteId, start: int, end: int) -> str:
        return self.notes[note].source[start:end].decode("utf-8", "replace")


def fetch(reader: Reader, ids: Sequence[RowId]) -> Shelf:
    """Read what is needed to show some rows."""
    rows = reader.rows(ids)
    chunks = dict(reader.entries_of_rows(ids))
    for row, card in rows.items():
        if row.kind == ENTITY:
            chunks[row] = reader.entries_of_note(card.note)
    return Shelf(reader.notes({card.note for card in rows.values()}), rows, chunks)


@stage
def quote(
    order: Stage[RowId], shelf: Shelf, idf: Mapping[Term, float], *, lexical_leads: Sequence[RowId]
) -> Outcome[RowId]:
    """Choose the passage of each result on the shelf: the chunk that stands for the row, or the one its words point to.

    Where words were the stronger signal, that is the chunk whose distinct query terms weigh most.
    The other results are out of the page's reach and stay as they are.
    """
    kept = []
    for hit in order.kept:
        if hit.id not in shelf.rows:
            kept.append(hit)
            continue
        chosen = None if hit.id in lexical_leads else hit.via
        best = _most_terms(shelf, shelf.chunks.get(hit.id, ()), idf) if chosen is None else None
        kept.append(hit._replace(via=best.id if best else chosen))
    return Outcome(tuple(kept))


def quoted(hit: Scored[RowId], shelf: Shelf, terms: Sequence[Term]) -> Quote:
    """The passage of a result, as ``quote`` chose it; a row without chunks shows its own range."""
    row = shelf.rows[hit.id]
    entry = next((entry for entry in shelf.chunks.get(row.id, ()) if entry.id == hit.via), None)
    source = Source(shelf.notes[row.note].source)
    start, end = (entry.start, entry.end) if entry else _own_text(row, shelf.notes[row.note])
    text = source.slice(start, end)
    shown = _clipped(text)
    end = start + len(shown.encode())
    found = [token for token in note_tokens(shown) if any(term.answered_by(token.term) for term in terms)]
    held = answering(terms, (token.term for token in found))
    return Quote(
        chunk=entry.id if entry else None,
        start=start,
        end=end,
        lines=source.lines(start, end),
        heading_path=entry.heading_path if entry else (),
        text=shown,
        terms=tuple(str(term) for term in terms if term in held),
        highlights=_merged([(token.start, token.end) for token in found]),
        truncated=len(shown) < len(text),
    )


def _own_text(row: RowCard, note: NoteCard) -> Span:
    """The first stretch of a row without chunks that is text, not frontmatter or another skip."""
    hidden = tuple(skip for skip in note.skips if skip.reason not in ("blank", "embed: false"))
    spans = list(remaining(Span(row.start, row.end), hidden))
    return next((span for span in spans if note.source[span.start : span.end].strip()), Span(row.end, row.end))


def _clipped(text: str) -> str:
    """At most MAX_CHARS characters, none of them torn from its marks."""
    if len(text) <= MAX_CHARS:
        return text
    ends = [sign.end() for sign in _SIGN.finditer(text, 0, MAX_CHARS + 1)]
    return text[: max((end for end in ends if end <= MAX_CHARS), default=MAX_CHARS)]


def _most_terms(shelf: Shelf, entries: Sequence[Entry], idf: Mapping[Term, float]) -> Entry | None:
    def weight(entry: Entry) -> float:
        held = answering(idf, note_terms(shelf.text(entry.note, entry.start, entry.end)))
        return sum(weight for term, weight in idf.items() if term in held)

    return min(entries, key=lambda entry: (-weight(entry), entry.ordinal), default=None)


def _merged(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
