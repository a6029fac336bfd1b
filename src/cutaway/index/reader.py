"""Reading the store: one scope, read only. The manifest is the authority on what may be served."""

from __future__ import annotations

import json
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import apsw

from cutaway.errors import BadVector
from cutaway.index.cards import Entry, Known, NoteCard, NoteNames, Readiness, RowCard, Unserved
from cutaway.index.exact import ExactIndex
from cutaway.index.lexicon import Lexicon
from cutaway.index.projects import known_notes
from cutaway.index.properties import Property, folded, meets
from cutaway.index.sqlite import generation
from cutaway.model import ChunkId, NoteId, Problem, Project, RowId, Scope, Skip
from cutaway.notes.languages import DEFAULT

_Names = defaultdict[str, list[NoteNames]]

_ENTRY = """
    SELECT c.id, r.kind, r.number, c.note_id, c.ordinal, c.start, c.end, c.first_line, c.last_line, c.heading_path,
           c.context, c.tokens, c.text_hash, c.state, c.error, c.embedding_identity, c.index_identity, c.updated_at
    FROM chunks c JOIN rows r ON r.id = c.row_id
"""
_ROW = "SELECT kind, number, note_id, title, start, end FROM rows"
_NOTE = """
    SELECT id, project_id, path, title, aliases, permalink, type, tags, metadata, source, hash, form, skips, problem,
           indexed_at FROM notes
"""


