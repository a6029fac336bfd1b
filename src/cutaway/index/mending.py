"""What a stop at the wrong moment left in a home outside the database, put right by the next run."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np

from cutaway.index.means import Means
from cutaway.index.store import Store
from cutaway.index.vectors import Apart, Space, Vector
from cutaway.model import ChunkId


def mend(connection: Store, space: Space, index: Apart) -> int:
    """Take away vectors without a ready chunk, let ready chunks without a vector wait; returns how many wait.

    Both are looked for only where the home holds more or fewer than the manifest has it.
    """
    query = "SELECT id FROM chunks WHERE space_id = ? AND state = 'ready'"
    ready = {ChunkId(chunk) for (chunk,) in connection.execute(query, (space.id,))}
    if index.count() == len(ready):
        return 0
    held = index.all_ids()
    index.delete(sorted(held - ready))
    return _waiting(connection, space, sorted(ready - held))


def _waiting(connection: Store, space: Space, lost: list[ChunkId]) -> int:
    """Let chunks be pending again, and leave them out of the mean."""
    chosen = json.dumps(lost)
    taken: dict[int, list[Vector]] = defaultdict(list)
    for project, vector in connection.execute(
        "SELECT c.project_id, e.vector FROM chunks c JOIN identities i ON i.name = ?"
        " JOIN embeddings e ON e.identity_id = i.id AND e.text_hash = c.text_hash"
        " WHERE c.id IN (SELECT value FROM json_each(?))",
        (space.embedding, chosen),
    ):
        taken[project].append(np.frombuffer(vector, np.float16).astype(np.float32))
    for project, vectors in taken.items():
        Means(connection).take(space, project, vectors)
    connection.execute(
        "UPDATE chunks SET state = 'pending', error = NULL, space_id = NULL"
        " WHERE id IN (SELECT value FROM json_each(?))",
        (chosen,),
    )
    return len(lost)
