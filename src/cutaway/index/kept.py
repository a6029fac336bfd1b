"""What is loaded of one state of the index and scope: once, for all that read it, on whatever thread."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class Kept:
    """Things by name, each made when first asked for. What is in here must never be changed."""

    def __init__(self) -> None:
        self._held: dict[object, Any] = {}
        self._guard = RLock()

    def once(self, name: object, make: Callable[[], T]) -> T:
        """The thing of that name. Who asks while another makes it waits, rather than make it twice."""
        if name not in self._held:
            with self._guard:
                if name not in self._held:
                    self._held[name] = make()
        found: T = self._held[name]
        return found

    def forget(self, name: object) -> None:
        """Make it anew when it is next asked for."""
        with self._guard:
            self._held.pop(name, None)


class kept_property(Generic[T]):  # noqa: N801 - used as a decorator, as property is
    """A property that is worked out once for all objects that share a ``kept``."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self.__doc__ = make, make.__doc__
        self._name = f"{make.__module__}.{make.__qualname__}"

    @overload
    def __get__(self, holder: None, kind: type) -> kept_property[T]: ...
    @overload
    def __get__(self, holder: object, kind: type) -> T: ...
    def __get__(self, holder: Any, kind: type) -> kept_property[T] | T:
        return self if holder is None else holder.kept.once(self._name, lambda: self._make(holder))
