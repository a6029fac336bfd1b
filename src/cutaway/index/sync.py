"""Bringing the index in line with a folder: scan, compare, apply in short transactions, embed.

It may be stopped at any moment. What was committed stays; the next run goes on from there.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from cutaway.config import Settings, for_project
from cutaway.errors import RootMissing, VectorsUnavailable
from cutaway.index.cards import Known
from cutaway.index.choices import store_own_file
from cutaway.index.difference import Difference, difference
from cutaway.index.note_tables import Draft
from cutaway.index.store import Store, bump_generation, timestamp
from cutaway.index.vectors import Space
from cutaway.index.writer import Writer
from cutaway.model import Problem, Project
from cutaway.models.embedder import Embedder, embedded
from cutaway.notes.analyzer import ANALYZER
from cutaway.notes.chunks import CHUNK_FORMAT, chunked
from cutaway.notes.divider import ChunkSettings
from cutaway.notes.rows import parse
from cutaway.notes.vault import surveyed

Progress = Callable[[str, int, int], None]
"""Told the step (``scan``, ``index``, ``embed``), how many are done, and of how many."""

# A batch is held in memory until it is written, so it ends early where notes are large.
_NOTES_PER_TRANSACTION, _BYTES_PER_TRANSACTION, _TEXTS_PER_TRANSACTION = 100, 4_000_000, 64


@dataclass(slots=True)
class Report:
    """What a sync found and did."""

    difference: Difference
    problems: list[Problem]
    opted_out: list[str] = field(default_factory=list)
    reused: int = 0
    moved: int = 0
    """How many chunks were ready, or had failed, under another model or in another home."""
    trouble: str | None = None
    """Why vectors that were known could not be stored: their chunks wait."""


class Embedding(NamedTuple):
    """What an embedding run did, in chunks."""

    embedded: int = 0
    failed: int = 0


class _Run(NamedTuple):
    """What the steps of one sync share."""

    project: Project
    connection: Store
    writer: Writer
    embedder: Embedder | None
    space: Space | None
    settings: Settings
    form: str
    files: Mapping[str, Path]


def sync(
    project: Project,
    connection: Store,
    embedder: Embedder | None,
    settings: Settings,
    progress: Progress,
    allow_empty: bool = False,
) -> Report:
    """Bring the rows and chunks of a project in line with its folder.

    Chunks whose text was embedded before are published at once; others are left pending for
    ``embed_pending``. Raises RootMissing, and then changes nothing, where the folder is gone or
    where every note of it seems to be.
    """
    writer = Writer(connection)
    progress("scan", 0, 0)
    project, found = surveyed(project)
    settings = for_project(settings, project.settings)
    form = note_form(embedder, settings)
    known = in_form(writer.known(project), form, embedder is None)
    changes = difference(known, found, form)
    report = Report(changes, found.problems)
    if known and not found.hashes and changes.removed and not allow_empty:
        raise RootMissing(
            f"{project.root} holds no notes, but {len(known):,} were indexed. Nothing was removed. "
            f"If they are really gone, run: cutaway index {shlex.quote(str(project.root))} --allow-empty"
        )
    with connection.transaction():
        space = _space(project, writer, embedder, report)
        writer.remove(known[path].id for path in changes.removed)
        for old, new in changes.renamed:
            writer.rename(known[old].id, new)
        if store_own_file(connection, project) or changes.removed or report.moved:
            bump_generation(connection)
    work = sorted((*changes.added, *changes.changed, *(new for _, new in changes.renamed), *changes.stale))
    run = _Run(project, connection, writer, embedder, space, settings, form, found.files)
    _write_notes(run, work, report, progress)
    _settle(run, report)
    return report


def _space(project: Project, writer: Writer, embedder: Embedder | None, report: Report) -> Space | None:
    """Where the project's vectors belong; chunks that have theirs elsewhere wait."""
    if embedder is None:
        return None
    space = writer.manifest.space(embedder.identity, embedder.dimension)
    report.moved = writer.manifest.adopt(project, space)
    return space


def _settle(run: _Run, report: Report) -> None:
    """What is left when all notes are written: vectors that only had to be moved, and what went wrong."""
    opted_out = [Problem(path, "opted out", "says `index: false`") for path in report.opted_out]
    if report.moved:
        _publish(run, report)
    with run.connection.transaction():
        run.writer.set_problems(run.project, [*report.problems, *opted_out])


def note_form(embedder: Embedder | None, settings: Settings) -> str:
    """All that decides how a note becomes rows and chunks, but for its bytes."""
    context = "context" if settings.context_line else "no context"
    form = f"{CHUNK_FORMAT}, {settings.chunk_chars} chars, {context}, {ANALYZER}"
    return f"{form}, {embedder.tokenizer.limit} tokens, {embedder.identity}" if embedder else form


def in_form(known: Mapping[str, Known], form: str, without_model: bool) -> dict[str, Known]:
    """What the index knows, as a reading in this form sees it.

    A note read with a model stays as it is when the model is missing for once.
    """
    same = (path for path, held in known.items() if without_model and held.form.startswith(f"{form}, "))
    return {**known, **{path: known[path]._replace(form=form) for path in same}}


