"""The passages closest to one by the vectors that are stored, and what their similarity means among all others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from cutaway.errors import UsageError
from cutaway.index.cards import Entry, NoteCard
from cutaway.index.reader import Reader
from cutaway.index.vectors import StoredVectors, Vector, VectorIndex, histogram
from cutaway.inspector.histogram import Histogram, spread
from cutaway.inspector.picture import flattened
from cutaway.inspector.pointed import Pointed, Queries, pointed
from cutaway.inspector.sight import Sight, sight, vectors_of
from cutaway.inspector.targets import Target
from cutaway.model import ChunkId
from cutaway.models.embedder import Embedder

ALIKE = 0.96
"""Cosine from which two passages count as one thing.

Looked at: pairs of passages of four vaults (11,784 passages, bge-small-en-v1.5) in bands of a hundredth. From .96
up nearly every pair in English is the same text in another dress: a template filled twice, a quotation kept in two
notes, a list or table cut in two. Between .94 and .96 there are such pairs too, but also prose of one form that says
different things ("sort by folder", "sort by root"). Half of the passages have a nearest neighbour below .90, and only
.1 % (prose) to 1 in 8 (release notes from a template) have one above .96. In Chinese, which this model cannot read,
different passages of one text come as close as .97.
"""
MUTUAL_WITHIN = 50
"""How far down a neighbour's own nearest the target is looked for."""
MAX_LISTED = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose neighbours: those of a target, or of words."""

    target: str | None = None
    text: str | None = None
    limit: int = 10
    singly: bool = False
    """List near-duplicates one by one."""
    by_text: bool = False
    """Embed the target's text now, whatever is stored."""


class Near(NamedTuple):
    """A passage, its similarity to the target, and the target's own passage that it is most similar to."""

    id: ChunkId
    similarity: float
    to: ChunkId | None


class Group(NamedTuple):
    """A neighbour, and the others that it stands for, most similar first."""

    best: Near
    closer: int
    """How many passages of the scope are strictly closer to the target."""
    mutual: int | None
    alike: tuple[ChunkId, ...]


class Passage(NamedTuple):
    """A chunk and its note."""

    entry: Entry
    note: NoteCard


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A passage close to the target."""

    passage: Passage
    similarity: float
    percentile: float
    """The share of the scope's other passages that are no closer, in percent."""
    to: Entry | None
    same_note: bool
    mutual: int | None
    """The target's place among this passage's own nearest; None where it is not near the top, or only words."""
    twin: bool
    """Whether it is alike to the target itself."""
    alike: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The neighbours of a target, best first, and how similar everything else is."""

    target: Target | None
    words: str | None
    embedding_identity: str
    index_identity: str
    reembedded: bool
    among: int
    """How many passages were compared: all that are ready, without the target's own."""
    listed: tuple[Neighbour, ...]
    histogram: Histogram | None
    """None where the vector index cannot give it, or nothing was compared."""
    picture: tuple[tuple[float, float], ...]
    """The target, then the listed, in a plane; none where the vector index does not give out what it stores."""
    remarks: tuple[str, ...]


def neighbours(asked: Asked, reader: Reader, embedder: Embedder | str) -> Neighbours:
    """Find the neighbours of what was asked for. *embedder* is the one in use, or why there is none.

    Raises UsageError, NoteNotFound, AmbiguousNote, IndexMismatch, ModelUnavailable, UnreadableQuery.
    """
    if not 1 <= asked.limit <= MAX_LISTED:
        raise UsageError(f"limit is {asked.limit}; it may be 1 to {MAX_LISTED}.")
    view = sight(reader, embedder)
    point = pointed(view, asked.target, asked.text, asked.by_text)
    others = [chunk for chunk in view.served if chunk not in point.own]
    order = in_order(lambda k: nearest_to_any(view.vectors, point.queries, others, k))
    groups = singly(view, point, order, asked.limit) if asked.singly else collapsed(view, point, order, asked.limit)
    listed = _described(view, point, groups, len(others))
    return Neighbours(
        target=point.target,
        words=point.words,
        embedding_identity=view.identity,
        index_identity=view.vectors.identity,
        reembedded=point.reembedded,
        among=len(others),
        listed=listed,
        histogram=_histogram(view.vectors, [query for _, query in point.queries], others),
        picture=_picture(view.vectors, point, listed),
        remarks=point.remarks,
    )


def in_order(read: Callable[[int], Sequence[Near]]) -> Iterator[Near]:
    """Everything, best first, read in growing pieces: a longer answer begins like a shorter one."""
    told, k = 0, 64
    while True:
        found = read(k)
        yield from found[told:]
        if len(found) < k:
            return
        told, k = k, 4 * k


