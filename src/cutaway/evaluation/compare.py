"""Two runs over the same topics: what changed, whether it is more than chance, and which stage did it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cutaway.errors import UsageError
from cutaway.evaluation.measures import Difference, Measure, difference
from cutaway.evaluation.runs import Run, TopicRun
from cutaway.inspector.diff import first_difference


class Compared(NamedTuple):
    """One measure of both runs."""

    measure: Measure
    a: float
    b: float
    difference: Difference


class Moved(NamedTuple):
    """A document that stands elsewhere in B. A rank of None is not among the results kept."""

    document: str
    grade: int | None
    before: int | None
    after: int | None
    stage: str | None
    """The first stage after which the two runs rank it differently; None where the record does not say."""


class Mover(NamedTuple):
    """A topic that gained or lost, and the documents behind it."""

    topic: str
    text: str
    a: float
    b: float
    moved: tuple[Moved, ...]
    unjudged: tuple[int, int]
    """How many of the first results nobody has judged, in A and in B: a loss may only be ignorance."""


class Comparison(NamedTuple):
    """B against A."""

    topics: int
    measures: tuple[Compared, ...]
    movers: tuple[Mover, ...]


def compared(a: Run, b: Run, measures: Sequence[Measure], listed: int = 5) -> Comparison:
    """Compare two runs, topic by topic; the first measure decides who moved most. Raises UsageError."""
    pairs = _pairs(a, b)
    results = []
    for measure in measures:
        one = [measure.of(before.ranked, before.grades) for before, _ in pairs]
        two = [measure.of(after.ranked, after.grades) for _, after in pairs]
        results.append(Compared(measure, sum(one) / len(pairs), sum(two) / len(pairs), difference(one, two)))
    movers = [_mover(before, after, measures[0]) for before, after in pairs]
    moved = sorted(
        (mover for mover in movers if mover.a != mover.b), key=lambda mover: (-abs(mover.b - mover.a), mover.topic)
    )
    return Comparison(len(pairs), tuple(results), tuple(moved[:listed]))


def _pairs(a: Run, b: Run) -> list[tuple[TopicRun, TopicRun]]:
    others = {topic.id: topic for topic in b.topics}
    missing = [topic.id for topic in a.topics if topic.id not in others]
    if missing or len(a.topics) != len(b.topics):
        raise UsageError(
            f"{a.label} and {b.label} were not run on the same topics; they cannot be compared pair by pair."
        )
    if not a.topics:
        raise UsageError("there is no topic with a relevant document; nothing can be compared.")
    pairs = [(topic, others[topic.id]) for topic in a.topics]
    for before, after in pairs:
        if before.grades != after.grades:
            raise UsageError(
                f"{a.label} and {b.label} were judged differently, first in topic {before.id!r}; "
                "measure both by the same judgments."
            )
    return pairs


def _mover(before: TopicRun, after: TopicRun, measure: Measure) -> Mover:
    cutoff = measure.cutoff or 10
    seen = dict.fromkeys([*before.grades, *before.ranked[:cutoff], *after.ranked[:cutoff]])
    moved = [_moved(document, before, after) for document in seen if _rank(document, before) != _rank(document, after)]
    moved.sort(key=lambda document: (-(document.grade or 0), min(document.before or 1_000, document.after or 1_000)))
    unjudged = [sum(document not in run.grades for document in run.ranked[:cutoff]) for run in (before, after)]
    return Mover(
        topic=before.id,
        text=before.text,
        a=measure.of(before.ranked, before.grades),
        b=measure.of(after.ranked, after.grades),
        moved=tuple(moved[:5]),
        unjudged=(unjudged[0], unjudged[1]),
    )


def _moved(document: str, before: TopicRun, after: TopicRun) -> Moved:
    trails = before.trails.get(document, {}), after.trails.get(document, {})
    return Moved(
        document=document,
        grade=before.grades.get(document),
        before=_rank(document, before),
        after=_rank(document, after),
        stage=first_difference(*trails),
    )


def _rank(document: str, run: TopicRun) -> int | None:
    return next((rank for rank, hit in enumerate(run.hits, start=1) if hit.document == document), None)
