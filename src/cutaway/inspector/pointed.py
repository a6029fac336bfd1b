"""Whose neighbours are asked for, as vectors: stored ones, or made now from a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cutaway.errors import IndexMismatch, UnreadableQuery, UsageError
from cutaway.index.cards import Entry
from cutaway.index.vectors import StoredVectors, Vector
from cutaway.inspector.sight import Sight, embedded_now, made_anew, vectors_of
from cutaway.inspector.targets import Target, find_target, locator
from cutaway.model import ChunkId
from cutaway.models.embedder import Embedder
from cutaway.notes.tokenizer import MOST_UNKNOWN

MAX_CHARS = 20_000
Queries = Sequence[tuple[ChunkId | None, Vector]]
"""Vectors to measure from, each with the target's chunk that it is of; None stands for words."""


class Pointed(NamedTuple):
    """What the neighbours are measured from."""

    target: Target | None
    words: str | None
    queries: Queries
    """In source order."""
    own: frozenset[ChunkId]
    """The target's chunks: no neighbours of it."""
    reembedded: bool
    """Whether the vectors were made now although the target is in the index."""
    remarks: tuple[str, ...]


def pointed(view: Sight, target: str | None, text: str | None, by_text: bool) -> Pointed:
    """Find what was pointed at and its vectors. Raises UsageError, and what ``find_target`` raises."""
    if (target is None) == (text is None):
        raise UsageError("give one of the two: a target (NOTE, NOTE#3, NOTE:12, a chunk's id), or --text WORDS.")
    if text is not None:
        return _words(view, text)
    found = find_target(view.reader, target or "")
    if not found.entries:
        skips = ", ".join(dict.fromkeys(skip.reason for skip in found.note.skips)) or "it is empty"
        raise UsageError(f"{found.note.path} has no passage to compare; all of it was left out as: {skips}.")
    own = frozenset(entry.id for entry in found.entries)
    if by_text:
        return Pointed(found, None, tuple(made_anew(view, found.entries).items()), own, True, ())
    known = set(view.served)
    ready = [entry for entry in found.entries if entry.id in known]
    if not ready:
        raise _unserved(view, found, found.entries[0])
    vectors = vectors_of(view, ready)
    if missing := [entry for entry in ready if entry.id not in vectors]:
        name = locator(view.reader, found.note, missing[0])
        raise UsageError(f"{name} is called ready but has no vector. {view.reader.remedy}")
    remarks = (f"{len(own) - len(ready)} of {len(own)} passages of the target have no vector and were not compared",)
    queries = tuple((entry.id, vectors[entry.id]) for entry in ready)
    reembedded = not isinstance(view.vectors, StoredVectors)
    return Pointed(found, None, queries, own, reembedded, remarks if len(ready) < len(own) else ())


def _words(view: Sight, text: str) -> Pointed:
    words = text.encode("utf-8", "replace").decode().strip()
    if not words:
        raise UsageError("--text is empty. Give some words to compare with.")
    if len(words) > MAX_CHARS:
        raise UsageError(f"--text has {len(words):,} characters; at most {MAX_CHARS:,} are read.")
    if isinstance(view.embedder, str):
        raise UsageError(f"--text needs an embedder: {view.embedder}")
    if (share := view.embedder.tokenizer.unknown(words)) >= MOST_UNKNOWN:
        raise UnreadableQuery(f"the model does not know {share:.0%} of these tokens; their vector would mean nothing.")
    (vector,) = embedded_now(view.embedder, [words], query=True)
    return Pointed(None, words, ((None, vector),), frozenset(), False, _cut(view.embedder, words))


def _cut(embedder: Embedder, words: str) -> tuple[str, ...]:
    limit = embedder.tokenizer.limit
    long = embedder.tokenizer.counts([words])[0] > limit
    return (f"the text is longer than the model reads: only its first {limit} tokens count",) if long else ()


def _unserved(view: Sight, found: Target, entry: Entry) -> UsageError | IndexMismatch:
    name = locator(view.reader, found.note, entry)
    others = f" (and {len(found.entries) - 1} more)" if len(found.entries) > 1 else ""
    if entry.state == "failed":
        why, cure = f"could not be embedded: {entry.error}.", "Change what it says and run: cutaway index"
    elif entry.state == "pending":
        why, cure = "waits for its vector.", "Run: cutaway index, or compare its text with --by-text"
    else:
        held = f"{entry.embedding_identity} in {entry.index_identity}"
        return IndexMismatch(
            f"{name}{others} was embedded as {held}; in use is {view.identity} in {view.vectors.identity}. "
            "Run: cutaway index"
        )
    return UsageError(f"{name}{others} {why} {cure}")
