"""What is to happen outside the database: once a transaction is committed, and when the connection is closed."""

from __future__ import annotations

from collections.abc import Callable

Effect = Callable[[], None]


class Effects:
    """Effects that wait for their moment."""

    def __init__(self) -> None:
        self._following: list[Effect] = []
        self._closing: list[Effect] = []

    def after_commit(self, effect: Effect) -> None:
        """Do this once the open transaction is committed; never, where it is rolled back."""
        self._following.append(effect)

    def at_close(self, effect: Effect) -> None:
        """Do this when the connection is closed."""
        self._closing.append(effect)

    def ended(self, committed: bool) -> None:
        """A transaction has ended."""
        following, self._following = self._following, []
        for effect in following if committed else ():
            effect()

    def closed(self) -> None:
        """The connection is about to be closed."""
        closing, self._closing = self._closing, []
        for effect in closing:
            effect()
