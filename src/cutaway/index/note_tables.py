"""One note into its tables: itself, its properties, its rows with their words, its chunks."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from cutaway.index.properties import folded, properties_of
from cutaway.index.store import Store, now
from cutaway.model import NoteId, Project
from cutaway.notes.analyzer import note_terms
from cutaway.notes.chunks import Chunking
from cutaway.notes.files import content_hash
from cutaway.notes.languages import LATIN, language_of, stems
from cutaway.notes.rows import Fields, Note, Row

_LEARNED = 100_000  # words kept in mind, so that memory stays bounded


class Draft(NamedTuple):
    """A note as it is to be written."""

    note: Note
    chunking: Chunking
    form: str
    changed: str | None = None
    """The date of its file."""


def row_terms(note: Note) -> list[tuple[Row, Fields]]:
    """Each row of a note with its terms, field by field, as the lexical index is fed with them."""
    return [(row, Fields(*map(note_terms, row.fields))) for row in note.rows]  # type: ignore[arg-type]


class NoteTables:
    """The tables that hold what a note is made of. The vectors of its chunks are another's."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._learned: set[tuple[int, str, tuple[str, ...]]] = set()

    def write(self, project: Project, draft: Draft, held: int | None) -> None:
        """Write a note under the id it had, or a new one. What the tables held of it was cleared before."""
        note = draft.note
        identity = NoteId(held or self._free("notes", "id", f"{project.name}\0{note.path}"))
        analyzed = row_terms(note)
        language = language_of(analyzed[0][1].body)
        text = note.frontmatter.text
        self._store.execute("DELETE FROM notes WHERE id = ?", (identity,))
        self._store.execute(
            f"INSERT INTO notes VALUES ({', '.join('?' * 17)})",
            (
                *(identity, project.id, note.path, note.title, _json(note.aliases)),
                *(text("permalink"), text("type"), _json(note.tags), _json(note.frontmatter.metadata), language),
                *(zlib.compress(note.source.raw), len(note.source), content_hash(note.source.raw), draft.form),
                *(_json(draft.chunking.skips), note.frontmatter.problem, now()),
            ),
        )
        self._store.executemany(
            "INSERT INTO properties (note_id, key, text, number) VALUES (?, ?, ?, ?)",
            [(identity, *held) for held in properties_of(note, draft.changed)],
        )
        self._learn(project, (word for _, terms in analyzed for field in terms for word in field), language)
        chunks = Counter((chunk.row.kind, chunk.row.ordinal) for chunk in draft.chunking.chunks)
        rows = {
            (row.kind, row.ordinal): self._write_row(project, identity, row, terms, chunks[row.kind, row.ordinal])
            for row, terms in analyzed
        }
        self._write_chunks(project, identity, draft, rows)

    def clear(self, note: NoteId) -> None:
        """Remove all that a note is made of, but for the note itself."""
        self._store.lexical.remove(note)
        for table in ("properties", "rows", "chunks"):
            self._store.execute(f"DELETE FROM {table} WHERE note_id = ?", (note,))

    def _write_row(self, project: Project, identity: NoteId, row: Row, terms: Fields, chunks: int) -> int:
        length = sum(map(len, terms[:-1]))  # folders make no note longer
        number = self._free("rows", "number", f"{identity}\0{row.kind}\0{row.ordinal}")
        key: int = self._store.execute(
            "INSERT INTO rows"
            ' (number, note_id, project_id, kind, category, ordinal, title, start, "end", length, chunks)'
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            (
                *(number, identity, project.id, row.kind, row.category and folded(row.category), row.ordinal),
                *(row.title, *row.span, length, chunks),
            ),
        ).get
        self._store.lexical.add(project.id, key, terms)
        return key

    def _learn(self, project: Project, words: Iterable[str], language: str | None) -> None:
        """Remember by which stems words are found. Where a note's language is unknown, it is any of those known."""
        if len(self._learned) > _LEARNED:
            self._learned.clear()
        spoken = (language,) if language else LATIN
        new = {(project.id, word, spoken) for word in words} - self._learned
        self._learned |= new
        found = (
            (stem, word, project.id)
            for _, word, _ in new
            for stem in stems(word, spoken)
            if stem.split(" ", 1)[1] != word
        )
        self._store.executemany("INSERT INTO words VALUES (?, ?, ?) ON CONFLICT DO NOTHING", found)

    def _write_chunks(self, project: Project, identity: NoteId, draft: Draft, rows: dict[tuple[str, int], int]) -> None:
        for ordinal, (row, passage) in enumerate(draft.chunking.chunks, start=1):
            lines = draft.note.source.lines(passage.start, passage.end)
            self._store.execute(
                "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', NULL, NULL, ?)",
                (
                    *(self._free("chunks", "id", f"{identity}\0chunk\0{ordinal}"), identity, project.id),
                    *(rows[row.kind, row.ordinal], ordinal, passage.start, passage.end),
                    *(*lines, _json(passage.heading_path), passage.context),
                    *(passage.tokens, content_hash(passage.embedded.encode()), now()),
                ),
            )

    def _free(self, table: str, column: str, name: str) -> int:
        """An id made from a name, so that a rebuilt index gives the same one.

        52 bits survive JSON readers that know only doubles; the next number is taken on a collision.
        """
        wanted = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) >> 12
        while self._store.execute(f"SELECT 1 FROM {table} WHERE {column} = ?", (wanted,)).get is not None:
            wanted += 1
        return wanted


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
