"""How much happens at once: a few requests at work, some waiting in line, the others told to come again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

P = ParamSpec("P")
T = TypeVar("T")


class Overloaded(Exception):
    """Too many requests wait already, or this one has waited too long."""

    def __init__(self, waiting: int, retry_after: int) -> None:
        super().__init__(f"{waiting:,} requests are waiting. Try again in {retry_after} s.")
        self.retry_after = retry_after


class Gate:
    """Lets *workers* calls run at once, each on a thread of its own; the others wait, first come first served.

    What runs is finished, even when whoever asked has gone: only then is its place free.
    """

    def __init__(self, workers: int, waiting: int, patience: float) -> None:
        self._workers, self._most, self._patience = workers, waiting, patience
        self._limiter: CapacityLimiter | None = None
        self.waiting = 0

    @property
    def running(self) -> int:
        """Calls at work."""
        return self._limiter.borrowed_tokens if self._limiter else 0

    async def run(self, function: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Call it on a thread once it is its turn. Raises Overloaded."""
        limiter = self._limiter = self._limiter or CapacityLimiter(self._workers)  # belongs to a running loop
        if self.waiting >= self._most:
            raise self._overloaded()
        owner = object()
        self.waiting += 1
        try:
            with anyio.move_on_after(self._patience) as turn:
                await limiter.acquire_on_behalf_of(owner)
        finally:
            self.waiting -= 1
        if turn.cancelled_caught:
            raise self._overloaded()
        try:  # a thread cannot be stopped: its place is taken until it ends
            return await to_thread.run_sync(lambda: function(*given, **named), limiter=CapacityLimiter(1))
        finally:
            limiter.release_on_behalf_of(owner)

    def _overloaded(self) -> Overloaded:
        return Overloaded(self.waiting, max(1, math.ceil(self._patience / 10)))