def nearest_to_any(index: VectorIndex, queries: Queries, within: Sequence[ChunkId], k: int) -> list[Near]:
    """The k passages most similar to any of these; each once, with the first of those it is most similar to."""
    best: dict[ChunkId, Near] = {}
    for own, query in queries:
        for found in index.nearest(query, k, within).hits:
            if found.id not in best or found.similarity > best[found.id].similarity:
                best[found.id] = Near(found.id, found.similarity, own)
    return sorted(best.values(), key=lambda near: (-near.similarity, near.id))[:k]


def singly(view: Sight, point: Pointed, order: Iterator[Near], limit: int) -> list[Group]:
    """The first of all, each for itself."""
    first = [near for near, _ in zip(ranked(order), range(limit), strict=False)]
    return [Group(near, closer, _mutual(point, around(view, near.id)), ()) for near, closer in first]


def collapsed(view: Sight, point: Pointed, order: Iterator[Near], limit: int) -> list[Group]:
    """The first that are not alike to one before; who is, counts with the first it is alike to.

    What is alike to the target itself is one group, the first.
    """
    groups: list[Group] = []
    claimed: set[ChunkId] = set()
    for near, closer in ranked(order):
        if near.id in claimed:
            continue
        claimed.add(near.id)
        if near.similarity >= ALIKE and groups:
            groups[0] = groups[0]._replace(alike=(*groups[0].alike, near.id))
            continue
        if len(groups) == limit:
            break
        nearby = around(view, near.id)
        alike: tuple[ChunkId, ...] = ()
        if near.similarity < ALIKE:
            alike = tuple(other.id for other in nearby if other.similarity >= ALIKE and other.id not in claimed)
            alike = tuple(chunk for chunk in alike if chunk not in point.own)
        claimed.update(alike)
        groups.append(Group(near, closer, _mutual(point, nearby), alike))
    return groups


def ranked(order: Iterator[Near]) -> Iterator[tuple[Near, int]]:
    """Each with how many before it are strictly closer."""
    closer, last = 0, None
    for place, near in enumerate(order):
        closer = closer if near.similarity == last else place
        last = near.similarity
        yield near, closer


def around(view: Sight, chunk: ChunkId) -> list[Near]:
    """A passage's own nearest: the first few, and all that are alike to it."""
    entry = view.reader.entries([chunk])[chunk]
    queries = tuple(vectors_of(view, [entry]).items())
    found: list[Near] = []
    for near in in_order(lambda k: nearest_to_any(view.vectors, queries, view.served, k)):
        if len(found) >= MUTUAL_WITHIN and near.similarity < ALIKE:
            break
        if near.id != chunk:
            found.append(near)
    return found


def _mutual(point: Pointed, nearby: Sequence[Near]) -> int | None:
    places = enumerate(nearby[:MUTUAL_WITHIN], start=1)
    return next((place for place, near in places if near.id in point.own), None)


def _described(view: Sight, point: Pointed, groups: Sequence[Group], among: int) -> tuple[Neighbour, ...]:
    ids = chain.from_iterable((group.best.id, *group.alike) for group in groups)
    entries = view.reader.entries(ids)
    notes = view.reader.notes({entry.note for entry in entries.values()})
    passages = {chunk: Passage(entry, notes[entry.note]) for chunk, entry in entries.items()}
    own = {entry.id: entry for entry in point.target.entries} if point.target else {}
    return tuple(
        Neighbour(
            passage=passages[group.best.id],
            similarity=group.best.similarity,
            percentile=100 * (among - group.closer) / among,
            to=None if group.best.to is None else own[group.best.to],
            same_note=point.target is not None and entries[group.best.id].note == point.target.note.id,
            mutual=group.mutual,
            twin=group.best.similarity >= ALIKE,
            alike=tuple(passages[chunk] for chunk in group.alike),
        )
        for group in groups
    )


def _picture(index: VectorIndex, point: Pointed, listed: Sequence[Neighbour]) -> tuple[tuple[float, float], ...]:
    if not isinstance(index, StoredVectors) or not listed:
        return ()
    held = index.vectors([one.passage.entry.id for one in listed])
    middle = np.mean([query for _, query in point.queries], axis=0)
    return flattened([middle, *(held[one.passage.entry.id] for one in listed)])


def _histogram(index: VectorIndex, queries: Sequence[Vector], within: Sequence[ChunkId]) -> Histogram | None:
    if not within or not isinstance(index, StoredVectors):
        return None
    return spread(lambda edges: histogram(index, within, queries, edges))
