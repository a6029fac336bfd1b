"""Vectors in Milvus: a server that several indexes may share, or a Milvus Lite file for trying it out.

Milvus takes no part in the store's transactions. What a stop at any moment leaves behind is therefore
always a vector too many, never one too few: a vector is stored before its chunk is ready, and taken away
when the transaction that withdrew the chunk is committed. A vector too many is never served, because its
chunk is not ready; the next ``cutaway index`` takes it away (``index/mending.py``).

A collection has a FLAT index, which compares with every vector: its graph index loses results under a filter.
Rough scores are Milvus's; the order, down to equal scores, and the numbers are our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutaway.errors import SettingsError, VectorsUnavailable
from cutaway.index.homes import Opening
from cutaway.index.milvus_server import Server, entered
from cutaway.index.vectors import Nearest, Record, Vector, at_length_one, check_vectors, ranked
from cutaway.model import ChunkId

MOST_HITS = 16_384
"""The most that a server gives to one search."""
_MOST_BYTES = 48_000_000  # a call may take 64 MB
_ROWS = 1_000
_CHOSEN = 4_096  # chunks whose vectors are fetched to be compared here: beyond, Milvus is asked for the best of them
_CHOSEN_AT_ONCE = 10_000
_SPARE = 32
# Milvus's float scores differ from ours by less; all within it of the cut are compared anew.
_SLACK = 1e-5


class _Found(NamedTuple):
    """Candidates, and whether there may be others as close as the last of them."""

    ids: NDArray[np.int64]
    vectors: NDArray[np.float32]
    cut: bool


class MilvusIndex:
    """The vectors of one space and scope, in one collection.

    Outside a transaction a delete happens at once, inside one when it is committed; if it is rolled back,
    discard this object.
    """

    identity = "milvus-flat/v1"

    def __init__(self, opening: Opening) -> None:
        settings = opening.settings
        self._database, self._space, self._scope = opening.database, opening.space, frozenset(opening.scope)
        self._address, self._timeout = _address(opening), settings.milvus_timeout
        self._token = settings.milvus_token.get_secret_value() if settings.milvus_token else ""
        self._most = max(1, min(MOST_HITS, _MOST_BYTES // (4 * self._space.dimension)))
        self._leaving: set[ChunkId] = set()
        self._dropped = self._loaded = False
        self._server: Server | None = None
        self.collection = _name(opening)

    # Reading

    def nearest(self, query: Vector, k: int, within: Sequence[int] | None = None) -> Nearest:
        if k <= 0 or not self._scope or (within is not None and not len(within)) or not self._there():
            return Nearest(())
        found = self._closest(query, k) if within is None else self._closest_within(query, k, sorted(set(within)))
        cut = f"Milvus gives at most {self._most:,} vectors at once; others may be as close" if found.cut else None
        return Nearest(ranked(found.ids, found.vectors, query, k), not cut, cut)

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Vector]:
        if not self._scope or not len(ids) or not self._there():
            return {}
        held: dict[ChunkId, Vector] = {}
        for batch in _batches(sorted(set(ids)), min(self._most, _CHOSEN)):
            rows = self._ask("get", ids=batch, output_fields=["id", "project", "vector"], consistency_level="Strong")
            known = [row for row in rows if row["project"] in self._scope]
            if known:
                vectors = at_length_one(np.array([row["vector"] for row in known], np.float32))
                held.update(zip((ChunkId(row["id"]) for row in known), vectors, strict=True))
        return dict(sorted(held.items()))

    def _closest(self, query: Vector, k: int, chosen: str = "") -> _Found:
        """At least the k closest, and all that Milvus cannot tell from the k-th."""
        limit = min(k + _SPARE, self._most)
        while True:
            (hits,) = self._ask(
                "search",
                data=[query.tolist()],
                anns_field="vector",
                filter=f"project in {sorted(self._scope)}{chosen}",
                limit=limit,
                output_fields=["vector"],
                consistency_level="Strong",
            )
            rough = [hit["distance"] for hit in hits]
            cut = len(hits) == limit and not (k < limit and rough[-1] < rough[k - 1] - _SLACK)
            if not cut or limit == self._most:
                ids = np.array([hit["id"] for hit in hits], np.int64)
                rows = np.array([hit["entity"]["vector"] for hit in hits], np.float32)
                return _Found(ids, at_length_one(rows.reshape(-1, self._space.dimension)), cut)
            limit = min(limit * 4, self._most)

    def _closest_within(self, query: Vector, k: int, ids: list[int]) -> _Found:
        if len(ids) <= _CHOSEN:
            held = self.vectors([ChunkId(chunk) for chunk in ids])
            rows = np.array(list(held.values()), np.float32).reshape(-1, self._space.dimension)
            return _Found(np.array(list(held), np.int64), rows, False)
        parts = [self._closest(query, k, f" and id in {batch}") for batch in _batches(ids, _CHOSEN_AT_ONCE)]
        found, vectors = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
        return _Found(found, vectors, any(part.cut for part in parts))

    # Writing

    def upsert(self, records: Sequence[Record]) -> None:
        check_vectors(records, self._space.dimension)
        if not records:
            return
        self._ready()
        latest = {record.id: record for record in records}
        for batch in _batches(list(latest.values()), min(self._most, _ROWS)):
            vectors = np.stack([record.vector for record in batch]).astype(np.float16).astype(np.float32)
            rows = [
                {"id": int(record.id), "project": int(record.project), "vector": vector}
                for record, vector in zip(batch, vectors, strict=True)
            ]
            self._ask("upsert", data=rows)
        self._leaving -= latest.keys()
        self._dropped = False

    def delete(self, ids: Sequence[ChunkId]) -> None:
        self._leaving.update(ids)
        self._settle()

    def drop(self) -> None:
        self._dropped = True
        self._settle()

    def close(self) -> None:
        if self._server is not None:
            self._server.leave()
        self._server, self._loaded = None, False

    def stored_ids(self) -> frozenset[ChunkId]:
        return self._ids(f"project in {sorted(self._scope)}") if self._scope else frozenset()

    def all_ids(self) -> frozenset[ChunkId]:
        return self._ids("")

    def _ids(self, chosen: str) -> frozenset[ChunkId]:
        if not self._there():
            return frozenset()
        pages = self._connection.pages(
            self._timeout, collection_name=self.collection, filter=chosen, batch_size=MOST_HITS, output_fields=["id"]
        )
        return frozenset(ChunkId(row["id"]) for page in pages for row in page)

    def count(self) -> int:
        """How many vectors the space has, in all projects."""
        if not self._there():
            return 0
        (row,) = self._ask("query", filter="", output_fields=["count(*)"], consistency_level="Strong")
        return int(row["count(*)"])

    def _settle(self) -> None:
        """Take away what goes: now, or, inside a transaction, once it is committed."""
        if self._database.in_transaction:
            self._database.effects.after_commit(self._taken_away_if_possible)
        else:
            self._taken_away()

    def _taken_away_if_possible(self) -> None:
        """What cannot be taken away now is an orphan: never served, counted by the doctor, mended by the next run."""
        with suppress(VectorsUnavailable):
            self._taken_away()

    def _taken_away(self) -> None:
        leaving, self._leaving = sorted(self._leaving), set()
        dropped, self._dropped = self._dropped, False
        if not (leaving or dropped) or not self._there():
            return
        if dropped:
            self._ask("drop_collection")
            self._loaded = False
            return
        for batch in _batches(leaving, _CHOSEN):
            self._ask("delete", ids=batch)

    # The collection

    def _there(self) -> bool:
        """Whether there is a collection; it can then be searched. One without its index was never written to."""
        if not self._loaded and self._ask("has_collection") and self._ask("list_indexes"):
            self._ask("load_collection")
            self._loaded = True
        return self._loaded

    def _ready(self) -> None:
        """Make the collection where there is none."""
        if self._there():
            return
        if self._ask("has_collection"):  # its making was stopped
            self._ask("drop_collection")
        from pymilvus import DataType, MilvusClient

        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("project", DataType.INT64)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=self._space.dimension)
        index = MilvusClient.prepare_index_params()
        index.add_index("vector", index_type="FLAT", metric_type="COSINE")
        self._ask("create_collection", schema=schema, consistency_level="Strong")
        self._ask("create_index", index_params=index, sync=False)  # of nothing, yet: there is no need to wait
        self._ask("load_collection")
        self._loaded = True

    def _ask(self, method: str, **arguments: Any) -> Any:
        return self._connection.ask(method, self._timeout, collection_name=self.collection, **arguments)

    @property
    def _connection(self) -> Server:
        if self._server is None:
            self._server = entered(self._address, self._token)
            self._database.effects.at_close(self.close)
        return self._server


def _address(opening: Opening) -> str:
    """The server's, or the file's. Raises SettingsError."""
    chosen, folder = opening.settings.milvus_uri, getattr(opening.database, "home", None)
    if chosen is not None and "://" in chosen:
        return chosen
    if folder is None and not (chosen and Path(chosen).is_absolute()):
        raise SettingsError("vectors = 'milvus' needs milvus_uri here: the address of a Milvus server.")
    return str(Path(folder or "/") / (chosen or "milvus.db"))


def _name(opening: Opening) -> str:
    """The collection's name: no two indexes share one, nor do two spaces of an index."""
    (key,) = (key for (key,) in opening.database.execute("SELECT value FROM meta WHERE key = 'cursor_key'"))
    space = f"{opening.space.embedding}\n{opening.space.home}\n{opening.space.dimension}"
    index, held = (blake2b(text.encode(), digest_size=8).hexdigest() for text in (key, space))
    return f"cutaway_{index}_{held}"


def _batches(listed: list[Any], size: int) -> Iterator[list[Any]]:
    return (listed[start : start + size] for start in range(0, len(listed), size))
