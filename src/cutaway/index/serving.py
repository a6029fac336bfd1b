"""The manifest, read: which chunks there are, which of them may be served, and from which space."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cutaway.errors import BadVector
from cutaway.index.cards import Entry, Readiness, Unserved
from cutaway.index.homes import Home, Opening, home
from cutaway.index.kept import Kept, kept_property
from cutaway.index.means import Means
from cutaway.index.store import Store
from cutaway.index.vectors import Space, StoredVectors, Vector, VectorIndex
from cutaway.model import ChunkId, NoteId, Project, RowId, Scope

_SPACE = "SELECT id, embedding, home, dimension FROM spaces"
_ENTRY = """
    SELECT c.id, r.kind, r.number, c.note_id, c.ordinal, c.start, c.end, c.first_line, c.last_line, c.heading_path,
           c.context, c.tokens, c.text_hash, c.state, c.error, s.embedding, s.home, c.updated_at
    FROM chunks c JOIN rows r ON r.id = c.row_id
    LEFT JOIN spaces s ON s.id = c.space_id AND c.state = 'ready'
"""


class Standing(NamedTuple):
    """How many chunks of a project are in one state, and in which space."""

    project: Project
    state: str
    space: Space | None
    chunks: int


class ManifestReader:
    """The chunks of one scope, in one state of the index."""

    def __init__(self, store: Store, scope: Scope, kept: Kept | None = None, here: Path | None = None) -> None:
        self._store, self.kept, self.here = store, kept or Kept(), here
        self.scope = scope
        self._ids = tuple(project.id for project in scope)
        self._marks = ", ".join("?" * len(scope))
        self._indexes: dict[Space, VectorIndex] = {}

    @property
    def home(self) -> Home:
        """Where vectors are served from, as the settings have it."""
        return home(self._store.settings.vectors)

    @property
    def remedy(self) -> str:
        """What brings back vectors that the manifest promises and the home has lost."""
        if hasattr(self.home, "all_ids"):  # it is apart from the store, and every run mends it
            return "Run: cutaway index"
        lost = "the index file" if self._store.settings.store is None else "the index's schema in Postgres"
        return f"Delete {lost} and run: cutaway index"

    # What is ready

    @kept_property
    def standings(self) -> tuple[Standing, ...]:
        """Every chunk of the scope, counted by project, state and space."""
        projects = {project.id: project for project in self.scope}
        spaces = {space.id: space for space in (Space(*row) for row in self._store.execute(_SPACE))}
        query = (
            f"SELECT project_id, state, space_id, count(*) FROM chunks WHERE project_id IN ({self._marks})"
            " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        )
        found = self._store.execute(query, self._ids)
        return tuple(Standing(projects[held], state, spaces.get(space), count) for held, state, space, count in found)

    def space(self, embedding: str, dimension: int | None = None) -> Space | None:
        """Where this model's vectors are served from; None where nothing of the scope is ready there.

        Raises BadVector where they have another dimension than the model says.
        """
        ready = (held.space for held in self.standings if held.state == "ready" and held.space)
        found = next((held for held in ready if (held.embedding, held.home) == (embedding, self.home.identity)), None)
        if found and dimension is not None and found.dimension != dimension:
            raise BadVector(f"the index holds {found.dimension}-dimensional vectors; the model gives {dimension}.")
        return found

    def readiness(self, embedding: str | None) -> Readiness:
        """How many chunks are ready under this identity, and how many not; without one, ready is ready."""
        counts = dict.fromkeys(Readiness._fields, 0)
        for held in self.standings:
            served = embedding is None or (held.space and held.space[1:3] == (embedding, self.home.identity))
            counts[held.state if held.state != "ready" or served else "foreign"] += held.chunks
        return Readiness(**counts)

    def identities(self, project: Project) -> tuple[str, ...]:
        """The models whose vectors the index holds of a project, the one with most first."""
        counts: dict[str, int] = defaultdict(int)
        for held in self.standings:
            if held.project == project and held.state == "ready" and held.space:
                counts[held.space.embedding] += held.chunks
        return tuple(sorted(counts, key=lambda name: (-counts[name], name)))

    def foreign(self, embedding: str) -> dict[Project, tuple[str, ...]]:
        """The projects with chunks that are ready, but not under this identity, and what they are ready as."""
        found: dict[Project, tuple[str, ...]] = {}
        for held in self.standings:
            if held.state == "ready" and held.space and held.space[1:3] != (embedding, self.home.identity):
                said = f"{held.space.embedding} in {held.space.home}"
                found[held.project] = (*found.get(held.project, ()), said)
        return found

    def unserved(self, project: Project, embedding: str | None) -> list[Unserved]:
        """Notes with chunks that may not be served: by state, by what was wrong, by what they were embedded as.

        Without an embedding identity in use, none is foreign.
        """
        query = (
            "SELECT n.path, c.state, c.error, s.embedding, s.home, count(*) FROM chunks c"
            " JOIN notes n ON n.id = c.note_id LEFT JOIN spaces s ON s.id = c.space_id AND c.state = 'ready'"
            " WHERE c.project_id = ? AND (c.state <> 'ready' OR (? AND NOT (s.embedding = ? AND s.home = ?)))"
            " GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5"
        )
        values = (self._own(project), embedding is not None, embedding or "", self.home.identity)
        return [Unserved(*row) for row in self._store.execute(query, values)]

    # Vectors

    def vectors(self, space: Space) -> VectorIndex:
        """The scope's vectors in a space."""
        if space not in self._indexes:
            self._indexes[space] = self.home(Opening(self._store, space, self._ids, self._store.settings, self.kept))
        return self._indexes[space]

    def mean_similarity(self, query: Vector, space: Space) -> tuple[float, int]:
        """The query's product with the mean of the scope's vectors, and how many they are."""
        mean, count = Means(self._store).mean(space, self._ids)
        return round(float(np.vecdot(mean, query.astype(np.float64))), 9), count

    def vector_faults(self) -> tuple[int, int]:
        """How many vectors belong to no ready chunk, and how many ready chunks have no vector."""
        query = f"SELECT id FROM chunks WHERE state = 'ready' AND project_id IN ({self._marks})"
        ready = {chunk for (chunk,) in self._store.execute(query, self._ids)}
        held: set[int] = set()
        for space in [Space(*row) for row in self._store.execute(_SPACE)]:
            index = self.home(Opening(self._store, space, self._ids, self._store.settings))
            if space.home == self.home.identity and isinstance(index, StoredVectors):
                held |= index.stored_ids()
        return len(held - ready), len(ready - held)

    # Chunks

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

    def entries_of_note(self, note: NoteId) -> list[Entry]:
        """Every chunk of a note, in source order."""
        found = self._select(f"{_ENTRY} WHERE c.note_id IN (SELECT value FROM json_each(?))", [note], "c")
        return sorted(map(_entry, found), key=lambda entry: entry.ordinal)

    def served(self, rows: Iterable[RowId], space: Space) -> dict[RowId, list[ChunkId]]:
        """The chunks of these rows that may be served from this space."""
        query = (
            "SELECT r.kind, r.number, c.id FROM rows r JOIN chunks c ON c.row_id = r.id"
            " WHERE r.number IN (SELECT value FROM json_each(?)) AND c.state = 'ready' AND c.space_id = ?"
            f" AND +c.project_id IN ({self._marks})"  # as in _select
        )
        numbers = json.dumps([row.number for row in rows])
        chunks: dict[RowId, list[ChunkId]] = defaultdict(list)
        for kind, number, chunk in self._store.execute(query, (numbers, space.id, *self._ids)):
            chunks[RowId(kind, number)].append(ChunkId(chunk))
        return chunks

    def served_chunks(self, space: Space) -> list[ChunkId]:
        """Every chunk of the scope that may be served from this space."""
        query = f"SELECT id FROM chunks WHERE project_id IN ({self._marks}) AND state = 'ready' AND space_id = ?"
        return [ChunkId(chunk) for (chunk,) in self._store.execute(f"{query} ORDER BY id", (*self._ids, space.id))]

    def chunks_of(self, rows: Iterable[int], space: Space) -> list[int]:
        """The chunks that may be served of rows, which are given by the store's own keys."""
        held = "SELECT id FROM chunks WHERE state = 'ready' AND space_id = ?"
        query = f"{held} AND +project_id IN ({self._marks}) AND row_id IN (SELECT value FROM json_each(?))"
        return [chunk for (chunk,) in self._store.execute(query, (space.id, *self._ids, json.dumps(list(rows))))]

    def _select(self, query: str, values: Sequence[object], table: str) -> list[tuple[Any, ...]]:
        """Run a query over a list of values, held to the scope.

        With the plus it is no way to find them by: SQLite would rather read a whole project than look up a few ids.
        """
        scoped = f"{query} AND +{table}.project_id IN ({self._marks})"
        return self._store.execute(scoped, (json.dumps(values), *self._ids)).fetchall()

    def _own(self, project: Project) -> int:
        """The id of a project of the scope; asking for another one is a mistake of ours, and raises ValueError."""
        return self._ids[self.scope.index(project)]


def _entry(row: tuple[Any, ...]) -> Entry:
    chunk, kind, number, note, ordinal, start, end, first, last, path, *rest = row
    place = (ordinal, start, end, (first, last), path)
    return Entry(ChunkId(chunk), RowId(kind, number), NoteId(note), *place, *rest)
