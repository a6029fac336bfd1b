"""What the index holds in sum, and what is wrong with it or with the files behind it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from cutaway.errors import BadVector, ModelUnavailable, RootMissing, VectorsUnavailable
from cutaway.index.reader import Reader
from cutaway.inspector.standing import standing
from cutaway.model import Project
from cutaway.models.embedder import Embedder, embedded
from cutaway.notes.files import Scan
from cutaway.notes.vault import surveyed

_LISTED = 50
# Of the models whose names say so; of others nothing is known here.
_ENGLISH = re.compile(
    r"bge-(small|base|large)-en\b|all-MiniLM-L6|snowflake-arctic-embed-(xs|s|m|l|m-long)@|mxbai-embed-large-v1"
)


class Overview(NamedTuple):
    """One project in numbers."""

    name: str
    root: str
    notes: int
    observations: int
    relations: int
    bytes: int
    chunks: int
    ready: int
    pending: int
    failed: int
    problems: int
    embedded_as: tuple[str, ...]
    """The models whose vectors the index holds of it: one, or none yet."""
    title: str | None = None
    """What the folder calls itself."""


class Finding(NamedTuple):
    """Something a check found. ``severity`` is ok, note, warning or error."""

    severity: str
    check: str
    project: str | None
    path: str | None
    message: str


def overview(reader: Reader) -> list[Overview]:
    """Each project of the scope in numbers."""
    problems = [project.name for project, _ in reader.problems()]
    return [
        Overview(
            name=project.name,
            title=project.asked.title,
            root=str(project.root),
            **reader.counts(project),
            problems=problems.count(project.name),
            embedded_as=reader.identities(project),
        )
        for project in reader.scope
    ]


def examine(reader: Reader, embedder: Embedder | str) -> list[Finding]:
    """Every check, each with at least one line: what is wrong and how to mend it, or that all is well.

    *embedder* is the one in use, or why there is none.
    """
    findings = [*_integrity(reader), *_vectors(reader), *_identity(reader, embedder)]
    for project in reader.scope:
        findings += _project(reader, project)
    return findings


def examine_reranker(identity: str | None, missing: str | None, wanted: bool) -> Finding:
    """Whether searches can be reranked: by which cross-encoder, or why not."""
    if identity is None:
        return Finding("warning" if wanted else "note", "reranker", None, None, f"none: {missing}")
    used = "every vector and hybrid search uses" if wanted else "off in the settings; --rerank uses"
    return Finding("ok", "reranker", None, None, f"{used} {identity}")


def examine_endpoint(embedder: Embedder, url: str) -> Finding:
    """Whether an embedder behind an address answers."""
    try:
        _, (fault,) = embedded(embedder, ["text"], query=True)
    except (BadVector, ModelUnavailable) as failure:
        fault = str(failure)
    said = f"passages and queries are sent to {url}"
    if fault:
        return Finding("error", "endpoint", None, None, f"{said}: {fault}")
    return Finding("ok", "endpoint", None, None, f"{said}, which answers")


def _integrity(reader: Reader) -> Iterator[Finding]:
    faults = reader.integrity_faults()
    for fault in faults:
        yield Finding("error", "integrity", None, None, f"{fault}. Delete the index file and run: cutaway index")
    if not faults:
        yield Finding("ok", "integrity", None, None, "database and lexical index are sound")


def _vectors(reader: Reader) -> Iterator[Finding]:
    try:
        orphans, missing = reader.vector_faults()
    except VectorsUnavailable as failure:
        yield Finding("error", "vectors", None, None, str(failure))
        return
    if orphans:
        yield Finding("warning", "vectors", None, None, f"{orphans:,} vectors belong to no ready chunk; never served")
    if missing:
        yield Finding(
            "error",
            "vectors",
            None,
            None,
            f"{missing:,} ready chunks have no vector. {reader.remedy}",
        )
    if not orphans and not missing:
        yield Finding("ok", "vectors", None, None, "every ready chunk has its vector, and no vector is an orphan")


def _identity(reader: Reader, embedder: Embedder | str) -> Iterator[Finding]:
    if isinstance(embedder, str):
        yield Finding("warning", "model", None, None, f"none: {embedder}")
        return
    identity = embedder.identity
    foreign = reader.foreign(identity)
    for project, held in foreign.items():
        said = f"embedded as {' and '.join(held)}; in use: {identity} in {reader.home.identity}"
        yield Finding(
            "warning", "model", project.name, None, f"{said}. Only its words are searched. Run: cutaway index"
        )
    if reader.space(identity):
        yield Finding("ok", "model", None, None, f"index and searches use {identity}")
        if _ENGLISH.search(identity):
            said = (
                "this model reads English; notes in other languages are found by their words, hardly by their meaning"
            )
            yield Finding("note", "model", None, None, said)
    elif not foreign:
        yield Finding("warning", "model", None, None, f"nothing is embedded; in use: {identity}")


def _project(reader: Reader, project: Project) -> Iterator[Finding]:
    name = project.name
    try:
        _, found = surveyed(project)
    except RootMissing as error:
        yield Finding("error", "folder", name, None, str(error))
        return
    read_again = ("config",)
    reported = [held for owner, held in reader.problems() if owner == project and held.kind not in read_again]
    now = set(found.problems)
    for problem in [*found.problems, *(problem for problem in reported if problem not in now)][:_LISTED]:
        severity = "note" if problem.kind in ("link", "opted out") else "warning"
        yield Finding(severity, problem.kind, name, problem.path, problem.message)
    yield from _coverage(reader, project, found)
    counts = reader.counts(project)
    if counts["pending"]:
        yield Finding(
            "warning", "embedding", name, None, f"{counts['pending']:,} chunks wait for a vector. Run: cutaway index"
        )
    for held in reader.unserved(project, None):
        if held.state == "failed":
            yield Finding("error", "embedding", name, held.path, f"{held.chunks} chunks failed: {held.error}")


def _coverage(reader: Reader, project: Project, found: Scan) -> Iterator[Finding]:
    """Every file on disk accounted for: indexed as it is, changed since, missing, or gone."""
    now = standing(reader, project, found)
    new = sorted((*now.new, *(path for _, path in now.renamed)))
    gone = sorted((*now.gone, *(path for path, _ in now.renamed)))
    if gone and not found.hashes:
        root = project.root
        said = f"{root} holds no notes, but {len(gone):,} are indexed. Bring them back. If they are really gone, run: "
        said += f"cutaway index {shlex.quote(str(root))} --allow-empty"
        yield Finding("error", "folder", project.name, None, said)
        return
    told = (
        (new, "not indexed yet"),
        (sorted(now.changed), "changed since it was indexed"),
        (gone, "gone from disk, or left out now"),
    )
    for paths, said in told:
        for path in paths[:_LISTED]:
            yield Finding("warning", "files", project.name, path, f"{said}. Run: cutaway index")
    unread = len({problem.path for problem in now.unreadable if problem.kind == "unreadable"})
    counts = {"indexed as they are": len(now.same), "changed": len(now.changed), "new": len(new)}
    counts |= {"opted out": len(now.opted_out), "unreadable": unread, "gone": len(gone)}
    said = f"{len(found.hashes) + unread:,} files: " + ", ".join(f"{count:,} {name}" for name, count in counts.items())
    sound = len(now.same) == len(found.hashes) - len(now.opted_out)
    yield Finding("ok" if sound else "note", "files", project.name, None, said)
