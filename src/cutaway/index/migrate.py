"""An index copied to another store: nothing is embedded, and no folder of notes is looked at.

The source is only read, in one state of it. The target is marked from the first step to the last, and whoever
opens it meanwhile is told that it is not finished; so a copy that was stopped simply starts over.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from cutaway.config import Settings
from cutaway.errors import IndexMismatch, IndexMissing, UsageError
from cutaway.index.manifest import Manifest
from cutaway.index.note_tables import row_terms
from cutaway.index.projects import projects_of
from cutaway.index.state import Judgments
from cutaway.index.store import Store, alone, copied_from, open_reader, open_writer
from cutaway.index.vectors import Space
from cutaway.notes.rows import parse

_Row = tuple[Any, ...]

# A note is held with its source, a word is a few letters.
_NOTES, _CHUNKS, _EMBEDDINGS, _WORDS = 100, 1_000, 2_000, 20_000
_SOURCE, _STATE, _SPACE, _UPDATED = 10, 13, 15, 16  # columns of notes, and of chunks
_OF_NOTES = "note_id IN (SELECT value FROM json_each(?))"


class Copied(NamedTuple):
    """How much was copied."""

    projects: int
    notes: int
    chunks: int
    ready: int
    """Chunks with a vector."""
    embeddings: int
    place: str
    """Where the copy is."""
    judgments: int = 0


def migrate(
    home: Path, settings: Settings, target: Settings, progress: Callable[[str, int, int], None], replace: bool = False
) -> Copied:
    """Copy the index in use to the store of other settings.

    Raises UsageError where that holds an index already, unless it is to be replaced.
    """
    if (settings.store, settings.store_schema) == (target.store, target.store_schema) or settings.store is target.store:
        raise UsageError("this is the store in use. Give another one with --to.")
    with alone(home, settings), alone(home, target), closing(open_reader(home, settings)) as reading:
        if not replace:
            _check_free(home, target, reading.place)
        with closing(open_writer(home, target, unfinished=True)) as writing, reading.snapshot():
            copied = _Copy(reading, writing, progress).made()
    judgments = Judgments(home, settings).all()
    if judgments:
        Judgments(home, target).keep(judgments)
    return copied._replace(judgments=len(judgments))


def _check_free(home: Path, target: Settings, source: str) -> None:
    """Raise UsageError where there is more than an unfinished copy of this source."""
    try:
        with closing(open_reader(home, target, unfinished=True)) as held:
            begun, place = copied_from(held), held.place
            used = any(held.execute(f"SELECT 1 FROM {name} LIMIT 1").get for name in ("projects", "embeddings"))
    except IndexMissing:
        return
    except IndexMismatch as error:
        raise UsageError(f"there is an index already: {error} To replace it: --replace") from None
    if begun is not None and begun != source:
        raise UsageError(f"{place} holds an unfinished copy of {begun}. To replace it: --replace")
    if begun is None and used:
        raise UsageError(f"{place} holds an index already. Nothing was changed. To replace it: --replace")


class _Copy:
    """One copy, table by table. Ids and keys stay as they are; but for spaces, which belong to a home."""

    def __init__(self, source: Store, target: Store, progress: Callable[[str, int, int], None]) -> None:
        self._source, self._target, self._progress = source, target, progress
        self._done = 0
        self._total = sum(_count(source, table) for table in ("notes", "chunks", "embeddings", "words"))

    def made(self) -> Copied:
        with self._target.transaction():
            self._target.clear()
            self._target.execute("INSERT INTO meta VALUES ('migrating', ?)", (self._source.place,))
        manifest = Manifest(self._target)
        spaces = self._spaces(manifest)
        self._small_tables()
        self._large_table("embeddings", ("id",), _EMBEDDINGS)
        self._large_table("words", ("stem", "term", "project_id"), _WORDS)
        self._notes()
        self._served_chunks(manifest, spaces)
        self._other_chunks(spaces)
        with self._target.transaction():
            for space in set(spaces.values()):
                manifest.settle(space)
        self._finish()
        held = ("projects", "notes", "chunks", "chunks WHERE state = 'ready'", "embeddings")
        projects, notes, chunks, ready, embeddings = (_count(self._target, table) for table in held)
        return Copied(projects, notes, chunks, ready, embeddings, self._target.place)

    def _spaces(self, manifest: Manifest) -> dict[int, Space]:
        """Where the vectors of each space will be; a home that cannot be had says so before much is copied."""
        query = "SELECT id, embedding, dimension FROM spaces WHERE id IN (SELECT space_id FROM chunks) ORDER BY id"
        with self._target.transaction():
            return {space: manifest.space(*rest) for space, *rest in self._source.execute(query)}

    def _small_tables(self) -> None:
        columns = "id, name, root, added_at, settings, own_file, trusted"
        with self._target.transaction():
            self._insert(f"projects ({columns})", self._source.execute(f"SELECT {columns} FROM projects"))
            for table in ("identities", "problems"):
                self._insert(table, self._source.execute(f"SELECT * FROM {table}"))

    def _large_table(self, table: str, keys: Sequence[str], size: int) -> None:
        for rows in self._pages(table, keys, size):
            with self._target.transaction():
                self._insert(table, rows)

    def _notes(self) -> None:
        """Notes with their properties and rows, and the terms of these."""
        for notes in self._pages("notes", ("id",), _NOTES):
            chosen = (json.dumps([note[0] for note in notes]),)
            with self._target.transaction():
                self._insert("notes", notes)
                for table in ("properties", "rows"):
                    self._insert(table, self._source.execute(f"SELECT * FROM {table} WHERE {_OF_NOTES}", chosen))
                found = self._source.execute(f"SELECT note_id, kind, ordinal, id FROM rows WHERE {_OF_NOTES}", chosen)
                self._feed(notes, {row[:3]: row[3] for row in found})

    def _feed(self, notes: Iterable[_Row], keys: dict[_Row, int]) -> None:
        """The terms of rows, analysed once more: a lexical index need not be able to say what it holds."""
        for note in notes:
            identity, project, path = note[:3]
            for row, terms in row_terms(parse(path, zlib.decompress(note[_SOURCE]))):
                key = keys.get((identity, row.kind, row.ordinal))
                if key is not None:
                    self._target.lexical.add(project, key, terms)

    def _served_chunks(self, manifest: Manifest, spaces: dict[int, Space]) -> None:
        """Chunks with a vector. They come before all others, as they are published by being the ones that wait."""
        projects = projects_of(self._target)
        for held_in, space in spaces.items():
            for chunks in self._pages("chunks", ("id",), _CHUNKS, f"state = 'ready' AND space_id = {held_in}"):
                with self._target.transaction():
                    waiting = [(*row[:_STATE], "pending", None, None, row[_UPDATED]) for row in chunks]
                    self._insert("chunks", waiting)
                    manifest.publish(projects, space)
                    dates = [(row[_UPDATED], row[0]) for row in chunks]
                    self._target.executemany("UPDATE chunks SET updated_at = ? WHERE id = ?", dates)

    def _other_chunks(self, spaces: dict[int, Space]) -> None:
        for chunks in self._pages("chunks", ("id",), _CHUNKS, "state <> 'ready'"):
            with self._target.transaction():
                moved = [row[_SPACE] and spaces[row[_SPACE]].id for row in chunks]
                pairs = zip(chunks, moved, strict=True)
                self._insert("chunks", [(*row[:_SPACE], space, row[_UPDATED]) for row, space in pairs])

    def _finish(self) -> None:
        """What is said of the whole, cursors' key and count of changes included: a cursor goes on in the copy."""
        with self._target.transaction():
            self._target.number_on()
            self._target.executemany(
                "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                self._source.execute("SELECT key, value FROM meta WHERE key <> 'schema'").fetchall(),
            )
            self._target.execute("DELETE FROM meta WHERE key = 'migrating'")

    def _pages(self, table: str, keys: Sequence[str], size: int, condition: str = "TRUE") -> Iterator[list[_Row]]:
        """The rows of a table, so many at a time, by its key."""
        order, count = ", ".join(keys), len(keys)
        query = f"SELECT {order}, {table}.* FROM {table} WHERE {condition}"
        beyond = f" AND ({order}) > ({', '.join('?' * count)})"
        last: _Row = ()
        while True:
            asked = f"{query}{beyond if last else ''} ORDER BY {order} LIMIT {size}"
            found: list[_Row] = self._source.execute(asked, last).fetchall()
            if not found:
                return
            yield [row[count:] for row in found]
            last = found[-1][:count]
            self._done += len(found)
            self._progress("copy", self._done, self._total)

    def _insert(self, table: str, rows: Iterable[_Row]) -> None:
        rows = list(rows)
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            self._target.executemany(f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT DO NOTHING", rows)


def _count(store: Store, chosen: str) -> int:
    return int(store.execute(f"SELECT count(*) FROM {chosen}").get)
