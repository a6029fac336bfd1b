"""Reading the store: one scope, read only. The manifest is the authority on what may be served."""

from __future__ import annotations

import json
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from cutaway.index.cards import Known, NoteCard, NoteNames, RowCard
from cutaway.index.kept import kept_property
from cutaway.index.lexicon import Lexicon
from cutaway.index.projects import known_notes
from cutaway.index.properties import Property, folded, meets
from cutaway.index.serving import ManifestReader
from cutaway.index.store import generation
from cutaway.model import NoteId, Problem, Project, RowId, Skip
from cutaway.notes.languages import DEFAULT

_Names = defaultdict[str, list[NoteNames]]

_ROW = 'SELECT kind, number, note_id, title, start, "end" FROM rows'
_NOTE = """
    SELECT id, project_id, path, title, aliases, permalink, type, tags, metadata, source, hash, form, skips, problem,
           indexed_at FROM notes
"""


class Reader(ManifestReader):
    """One state of the index, for an explicit, non-empty set of projects; of any other it knows nothing.

    What it has loaded it keeps, for itself or, in a ``Kept`` that several readers are given, for all that read
    the same scope in the same state.
    """

    @property
    def lexicon(self) -> Lexicon:
        return Lexicon(self._store, self._ids, self.kept)

    @kept_property
    def spoken(self) -> tuple[str, ...]:
        """The Latin-script languages of the scope: those that at least one in twenty of its notes is known to be in."""
        query = f"SELECT language, count(*) FROM notes WHERE project_id IN ({self._marks}) GROUP BY language"
        counts = {language: count for language, count in self._store.execute(query, self._ids) if language}
        enough = 0.05 * sum(counts.values())
        return tuple(sorted(language for language, count in counts.items() if count >= enough)) or DEFAULT

    @kept_property
    def generation(self) -> int:
        """Grows with every change to the index."""
        return generation(self._store)

    @kept_property
    def key(self) -> str:
        """What this index signs its cursors with."""
        return self._meta("cursor_key") or ""

    def counts(self, project: Project) -> dict[str, int]:
        """A project in numbers: notes and their bytes, observations, relations, chunks by state."""
        one, own = self._store.execute, (self._own(project),)
        notes, size = one("SELECT count(*), coalesce(sum(size), 0) FROM notes WHERE project_id = ?", own).get
        kinds = dict(one("SELECT kind, count(*) FROM rows WHERE project_id = ? GROUP BY kind", own))
        states = dict(one("SELECT state, count(*) FROM chunks WHERE project_id = ? GROUP BY state", own))
        return {
            "notes": notes,
            "bytes": int(size),
            "chunks": sum(states.values()),
            **{f"{kind}s": kinds.get(kind, 0) for kind in ("observation", "relation")},
            **{state: states.get(state, 0) for state in ("ready", "pending", "failed")},
        }

    @property
    def place(self) -> str:
        """Where the index is, as a user may be told."""
        return self._store.place

    def size(self) -> int:
        """Bytes of the whole index on disk."""
        return self._store.size()

    def known(self, project: Project) -> dict[str, Known]:
        """What each note of a project was read from, and how, by path."""
        return known_notes(self._store, self._own(project))

    def integrity_faults(self) -> list[str]:
        """What the engine finds wrong with the index, in all projects."""
        return self._store.faults()

    # Rows

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
        held = self._store.execute(f"SELECT DISTINCT key, text, number {chosen}", (folded(key), *self._ids))
        texts = [value.text for value in (Property(*row) for row in held) if not values or meets(value, op, values)]
        query = f"SELECT DISTINCT note_id {chosen} AND text IN (SELECT value FROM json_each(?))"
        found = self._store.execute(query, (folded(key), *self._ids, json.dumps(texts)))
        return [NoteId(note) for (note,) in found]

    def numbers(self, key: str) -> dict[NoteId, float]:
        """The number that notes have under a key; the least where a note has several."""
        query = (
            "SELECT note_id, min(number) FROM properties p JOIN notes n ON n.id = p.note_id"
            f" WHERE key = ? AND number IS NOT NULL AND project_id IN ({self._marks}) GROUP BY note_id"
        )
        return {NoteId(note): number for note, number in self._store.execute(query, (folded(key), *self._ids))}

    @kept_property
    def catalog(self) -> tuple[NoteNames, ...]:
        """Every note of the scope, and what it is called."""
        query = f"SELECT id, project_id, path, title, permalink, aliases FROM notes WHERE project_id IN ({self._marks})"
        rows: list[tuple[Any, ...]] = self._store.execute(query, self._ids).fetchall()
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

    @kept_property
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
        found = self._store.execute(query, self._ids * 2)
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

    def _meta(self, key: str) -> Any:
        return self._store.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
