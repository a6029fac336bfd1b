"""Values of the read path: what each stage kept, what it dropped, and why."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter, time_ns
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

from cutaway.model import ChunkId, RowId

Id = ChunkId | RowId
K = TypeVar("K")
"""What a stage ranks: chunks or rows."""
P = ParamSpec("P")
R = TypeVar("R")


class InField(NamedTuple):
    """A term as it stands in one field of a row: what a part of a lexical score is called."""

    term: str
    field: str

    def __str__(self) -> str:
        return f"{self.term} in {self.field}"


class Scored(NamedTuple, Generic[K]):
    """A candidate with its score at one stage.

    ``via`` is the input it stands for, where that is another thing (a row stands for its best
    chunk). ``parts`` are named and add up to the score. ``mark`` says what is special about it.
    """

    id: K
    score: float
    via: ChunkId | None = None
    parts: tuple[tuple[str | InField, float], ...] = ()
    mark: str | None = None


class Dropped(NamedTuple):
    """A candidate that ended here, why, and what it lacked to be kept (None where no number says)."""

    id: Any
    score: float
    reason: str
    margin: float | None = None


class Outcome(NamedTuple, Generic[K]):
    """What a stage function returns: a ranking, its rejects, and a remark."""

    kept: tuple[Scored[K], ...]
    dropped: tuple[Dropped, ...] = ()
    remark: str | None = None


@dataclass(frozen=True)
class Stage(Generic[K]):
    """One executed step of a search. A trace is a tuple of these, in order."""

    name: str
    received: int
    kept: tuple[Scored[K], ...]
    dropped: tuple[Dropped, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    remark: str | None = None
    seconds: float = field(default=0.0, compare=False)
    started: int = field(default=0, compare=False)
    """When, in nanoseconds since 1970."""

    @functools.cached_property
    def scores(self) -> dict[K, float]:
        return {hit.id: hit.score for hit in self.kept}

    @functools.cached_property
    def ranks(self) -> dict[K, int]:
        return {hit.id: rank for rank, hit in enumerate(self.kept, start=1)}

    @functools.cached_property
    def fell(self) -> dict[Any, int]:
        """Where among those dropped each of them is."""
        return {out.id: place for place, out in enumerate(self.dropped)}


class Took(NamedTuple):
    """When something was done, in nanoseconds since 1970, and how many seconds it took."""

    started: int
    seconds: float


def timed(do: Callable[[], R]) -> tuple[R, Took]:
    """What comes of doing it, and what it took."""
    started, start = time_ns(), perf_counter()
    result = do()
    return result, Took(started, perf_counter() - start)


def stage(function: Callable[P, Outcome[K]]) -> Callable[P, Stage[K]]:
    """Record a stage function's call: its name, keyword settings, outcome, time.

    Positional arguments are the tables a stage reads; keyword arguments are its settings. What
    the trace reports is therefore what the call received.
    """

    @functools.wraps(function)
    def record(*tables: P.args, **settings: P.kwargs) -> Stage[K]:
        (kept, dropped, remark), took = timed(lambda: function(*tables, **settings))
        given = {hit.id for table in tables if isinstance(table, Stage) for hit in table.kept}
        received = len(given) if any(isinstance(table, Stage) for table in tables) else len(kept) + len(dropped)
        return Stage(function.__name__, received, kept, dropped, settings, remark, took.seconds, took.started)

    return record


def best_first(hits: list[Scored[K]]) -> tuple[Scored[K], ...]:
    """Order by score, then by id: equal scores have one order everywhere."""
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id)))
