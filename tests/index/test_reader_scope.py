"""A reader of one scope is a reader of an index that holds nothing else, whatever it is asked for by id or by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from builders import HashEmbedder, opened, vectors_of
from cutaway.index.projects import projects_of
from cutaway.index.reader import Reader
from cutaway.index.store import open_reader
from cutaway.index.vectors import Space
from cutaway.model import RowId
from cutaway.notes.analyzer import Term
from lookalikes import MARKER, built, timeless
from retrieval.worlds import scoped

QUERY = np.ones(32, np.float32) / np.sqrt(np.float32(32))


class Everything(NamedTuple):
    """All that could be asked for, of every project."""

    notes: list[Any]
    rows: list[RowId]
    chunks: list[Any]


class Readers(NamedTuple):
    """Two readers of the same scope, and what there is outside it."""

    within: Reader
    alone: Reader
    asked: Everything


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Readers]:
    with timeless(side_by_side=True), ExitStack() as open_:
        homes = built(tmp_path_factory.mktemp("w"), ["mine"])
        every = open_.enter_context(opened(homes.all))
        notes = [card.note for card in every.catalog]
        rows = [row.id for note in notes for row in every.rows_of_note(note)]
        rows += [RowId(kind, row.number) for row in rows for kind in ("entity", "observation", "relation")]
        chunks = [entry.id for note in notes for entry in every.entries_of_note(note)]
        within, alone = (open_.enter_context(scoped(home, "mine")) for home in (homes.all, homes.alone))
        yield Readers(within, alone, Everything(notes, rows, chunks))


def lexicon(reader: Reader, asked: Everything) -> object:
    held = reader.lexicon
    words = ("bread", "banding", MARKER.lower(), "pain", "flour")
    terms = [Term(word, False, ("english", "german", "french")) for word in ("band", "bread", "farine")]
    return (
        (held.numbers.tolist(), held.kinds.tolist(), held.notes.tolist(), held.lengths.tolist(), held.chunks.tolist()),
        [[part.tolist() for part in held.postings(word, prefix)] for word in words for prefix in (False, True)],
        [held.holding([word], ["title", "body"]).tolist() for word in words],
        [held.forms(term) for term in terms],
        held.places(asked.rows),
    )


def vectors(reader: Reader, asked: Everything) -> object:
    held = vectors_of(reader, HashEmbedder())
    return (
        held.nearest(QUERY, 1_000),
        held.nearest(QUERY, 1_000, asked.chunks),
        {chunk: vector.tolist() for chunk, vector in held.vectors(asked.chunks).items()},
        held.stored_ids(),
    )


def space(reader: Reader) -> Space:
    """The one space there is; its key may differ from index to index."""
    held = reader.space("hash/32")
    assert held
    return held


def row_numbers(reader: Reader, keys: list[int]) -> list[int]:
    """The rows of the store's own keys, which differ from index to index."""
    return sorted(reader.lexicon.numbers[np.isin(reader.lexicon.ids, keys)].tolist())


ASKED: dict[str, Callable[[Reader, Everything], object]] = {
    "lexicon": lexicon,
    "vectors": vectors,
    "spoken": lambda reader, _: reader.spoken,
    "home": lambda reader, _: reader.home,
    "remedy": lambda reader, _: reader.remedy,
    "place": lambda reader, _: Path(reader.place).name,
    "size": lambda reader, _: reader.size() > 0,
    "space": lambda reader, _: space(reader)[1:],
    "standings": lambda reader, _: [(held.project.name, held.state, held.chunks) for held in reader.standings],
    "identities": lambda reader, _: reader.identities(reader.scope[0]),
    "foreign": lambda reader, _: reader.foreign("other/32"),
    "readiness": lambda reader, _: [reader.readiness(name) for name in (None, "hash/32", "other/32")],
    "mean_similarity": lambda reader, _: reader.mean_similarity(QUERY, space(reader)),
    "counts": lambda reader, _: reader.counts(reader.scope[0]),
    "known": lambda reader, _: reader.known(reader.scope[0]),
    "unserved": lambda reader, _: reader.unserved(reader.scope[0], "hash/32"),
    "integrity_faults": lambda reader, _: reader.integrity_faults(),
    "vector_faults": lambda reader, _: reader.vector_faults(),
    "entries": lambda reader, asked: reader.entries(asked.chunks),
    "entries_of_rows": lambda reader, asked: reader.entries_of_rows(asked.rows),
    "served": lambda reader, asked: reader.served(asked.rows, space(reader)),
    "served_chunks": lambda reader, _: reader.served_chunks(space(reader)),
    "entries_of_note": lambda reader, asked: [reader.entries_of_note(note) for note in asked.notes],
    "chunks_of": lambda reader, _: sorted(reader.chunks_of(range(10_000), space(reader))),
    "rows_in": lambda reader, _: row_numbers(reader, reader.rows_in(["fact", "tip", MARKER])),
    "rows": lambda reader, asked: reader.rows(asked.rows),
    "rows_of_note": lambda reader, asked: [reader.rows_of_note(note) for note in asked.notes],
    "notes": lambda reader, asked: reader.notes(asked.notes),
    "notes_with": lambda reader, _: [
        sorted(reader.notes_with(key, op, values))
        for key, op, values in (("tag", "=", []), ("status", "=", []), ("rating", ">=", ["1"]), (MARKER, "=", []))
    ],
    "numbers": lambda reader, _: reader.numbers("rating"),
    "catalog": lambda reader, _: reader.catalog,
    "named": lambda reader, _: [reader.named(name) for name in ("Bread", "Rye", "Loaf", MARKER, "forms.md")],
    "problems": lambda reader, _: reader.problems(),
}
OF_THE_WHOLE = {"generation", "key"}
"""How often the index changed and what it signs with: they only ever stand in a cursor, and there under a seal."""


@pytest.mark.parametrize("name", ASKED)
def test_a_reader_knows_of_nothing_else(readers: Readers, name: str) -> None:
    """Asked for the ids of every project, it answers for its own; every count and statistic is of these alone."""
    within, alone = (ASKED[name](reader, readers.asked) for reader in (readers.within, readers.alone))

    assert alone == within


def test_all_that_a_reader_can_be_asked_is_asked_here() -> None:
    """A new way to read must be tried as well."""
    public = {name for name, _ in inspect.getmembers_static(Reader) if not name.startswith("_")}

    assert public == ASKED.keys() | OF_THE_WHOLE


@pytest.mark.parametrize("name", ["counts", "known"])
def test_a_project_out_of_scope_cannot_be_handed_in(readers: Readers, name: str) -> None:
    """Not by mistake either: nothing is read."""
    connection = open_reader(readers.within.scope[0].root.parents[1] / "home_with_every_one")
    (foreign,) = (project for project in projects_of(connection) if project.name == "other")
    connection.close()

    with pytest.raises(ValueError, match="not in tuple"):
        getattr(readers.within, name)(foreign)