def embed_pending(
    projects: Sequence[Project],
    connection: Store,
    embedder: Embedder,
    progress: Progress,
    embedded_so_far: Callable[[Embedding], object] = lambda _: None,
) -> Embedding:
    """Embed every pending chunk of these projects, the shortest texts first, a batch and a transaction at a time.

    What workers have in hand is left to them. How far it came is told after each batch, before its progress.
    """
    manifest = Writer(connection).manifest
    with connection.transaction():
        space = manifest.space(embedder.identity, embedder.dimension)
        adopted = sum(manifest.adopt(project, space) for project in projects)
        mended = manifest.mend(space)
        if manifest.publish(projects, space) or adopted or mended:
            bump_generation(connection)
    total, done = manifest.count("pending", projects), Embedding()
    progress("embed", 0, total)
    while batch := embed_batch(projects, connection, embedder, space):
        done = Embedding(done.embedded + batch.embedded, done.failed + batch.failed)
        embedded_so_far(done)
        progress("embed", sum(done), total)
    settle(connection, space)
    return done


def embed_batch(projects: Sequence[Project], connection: Store, embedder: Embedder, space: Space) -> Embedding | None:
    """Embed and publish some of what waits, the shortest texts first; None where there is nothing to be had.

    Whoever does the same at the same time gets other texts. A text that stands in several chunks is embedded once.
    A vector that is not finite or is zero marks its chunks failed, and so does a text that the model refuses.
    """
    manifest = Writer(connection).manifest
    with connection.claiming():
        waiting = manifest.claimed(projects, _TEXTS_PER_TRANSACTION) if manifest.keep(space) else []
        if not waiting:
            return None
        known = manifest.cached(space.embedding, [pending.text_hash for pending in waiting])
        new = [pending for pending in waiting if pending.text_hash not in known]
        vectors, faults = embedded(embedder, [pending.text for pending in new])
        keyed = [(pending.text_hash, vector) for pending, vector in zip(new, vectors, strict=True)]
        broken = {key: fault for (key, _), fault in zip(keyed, faults, strict=True) if fault}
        sound = [pending.text_hash for pending in waiting if pending.text_hash not in broken]
        with connection.transaction():
            manifest.cache(space.embedding, [(key, vector) for key, vector in keyed if key not in broken])
            published = manifest.publish(projects, space, sound)
            failed = sum(manifest.fail(projects, space, key, fault) for key, fault in broken.items())
            bump_generation(connection)
        return Embedding(published, failed)


def settle(connection: Store, space: Space) -> None:
    """Let the home of vectors know that nothing more is coming now."""
    with connection.transaction():
        if Writer(connection).manifest.settle(space):
            bump_generation(connection)


def _write_notes(run: _Run, paths: Sequence[str], report: Report, progress: Progress) -> None:
    done = 0
    apart = run.space is not None and run.writer.manifest.apart(run.space) is not None
    for batch in _batches(paths, run.files):
        prepared = list(_prepared(run, batch, report))
        with run.connection.transaction():
            run.writer.hold(run.project, [*report.opted_out, *batch])
            removed = run.writer.remove_paths(run.project, report.opted_out)
            for draft in prepared:
                run.writer.write(run.project, draft)
            if run.space is not None and not apart:
                report.reused += run.writer.manifest.publish([run.project], run.space)
            if prepared or removed:
                bump_generation(run.connection)
        if apart:
            _publish(run, report)
        done += len(batch)
        progress("index", done, len(paths))


def _publish(run: _Run, report: Report) -> None:
    """Publish in a transaction of its own, what is known of the notes being committed.

    A home outside the database replaces a vector at once: the chunk that had the old one must not be ready any more.
    """
    if run.space is None or report.trouble:
        return
    try:
        with run.connection.transaction():
            if published := run.writer.manifest.publish([run.project], run.space):
                bump_generation(run.connection)
        report.reused += published
    except VectorsUnavailable as error:
        report.trouble = str(error)


def _prepared(run: _Run, paths: Iterable[str], report: Report) -> Iterator[Draft]:
    tokenizer = run.embedder.tokenizer if run.embedder else None
    chunking = ChunkSettings(run.settings.chunk_chars, run.settings.context_line)
    for path in paths:
        try:
            note = parse(path, run.files[path].read_bytes())
            changed = timestamp(run.files[path].stat().st_mtime)
        except (OSError, UnicodeDecodeError) as error:  # it changed after the scan
            report.problems.append(Problem(path, "unreadable", f"could not be read again: {error}"))
            continue
        if note.frontmatter.flag("index"):
            yield Draft(note, chunked(note, tokenizer, chunking), run.form, changed)
        else:
            report.opted_out.append(path)


def _batches(paths: Sequence[str], files: Mapping[str, Path]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for path in paths:
        batch.append(path)
        size += _size(files[path])
        if len(batch) == _NOTES_PER_TRANSACTION or size >= _BYTES_PER_TRANSACTION:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # it changed after the scan; reading it says so
        return 0
