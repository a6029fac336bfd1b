"""What every evaluation needs: judged queries, an index to put them to, the models, a progress bar."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from cutaway.config import Settings, load_settings, validated
from cutaway.errors import UsageError
from cutaway.evaluation.corpus import corpus_documents, corpus_home, index_corpus
from cutaway.evaluation.judged import JudgedSet, Topic, read_set
from cutaway.evaluation.runs import Documents, Run, documents_of, ran
from cutaway.evaluation.sweep import INDEXED
from cutaway.faces.cli.index import progress_bar
from cutaway.faces.cli.prepare import home_of
from cutaway.faces.cli.session import messages, reading
from cutaway.faces.loading import cross_encoder_or_reason, embedder_or_reason
from cutaway.index.projects import as_scope, projects_of
from cutaway.index.reader import Reader
from cutaway.index.sqlite import alone_in
from cutaway.index.state import Judgments, ScoreCache
from cutaway.index.store import open_reader
from cutaway.retrieval.plan import Models
from cutaway.retrieval.scoped import unused_settings


@dataclass(frozen=True, slots=True)
class Bench:
    """An index opened for evaluation, and what its notes are called in the judgments."""

    reader: Reader
    models: Models
    documents: Documents


def settings_of(options: argparse.Namespace, chosen: Sequence[str] = ()) -> Settings:
    """The settings of what is searched with NAME=VALUE pairs over them. Raises SettingsError, UsageError."""
    return with_pairs(base_of(options), chosen)


def base_of(options: argparse.Namespace) -> Settings:
    """The settings of what is searched: those of the projects asked for, or the home's for a corpus."""
    home = load_settings(home_of(options))
    if corpus_of(options) is not None:
        return home
    with reading(options) as session:
        return session.settings


def with_pairs(base: Settings, chosen: Sequence[str]) -> Settings:
    """Settings with NAME=VALUE pairs over them. Raises SettingsError, UsageError."""
    pairs = dict(_pair(text) for part in chosen for text in part.split(","))
    return validated({**base.model_dump(), **pairs}, "--set") if pairs else base


def judged_of(options: argparse.Namespace) -> JudgedSet:
    """The judged set that was named: a folder, files, or the judgments stored here. At most --topics of it."""
    if options.topics is not None and options.topics < 1:
        raise UsageError(f"--topics is {options.topics}; it may be 1 or more.")
    for name in ("queries", "spans"):
        if getattr(options, name) is not None and options.qrels is None and options.set_folder is None:
            raise UsageError(f"--{name} without --qrels: name the judgments of these queries too.")
    if options.set_folder is not None or options.qrels is not None:
        judged = read_set(options.queries, options.qrels or options.set_folder, options.spans)
    else:
        judged = stored(options)
    topics = judged.evaluable()
    if not topics:
        raise UsageError("no query has a relevant document; there is nothing to measure.")
    wanted = min(options.topics or len(topics), len(topics))
    spread = tuple(topics[place * len(topics) // wanted] for place in range(wanted))
    return JudgedSet(spread, judged.qrels, judged.spans)


def stored(options: argparse.Namespace) -> JudgedSet:
    """The judgments of the projects asked for. Raises UsageError where there are none."""
    with reading(options) as session:
        projects = [project.name for project in session.reader.scope]
    grades: dict[str, dict[str, int]] = {}
    for judgment in Judgments(session.home, session.base).of(projects):
        grades.setdefault(judgment.query, {})[judgment.path] = judgment.grade
    if not grades:
        raise UsageError("no judgments are stored. Name files with --queries and --qrels, or use: cutaway eval judge.")
    return JudgedSet(tuple(Topic(query, query) for query in grades), grades)


def ran_all(options: argparse.Namespace, judged: JudgedSet, variants: Mapping[str, Settings]) -> list[Run]:
    """Each variant's run, in order. Variants of one index and one reranker share a pass over the queries."""
    groups: dict[tuple[Any, ...], dict[str, Settings]] = {}
    for label, settings in variants.items():
        key = tuple(getattr(settings, name) for name in (*INDEXED, "reranker", "rerank_url"))
        groups.setdefault(key, {})[label] = settings
    if corpus_of(options) is None:
        check_indexed(base_of(options), variants.values())
    runs: dict[str, Run] = {}
    for group in groups.values():
        with bench_of(options, judged, list(group.values())) as bench, progress_bar(options.json) as progress:
            tick = lambda done, total: progress("search", done, total)  # noqa: E731
            for run in ran(judged, group, bench.reader, bench.models, bench.documents, tick):
                runs[run.label] = run
    return [runs[label] for label in variants]


def check_indexed(held: Settings, chosen: Iterable[Settings]) -> None:
    """Refuse settings that would need another index than the projects have. Raises UsageError."""
    if any(getattr(settings, name) != getattr(held, name) for settings in chosen for name in INDEXED):
        raise UsageError(
            f"{', '.join(INDEXED)} decide what is indexed; only a --corpus is indexed anew to try them. "
            "For your notes, change the settings of the home or the project and run: cutaway index"
        )


@contextmanager
def bench_of(options: argparse.Namespace, judged: JudgedSet, variants: Sequence[Settings]) -> Iterator[Bench]:
    """Open the index the queries are put to: a corpus, brought in line first, or the projects asked for."""
    corpus = corpus_of(options)
    if corpus is None:
        with reading(options) as session:
            _say_unused(session.reader, session.settings)
            yield _bench(session.reader, session.home, documents_of(judged, session.reader), variants)
        return
    home = corpus_home(corpus, home_of(options))
    embedder = embedder_or_reason(variants[0], fetch=True)
    with alone_in(home), progress_bar(options.json) as progress:
        index_corpus(corpus, home, variants[0], None if isinstance(embedder, str) else embedder, progress)
    connection = open_reader(home)
    try:
        with connection.snapshot():
            reader = Reader(connection, as_scope(projects_of(connection)))
            yield _bench(reader, home, corpus_documents(corpus, judged, reader), variants)
    finally:
        connection.close()


def corpus_of(options: argparse.Namespace) -> Path | None:
    """The corpus file that was named, or lies in the folder that was."""
    if options.corpus is not None:
        return Path(options.corpus)
    if options.set_folder is not None and not (options.project or options.all_projects):
        for name in ("corpus.jsonl", "corpus.jsonl.gz"):
            if (options.set_folder / name).is_file():
                return Path(options.set_folder) / name
    return None


def _say_unused(reader: Reader, base: Settings) -> None:
    for remark in unused_settings(reader.scope, base, ()):
        messages().print(Text.assemble(("remark", "yellow"), f"  {remark}"), soft_wrap=True)


def _bench(reader: Reader, home: Path, documents: Documents, variants: Sequence[Settings]) -> Bench:
    if documents.unknown:
        few = ", ".join(documents.unknown[:3])
        said = f"{len(documents.unknown):,} judged documents are not in the index and count as not found: {few} …"
        messages().print(Text.assemble(("note", "yellow"), f"  {said}"), soft_wrap=True)
    embedder = embedder_or_reason(variants[0], at_once=True)
    reranking = [settings for settings in variants if settings.rerank]
    reranker = cross_encoder_or_reason(reranking[0], at_once=True) if reranking else "reranking is off"
    return Bench(
        reader, Models(embedder, reranker, ScoreCache(home, variants[0].rerank_cache, settings=variants[0])), documents
    )


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise UsageError(f"--set {text!r} is not NAME=VALUE.")
    return name.strip(), value.strip()
