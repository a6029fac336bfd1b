"""A search over many projects beside one over a single project of the same notes: python benchmarks/projects.py

The notes are made up from the words of our own documentation, as they follow each other there. Vectors of
passages are random ones, so that an index is made in seconds; queries are embedded by the bundled model. Both
indexes are asked in turn, so that their ratio means something on a busy machine.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np

from cutaway.config import Settings
from cutaway.index.projects import as_scope, projects_of
from cutaway.index.reader import Reader
from cutaway.index.store import open_reader, open_writer
from cutaway.index.sync import sync
from cutaway.index.writer import Writer
from cutaway.models.cross_encoder import CrossEncoder, named_cross_encoder
from cutaway.models.embedder import Embedder, Vectors, named_embedder
from cutaway.retrieval.pipeline import search
from cutaway.retrieval.plan import Models, Request

DOCUMENTATION = sorted(Path(__file__).parents[1].rglob("*.md"))
QUERIES = (
    "how is a passage chosen",
    "reranking without a model",
    "stale vectors after a rename",
    "settings for the lexical score",
    "which notes are left out",
    "compare two searches",
    "cursor and index generation",
    "observations and relations of a note",
)
CASES = (("text", None), ("vector", None), ("hybrid", None), ("hybrid", 10))


class Counted:
    """A model that counts how often it is asked."""

    def __init__(self, model: Embedder | CrossEncoder) -> None:
        self._model = model
        self.calls = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        self.calls += 1
        return self._model.embed(texts, query)  # type: ignore[union-attr]

    def relevance(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        self.calls += 1
        return self._model.relevance(query, documents)  # type: ignore[union-attr]


def main() -> None:
    options = _options()
    embedder = named_embedder(Settings())
    reranker = named_cross_encoder(Settings())
    assert embedder is not None and reranker is not None, "this needs cutaway[local]"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folders = _made_up(folder / "notes", options.projects, options.notes)
        many = _indexed(folder / "many", folders, embedder)
        one = _indexed(folder / "one", [folder / "notes"], embedder)
        size = f"{options.projects * options.notes:,} notes, {many.readiness(None).total:,} passages"
        print(f"{size}: in {options.projects} projects, and in one\n")
        print(f"{'warm search':<22}{'many':>10}{'one':>10}{'ratio':>8}   embeddings and rerankings a search")
        for mode, depth in CASES:
            _row(mode, depth, (many, one), Models(Counted(embedder), Counted(reranker)), options.rounds)  # type: ignore[arg-type]


def _row(mode: str, depth: int | None, readers: tuple[Reader, Reader], models: Models, rounds: int) -> None:
    """Both indexes asked the same, in turn; which goes first alternates."""

    def seconds(reader: Reader, query: str) -> float:
        start = perf_counter()
        search(Request(query, mode=mode, depth=depth), Settings(), reader, models)  # type: ignore[arg-type]
        return perf_counter() - start

    for reader in readers:
        seconds(reader, QUERIES[0])
    before = models.embedder.calls, models.reranker.calls  # type: ignore[union-attr]
    spent: list[list[float]] = [[], []]
    asked = [query for _ in range(rounds if depth is None else 1) for query in QUERIES]
    for turn, query in enumerate(asked):
        for place in (0, 1) if turn % 2 else (1, 0):
            spent[place].append(seconds(readers[place], query))
    many, one = map(statistics.median, spent)
    calls = zip((models.embedder.calls, models.reranker.calls), before, strict=True)  # type: ignore[union-attr]
    each = " and ".join(f"{(now - then) / (2 * len(asked)):g}" for now, then in calls)
    name = f"{mode}, {depth} reranked" if depth else mode
    print(f"{name:<22}{many * 1000:>7.1f} ms{one * 1000:>7.1f} ms{many / one:>8.2f}   {each}", flush=True)


def _indexed(home: Path, folders: list[Path], embedder: Embedder) -> Reader:
    """These folders, a project each, with a random vector for every text."""
    connection = open_writer(home)
    rng = np.random.default_rng(1)
    for folder in folders:
        with connection.transaction():
            project = Writer(connection).add_project(folder.name, folder)
        sync(project, connection, None, Settings(), lambda *_: None)
    with connection.transaction():
        writer = Writer(connection)
        projects, manifest = writer.projects(), writer.manifest
        space = manifest.space(embedder.identity, embedder.dimension)
        while waiting := manifest.claimed(projects, 2_000):
            vectors = rng.standard_normal((len(waiting), embedder.dimension), np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            hashes = [text.text_hash for text in waiting]
            manifest.cache(embedder.identity, zip(hashes, vectors, strict=True))
            manifest.publish(projects, space, hashes)
    connection.close()
    reading = open_reader(home)
    return Reader(reading, as_scope(projects_of(reading)))


def _made_up(folder: Path, projects: int, notes: int) -> list[Path]:
    """A folder for each project; notes of natural size, from words that follow each other in the documentation."""
    words = re.findall(r"[A-Za-z][a-z']+|[.,:]", " ".join(file.read_text(encoding="utf-8") for file in DOCUMENTATION))
    following: dict[str, list[str]] = defaultdict(list)
    for word, after in pairwise(words):
        following[word].append(after)
    rng = random.Random(1)

    def text(count: int) -> str:
        return " ".join(_chain(following, rng, count)).replace(" .", ".").replace(" ,", ",").replace(" :", ":")

    for number in range(projects * notes):
        parts = [f"# {text(3)}"]
        for _ in range(rng.randint(1, 5)):
            parts += [f"## {text(2)}", text(60)]
        parts += [f"- [fact] {text(8)}" for _ in range(rng.randint(0, 2))]
        file = folder / f"p{number % projects}" / f"note {number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n\n".join(parts), encoding="utf-8")
    return sorted(folder.iterdir())


def _chain(following: dict[str, list[str]], rng: random.Random, count: int) -> Iterator[str]:
    word = rng.choice(list(following))
    for _ in range(count):
        yield word
        word = rng.choice(following[word] or ["and"])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--projects", type=int, default=20)
    parser.add_argument("--notes", type=int, default=500, help="in each project")
    parser.add_argument("--rounds", type=int, default=10)
    return parser.parse_args()


if __name__ == "__main__":
    main()
