"""Sweeps: a grid of settings over judged queries, chosen on one half, confirmed on the other."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cutaway.config import Settings, validated
from cutaway.errors import UsageError
from cutaway.evaluation.judged import JudgedSet
from cutaway.evaluation.measures import Difference, Mean, Measure, difference, mean
from cutaway.evaluation.runs import Run

INDEXED = (
    *("embedder", "embedder_url", "embedder_query_prefix", "embedder_passage_prefix", "embedder_tokens"),
    *("chunk_chars", "context_line"),
)
"""Settings that decide what is indexed; all others only decide how it is searched."""
MOST = 500


class Point(NamedTuple):
    """One combination of settings, and how it did on the training topics."""

    label: str
    train: Mean


class Swept(NamedTuple):
    """A sweep's outcome. The test topics were not looked at until a winner was chosen."""

    points: tuple[Point, ...]
    """Best first."""
    winner: str
    baseline: str
    """The settings as they are."""
    test: Mapping[str, Mean]
    """Of winner and baseline, on the topics nothing was chosen by."""
    gain: Difference
    """The winner against the baseline, on the same topics."""


def grid(settings: Settings, axes: Mapping[str, Sequence[str]]) -> dict[str, Settings]:
    """Every combination of the axes' values over *settings*, by a label; the settings as they are come first.

    Raises SettingsError for a value out of range, UsageError for a grid too large.
    """
    size = 1
    for values in axes.values():
        size *= len(values)
    if size > MOST:
        raise UsageError(f"the grid has {size:,} combinations; at most {MOST} are tried. Leave some values out.")
    names = list(axes)
    points = {"as set": settings}
    for values in itertools.product(*axes.values()):
        label = " ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
        chosen = validated({**settings.model_dump(), **dict(zip(names, values, strict=True))}, "this sweep")
        points[label] = chosen
    return points


def split(judged: JudgedSet, share: float = 0.5) -> tuple[frozenset[str], frozenset[str]]:
    """Topic ids to choose by and to confirm by: by a hash of the id, so the split is the same every time."""
    if not 0 < share < 1:
        raise UsageError(f"--train is {share:g}; it must be more than 0 and less than 1.")
    ids = sorted((topic.id for topic in judged.evaluable()), key=lambda name: hashlib.blake2b(name.encode()).digest())
    cut = round(len(ids) * share)
    if not 0 < cut < len(ids):
        raise UsageError(f"{len(ids)} topics with a relevant document are too few to split in two.")
    return frozenset(ids[:cut]), frozenset(ids[cut:])


def chosen(runs: Sequence[Run], measure: Measure, train: frozenset[str]) -> Swept:
    """The best run on the training topics (the earlier one where two are equal), and how it does on the others."""
    scores = {run.label: {topic.id: measure.of(topic.ranked, topic.grades) for topic in run.topics} for run in runs}
    on_train = {label: mean([score for topic, score in of.items() if topic in train]) for label, of in scores.items()}
    order = sorted(on_train, key=lambda label: -on_train[label].value)
    held = {label: [score for topic, score in of.items() if topic not in train] for label, of in scores.items()}
    winner, baseline = order[0], runs[0].label
    return Swept(
        points=tuple(Point(label, on_train[label]) for label in order),
        winner=winner,
        baseline=baseline,
        test={label: mean(held[label]) for label in dict.fromkeys((winner, baseline))},
        gain=difference(held[baseline], held[winner]),
    )
