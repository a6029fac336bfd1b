"""The JSON of `inspect neighbors`: the closest passages, and what their similarity means."""

from __future__ import annotations

from pydantic import Field

from cutaway.faces.asked import NeighboursIn
from cutaway.faces.schemas import Out
from cutaway.faces.sessions import Session
from cutaway.index.cards import Entry, NoteCard
from cutaway.index.reader import Reader
from cutaway.inspector.chunk_map import freshness_of
from cutaway.inspector.neighbours import ALIKE, Asked, Neighbour, Neighbours, neighbours
from cutaway.inspector.targets import Target, locator


class PlaceOut(Out):
    """A passage and where it stands."""

    id: int = Field(description="The chunk's id.")
    locator: str = Field(description="The chunk, as other views print and read it.")
    lines: tuple[int, int] = Field(description="First and last line of the passage.")
    heading_path: tuple[str, ...]
    passage: str = Field(description="Its text, verbatim.")

    @classmethod
    def of(cls, reader: Reader, note: NoteCard, entry: Entry) -> PlaceOut:
        return cls(
            id=entry.id,
            locator=locator(reader, note, entry),
            lines=entry.lines,
            heading_path=entry.heading_path,
            passage=note.source[entry.start : entry.end].decode("utf-8"),
        )


class TargetOut(Out):
    """What was pointed at."""

    kind: str = Field(description="`chunk`, `line` (the chunks that cover it) or `note` (all its chunks).")
    project: str
    path: str
    title: str
    freshness: str = Field(description="How the note stands to its file; see `inspect chunks`.")
    reason: str | None = Field(description="Why it is not fresh.")
    passages: tuple[PlaceOut, ...] = Field(description="A neighbour's similarity is that to the closest of them.")

    @classmethod
    def of(cls, reader: Reader, target: Target, identity: str) -> TargetOut:
        note = target.note
        freshness, reason = freshness_of(note, reader.entries_of_note(note.id), identity)
        return cls(
            kind=target.kind,
            project=note.project.name,
            path=note.path,
            title=note.title,
            freshness=freshness,
            reason=reason,
            passages=tuple(PlaceOut.of(reader, note, entry) for entry in target.entries),
        )


class NeighbourOut(Out):
    """A passage close to the target."""

    project: str
    path: str
    title: str
    at: PlaceOut
    similarity: float = Field(description="Cosine of the two stored vectors.")
    percentile: float = Field(description="The share of all compared passages that are no closer, in percent.")
    nearest_to: str | None = Field(description="The target's passage it is closest to; null for words.")
    same_note: bool = Field(description="Whether it stands in the target's own note.")
    mutual_rank: int | None = Field(
        description="The target's place among this passage's own nearest, from 1; null beyond 50, and for words."
    )
    near_duplicate: bool = Field(description="Whether it is alike to the target itself.")
    alike: tuple[str, ...] = Field(
        description="Locators of the near-duplicates it stands for: of itself, or, where it is alike to the target, "
        "of the target. Empty with `--all`."
    )

    @classmethod
    def of(cls, reader: Reader, target: Target | None, found: Neighbour) -> NeighbourOut:
        note = found.passage.note
        return cls(
            project=note.project.name,
            path=note.path,
            title=note.title,
            at=PlaceOut.of(reader, note, found.passage.entry),
            similarity=found.similarity,
            percentile=found.percentile,
            nearest_to=locator(reader, target.note, found.to) if target and found.to else None,
            same_note=found.same_note,
            mutual_rank=found.mutual,
            near_duplicate=found.twin,
            alike=tuple(locator(reader, other.note, other.entry) for other in found.alike),
        )


class HistogramOut(Out):
    """How similar all compared passages are to the target."""

    edges: tuple[float, ...] = Field(description="One more than there are counts; an edge belongs to the range above.")
    counts: tuple[int, ...]


class NeighboursOut(Out):
    """The neighbours of a passage, a note or words, closest first."""

    target: TargetOut | None = Field(description="Null where words were given.")
    words: str | None = Field(description="The words that were embedded; null where a target was given.")
    embedding_identity: str
    index_identity: str
    reembedded: bool = Field(
        description="Whether the target's vector was made now from its text: as asked for with `--by-text`, or because "
        "the vector index does not give out what it stores."
    )
    among: int = Field(description="How many passages were compared: all ready ones of the scope but the target's own.")
    alike_from: float = Field(description="Cosine from which two passages are called near-duplicates.")
    neighbours: tuple[NeighbourOut, ...]
    histogram: HistogramOut | None = Field(description="Null where the vector index cannot give it.")
    picture: tuple[tuple[float, float], ...] = Field(
        description="The target, then the neighbours in order, as points of a plane from -1 to 1: only a picture."
    )
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, reader: Reader, found: Neighbours) -> NeighboursOut:
        identity, bars = found.embedding_identity, found.histogram
        return cls(
            target=TargetOut.of(reader, found.target, identity) if found.target else None,
            words=found.words,
            embedding_identity=identity,
            index_identity=found.index_identity,
            reembedded=found.reembedded,
            among=found.among,
            alike_from=ALIKE,
            neighbours=tuple(NeighbourOut.of(reader, found.target, neighbour) for neighbour in found.listed),
            histogram=HistogramOut(edges=bars.edges, counts=bars.counts) if bars else None,
            picture=found.picture,
            remarks=found.remarks,
        )


def nearby(session: Session, asked: NeighboursIn) -> NeighboursOut:
    """The passages closest to one, or to words. Raises NoteNotFound, UsageError."""
    values = Asked(asked.target, asked.text, asked.limit, asked.singly, asked.by_text)
    return NeighboursOut.of(session.reader, neighbours(values, session.reader, session.embedder()))
