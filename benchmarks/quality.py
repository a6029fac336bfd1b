"""Retrieval quality on labelled sets, through Cutaway's own path: python benchmarks/quality.py DATA SET [SET ...]

DATA holds folders in the BEIR layout: corpus.jsonl.gz, queries.jsonl, qrels.tsv. Each document
becomes one note (its title a heading); embeddings are kept between runs in --home. Prints
nDCG@10 and recall@10 per set, for each mode and for every setting named with --set.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cutaway.config import Settings, validated
from cutaway.index.projects import projects_of
from cutaway.index.reader import Reader
from cutaway.index.sqlite import open_reader, open_writer, transaction
from cutaway.index.state import ScoreCache
from cutaway.index.sync import embed_pending, sync
from cutaway.index.writer import Writer
from cutaway.models.cross_encoder import named_cross_encoder
from cutaway.models.embedder import Embedder, named_embedder
from cutaway.retrieval.pipeline import search
from cutaway.retrieval.plan import Models, Request

MODES = ("text", "vector", "hybrid")


def main() -> None:
    options = _options()
    embedder, reranker = named_embedder("bge-small-en-v1.5"), named_cross_encoder(Settings())
    assert embedder is not None and reranker is not None
    print(f"{'set':<18}{'setting':<34}" + "".join(f"{mode:>12}" for mode in options.modes) + "   nDCG@10 (R@10)")
    for name in options.sets:
        home = options.home / "-".join((*name.split("/"), *options.index))
        _index(options.data / name, home, embedder, _settings(options.index))
        queries, qrels = _judged(options.data / name, options.queries)
        models = Models(embedder, reranker, ScoreCache(home, 1_000_000))
        for setting in ("", *options.set):
            chosen = _settings(setting.split(","))
            cells = [_measured(home, models, chosen, mode, queries, qrels) for mode in options.modes]
            print(f"{name:<18}{setting or 'defaults':<34}" + "".join(f"{cell:>12}" for cell in cells), flush=True)


def _measured(
    home: Path, models: Models, settings: Settings, mode: Any, queries: dict[str, str], qrels: dict[str, Any]
) -> str:
    connection = open_reader(home)
    scope = tuple(projects_of(connection))
    gains, recalls = [], []
    reader = Reader(connection, scope)
    for query, text in queries.items():
        answer = search(Request(text, mode=mode, limit=10), settings, reader, models)
        found = [Path(answer.shelf.notes[answer.shelf.rows[hit.id].note].path).stem for hit in answer.page]
        gains.append(_ndcg(found, qrels[query]))
        relevant = {note for note, grade in qrels[query].items() if grade > 0}
        recalls.append(len(relevant.intersection(found)) / len(relevant))
    connection.close()
    return f"{_mean(gains):.4f} {_mean(recalls):.2f}".replace("0.", ".")


def _ndcg(found: list[str], grades: dict[str, float], k: int = 10) -> float:
    """Discounted cumulative gain over the ideal one; unreturned judged documents count in the ideal."""
    gain = sum(grades.get(note, 0.0) / math.log2(place + 2) for place, note in enumerate(found[:k]))
    best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k]
    return gain / sum(grade / math.log2(place + 2) for place, grade in enumerate(best))


def _index(data: Path, home: Path, embedder: Embedder, settings: Settings) -> None:
    connection = open_writer(home)
    folder = home / "notes"
    folder.mkdir(exist_ok=True)
    for name, text in _documents(data):
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    with transaction(connection):
        project = Writer(connection).add_project("set", folder)
    sync(project, connection, embedder, settings, _silent)
    embed_pending(connection, embedder, _progress)
    connection.close()


def _documents(data: Path) -> Iterator[tuple[str, str]]:
    with gzip.open(data / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            document = json.loads(line)
            title = " ".join(document["title"].split())
            yield document["_id"].replace("/", "_"), (f"# {title}\n\n" if title else "") + document["text"]


def _judged(data: Path, most: int) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
    folder = data if (data / "queries.jsonl").exists() else data.parent
    texts = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    qrels: dict[str, dict[str, float]] = {}
    for line in (data / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        qrels.setdefault(query, {})[document.replace("/", "_")] = float(grade)
    judged = {text["_id"]: text["text"] for text in texts if any(g > 0 for g in qrels.get(text["_id"], {}).values())}
    step = max(1, len(judged) // most)
    return dict(list(judged.items())[::step][:most]), qrels


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--home", type=Path, default=Path(tempfile.gettempdir()) / "cutaway-quality")
    parser.add_argument("--modes", nargs="+", default=MODES)
    parser.add_argument("--queries", type=int, default=400, help="at most so many queries a set, evenly spread")
    parser.add_argument("--index", action="append", default=[], metavar="NAME=VALUE", help="settings to index with")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE[,…]", help="settings to compare")
    return parser.parse_args()


def _settings(parts: list[str]) -> Settings:
    return validated(dict(part.split("=") for part in parts if part), "the command line")


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _silent(*_: object) -> None:
    return


def _progress(step: str, done: int, total: int) -> None:
    print(f"\r{step} {done}/{total}", end="" if done < total else "\r", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
