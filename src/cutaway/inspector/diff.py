"""Two searches of one kind compared: what entered the page, what left it, what moved, and which stage moved it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

Trail = Mapping[str, int | None]
"""The rank of a result after each stage it came through, in order of the stages; None where it fell."""


class Ordered(NamedTuple):
    """The results of one search, by whatever names them in both."""

    page: tuple[str, ...]
    order: tuple[str, ...]
    """All that were ranked, the page among them."""
    trails: Mapping[str, Trail]


class Shift(NamedTuple):
    """A result that stands elsewhere in the second search; a rank of None is not among those ranked."""

    name: str
    before: int | None
    after: int | None
    stage: str | None
    """The first stage after which its ranks differ; None where the record does not say."""


class Diff(NamedTuple):
    """The second search against the first."""

    entered: tuple[Shift, ...]
    left: tuple[Shift, ...]
    moved: tuple[Shift, ...]
    """On both pages, at another rank; the farthest first."""
    stayed: int
    jaccard: float
    """Of the two pages: what they share, of all that is on either."""
    rbo: float
    """Rank-biased overlap of the two orders: 1 is the same order, 0 nothing in common."""


def diff(a: Ordered, b: Ordered) -> Diff:
    """What changed from a to b, on their pages."""
    before, after = ({name: rank for rank, name in enumerate(found.order, start=1)} for found in (a, b))

    def shift(name: str) -> Shift:
        stage = first_difference(a.trails.get(name, {}), b.trails.get(name, {}))
        return Shift(name, before.get(name), after.get(name), stage)

    both = [name for name in b.page if name in a.page]
    moved = [shift(name) for name in both if before.get(name) != after.get(name)]
    union = len({*a.page, *b.page})
    return Diff(
        entered=tuple(shift(name) for name in b.page if name not in a.page),
        left=tuple(shift(name) for name in a.page if name not in b.page),
        moved=tuple(sorted(moved, key=lambda one: (-abs((one.before or 0) - (one.after or 0)), one.name))),
        stayed=len(both) - len(moved),
        jaccard=len(both) / union if union else 1.0,
        rbo=rank_biased_overlap(a.order, b.order),
    )


def rank_biased_overlap(a: Sequence[str], b: Sequence[str], p: float = 0.9) -> float:
    """RBO, extrapolated (Webber, Moffat and Zobel, TOIS 2010, equation 32); p = .9 looks mostly at the first ten.

    With s the shorter and l the longer list, X_d the overlap at depth d::

        (1-p)/p · ( Σ_{d=1..l} X_d/d · p^d  +  Σ_{d=s+1..l} X_s·(d-s)/(s·d) · p^d )  +  ((X_l - X_s)/l + X_s/s) · p^l
    """
    short, long = sorted((a, b), key=len)
    s, l = len(short), len(long)  # noqa: E741
    if not s:
        return 1.0 if not l else 0.0
    seen_short: set[str] = set()
    seen_long: set[str] = set()
    overlap = [0]
    for depth in range(l):
        seen_long.add(long[depth])
        if depth < s:
            seen_short.add(short[depth])
        overlap.append(len(seen_short & seen_long) if depth < s else overlap[-1] + (long[depth] in seen_short))
    summed = sum(overlap[d] / d * p**d for d in range(1, l + 1))
    summed += sum(overlap[s] * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    return round((1 - p) / p * summed + ((overlap[l] - overlap[s]) / l + overlap[s] / s) * p**l, 9)


def first_difference(a: Trail, b: Trail) -> str | None:
    """The first stage after which a result's ranks differ.

    Stages that only one run has cannot be compared themselves; where some stand right before the
    first difference that can, they made it, and both sides are named: ``fuse / fuse_ranks``.
    """
    for stage in _shared(a, b):
        if a.get(stage) != b.get(stage):
            own = [_last_before(stage, one, other) for one, other in ((a, b), (b, a))]
            return " / ".join(name or "—" for name in own) if any(own) else stage
    return next((stage for stage in [*a, *b] if (stage in a) != (stage in b)), None)


def _shared(a: Trail, b: Trail) -> list[str]:
    """Stages both have, and last of all any that only one has: the document fell before it in the other."""
    both = [stage for stage in a if stage in b]
    return both or list(dict.fromkeys([*a, *b]))


def _last_before(stage: str, one: Trail, other: Trail) -> str | None:
    """The stage right before this one, where the other run does not have it."""
    names = list(one)
    before = names[names.index(stage) - 1] if stage in names and names.index(stage) else None
    return before if before is not None and before not in other else None
