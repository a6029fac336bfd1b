"""Small readings of an index: its whole state, what is wrong with it, the vectors it holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from builders import HashEmbedder, manifest, opened
from cutaway.index.store import generation, open_reader
from cutaway.model import NoteId
from cutaway.models.embedder import Vectors


class BatchEmbedder(HashEmbedder):
    """Keeps every batch it was handed, and may stop or spoil what it gives."""

    def __init__(self, stop_at: int | None = None, spoiled: str | None = None, value: float = np.nan) -> None:
        super().__init__()
        self.batches: list[list[str]] = []
        self.stop_at, self.spoiled, self.value = stop_at, spoiled, value

    def embed(self, texts: Sequence[str]) -> Vectors:
        if len(self.batches) == self.stop_at:
            raise KeyboardInterrupt
        self.batches.append(list(texts))
        vectors = super().embed(texts)
        for place, text in enumerate(texts):
            if self.spoiled is not None and self.spoiled in text:
                vectors[place] = self.value
        return vectors


def state(home: Path) -> tuple[object, ...]:
    """All that an index holds, and how often it changed."""
    connection = open_reader(home)
    try:
        notes = connection.execute("SELECT path, id, hash, form, indexed_at FROM notes ORDER BY path").fetchall()
        rows = connection.execute("SELECT number, kind, title, length, chunks FROM rows ORDER BY number").fetchall()
        problems = connection.execute("SELECT path, kind, message FROM problems ORDER BY path, kind").fetchall()
        return generation(connection), notes, rows, manifest(home), problems
    finally:
        connection.close()


def faults(home: Path) -> tuple[list[str], tuple[int, int]]:
    """What SQLite finds wrong, and how many vectors have no ready chunk or ready chunks no vector."""
    with opened(home) as reader:
        return reader.integrity_faults(), reader.vector_faults()


SOUND: tuple[list[str], tuple[int, int]] = ([], (0, 0))


def note_ids(home: Path) -> dict[str, NoteId]:
    """The identity of each note, by path."""
    connection = open_reader(home)
    try:
        return dict(connection.execute("SELECT path, id FROM notes"))
    finally:
        connection.close()


def states(home: Path) -> dict[str, int]:
    """How many chunks are in each state."""
    with opened(home) as reader:
        return dict(zip(("ready", "pending", "failed"), reader.readiness(None), strict=False))


def problems(home: Path) -> list[tuple[str, str]]:
    """What the index reports of the files, as (path, kind)."""
    with opened(home) as reader:
        return [(problem.path, problem.kind) for _, problem in reader.problems()]
