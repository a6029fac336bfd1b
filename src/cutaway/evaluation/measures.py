"""Measures of a ranking against known grades, their means, and whether two means differ.

All as trec_eval defines them, with one order of ties: ours. Judged documents that were not
returned count in the ideal; documents without a judgment count as not relevant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cutaway.errors import UsageError

DEFAULT = ("nDCG@10", "R@10", "P@10", "RR@10", "AP", "hit@1", "judged@10")
RANKED = 100
"""How many results of a topic a run keeps. Nothing is known of what lies beyond."""
KINDS = ("nDCG", "R", "P", "RR", "AP", "hit", "judged")
_SPELLED = {kind.lower(): kind for kind in KINDS} | {"mrr": "RR", "map": "AP"}
_CUTOFF = re.compile(r"0*[1-9][0-9]{0,8}")
_BOOTSTRAPS, _SHUFFLES, _SEED = 2_000, 10_000, 20_260

Grades = Mapping[str, int]


class Measure(NamedTuple):
    """What is measured, over the first *cutoff* results (None: over all that were ranked)."""

    kind: str
    cutoff: int | None = None

    @property
    def name(self) -> str:
        return self.kind if self.cutoff is None else f"{self.kind}@{self.cutoff}"

    def of(self, ranked: Sequence[str], grades: Grades) -> float:
        """The measure of one ranking, 0 to 1. ``judged`` is the share of results that somebody has graded at all."""
        seen, places = ranked[: self.cutoff], self.cutoff or len(ranked)
        match self.kind:
            case "nDCG":
                return _ndcg(seen, grades, self.cutoff)
            case "R":
                return _recall(seen, grades)
            case "P":
                return len(_relevant(grades).intersection(seen)) / max(places, 1)
            case "RR":
                return _reciprocal_rank(seen, grades)
            case "AP":
                return _average_precision(seen, grades)
            case "hit":
                return float(bool(_relevant(grades).intersection(seen)))
            case _:
                return sum(document in grades for document in seen) / max(len(seen), 1)


class Mean(NamedTuple):
    """A mean over topics and its 95 % confidence interval, by bootstrap over the topics."""

    value: float
    low: float
    high: float


class Difference(NamedTuple):
    """B against A on the same topics: the mean difference, how likely chance alone gives one as large, who wins."""

    mean: float
    p: float
    wins: int
    ties: int
    losses: int


def parsed(names: Sequence[str]) -> tuple[Measure, ...]:
    """Measures by name, such as ``nDCG@10``, ``R@5``, ``RR``, ``AP``. Raises UsageError."""
    return tuple(_parsed(name) for name in names)


def mean(values: Sequence[float]) -> Mean:
    """The mean of one measure over the topics."""
    if not values:
        return Mean(0.0, 0.0, 0.0)
    scores = np.array(values)
    draws = np.random.default_rng(_SEED).integers(0, len(scores), (_BOOTSTRAPS, len(scores)))
    low, high = np.quantile(scores[draws].mean(axis=1), (0.025, 0.975))
    return Mean(float(scores.mean()), float(low), float(high))


def difference(a: Sequence[float], b: Sequence[float]) -> Difference:
    """Paired randomisation test: how often random signs make the mean difference as large as it is.

    Fisher's test as recommended for IR by Smucker, Allan and Carterette (CIKM 2007); two-sided.
    """
    gaps = np.array(b) - np.array(a)
    observed = abs(gaps.mean()) if len(gaps) else 0.0
    chance = np.random.default_rng(_SEED)
    draws = (chance.choice((-1.0, 1.0), (_SHUFFLES // 10, len(gaps))) @ gaps / max(len(gaps), 1) for _ in range(10))
    as_large = sum(int(np.count_nonzero(np.abs(draw) >= observed - 1e-12)) for draw in draws)
    return Difference(
        mean=float(gaps.mean()) if len(gaps) else 0.0,
        p=(as_large + 1) / (_SHUFFLES + 1),
        wins=int(np.count_nonzero(gaps > 0)),
        ties=int(np.count_nonzero(gaps == 0)),
        losses=int(np.count_nonzero(gaps < 0)),
    )


def _parsed(name: str) -> Measure:
    kind, _, cutoff = name.strip().partition("@")
    spelled = _SPELLED.get(kind.lower())
    if spelled is None or (cutoff and not _CUTOFF.fullmatch(cutoff)) or name.endswith("@"):
        raise UsageError(f"measure {name!r} is not known; there are {', '.join(KINDS)}, with a cutoff as in nDCG@10.")
    if spelled in ("hit", "judged") and not cutoff:
        raise UsageError(f"measure {name!r} needs a cutoff, as in {spelled}@10.")
    if cutoff and int(cutoff) > RANKED:
        raise UsageError(f"measure {name!r} looks further than the {RANKED} results a run keeps. Use a smaller cutoff.")
    return Measure(spelled, int(cutoff) if cutoff else None)


def _gain(ranked: Sequence[str], grades: Grades) -> float:
    return sum(max(grades.get(document, 0), 0) / math.log2(rank + 1) for rank, document in enumerate(ranked, start=1))


def _ndcg(ranked: Sequence[str], grades: Grades, cutoff: int | None) -> float:
    """Discounted cumulative gain over the ideal one (Järvelin and Kekäläinen 2002), gain = grade."""
    best = sorted(grades, key=lambda document: -grades[document])[:cutoff]
    ideal = _gain(best, grades)
    return _gain(ranked, grades) / ideal if ideal else 0.0


def _recall(ranked: Sequence[str], grades: Grades) -> float:
    relevant = _relevant(grades)
    return len(relevant.intersection(ranked)) / len(relevant) if relevant else 0.0


def _reciprocal_rank(ranked: Sequence[str], grades: Grades) -> float:
    relevant = _relevant(grades)
    return next((1 / rank for rank, document in enumerate(ranked, start=1) if document in relevant), 0.0)


def _average_precision(ranked: Sequence[str], grades: Grades) -> float:
    """Mean over the relevant documents of the precision at each one's rank; 0 for those not returned."""
    relevant = _relevant(grades)
    places = [rank for rank, document in enumerate(ranked, start=1) if document in relevant]
    return sum(found / rank for found, rank in enumerate(places, start=1)) / len(relevant) if relevant else 0.0


def _relevant(grades: Grades) -> set[str]:
    return {document for document, grade in grades.items() if grade > 0}
