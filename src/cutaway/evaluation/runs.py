"""Runs: judged queries put through the search, and what its stages recorded, kept for comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from cutaway.config import Settings
from cutaway.errors import AmbiguousNote, UsageError
from cutaway.evaluation.judged import JudgedSet, Topic
from cutaway.evaluation.measures import RANKED, Mean, Measure, mean
from cutaway.index.reader import Reader
from cutaway.model import NoteId, RowId, Span
from cutaway.models.embedder import Remembering
from cutaway.retrieval.gather import Evidence, gather
from cutaway.retrieval.pipeline import Answer, answered, usable
from cutaway.retrieval.plan import Models, make_plan
from cutaway.retrieval.request import MAX_RESULTS, Request
from cutaway.retrieval.tracing import Stage

FORMAT = "cutaway-run/1"
_TRAILS = 20

Tick = Callable[[int, int], None]


class Hit(NamedTuple):
    """A result: its document, its score, and where its passage stands in the note (None where nobody looked)."""

    document: str
    score: float
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class TopicRun:
    """One topic's results, and how they came about."""

    id: str
    text: str
    hits: tuple[Hit, ...]
    grades: Mapping[str, int]
    trails: Mapping[str, Mapping[str, int]]
    """The rank of a document after each stage, for the first results and all judged documents; a range's is its
    document's."""
    ms: Mapping[str, float]
    """Milliseconds by stage."""
    degraded: tuple[str, ...] = ()

    @property
    def ranked(self) -> list[str]:
        return [hit.document for hit in self.hits]


@dataclass(frozen=True, slots=True)
class Run:
    """What one setting gave for every topic."""

    label: str
    formula: str
    settings: Mapping[str, Any]
    identities: Mapping[str, str | None]
    topics: tuple[TopicRun, ...]
    format: str = field(default=FORMAT)

    def values(self, measure: Measure) -> list[float]:
        """The measure of each topic."""
        return [measure.of(topic.ranked, topic.grades) for topic in self.topics]

    def means(self, measures: Sequence[Measure]) -> dict[str, Mean]:
        """Each measure's mean over the topics."""
        return {measure.name: mean(self.values(measure)) for measure in measures}

    def latency(self) -> dict[str, float]:
        """Mean milliseconds by stage, and of all of them together."""
        stages = list(dict.fromkeys(name for topic in self.topics for name in topic.ms))
        means = {name: sum(topic.ms.get(name, 0.0) for topic in self.topics) / len(self.topics) for name in stages}
        return {**means, "all stages": sum(means.values())}


class Documents(NamedTuple):
    """What every note is called here: as it was judged, else by its path."""

    names: Mapping[NoteId, str]
    unknown: tuple[str, ...] = ()
    """Judged documents that no note answers to. They count as not found."""
    excluded: Mapping[str, str] = {}
    """What the documents that topics exclude are called in *names*, where that is another name."""


def documents_of(judged: JudgedSet, reader: Reader) -> Documents:
    """Which note each judged document is: by path, else by title, permalink or alias. Raises AmbiguousNote."""
    wanted = {document for grades in judged.qrels.values() for document in grades}
    wanted |= {document for spans in judged.spans.values() for document in spans}
    names = {card.note: card.path for card in reader.catalog}
    found = {document: _one(document, reader, names) for document in sorted(wanted)}
    called: dict[NoteId, str] = {}
    for document, note in found.items():
        if note is not None and called.setdefault(note, document) != document:
            raise UsageError(f"{called[note]!r} and {document!r} are one note. Call it by one name in the judgments.")
    excluded = {document: _one(document, reader, names) for topic in judged.topics for document in topic.exclude}
    names.update(called)
    return Documents(
        names,
        unknown=tuple(document for document, note in found.items() if note is None),
        excluded={document: names[note] for document, note in excluded.items() if note is not None},
    )


def _one(document: str, reader: Reader, names: Mapping[NoteId, str]) -> NoteId | None:
    """The note of that name, None where there is none. Raises AmbiguousNote."""
    notes = reader.named(document)
    if len(notes) > 1:
        raise AmbiguousNote(document, tuple(names[note] for note in notes))
    return notes[0] if notes else None


def grades_of(judged: JudgedSet, topic: str) -> Mapping[str, int]:
    """What is known of a topic's answers: the ranges that hold them, where it has such, else its documents."""
    ranges = judged.spans.get(topic)
    if ranges is None:
        return judged.qrels.get(topic, {})
    return {_range(document, span): 1 for document, spans in ranges.items() for span in spans}


def ran(
    judged: JudgedSet,
    variants: Mapping[str, Settings],
    reader: Reader,
    models: Models,
    documents: Documents,
    tick: Tick,
) -> list[Run]:
    """Put every topic through the search once per variant.

    What variants have in common is done once: a query is embedded once, and legs are read again
    only where a variant reads them differently.
    """
    models = usable(models, reader)
    if not isinstance(models.embedder, str):
        models = replace(models, embedder=Remembering(models.embedder))
    topics = judged.evaluable()
    results: dict[str, list[TopicRun]] = {label: [] for label in variants}
    last: dict[str, Answer] = {}
    for number, topic in enumerate(topics, start=1):
        read: dict[tuple[object, ...], Evidence] = {}
        for label, settings in variants.items():
            answer = _answer(_request(topic, settings, judged), settings, reader, models, read)
            last[label] = answer
            results[label].append(_recorded(topic, answer, judged, documents))
        tick(number, len(topics))
    return [_run(label, settings, last.get(label), results[label]) for label, settings in variants.items()]