class Reader:
    """One state of the index, for an explicit, non-empty set of projects; of any other it knows nothing.

    What it has loaded it keeps: several searches may share a reader as long as the index stays as it is.
    """

    def __init__(self, connection: apsw.Connection, scope: Scope) -> None:
        self._connection = connection
        self.scope = scope
        self._ids = tuple(project.id for project in scope)
        self._marks = ", ".join("?" * len(scope))
        self._vectors: ExactIndex | None = None

    @cached_property
    def lexicon(self) -> Lexicon:
        return Lexicon(self._connection, self._ids)

    @cached_property
    def spoken(self) -> tuple[str, ...]:
        """The Latin-script languages of the scope: those that at least one in twenty of its notes is known to be in."""
        query = f"SELECT language, count(*) FROM notes WHERE project_id IN ({self._marks}) GROUP BY language"
        counts = {language: count for language, count in self._connection.execute(query, self._ids) if language}
        enough = 0.05 * sum(counts.values())
        return tuple(sorted(language for language, count in counts.items() if count >= enough)) or DEFAULT

    @cached_property
    def embedding_identity(self) -> str | None:
        """The identity whose vectors the index holds; None where nothing was embedded."""
        found: str | None = self._meta("embedding")
        return found

    @property
    def dimension(self) -> int | None:
        """Of the vectors the index holds; None where nothing was embedded."""
        held = self._meta("dimension")
        return None if held is None else int(held)

    @cached_property
    def generation(self) -> int:
        """Grows with every change to the index."""
        return generation(self._connection)

    @cached_property
    def key(self) -> str:
        """What this index signs its cursors with."""
        return self._meta("cursor_key") or ""

    def vectors(self, dimension: int) -> ExactIndex:
        """The scope's vectors. Raises BadVector where they have another dimension."""
        held = self.dimension
        if held is not None and held != dimension:
            raise BadVector(f"the index holds {held}-dimensional vectors; the model gives {dimension}.")
        if self._vectors is None:
            self._vectors = ExactIndex(self._connection, dimension, self._ids)
        return self._vectors

    @cached_property
    def readiness(self) -> Readiness:
        query = f"SELECT state, count(*) FROM chunks WHERE project_id IN ({self._marks}) GROUP BY state"
        return Readiness(**dict(self._connection.execute(query, self._ids)))

    def counts(self, project: Project) -> dict[str, int]:
        """A project in numbers: notes and their bytes, observations, relations, chunks by state."""
        one, own = self._connection.execute, (self._own(project),)
        notes, size = one("SELECT count(*), total(size) FROM notes WHERE project_id = ?", own).get
        kinds = dict(one("SELECT kind, count(*) FROM rows WHERE project_id = ? GROUP BY kind", own))
        states = dict(one("SELECT state, count(*) FROM chunks WHERE project_id = ? GROUP BY state", own))
        return {
            "notes": notes,
            "bytes": int(size),
            "chunks": sum(states.values()),
            **{f"{kind}s": kinds.get(kind, 0) for kind in ("observation", "relation")},
            **{state: states.get(state, 0) for state in Readiness._fields},
        }

    def known(self, project: Project) -> dict[str, Known]:
        """What each note of a project was read from, and how, by path."""
        return known_notes(self._connection, self._own(project))

    def unserved(self, project: Project, identity: str | None) -> list[Unserved]:
        """Notes with chunks that may not be served: by state, by what was wrong, by what they were embedded as.

        Without an embedding identity in use, none is foreign.
        """
        query = (
            "SELECT n.path, c.state, c.error, c.embedding_identity, c.index_identity, count(*)"
            " FROM chunks c JOIN notes n ON n.id = c.note_id WHERE c.project_id = ?1 AND (c.state != 'ready'"
            " OR (?2 IS NOT NULL AND (c.embedding_identity IS NOT ?2 OR c.index_identity IS NOT ?3)))"
            " GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5"
        )
        found = self._connection.execute(query, (self._own(project), identity, ExactIndex.identity))
        return [Unserved(*row) for row in found]

    def integrity_faults(self) -> list[str]:
        """What SQLite finds wrong with the file, the lexical index included."""
        return [fault for (fault,) in self._connection.execute("PRAGMA integrity_check") if fault != "ok"]

    def vector_faults(self) -> tuple[int, int]:
        """How many vectors belong to no ready chunk, and how many ready chunks have no vector."""
        held = self.dimension
        ids = ExactIndex(self._connection, held, self._ids).stored_ids() if held else frozenset()
        query = f"SELECT id FROM chunks WHERE state = 'ready' AND project_id IN ({self._marks})"
        ready = {chunk for (chunk,) in self._connection.execute(query, self._ids)}
        return len(ids - ready), len(ready - ids)

    # Chunks and rows

    def entries(self, ids: Iterable[ChunkId]) -> dict[ChunkId, Entry]:
        """The manifest entries of these chunks, whatever their state; chunks out of scope have none."""
        found = self._select(f"{_ENTRY} WHERE c.id IN (SELECT value FROM json_each(?))", list(ids), "c")
        return {entry.id: entry for entry in map(_entry, found)}

    def entries_of_rows(self, rows: Iterable[RowId]) -> dict[RowId, list[Entry]]:
        """Every chunk of these rows, in source order."""
        numbers = [row.number for row in rows]
        query = f"{_ENTRY} WHERE c.row_id IN (SELECT id FROM rows WHERE number IN (SELECT value FROM json_each(?)))"
        entries: dict[RowId, list[Entry]] = defaultdict(list)
        for entry in sorted(map(_entry, self._select(query, numbers, "c")), key=lambda entry: entry.ordinal):
            entries[entry.row].append(entry)
        return entries

    def served(self, rows: Iterable[RowId], embedding: str, index: str) -> dict[RowId, list[ChunkId]]:
        """The chunks of these rows that may be served under these identities."""
        query = (
            "SELECT r.kind, r.number, c.id FROM rows r JOIN chunks c ON c.row_id = r.id"
            " WHERE r.number IN (SELECT value FROM json_each(?)) AND c.state = 'ready'"
            f" AND c.embedding_identity = ? AND c.index_identity = ? AND c.project_id IN ({self._marks})"
        )
        numbers = json.dumps([row.number for row in rows])
        chunks: dict[RowId, list[ChunkId]] = defaultdict(list)
        for kind, number, chunk in self._connection.execute(query, (numbers, embedding, index, *self._ids)):
            chunks[RowId(kind, number)].append(ChunkId(chunk))
        return chunks

    def served_chunks(self, embedding: str, index: str) -> list[ChunkId]:
        """Every chunk of the scope that may be served under these identities."""
        query = (
            "SELECT id FROM chunks WHERE state = 'ready' AND embedding_identity = ? AND index_identity = ?"
            f" AND project_id IN ({self._marks}) ORDER BY id"
        )
        return [ChunkId(chunk) for (chunk,) in self._connection.execute(query, (embedding, index, *self._ids))]

    def entries_of_note(self, note: NoteId) -> list[Entry]:
        """Every chunk of a note, in source order."""
        found = self._select(f"{_ENTRY} WHERE c.note_id IN (SELECT value FROM json_each(?))", [note], "c")
        return sorted(map(_entry, found), key=lambda entry: entry.ordinal)

    def chunks_of(self, rows: Iterable[int]) -> list[int]:
        """The chunks of rows, which are given by the store's own keys."""
        query = "SELECT id FROM chunks WHERE row_id IN (SELECT value FROM json_each(?))"
        return [chunk for (chunk,) in self._select(query, list(rows), "chunks")]

    def rows_in(self, categories: Iterable[str]) -> list[int]:
        """The store's own keys of the observations of these categories."""
        query = "SELECT id FROM rows WHERE category IN (SELECT value FROM json_each(?))"
        return [row for (row,) in self._select(query, [folded(category) for category in categories], "rows")]

    def rows(self, ids: Iterable[RowId]) -> dict[RowId, RowCard]:
        query = f"{_ROW} WHERE number IN (SELECT value FROM json_each(?))"
        found = self._select(query, [row.number for row in ids], "rows")
        return {card.id: card for card in (RowCard(RowId(*row[:2]), *row[2:]) for row in found)}

    def rows_of_note(self, note: NoteId) -> list[RowCard]:
        query = f"{_ROW} WHERE note_id IN (SELECT value FROM json_each(?))"
        found = self._select(query, [note], "rows")
        return [RowCard(RowId(*row[:2]), *row[2:]) for row in sorted(found, key=lambda row: (row[0], row[4], row[1]))]

    # Notes

    def notes(self, ids: Iterable[NoteId]) -> dict[NoteId, NoteCard]:
        found = self._select(f"{_NOTE} WHERE id IN (SELECT value FROM json_each(?))", list(ids), "notes")
        return {card.id: card for card in map(self._note, found)}

    def notes_with(self, key: str, op: str, values: Sequence[str]) -> list[NoteId]:
        """Notes that have a property, and, where values are given, one that compares so with them."""
        chosen = f"FROM properties p JOIN notes n ON n.id = p.note_id WHERE key = ? AND project_id IN ({self._marks})"
        held = self._connection.execute(f"SELECT DISTINCT key, text, number {chosen}", (folded(key), *self._ids))
        texts = [value.text for value in (Property(*row) for row in held) if not values or meets(value, op, values)]
        query = f"SELECT DISTINCT note_id {chosen} AND text IN (SELECT value FROM json_each(?))"
        found = self._connection.execute(query, (folded(key), *self._ids, json.dumps(texts)))
        return [NoteId(note) for (note,) in found]

    def numbers(self, key: str) -> dict[NoteId, float]:
        """The number that notes have under a key; the least where a note has several."""
        query = (
            "SELECT note_id, min(number) FROM properties p JOIN notes n ON n.id = p.note_id"
            f" WHERE key = ? AND number IS NOT NULL AND project_id IN ({self._marks}) GROUP BY note_id"
        )
        return {NoteId(note): number for note, number in self._connection.execute(query, (folded(key), *self._ids))}

    @cached_property
    def catalog(self) -> tuple[NoteNames, ...]:
        """Every note of the scope, and what it is called."""
        query = f"SELECT id, project_id, path, title, permalink, aliases FROM notes WHERE project_id IN ({self._marks})"
        rows: list[tuple[Any, ...]] = self._connection.execute(query, self._ids).fetchall()
        return tuple(
            NoteNames(note, project, path, title, permalink, tuple(json.loads(aliases)))
            for note, project, path, title, permalink, aliases in rows
        )

    def named(self, name: str, project: Project | None = None) -> list[NoteId]:
        """Notes that answer to a name: by path, exactly before in another case, else by any other name."""
        composed = unicodedata.normalize("NFC", name)
        exactly, anyhow, otherwise = self._by_name
        for held in (exactly[composed], anyhow[composed.casefold()], otherwise[composed.casefold()]):
            found = [card.note for card in held if project is None or card.project == project.id]
            if found:
                return found
        return []

    @cached_property
    def _by_name(self) -> tuple[_Names, _Names, _Names]:
        """Notes by path, by path in any case, by any other name in any case."""
        exactly, anyhow, otherwise = (defaultdict[str, list[NoteNames]](list) for _ in range(3))
        for card in self.catalog:
            path = unicodedata.normalize("NFC", card.path)
            exactly[path].append(card)
            anyhow[path.casefold()].append(card)
            for name in {unicodedata.normalize("NFC", name).casefold() for name in card.others}:
                otherwise[name].append(card)
        return exactly, anyhow, otherwise

    def problems(self) -> list[tuple[Project, Problem]]:
        """What the last sync reported, and each note's own problem."""
        by_id = {project.id: project for project in self.scope}
        query = (
            f"SELECT project_id, path, kind, message FROM problems WHERE project_id IN ({self._marks}) UNION ALL"
            f" SELECT project_id, path, 'frontmatter', problem FROM notes WHERE problem IS NOT NULL"
            f" AND project_id IN ({self._marks}) ORDER BY 1, 2"
        )
        found = self._connection.execute(query, self._ids * 2)
        return [(by_id[project], Problem(*problem)) for project, *problem in found]

    def _note(self, row: tuple[Any, ...]) -> NoteCard:
        note, project, path, title, aliases, permalink, kind, tags, metadata, source, *rest = row
        content, form, skips, problem, indexed_at = rest
        values: tuple[Any, ...] = (
            *(NoteId(note), next(known for known in self.scope if known.id == project), path, title),
            *(tuple(json.loads(aliases)), permalink, kind, tuple(json.loads(tags)), json.loads(metadata)),
            *(zlib.decompress(source), content, form, tuple(Skip(*skip) for skip in json.loads(skips))),
            *(problem, indexed_at),
        )
        return NoteCard(*values)

    def _select(self, query: str, values: Sequence[object], table: str) -> list[tuple[Any, ...]]:
        """Run a query over a list of values, held to the scope."""
        scoped = f"{query} AND {table}.project_id IN ({self._marks})"
        return self._connection.execute(scoped, (json.dumps(values), *self._ids)).fetchall()

    def _own(self, project: Project) -> int:
        """The id of a project of the scope; asking for another one is a mistake of ours, and raises ValueError."""
        return self._ids[self.scope.index(project)]

    def _meta(self, key: str) -> Any:
        return self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get


def _entry(row: tuple[Any, ...]) -> Entry:
    chunk, kind, number, note, ordinal, start, end, first, last, path, *rest = row
    place = (ordinal, start, end, (first, last), path)
    return Entry(ChunkId(chunk), RowId(kind, number), NoteId(note), *place, *rest)
