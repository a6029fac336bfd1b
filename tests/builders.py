"""Small builders: folders of notes, an index over them, a fake model whose values do not matter."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pytest import MonkeyPatch

from cutaway.config import Settings
from cutaway.index.choices import store_choice
from cutaway.index.exact import ExactIndex
from cutaway.index.projects import as_scope, named_project, projects_of
from cutaway.index.reader import Reader
from cutaway.index.store import open_reader, open_writer
from cutaway.index.sync import Embedding, Report, embed_pending, sync
from cutaway.index.writer import Writer
from cutaway.models.embedder import Embedder, Vectors
from cutaway.notes import files
from cutaway.notes.analyzer import Term
from cutaway.retrieval.bm25 import Weighting
from cutaway.retrieval.pipeline import Answer, search
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import Request

WEIGHTING = Weighting(k1=0.9, b=0.6, inflected=0.9, fields=(2, 2, 1, 1, 1, 0.5))


def terms(*words: str) -> tuple[Term, ...]:
    """Words that are looked for."""
    return tuple(Term(word) for word in words)


OTHER_VALUES: dict[str, Any] = tomllib.loads("""
chunk_chars = 500
context_line = false
mode = "text"
literal = true
group = "row"
fusion = "rrf"
tie_breaker = 0.3
saturation = 0.8
k1 = 2.0
b = 0.5
inflected = 0.8
title_weight = 3.0
heading_weight = 2.0
tag_weight = 2.0
path_weight = 1.0
weigh = true
weights = "tag=x: 0.4"
min_similarity = 0.1
window = 50
weak_below = 0.4
rerank = true
rerank_depth = 5
rerank_formula = "replace"
rerank_weight = 0.3
""")
"""Another value than the default for every setting that a project may have for itself."""


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


Cutaway = Callable[..., Ran]
"""Runs one command line in process."""

_WORD = re.compile(r"\w+|[^\w\s]")


class WordTokenizer:
    """One token per word or sign, and two special ones."""

    def __init__(self, limit: int = 512) -> None:
        self.limit = limit

    def starts(self, text: str) -> Sequence[int]:
        return [match.start() for match in _WORD.finditer(text)]

    def unknown(self, text: str) -> float:
        """Words that begin with UNK are strange to this model."""
        words = re.findall(r"\w+", text)
        return sum(word.startswith("UNK") for word in words) / max(len(words), 1)

    def counts(self, texts: Sequence[str]) -> Sequence[int]:
        return [len(self.starts(text)) + 2 for text in texts]


class HashEmbedder:
    """A hash is an embedding: texts that share words are close. Counts what it was asked for."""

    def __init__(self, name: str = "hash", dimension: int = 32, limit: int = 512) -> None:
        self.identity = f"{name}/{dimension}"
        self.dimension = dimension
        self.tokenizer = WordTokenizer(limit)
        self.calls = 0
        self.embedded: list[str] = []
        self.asked_as_query: list[bool] = []

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        self.calls += 1
        self.asked_as_query += [query] * len(texts)
        self.embedded += texts
        return np.stack([self._vector(text) for text in texts]) if texts else np.empty((0, self.dimension), np.float32)

    def _vector(self, text: str) -> Vectors:
        vector = np.full(self.dimension, 0.05, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            vector[hashlib.blake2b(word.encode()).digest()[0] % self.dimension] += 1
        return vector


class LengthReranker:
    """A length is a reranker: the shorter a document, the better, in coarse steps full of ties. Counts its calls."""

    def __init__(self, name: str = "length", shortest_first: bool = True) -> None:
        self.identity = name
        self.shortest_first = shortest_first
        self.calls = 0
        self.read: list[str] = []

    def relevance(self, query: str, documents: Sequence[str]) -> list[float]:  # noqa: ARG002
        self.calls += 1
        self.read += documents
        scores = [min(len(document) // 20, 10) / 10 for document in documents]
        return [1 - score for score in scores] if self.shortest_first else scores


def write_vault(folder: Path, notes: Mapping[str, str | bytes]) -> Path:
    """Files on disk, byte for byte."""
    for path, content in notes.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def refuse_listing(folder: Path, monkeypatch: MonkeyPatch) -> None:
    """Make one folder unlistable, which permissions cannot do for every user who runs tests."""
    scandir = files.os.scandir

    def refusing(place: Path) -> object:
        if Path(place) == folder:
            raise PermissionError(13, "Permission denied")
        return scandir(place)

    monkeypatch.setattr(files.os, "scandir", refusing)


def index_vault(
    home: Path,
    vault: Path,
    embedder: Embedder | None = None,
    settings: Settings | None = None,
    name: str | None = None,
    allow_empty: bool = False,
) -> tuple[Report, Embedding]:
    """Sync a folder into the index of *home* and embed what is pending (where there is an embedder)."""
    settings = settings or Settings()
    connection = open_writer(home, settings)
    try:
        with connection.transaction():
            project = Writer(connection).add_project(name or vault.name, vault)
        quiet = lambda *_: None  # noqa: E731
        report = sync(project, connection, embedder, settings, quiet, allow_empty)
        return report, embed_pending([project], connection, embedder, quiet) if embedder else Embedding()
    finally:
        connection.close()


@contextmanager
def opened(home: Path, settings: Settings | None = None) -> Iterator[Reader]:
    """A reader over every project of *home*."""
    connection = open_reader(home, settings)
    try:
        yield Reader(connection, as_scope(projects_of(connection)))
    finally:
        connection.close()


def vectors_of(reader: Reader, embedder: Embedder) -> ExactIndex:
    """The stored vectors of a model, of which the scope has some."""
    space = reader.space(embedder.identity, embedder.dimension)
    assert space, "nothing is ready under this model"
    index = reader.vectors(space)
    assert isinstance(index, ExactIndex)
    return index


def elsewhere(embedding: str, home: str) -> str:
    """SQL that moves the first chunk of the first note to another space."""
    return (
        f"INSERT OR IGNORE INTO spaces (embedding, home, dimension) VALUES ('{embedding}', '{home}', 32);"
        f"UPDATE chunks SET space_id = (SELECT id FROM spaces WHERE embedding = '{embedding}' AND home = '{home}')"
        " WHERE ordinal = 1"
    )


def choose(home: Path, name: str, ignore: Sequence[str] = (), **settings: object) -> None:
    """Set what is used for one project alone, in place of what was set."""
    connection = open_writer(home)
    try:
        with connection.transaction():
            store_choice(connection, named_project(connection, name), settings, ignore)
    finally:
        connection.close()


def ask(
    home: Path,
    text: str,
    embedder: Embedder | str = "no model here",
    settings: Settings | None = None,
    models: Models | None = None,
    **request: object,
) -> Answer:
    """One search over every project of *home*; *models* where a reranker is among them."""
    with opened(home, settings) as reader:
        asked = Request(text, **request)  # type: ignore[arg-type]
        return search(asked, settings or Settings(), reader, models or Models(embedder))


def paths(answer: Answer) -> list[str]:
    """The paths on the page, in order."""
    return [answer.shelf.notes[answer.shelf.rows[hit.id].note].path for hit in answer.page]


def manifest(home: Path) -> list[tuple[object, ...]]:
    """All that an index holds of chunks and rows, for comparing two states of it."""
    connection = open_reader(home)
    try:
        chunks = connection.execute(
            "SELECT n.path, c.id, c.ordinal, c.start, c.end, c.text_hash, c.state, s.embedding, r.kind,"
            " r.number FROM chunks c JOIN notes n ON n.id = c.note_id JOIN rows r ON r.id = c.row_id"
            " LEFT JOIN spaces s ON s.id = c.space_id ORDER BY 1, 3"
        )
        return chunks.fetchall()
    finally:
        connection.close()
