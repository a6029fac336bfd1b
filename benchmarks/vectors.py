"""Every home for vectors side by side: what a search costs, what building and disk cost, how much is found.

    python benchmarks/vectors.py [--sizes 10000 50000 100000] [--homes exact pgvector …] [--postgres postgresql://…]

The vectors are made up: crowded around many centres as those of texts are, of a real model's size. The
first row is the limit: reading every byte once. Times are medians over the same queries, in turn.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from cutaway.config import Settings
from cutaway.index.homes import Opening, home
from cutaway.index.store import Store, open_writer
from cutaway.index.vectors import Maintained, Nearest, Record, Space, Vector, VectorIndex, at_length_one
from cutaway.model import ChunkId

DIMENSION, QUERIES, DEPTHS, BATCH = 384, 12, (10, 200, 890), 5_000


class Contender(NamedTuple):
    """A home as it is tried: what it is called, and the settings it needs."""

    name: str
    settings: dict[str, object]


CONTENDERS = (
    Contender("exact", {}),
    Contender("sqlite-vec", {"vectors": "sqlite-vec"}),
    Contender("pgvector, scanned", {"vectors": "pgvector", "pgvector_exact_below": 10_000_000}),
    Contender("pgvector, HNSW", {"vectors": "pgvector", "pgvector_exact_below": 0}),
    Contender("milvus (Lite)", {"vectors": "milvus", "milvus_timeout": 600}),
)


class Measured(NamedTuple):
    build: float
    disk: int
    seconds: dict[int, float]
    recall: dict[int, float]


def main() -> None:
    options = _options()
    print(
        f"{'vectors':>8}  {'home':<20}{'build s':>8}{'MB':>7}"
        + "".join(f"{f'k={k} ms':>11}{'recall':>8}" for k in DEPTHS)
    )
    for size in options.sizes:
        rows, queries = _crowd(size)
        _limit(size, rows, queries)
        for contender in CONTENDERS:
            needs_server = contender.settings.get("vectors") == "pgvector"
            if contender.name.split(",")[0].split(" ")[0] in options.homes and (options.postgres or not needs_server):
                found = _tried(contender, rows, queries, options.postgres if needs_server else None)
                each = "".join(f"{1000 * found.seconds[k]:>11.1f}{found.recall[k]:>8.3f}" for k in DEPTHS)
                print(f"{size:>8,}  {contender.name:<20}{found.build:>8.1f}{found.disk / 1e6:>7.0f}{each}", flush=True)


def _limit(size: int, rows: np.ndarray, queries: list[Vector]) -> None:
    """The cost of reading every vector once, in half precision, as they are stored."""
    stored = rows.astype(np.float16)
    spent = []
    for _ in queries:
        start = perf_counter()
        stored.view(np.uint64).sum()
        spent.append(perf_counter() - start)
    median = 1000 * statistics.median(spent)
    print(f"{size:>8,}  {'(reading it once)':<20}{'':>8}{stored.nbytes / 1e6:>7.0f}{median:>11.1f}")


def _tried(contender: Contender, rows: np.ndarray, queries: list[Vector], server: str | None) -> Measured:
    with _opened(contender, server) as (store, index, folder):
        before = _size(store, folder)
        start = perf_counter()
        for first in range(0, len(rows), BATCH):
            batch = [Record(ChunkId(first + n + 1), 1, row) for n, row in enumerate(rows[first : first + BATCH])]
            with store.transaction():
                index.upsert(batch)
        if isinstance(index, Maintained):
            with store.transaction():
                index.settle()
        build = perf_counter() - start
        compared = at_length_one(rows)
        truth = [np.argsort(-(compared @ query), kind="stable")[: max(DEPTHS)] + 1 for query in queries]
        seconds, recall = {}, {}
        for k in DEPTHS:
            index.nearest(queries[0], k)
            asked = [_timed(index, query, k) for query in queries[1:]]
            seconds[k] = statistics.median(spent for spent, _ in asked)
            shares = [
                len({hit.id for hit in found.hits} & set(best[:k].tolist())) / k
                for (_, found), best in zip(asked, truth[1:], strict=True)
            ]
            recall[k] = statistics.mean(shares)
        return Measured(build, _size(store, folder) - before, seconds, recall)


def _timed(index: VectorIndex, query: Vector, k: int) -> tuple[float, Nearest]:
    start = perf_counter()
    found = index.nearest(query, k)
    return perf_counter() - start, found


@contextmanager
def _opened(contender: Contender, server: str | None) -> Iterator[tuple[Store, VectorIndex, Path]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = Settings.model_validate({**contender.settings, "store": server, "store_schema": "benchmark"})
        store = open_writer(folder, settings)
        stack.callback(store.close)
        kind = home(settings.vectors)
        space = Space(1, f"made-up/{DIMENSION}", kind.identity, DIMENSION)
        index = kind(Opening(store, space, (1,), settings))
        index.drop()
        stack.callback(index.close)
        yield store, index, folder
        index.drop()


def _size(store: Store, folder: Path) -> int:
    """Bytes on disk: of the store, and of what a home keeps beside it."""
    beside = (file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("index.sqlite"))
    return store.size() + sum(file.stat().st_size for file in beside)


def _crowd(size: int) -> tuple[np.ndarray, list[Vector]]:
    random = np.random.default_rng(5)
    centres = random.normal(size=DIMENSION) + 0.7 * random.normal(size=(200, DIMENSION))
    count = size + QUERIES
    made = centres[random.integers(200, size=count)] + 0.5 * random.normal(size=(count, DIMENSION))
    made = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)
    return made[QUERIES:], list(made[:QUERIES])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", type=int, default=[10_000, 50_000, 100_000])
    parser.add_argument("--homes", nargs="*", default=["exact", "sqlite-vec", "pgvector", "milvus"])
    parser.add_argument("--postgres", help="a server with pgvector; without one those rows are left out")
    return parser.parse_args()


if __name__ == "__main__":
    main()
