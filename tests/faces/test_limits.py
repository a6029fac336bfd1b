"""How much happens at once: what waits, in which order, and what is told to come again."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import anyio
import pytest

from cutaway.faces.limits import Gate, Overloaded

PATIENT = 60.0


async def until(held: Callable[[], bool]) -> None:
    """Let others go on until something holds."""
    with anyio.fail_after(30):
        while not held():
            await anyio.sleep(0.001)


def test_no_more_run_than_may() -> None:
    async def crowded() -> None:
        gate, go = Gate(2, 10, PATIENT), Event()
        most: list[int] = []

        def work() -> None:
            most.append(gate.running)
            go.wait()

        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(gate.run, work)
            await until(lambda: len(most) == 2 and gate.waiting == 4)
            go.set()
        assert (6, True, 0, 0) == (len(most), max(most) <= 2, gate.running, gate.waiting)

    anyio.run(crowded)


def test_who_came_first_goes_first() -> None:
    async def queued() -> list[int]:
        gate, go, order = Gate(1, 10, PATIENT), Event(), list[int]()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gate.run, go.wait)
            await until(lambda: gate.running == 1)
            for place in range(5):
                tasks.start_soon(gate.run, order.append, place)
                await until(lambda place=place: gate.waiting == place + 1)  # type: ignore[misc]
            go.set()
        return order

    assert [0, 1, 2, 3, 4] == anyio.run(queued)


def test_who_is_one_too_many_is_told_when_to_come_again() -> None:
    async def full() -> None:
        gate, go = Gate(1, 1, PATIENT), Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gate.run, go.wait)
            await until(lambda: gate.running == 1)
            tasks.start_soon(gate.run, go.wait)
            await until(lambda: gate.waiting == 1)
            with pytest.raises(Overloaded) as told:
                await gate.run(go.wait)
            assert told.value.retry_after >= 1
            go.set()

    anyio.run(full)


def test_who_has_waited_too_long_is_told_so() -> None:
    async def slow() -> None:
        gate, go = Gate(1, 5, 0.02), Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gate.run, go.wait)
            await until(lambda: gate.running == 1)
            with pytest.raises(Overloaded):
                await gate.run(go.wait)
            assert (1, 0) == (gate.running, gate.waiting)
            go.set()

    anyio.run(slow)


@pytest.mark.parametrize("at_work", [True, False], ids=["at work", "waiting"])
def test_who_has_gone_is_forgotten_but_what_runs_is_finished(at_work: bool) -> None:
    """A thread cannot be stopped: its place is free only when it has ended."""

    async def gone() -> None:
        gate, go, done = Gate(1, 5, PATIENT), Event(), list[str]()

        async def leaving() -> None:
            with left:
                await gate.run(lambda: (go.wait(), done.append("left behind")))

        async with anyio.create_task_group() as tasks:
            left = anyio.CancelScope()
            if not at_work:
                tasks.start_soon(gate.run, go.wait)
                await until(lambda: gate.running == 1)
            tasks.start_soon(leaving)
            await until(lambda: (gate.running if at_work else gate.waiting) == 1)
            left.cancel()
            await anyio.sleep(0.01)
            assert (1, 0) == (gate.running, gate.waiting)
            go.set()
        assert (["left behind"] if at_work else []) == done
        assert 0 == gate.running

    anyio.run(gone)


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()], ids=repr)
def test_what_fails_gives_its_place_back(error: BaseException) -> None:
    def failing() -> Any:
        raise error

    async def tried() -> int:
        gate = Gate(1, 5, PATIENT)
        with pytest.raises(type(error)):
            await gate.run(failing)
        return gate.running

    assert 0 == anyio.run(tried)
