"""What lags behind: every note of the scope whose index is not what a run of `cutaway index` would leave."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from cutaway.config import Settings, for_project
from cutaway.errors import RootMissing
from cutaway.index.cards import Unserved
from cutaway.index.reader import Reader
from cutaway.index.sync import note_form
from cutaway.inspector.standing import Form, standing
from cutaway.model import Project
from cutaway.models.embedder import Embedder
from cutaway.notes.vault import surveyed

Kind = Literal[
    "changed", "new", "renamed", "gone", "unreadable", "no folder", "another form", "pending", "failed", "another model"
]
MEANINGS: dict[Kind, str] = {
    "changed": "the file was changed after it was indexed",
    "new": "the file is not in the index yet",
    "renamed": "the file has another name than the index knows",
    "gone": "the file is gone or left out, and the index still holds it",
    "unreadable": "it cannot be read, so nobody knows whether the index is behind",
    "no folder": "the project's folder cannot be read; its index is kept",
    "another form": "read with other settings, or by another version, than would read it now",
    "pending": "passages wait for a vector; until then only words find them",
    "failed": "the model gave no usable vector for passages; only words find them",
    "another model": "vectors made with another model, or stored in another way, than in use",
}
"""Every way to lag, and what it means."""
_INDEX = "cutaway index"


class Lag(NamedTuple):
    """One way in which one note lags; a note may have several."""

    kind: Kind
    project: str
    path: str | None
    """None where the whole project lags."""
    reason: str | None
    """What is to be said of this note beyond what the kind means."""
    chunks: int | None
    """How many of its passages, where it is about passages."""
    mend: str
    """The command that mends it, or what must be done before one can."""


@dataclass(frozen=True, slots=True)
class Behind:
    """All that lags, and among how many notes."""

    lags: tuple[Lag, ...]
    notes: int
    """How many notes the index holds in this scope."""
    fresh: int
    """How many of them lag in no way."""
    remarks: tuple[str, ...]


def behind(reader: Reader, settings: Settings, embedder: Embedder | str) -> Behind:
    """Compare files, index and settings, which are the home's. *embedder* is the one in use, or why there is none."""
    lags: list[Lag] = []
    for project in reader.scope:
        lags += _of_files(reader, project, settings, embedder)
        lags += _of_chunks(reader, project, settings, embedder)
    held = {(project.name, path) for project in reader.scope for path in reader.known(project)}
    lagging = {(lag.project, lag.path) for lag in lags}
    unseen = [lag for lag in lags if lag.kind in ("no folder", "unreadable")]
    blind = [(lag.project, f"{lag.path}/" if lag.path else "") for lag in unseen]
    hidden = {note for note in held for project, folder in blind if note[0] == project and note[1].startswith(folder)}
    return Behind(tuple(lags), len(held), len(held - lagging - hidden), _remarks(reader, settings, embedder))


def _of_files(reader: Reader, project: Project, settings: Settings, embedder: Embedder | str) -> Iterator[Lag]:
    def lag(kind: Kind, path: str | None, reason: str | None = None, mend: str = _INDEX) -> Lag:
        return Lag(kind, project.name, path, reason, None, mend)

    try:
        now_asked, found = surveyed(project)
    except RootMissing:
        folder = shlex.quote(str(project.root))
        yield lag("no folder", None, str(project.root), f"bring the folder back, then: {_INDEX} {folder}")
        return
    model = None if isinstance(embedder, str) else embedder
    form = note_form(model, for_project(settings, now_asked.settings))
    now = standing(reader, project, found, Form(form, model is None))
    emptied = bool(now.gone) and not found.hashes
    removing = f"{_INDEX} {shlex.quote(str(project.root))} --allow-empty" if emptied else _INDEX
    yield from (lag("changed", path) for path in sorted(now.changed))
    yield from (lag("new", path) for path in sorted(now.new))
    yield from (lag("renamed", old, f"now {new}") for old, new in sorted(now.renamed))
    yield from (lag("gone", path, mend=removing) for path in sorted(now.gone))
    reading = f"make it readable (as UTF-8), then: {_INDEX}"
    yield from (lag("unreadable", problem.path, problem.message, reading) for problem in sorted(now.unreadable))
    yield from (lag("another form", path, _changes(held, form)) for path, held in sorted(now.reread))


def _of_chunks(reader: Reader, project: Project, settings: Settings, embedder: Embedder | str) -> Iterator[Lag]:
    identity = None if isinstance(embedder, str) else embedder.identity
    for held in reader.unserved(project, identity):
        if held.state == "pending" and _text_only(settings):
            continue
        kind: Kind = "pending" if held.state == "pending" else "failed" if held.state == "failed" else "another model"
        waiting = f"{embedder} Then: {_INDEX}" if isinstance(embedder, str) else _INDEX
        mend = f"change what the passage says, then: {_INDEX}" if kind == "failed" else waiting
        yield Lag(
            kind, project.name, held.path, _said(held, f"{identity} in {reader.home.identity}"), held.chunks, mend
        )


def _said(held: Unserved, in_use: str) -> str | None:
    if held.state == "ready":
        stored = f"{held.embedding_identity} in {held.index_identity}"
        return f"{stored}; in use: {in_use}"
    return held.error


def _changes(held: str, form: str) -> str:
    """What differs between two forms, part by part."""
    if not held:
        return "renamed, and not read again yet"
    before, after = held.split(", "), form.split(", ")
    lost = [part for part in before if part not in after]
    gained = [part for part in after if part not in before]
    return f"{', '.join(lost) or 'no model'} → {', '.join(gained) or 'no model'}"


def _text_only(settings: Settings) -> bool:
    return settings.embedder == "none"


def _remarks(reader: Reader, settings: Settings, embedder: Embedder | str) -> tuple[str, ...]:
    if _text_only(settings):
        pending = reader.readiness(None).pending
        said = f"{pending:,} passages have no vector, as the settings want it (embedder = none)"
        return (said,) if pending else ()
    return (f"vectors are not judged: {embedder}",) if isinstance(embedder, str) else ()
