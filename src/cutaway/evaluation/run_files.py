"""Run files: a run with all its stages as JSON, or its ranking alone as TREC has it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cutaway.errors import UsageError
from cutaway.evaluation.judged import JudgedSet, spaced, spaceless
from cutaway.evaluation.measures import RANKED
from cutaway.evaluation.runs import FORMAT, Hit, Run, TopicRun, grades_of
from cutaway.model import Span


def run_as_json(run: Run) -> str:
    """A run whole: read it back with ``read_run``."""
    return json.dumps(asdict(run), ensure_ascii=False)


def run_as_trec(run: Run) -> str:
    """Topic, Q0, document, rank, score, tag.

    Readers of these files sort by score and break ties in their own way, so a score here is 1 / rank:
    the order is ours whoever reads it.
    """
    tag = "_".join(run.label.split()) or "cutaway"
    return "".join(
        f"{spaceless(topic.id)} Q0 {spaceless(hit.document)} {rank} {1 / rank:.9f} {tag}\n"
        for topic in run.topics
        for rank, hit in enumerate(topic.hits, start=1)
    )


def read_run(file: Path, judged: JudgedSet | None = None) -> Run:
    """A run from either kind of file; a TREC file needs the judgments beside it. Raises UsageError."""
    text = _text(file)
    if _is_json(text):
        return _from_json(file, text)
    if judged is None:
        raise UsageError(f"{file} is a TREC run, which holds no judgments. Name them with --qrels.")
    return _from_trec(file, text, judged)


def holds_judgments(file: Path) -> bool:
    """Whether a run file is one of ours, which has its judgments in it. Raises UsageError."""
    return _is_json(_text(file))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def _from_json(file: Path, text: str) -> Run:
    try:
        values: dict[str, Any] = json.loads(text)
        if values["format"] != FORMAT:
            raise UsageError(f"{file} has format {values['format']!r}; this version reads {FORMAT!r}. Run it again.")
        topics = tuple(
            TopicRun(
                **{
                    **topic,
                    "hits": tuple(_hit(*hit) for hit in topic["hits"]),
                    "grades": {document: _grade(grade) for document, grade in topic["grades"].items()},
                    "degraded": tuple(topic["degraded"]),
                }
            )
            for topic in values["topics"]
        )
        return Run(**{**values, "topics": topics})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{file} is not a run that `cutaway eval run --save` wrote.") from None


def _hit(document: str, score: float, span: list[int] | None) -> Hit:
    return Hit(document, score, Span(*span) if span else None)


def _grade(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError
    return value


def _from_trec(file: Path, text: str, judged: JudgedSet) -> Run:
    ranked = _ranked(file, text)
    if not ranked.keys() & {topic.id for topic in judged.evaluable()}:
        said = "has no result in it" if not ranked else "has a result for none of the judged topics"
        raise UsageError(f"{file} {said}; there is nothing to measure.")
    topics = tuple(
        TopicRun(
            id=topic.id,
            text=topic.text,
            hits=tuple(hit for _, hit in sorted(ranked.get(topic.id, ()), key=lambda placed: placed[0])[:RANKED]),
            grades=grades_of(judged, topic.id),
            trails={},
            ms={},
        )
        for topic in judged.evaluable()
    )
    return Run(file.name, "", {}, {}, topics)


def _ranked(file: Path, text: str) -> dict[str, list[tuple[int, Hit]]]:
    """The results of each topic with their ranks, in the order of the file."""
    ranked: dict[str, list[tuple[int, Hit]]] = {}
    seen: set[tuple[str, str]] = set()
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            topic, _, document, rank, score, _ = line.split()
            hit = int(rank), Hit(spaced(document), float(score))
        except ValueError:
            raise UsageError(f"{file}:{number}: expected topic, Q0, document, rank, score and tag.") from None
        if (topic, document) in seen:
            raise UsageError(f"{file}:{number}: document {document!r} is a result of topic {topic!r} twice.")
        seen.add((topic, document))
        ranked.setdefault(spaced(topic), []).append(hit)
    return ranked
