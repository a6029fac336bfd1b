"""What commands share that run until they are stopped: what they say, a line each, and how they end."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType

from rich.markup import escape

from cutaway.faces.cli.session import screen
from cutaway.index.store import now


class Telling:
    """What is said, a line each: for a person, or as JSON for a program."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._last: dict[str, str] = {}

    def line(self, event: str, words: str, **details: object) -> None:
        """One line, at once. Without words, only a program is told."""
        if self.as_json:
            screen().out(json.dumps({"event": event, "time": now(), **(details or {"message": words})}))
        elif words:
            screen().print(f"[dim]{time.strftime('%H:%M:%S')}[/]  {escape(words)}", soft_wrap=True)
        screen().file.flush()

    def once(self, subject: str, event: str, words: str, **details: object) -> None:
        """A line, unless it was the last one on this subject."""
        if self._last.get(subject) != words:
            self._last[subject] = words
            self.line(event, words, **details)

    def over(self, subject: str) -> bool:
        """What was said on this subject holds no longer; returns whether anything was."""
        return self._last.pop(subject, None) is not None


@contextmanager
def stopped_by_signals(stop: Event) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end what runs inside; a second one does not disturb the ending."""

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if not stop.is_set():
            stop.set()
            raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
