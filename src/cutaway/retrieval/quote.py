"""The passage that is shown for each result, and which of its words matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cutaway.index.reader import Entry, NoteCard, Reader, RowCard
from cutaway.model import ChunkId, NoteId, RowId
from cutaway.notes.analyzer import note_terms, tokens
from cutaway.notes.source import Source
from cutaway.retrieval.tracing import Outcome, Scored, Stage, stage

MAX_CHARS = 2_000


class Quote(NamedTuple):
    """A verbatim range of a note, and the query's terms in it.

    ``highlights`` are character ranges of ``text``; ``truncated`` says that the row goes on.
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
    """What the rows of a page hold: their notes, their own ranges, their chunks."""

    notes: Mapping[NoteId, NoteCard]
    rows: Mapping[RowId, RowCard]
    chunks: Mapping[RowId, Sequence[Entry]]

    def text(self, note: NoteId, start: int, end: int) -> str:
        return self.notes[note].source[start:end].decode("utf-8", "replace")


def fetch(reader: Reader, page: Stage[RowId]) -> Shelf:
    """Read what is needed to show a page."""
    ids = [hit.id for hit in page.kept]
    rows = reader.rows(ids)
    return Shelf(reader.notes({card.note for card in rows.values()}), rows, reader.entries_of_rows(ids))


@stage
def quote(
    page: Stage[RowId], shelf: Shelf, idf: Mapping[str, float], *, lexical_leads: Sequence[RowId]
) -> Outcome[RowId]:
    """Choose each result's passage: the chunk that stands for the row, or the one its words point to.

    Where words were the stronger signal, that is the chunk whose distinct query terms weigh most.
    """
    kept = []
    for hit in page.kept:
        chosen = None if hit.id in lexical_leads else hit.via
        best = _most_terms(shelf, shelf.chunks.get(hit.id, ()), idf) if chosen is None else None
        kept.append(hit._replace(via=best.id if best else chosen))
    return Outcome(tuple(kept))


def quoted(hit: Scored[RowId], shelf: Shelf, terms: Sequence[str]) -> Quote:
    """The passage of a result, as ``quote`` chose it; a row without chunks shows its own range."""
    row = shelf.rows[hit.id]
    entry = next((entry for entry in shelf.chunks.get(row.id, ()) if entry.id == hit.via), None)
    source = Source(shelf.notes[row.note].source)
    start, end = (entry.start, entry.end) if entry else (row.start, row.end)
    text = source.slice(start, end)
    shown = text[:MAX_CHARS]
    end = start + len(shown.encode())
    found = [token for token in tokens(shown) if token.term in terms]
    return Quote(
        chunk=entry.id if entry else None,
        start=start,
        end=end,
        lines=source.lines(start, end),
        heading_path=entry.heading_path if entry else (),
        text=shown,
        terms=tuple(term for term in terms if any(token.term == term for token in found)),
        highlights=_merged([(token.start, token.end) for token in found]),
        truncated=len(shown) < len(text),
    )


def _most_terms(shelf: Shelf, entries: Sequence[Entry], idf: Mapping[str, float]) -> Entry | None:
    def weight(entry: Entry) -> float:
        held = set(note_terms(shelf.text(entry.note, entry.start, entry.end)))
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
