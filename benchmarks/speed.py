"""Speed and memory, printed side by side in one run: python benchmarks/speed.py [VAULT] [--notes N]

Without VAULT a vault of --notes notes is made up. Each figure stands beside a yardstick measured in
the same run on the same machine, so that their ratio means something on a busy one.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from cutaway.config import Settings
from cutaway.index.projects import projects_of
from cutaway.index.reader import Reader
from cutaway.index.sqlite import index_file
from cutaway.index.store import open_reader
from cutaway.models.cross_encoder import named_cross_encoder
from cutaway.models.embedder import named_embedder
from cutaway.retrieval.pipeline import search
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import Request

QUERIES = (
    "how does it work",
    "why is the result different from what I expected",
    "steps to set up a new machine",
    "notes about time and memory",
    "what did we decide last week",
)
RUN = "import sys; from cutaway.faces.cli.main import main; sys.exit(main(sys.argv[1:]))"


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        vault = options.vault or _made_up(Path(folder) / "vault", options.notes)
        files = [file for file in vault.rglob("*.md") if file.is_file()]
        size = sum(file.stat().st_size for file in files)
        home = Path(folder) / "home"
        print(f"{len(files):,} notes, {size / 1e6:.1f} MB, {os.cpu_count()} processors\n")
        _indexing(home, vault, files, size)
        _cold(home)
        _warm(home)


def _indexing(home: Path, vault: Path, files: list[Path], size: int) -> None:
    reading = _seconds(lambda: [hashlib.blake2b(file.read_bytes()).digest() for file in files])
    first, memory = _run("index", str(vault), "--no-embed", home=home)
    again, _ = _run("index", "--no-embed", home=home)
    notes = len(files)
    _row(
        "text-only index",
        f"{first / notes * 1000:.2f} ms a note, {notes / first:.0f} notes/s",
        first / reading,
        "reading the files",
    )
    _row("no-change sync", f"{again:.2f} s", again / reading, "reading the files")
    _row("index size, text only", f"{_size(home) / 1e6:.1f} MB", _size(home) / size, "the notes' bytes")
    embedding, peak = _run("index", home=home)
    with_vectors = notes / (first + embedding)
    _row("index with embeddings", f"{with_vectors:.1f} notes/s", (first + embedding) / first, "text-only index")
    _row("index size, with vectors", f"{_size(home) / 1e6:.1f} MB", _size(home) / size, "the notes' bytes")
    _row("peak memory, indexing", f"{memory:.0f} MB text only, {peak:.0f} MB embedding", peak / memory, "text only")


def _cold(home: Path) -> None:
    bare = statistics.median(_command(["-c", "pass"], home)[0] for _ in range(5))
    version = statistics.median(_run("--version", home=home)[0] for _ in range(5))
    _row("cutaway --version", f"{version:.3f} s", version / bare, "starting python")
    for mode in ("text", "hybrid"):
        runs = [_run("search", QUERIES[1], "--mode", mode, home=home) for _ in range(5)]
        median = statistics.median(seconds for seconds, _ in runs)
        _row(f"cold {mode} search", f"{median:.2f} s, {runs[0][1]:.0f} MB", median / bare, "starting python")


def _warm(home: Path) -> None:
    embedder = named_embedder("bge-small-en-v1.5")
    assert embedder is not None
    connection = open_reader(home)
    reader = Reader(connection, tuple(projects_of(connection)))
    embedder.embed(["warm"])
    alone = statistics.median(_seconds(lambda query=query: embedder.embed([query])) for query in QUERIES * 4)
    models = Models(embedder, named_cross_encoder(Settings()) or "none")
    for mode, depth in (
        ("text", None),
        ("vector", None),
        ("hybrid", None),
        ("hybrid", 10),
        ("hybrid", 20),
        ("hybrid", 50),
    ):

        def once(query: str, mode: str = mode, depth: int | None = depth) -> object:
            return search(Request(query, mode=mode, depth=depth), Settings(), reader, models)  # type: ignore[arg-type]

        once(QUERIES[0])
        median = statistics.median(_seconds(lambda query=query: once(query)) for query in QUERIES * (1 if depth else 4))
        name = f"warm {mode}, {depth} reranked" if depth else f"warm {mode} search"
        _row(name, f"{median * 1000:.1f} ms", median / alone, "embedding the query")


def _run(*arguments: str, home: Path) -> tuple[float, float]:
    return _command(["-c", RUN, *arguments], home)


def _command(arguments: list[str], home: Path) -> tuple[float, float]:
    """Seconds and peak megabytes of a python process."""
    start = perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, "CUTAWAY_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 1), arguments
    return perf_counter() - start, usage.ru_maxrss / 1024


def _row(name: str, figure: str, ratio: float, yardstick: str) -> None:
    print(f"{name:<26}{figure:<36}{ratio:>8.2f} × {yardstick}", flush=True)


def _seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def _size(home: Path) -> int:
    return index_file(home).stat().st_size


def _made_up(folder: Path, notes: int) -> Path:
    """Notes of natural size, from words of Zipf-like frequency."""
    rng = random.Random(1)
    words = ["".join(rng.choices("aeioulnrstmdkp", k=rng.randint(2, 9))) for _ in range(8_000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    for number in range(notes):
        parts = [f"# {' '.join(rng.choices(words, weights, k=3))}"]
        for _ in range(rng.randint(1, 5)):
            parts += [
                f"## {' '.join(rng.choices(words, weights, k=2))}",
                " ".join(rng.choices(words, weights, k=60)) + ".",
            ]
        file = folder / f"{number % 20}" / f"note {number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n\n".join(parts))
    return folder


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", nargs="?", type=Path)
    parser.add_argument("--notes", type=int, default=500)
    return parser.parse_args()


if __name__ == "__main__":
    main()
