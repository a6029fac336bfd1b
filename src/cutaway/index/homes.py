"""Where vectors can live, and how a home for them is opened."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from cutaway.config import Settings
from cutaway.errors import SettingsError
from cutaway.index.vectors import Space, VectorIndex

_BUILT_IN = {"exact": "cutaway.index.exact:ExactIndex", "milvus": "cutaway.index.milvus:MilvusIndex"}


class Opening(NamedTuple):
    """All that a home may need to open the vectors of one space, for one scope."""

    database: Any
    """The store's own connection; homes in the same database write in its transaction."""
    space: Space
    scope: Collection[int]
    """Project ids. Writers give none: they only store and delete."""
    settings: Settings


class Home(Protocol):
    """A kind of vector index: called, it opens one."""

    identity: str
    """Name and version of how vectors are held: those of another identity are stored anew."""

    def __call__(self, opening: Opening) -> VectorIndex: ...


def home_of(identity: str) -> Home:
    """The home of vectors that are held already. Raises SettingsError."""
    return home(max((name for name in _BUILT_IN if identity.startswith(f"{name}-")), key=len, default=identity))


def home(name: str) -> Home:
    """The home a setting names. Raises SettingsError."""
    if name not in _BUILT_IN:
        raise SettingsError(f"vectors = {name!r} is not known; choose one of {', '.join(_BUILT_IN)}.")
    module, attribute = _BUILT_IN[name].split(":")
    found: Home = getattr(import_module(module), attribute)
    return found
