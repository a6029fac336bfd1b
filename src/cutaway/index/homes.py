"""Where vectors can live, and how a home for them is opened."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple, Protocol

from cutaway.config import Settings
from cutaway.errors import SettingsError
from cutaway.index.kept import Kept
from cutaway.index.store import Store
from cutaway.index.vectors import Space, VectorIndex

GROUP = "cutaway.vector_homes"
"""The entry points under which other packages offer homes of their own."""

_BUILT_IN = {
    "exact": "cutaway.index.exact:ExactIndex",
    "sqlite-vec": "cutaway.index.sqlite_vec:SqliteVecIndex",
    "pgvector": "cutaway.index.pgvector:PgVectorIndex",
    "milvus": "cutaway.index.milvus:MilvusIndex",
}


class Opening(NamedTuple):
    """All that a home may need to open the vectors of one space, for one scope."""

    database: Store
    """The store's own connection; homes in the same database write in its transaction."""
    space: Space
    scope: Collection[int]
    """Project ids. Writers give none: they only store and delete."""
    settings: Settings
    kept: Kept | None = None
    """Where what is loaded may stay for others who read the same scope in the same state; writers give none."""


class Home(Protocol):
    """A kind of vector index: called, it opens one."""

    identity: str
    """Name and version of how vectors are held: those of another identity are stored anew."""

    def __call__(self, opening: Opening) -> VectorIndex: ...


def home_of(identity: str) -> Home:
    """The home of vectors that are held already. Raises SettingsError."""
    named = _named(identity, _BUILT_IN) or _named(identity, {found.name for found in _registered()})
    return home(named or identity)


def home(name: str) -> Home:
    """The home a setting names; other packages are asked only for what is not built in. Raises SettingsError."""
    if name in _BUILT_IN:
        module, attribute = _BUILT_IN[name].split(":")
        found: Home = getattr(import_module(module), attribute)
        return found
    offers = {(offer.name, offer.value): offer for offer in _registered()}
    named = [offer for offer in offers.values() if offer.name == name]
    if not named:
        known = ", ".join([*_BUILT_IN, *sorted({offer.name for offer in offers.values()} - _BUILT_IN.keys())])
        raise SettingsError(f"vectors = {name!r} is not known; choose one of {known}.")
    return _loaded(*named)


def _named(identity: str, names: Collection[str]) -> str | None:
    """The name that an identity begins with."""
    return max((name for name in names if identity.startswith(f"{name}-")), key=len, default=None)


def _registered() -> list[EntryPoint]:
    """What installed packages offer. Raises SettingsError for a name of ours: it would never be used."""
    offers = list(entry_points(group=GROUP))
    for offer in offers:
        if offer.name in _BUILT_IN:
            raise SettingsError(f"{_said(offer)} registers {offer.name!r} as a vector home, which is a built-in one.")
    return offers


def _loaded(*offers: EntryPoint) -> Home:
    """The one home of a name. Raises SettingsError where it cannot be had."""
    offer, *others = offers
    if others:
        both = " and ".join(map(_said, offers))
        raise SettingsError(f"vectors = {offer.name!r} is registered by {both}. Uninstall all but one.")
    try:
        found: Home = offer.load()
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"the vector home {offer.name!r} of {_said(offer)} cannot be loaded: {error}") from error
    if not str(getattr(found, "identity", "")).startswith(f"{offer.name}-"):
        raise SettingsError(f"the vector home {offer.name!r} of {_said(offer)} needs an identity '{offer.name}-…'.")
    return found


def _said(offer: EntryPoint) -> str:
    return offer.dist.name if offer.dist else offer.value
