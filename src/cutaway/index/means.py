"""The mean of a scope's vectors: what a similarity must be compared with to mean anything.

Sums are kept by project and space, in whole numbers of 2⁻²⁴, of which every half-precision number
is a multiple: so they are exact, and do not depend on the order in which vectors came and went.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutaway.index.store import Store
from cutaway.index.vectors import Space
from cutaway.model import Project

_UNIT = 2.0**24


class Means:
    """Running sums of vectors."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, space: Space, project: int, vectors: Sequence[NDArray[np.floating]]) -> None:
        """Count vectors in."""
        self._change(space, project, len(vectors), _total(vectors, space.dimension))

    def take(self, space: Space, project: int, vectors: Sequence[NDArray[np.floating]]) -> None:
        """Count vectors out again."""
        self._change(space, project, -len(vectors), -_total(vectors, space.dimension))

    def forget(self, space: Space, project: Project) -> None:
        """A project has no vector in this space any more."""
        self._store.execute("DELETE FROM sums WHERE project_id = ? AND space_id = ?", (project.id, space.id))

    def mean(self, space: Space, scope: Iterable[int]) -> tuple[NDArray[np.float64], int]:
        """The mean of the scope's vectors, and how many they are."""
        query = (
            "SELECT vectors, total FROM sums WHERE space_id = ?"
            " AND project_id IN (SELECT value FROM json_each(?)) ORDER BY project_id"
        )
        found = self._store.execute(query, (space.id, json.dumps(list(scope))))
        held: list[tuple[Any, ...]] = found.fetchall()
        count = sum(vectors for vectors, _ in held)
        total = sum((np.frombuffer(total, "<i8") for _, total in held), np.zeros(space.dimension, np.int64))
        return total / _UNIT / max(count, 1), count

    def _held(self, space: Space, project: int) -> tuple[int, NDArray[np.int64]]:
        query = "SELECT vectors, total FROM sums WHERE project_id = ? AND space_id = ?"
        found = self._store.execute(query, (project, space.id)).get
        if found is None:
            return 0, np.zeros(space.dimension, np.int64)
        return found[0], np.frombuffer(found[1], "<i8")

    def _change(self, space: Space, project: int, vectors: int, total: NDArray[np.int64]) -> None:
        self._store.lock("sums", project, space.id)
        count, before = self._held(space, project)
        self._store.execute(
            "INSERT INTO sums (project_id, space_id, vectors, total) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (project_id, space_id) DO UPDATE SET vectors = excluded.vectors, total = excluded.total",
            (project, space.id, count + vectors, (before + total).astype("<i8").tobytes()),
        )


def _total(vectors: Sequence[NDArray[np.floating]], dimension: int) -> NDArray[np.int64]:
    rows = np.array(vectors, np.float16).reshape(-1, dimension)
    whole: NDArray[np.int64] = (rows.astype(np.float64) * _UNIT).astype(np.int64).sum(axis=0)
    return whole