def _request(topic: Topic, settings: Settings, judged: JudgedSet) -> Request:
    """One search. Where ranges are judged, its page is all that is kept, because only a page has passages."""
    most = min(RANKED + len(topic.exclude), MAX_RESULTS)
    return Request(topic.text, rerank=settings.rerank, limit=most if topic.id in judged.spans else None)


def _answer(
    request: Request, settings: Settings, reader: Reader, models: Models, read: dict[tuple[object, ...], Evidence]
) -> Answer:
    """One search, from evidence that an earlier variant read where it read the same."""
    plan = make_plan(request, settings, reader, models)
    needs = (plan.lexical, plan.vector, plan.lexical_window, plan.vector_window, plan.weighting)
    if needs not in read:
        read[needs] = gather(plan, reader, models.embedder)
    return answered(plan, read[needs], reader, models)


def _recorded(topic: Topic, answer: Answer, judged: JudgedSet, documents: Documents) -> TopicRun:
    names = _names(answer, documents)
    ranges = judged.spans.get(topic.id, {})
    spans = {hit.id: _span(answer, hit.id, hit.via) for hit in answer.page}
    ranking = answer.page if ranges else answer.ranking.kept
    hits = [Hit(names[answer.evidence.notes[hit.id]], hit.score, spans.get(hit.id)) for hit in ranking]
    first = {hit.document: hit for hit in reversed(hits)}  # rows of one note are one document, where it first stands
    excluded = {documents.excluded.get(document, document) for document in topic.exclude}
    kept = [hit for hit in hits if hit.document not in excluded and first[hit.document] is hit][:RANKED]
    followed = {hit.document for hit in kept[:_TRAILS]} | judged.qrels.get(topic.id, {}).keys() | ranges.keys()
    trails = _trails(answer, names, followed)
    return TopicRun(
        id=topic.id,
        text=topic.text,
        hits=tuple(_by_span(kept, ranges)),
        grades=grades_of(judged, topic.id),
        trails=trails | {_range(document, span): trails[document] for document in ranges for span in ranges[document]},
        ms=_milliseconds(answer),
        degraded=tuple(f"{part.stage}: {part.reason}" for part in answer.degraded),
    )


def _milliseconds(answer: Answer) -> dict[str, float]:
    spent: dict[str, float] = {}
    for step in answer.stages:
        spent[step.name] = round(spent.get(step.name, 0.0) + step.seconds * 1000, 3)
    return spent


def _trails(answer: Answer, names: Mapping[NoteId, str], followed: Iterable[str]) -> dict[str, dict[str, int]]:
    """The rank of each followed document after each stage, counting a document where it first stands."""
    trails: dict[str, dict[str, int]] = {document: {} for document in followed}
    for step in answer.stages:
        if step.name.endswith("head"):  # one for each leg under one name, and nothing but the leg's beginning
            continue
        for rank, document in enumerate(_ordered(step, answer, names), start=1):
            if document in trails:
                trails[document][step.name] = rank
    return trails


def _ordered(step: Stage[Any], answer: Answer, names: Mapping[NoteId, str]) -> list[str]:
    entries, notes = answer.evidence.entries, answer.evidence.notes
    found = (
        notes[hit.id] if isinstance(hit.id, RowId) else entries[hit.id].note
        for hit in step.kept
        if isinstance(hit.id, RowId) or hit.id in entries
    )
    return list(dict.fromkeys(names[note] for note in found))


def _names(answer: Answer, documents: Documents) -> dict[NoteId, str]:
    notes = {*answer.evidence.notes.values(), *(entry.note for entry in answer.evidence.entries.values())}
    return {note: documents.names[note] for note in notes}


def _span(answer: Answer, row: RowId, chunk: Any) -> Span:
    """Where the passage shown for a result stands in its note."""
    entry = next((entry for entry in answer.shelf.chunks.get(row, ()) if entry.id == chunk), None)
    card = answer.shelf.rows[row]
    return Span(entry.start, entry.end) if entry else Span(card.start, card.end)


def _by_span(hits: Sequence[Hit], spans: Mapping[str, Sequence[Span]]) -> Iterator[Hit]:
    """Results called by the judged range their passage meets, each range counted once."""
    met: set[tuple[str, Span]] = set()
    for hit in hits:
        found = [
            (hit.document, span)
            for span in spans.get(hit.document, ())
            if hit.span and hit.span.start < span.end and span.start < hit.span.end and (hit.document, span) not in met
        ]
        met.update(found[:1])
        yield hit._replace(document=_range(*found[0])) if found else hit


def _range(document: str, span: Span) -> str:
    return f"{document}@{span.start}-{span.end}"


def _run(label: str, settings: Settings, last: Answer | None, topics: Sequence[TopicRun]) -> Run:
    plan = last.plan if last else None
    identities = {
        "analyzer": plan.analyzer if plan else None,
        "embedding": plan.embedding_identity if plan else None,
        "index": plan.index_identity if plan else None,
        "reranker": plan.reranking.model if plan else None,
    }
    values = settings.model_dump(mode="json", exclude={"embedder_key", "rerank_key"})
    return Run(label, last.formula if last else "", values, identities, tuple(topics))
