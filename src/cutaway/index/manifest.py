"""The manifest, written: which chunk waits, which is served from which space, and what became of the rest.

A vector is published only from the cache, so all that is ever stored of a text is one vector a model.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from cutaway.errors import CutawayError
from cutaway.index.homes import Opening, home, home_of
from cutaway.index.means import Means
from cutaway.index.mending import mend
from cutaway.index.store import Store, now
from cutaway.index.vectors import Apart, Maintained, Record, Space, Vector, VectorIndex
from cutaway.model import ChunkId, NoteId, Project, embedded_text

_IDS = "(SELECT value FROM json_each(?))"


class Pending(NamedTuple):
    """A text that waits for its vector."""

    text_hash: bytes
    text: str


class Manifest:
    """What becomes of each chunk. Callers group changes into transactions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._means = Means(store)
        self._indexes: dict[Space, VectorIndex] = {}

    # Spaces

    def space(self, embedding: str, dimension: int) -> Space:
        """Where vectors of a model are stored now, made if need be."""
        identity = home(self._store.settings.vectors).identity
        query = "SELECT id, embedding, home, dimension FROM spaces WHERE embedding = ? AND home = ?"
        if self._store.execute(query, (embedding, identity)).get is None:
            self._store.execute(
                "INSERT INTO spaces (embedding, home, dimension) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (embedding, identity, dimension),
            )
        space = Space(*self._store.execute(query, (embedding, identity)).get)
        self._index(space)  # a home that cannot be had says so before anything is embedded
        return space

    def settle(self, space: Space) -> bool:
        """Let the home know that nothing more is coming now; whether its answers may be others."""
        self._store.lock("settle", space.id)
        index = self._index(space)
        return isinstance(index, Maintained) and index.settle()

    def keep(self, space: Space) -> bool:
        """Let nobody drop a space before the transaction ends; whether it is still there."""
        query = f"SELECT c.id FROM spaces c WHERE c.id = ?{self._store.kept.replace('UPDATE', 'SHARE')}"
        return self._store.execute(query, (space.id,)).get is not None

    def elsewhere(self, projects: Sequence[Project], space: Space) -> dict[int, str]:
        """Those of these projects that are served from another space: by id, the model of one."""
        query = (
            "SELECT DISTINCT c.project_id, s.embedding FROM spaces s JOIN chunks c ON c.space_id = s.id"
            f" WHERE s.id <> ? AND c.project_id IN {_IDS}"
        )
        return dict(self._store.execute(query, (space.id, _ids(projects))).fetchall())

    def adopt(self, project: Project, space: Space) -> int:
        """Serve a project from this space alone. Its chunks in another are pending again; returns how many."""
        query = "SELECT c.id, c.space_id FROM chunks c WHERE c.project_id = ? AND c.space_id <> ?"
        if self._store.execute(f"{query} LIMIT 1", (project.id, space.id)).get is None:
            return 0
        every = f"SELECT c.id FROM chunks c WHERE c.project_id = ? ORDER BY c.id{self._store.kept}"
        self._store.execute(every, (project.id,))
        foreign: list[tuple[Any, ...]] = self._store.execute(query, (project.id, space.id)).fetchall()
        by_space: dict[int, list[ChunkId]] = defaultdict(list)
        for chunk, held_in in foreign:
            by_space[held_in].append(ChunkId(chunk))
        for held_in, chunks in by_space.items():
            left = self._space(held_in)
            self._withdraw(left, chunks)
            self._means.forget(left, project)
        self._store.execute(
            "UPDATE chunks SET state = 'pending', error = NULL, space_id = NULL WHERE project_id = ? AND space_id <> ?",
            (project.id, space.id),
        )
        for held_in in by_space:
            self._drop_if_unused(self._space(held_in))
        return len(foreign)

    def hold(self, notes: Iterable[NoteId]) -> None:
        """Let nobody claim the chunks of these notes until the transaction ends; waits for who has claimed some.

        A worker that is waited for may itself wait for sums. So a transaction holds all it will withdraw before
        it changes any.
        """
        query = f"SELECT c.id FROM chunks c WHERE c.note_id IN {_IDS} ORDER BY c.id{self._store.kept}"
        self._store.execute(query, (json.dumps(list(notes)),))

    def withdraw(self, note: NoteId) -> None:
        """Take the vectors of a note's chunks away, before the chunks themselves go."""
        query = (
            "SELECT c.id, c.project_id, c.space_id, e.vector FROM chunks c JOIN spaces s ON s.id = c.space_id"
            " JOIN identities i ON i.name = s.embedding"
            " LEFT JOIN embeddings e ON e.identity_id = i.id AND e.text_hash = c.text_hash"
            " WHERE c.note_id = ? AND c.state = 'ready' ORDER BY c.space_id"
        )
        held: list[tuple[Any, ...]] = self._store.execute(query, (note,)).fetchall()
        for held_in, group in groupby(held, key=lambda row: row[2]):
            rows = list(group)
            space = self._space(held_in)
            self._withdraw(space, [ChunkId(row[0]) for row in rows])
            self._means.take(space, rows[0][1], [np.frombuffer(row[3], np.float16) for row in rows if row[3]])

    def _withdraw(self, space: Space, chunks: Sequence[ChunkId]) -> None:
        index = self._index(space)
        if index is not None:
            index.delete(chunks)

    def _drop_if_unused(self, space: Space) -> None:
        self._store.execute(f"SELECT c.id FROM spaces c WHERE c.id = ?{self._store.kept}", (space.id,))
        if self._store.execute("SELECT 1 FROM chunks WHERE space_id = ? LIMIT 1", (space.id,)).get is None:
            index = self._index(space)
            if index is not None:
                index.drop()
            self._indexes.pop(space, None)
            self._store.execute("DELETE FROM spaces WHERE id = ?", (space.id,))

    def _space(self, key: int) -> Space:
        query = "SELECT id, embedding, home, dimension FROM spaces WHERE id = ?"
        return Space(*self._store.execute(query, (key,)).get)

    def _index(self, space: Space) -> VectorIndex | None:
        """The vectors of a space; None where their home is not to be had any more: nothing is served from there."""
        if space not in self._indexes:
            opening = Opening(self._store, space, (), self._store.settings)
            try:
                self._indexes[space] = home_of(space.home)(opening)
            except CutawayError:
                if space.home == home(self._store.settings.vectors).identity:
                    raise
                return None
        return self._indexes[space]

    def apart(self, space: Space) -> Apart | None:
        """The vectors of a space, where they are outside the database: they follow its transactions, not take part."""
        index = self._index(space)
        return index if isinstance(index, Apart) else None

    def mend(self, space: Space) -> int:
        """Put right what a stop left in a home outside the database; returns how many chunks wait again."""
        index = self.apart(space)
        return mend(self._store, space, index) if index else 0

    # Pending chunks

    def claimed(self, projects: Sequence[Project], limit: int) -> list[Pending]:
        """Distinct texts of these projects that wait for a vector and that nobody else has, the shortest first.

        A text belongs to whoever has the first chunk that waits for it.
        """
        waits = f"state = 'pending' AND project_id IN {_IDS}"
        found: list[tuple[Any, ...]] = self._store.execute(
            f'SELECT c.id, c."end" - c.start AS size FROM chunks c WHERE {waits} AND NOT EXISTS'
            f" (SELECT 1 FROM chunks WHERE {waits} AND text_hash = c.text_hash AND id < c.id)"
            f" ORDER BY size, c.text_hash LIMIT ?{self._store.unclaimed}",
            (_ids(projects), _ids(projects), limit),
        ).fetchall()
        sizes = dict(found)
        query = f'SELECT note_id, id, start, "end", context, text_hash FROM chunks WHERE id IN {_IDS} ORDER BY note_id'
        waiting = []
        rows: list[tuple[Any, ...]] = self._store.execute(query, (json.dumps(list(sizes)),)).fetchall()
        for note, chunks in groupby(rows, key=lambda row: row[0]):  # each source is read and unpacked once
            stored: Any = self._store.execute("SELECT source FROM notes WHERE id = ?", (note,)).get
            source = zlib.decompress(stored)
            for _, chunk, start, end, context, text_hash in chunks:
                text = embedded_text(context, source[start:end].decode())
                waiting.append((sizes[chunk], Pending(text_hash, text)))
        return [pending for _, pending in sorted(waiting)]

    def count(self, state: str, projects: Sequence[Project]) -> int:
        """How many chunks of these projects are in a state."""
        query = f"SELECT count(*) FROM chunks WHERE state = ? AND project_id IN {_IDS}"
        return int(self._store.execute(query, (state, _ids(projects))).get)

    def cached(self, embedding: str, hashes: Sequence[bytes]) -> set[bytes]:
        """Those of these texts whose embeddings are known."""
        query = (
            "SELECT text_hash FROM embeddings WHERE identity_id = (SELECT id FROM identities WHERE name = ?)"
            " AND text_hash IN (SELECT unhex(value) FROM json_each(?))"
        )
        return {key for (key,) in self._store.execute(query, (embedding, _hexed(hashes)))}

    def cache(self, embedding: str, embedded: Iterable[tuple[bytes, Vector]]) -> None:
        """Keep embeddings for good: a rebuild, a rename or a move then embeds nothing."""
        self._store.execute("INSERT INTO identities (name) VALUES (?) ON CONFLICT DO NOTHING", (embedding,))
        ordered = sorted(
            embedded, key=lambda pair: pair[0]
        )  # so that two writers of the same texts do not meet crosswise
        number = self._store.execute("SELECT id FROM identities WHERE name = ?", (embedding,)).get
        self._store.executemany(
            "INSERT INTO embeddings (identity_id, text_hash, vector) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [(number, key, vector.astype(np.float16).tobytes()) for key, vector in ordered],
        )

    def publish(self, projects: Sequence[Project], space: Space, hashes: Sequence[bytes] | None = None) -> int:
        """Store the vectors we have for pending chunks (of these texts, if any are named) and mark the chunks ready.

        Chunks that somebody else has claimed are left to them.
        """
        query = (
            "SELECT c.id, c.project_id, e.vector FROM chunks c JOIN embeddings e"
            " ON e.identity_id = (SELECT id FROM identities WHERE name = ?) AND e.text_hash = c.text_hash"
            f" WHERE c.state = 'pending' AND c.project_id IN {_IDS}"
        )
        values: tuple[Any, ...] = (space.embedding, _ids(projects))
        if hashes is not None:
            query += " AND c.text_hash IN (SELECT unhex(value) FROM json_each(?))"
            values = (*values, _hexed(hashes))
        query += f" ORDER BY c.project_id, c.id{self._store.unclaimed}"
        waiting: list[tuple[Any, ...]] = self._store.execute(query, values).fetchall()
        if not waiting:
            return 0
        records = [
            Record(ChunkId(chunk), project, np.frombuffer(vector, np.float16).astype(np.float32))
            for chunk, project, vector in waiting
        ]
        index = self._index(space)
        assert index is not None
        index.upsert(records)
        for project, group in groupby(records, key=lambda record: record.project):
            self._means.add(space, project, [record.vector for record in group])
        self._store.executemany(
            "UPDATE chunks SET state = 'ready', error = NULL, space_id = ?, updated_at = ? WHERE id = ?",
            [(space.id, now(), record.id) for record in records],
        )
        return len(records)

    def fail(self, projects: Sequence[Project], space: Space, text_hash: bytes, reason: str) -> int:
        """Mark the chunks of a text that this model cannot embed. They are never ranked by similarity."""
        failed = self._store.execute(
            "UPDATE chunks SET state = 'failed', error = ?, space_id = ?, updated_at = ?"
            " WHERE id IN (SELECT c.id FROM chunks c WHERE c.text_hash = ? AND c.state = 'pending'"
            f" AND c.project_id IN {_IDS}{self._store.unclaimed}) RETURNING id",
            (reason, space.id, now(), text_hash, _ids(projects)),
        )
        return len(failed.fetchall())


def _hexed(hashes: Iterable[bytes]) -> str:
    return json.dumps([key.hex() for key in hashes])


def _ids(projects: Sequence[Project]) -> str:
    return json.dumps([project.id for project in projects])
