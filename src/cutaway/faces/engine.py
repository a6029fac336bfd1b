"""A home that many requests ask at once, on many threads: models stay loaded, and so does what was read of an index."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Lock

from cutaway.config import Settings
from cutaway.faces.asked import ScopeIn
from cutaway.faces.loading import Loader
from cutaway.faces.sessions import Session, opened
from cutaway.index.kept import Kept
from cutaway.index.reader import Reader
from cutaway.index.store import Store
from cutaway.model import Scope
from cutaway.retrieval.pipeline import Answer

_SCOPES_KEPT = 4
"""Of how many scopes the vectors and the row table stay in memory."""


class Engine:
    """Opens sessions. Each sees one state of the index, whatever is written meanwhile, and is used on one thread."""

    def __init__(self, home: Path, settings: Settings, told: Callable[[Answer], None] | None = None) -> None:
        self.home, self.settings, self._told = home, settings, told
        self.loader = Loader()
        self._kept: OrderedDict[tuple[object, ...], Kept] = OrderedDict()
        self._guard = Lock()

    def session(self, asked: ScopeIn) -> AbstractContextManager[Session]:
        """One state of the index, for what was asked. Raises what ``opened`` raises."""
        return opened(self.home, self.settings, asked, self.loader, self._kept_of, self._told)

    def warm(self) -> None:
        """Start loading what the next search will need."""
        self.loader.for_search(self.settings, None, None, None)

    def _kept_of(self, store: Store, scope: Scope) -> Kept:
        """What earlier sessions loaded of this very state; what was kept of earlier states goes."""
        seen = Reader(store, scope)
        state = (seen.key, seen.generation)
        with self._guard:
            for old in [name for name in self._kept if name[:2] != state]:
                del self._kept[old]
            kept = self._kept.setdefault((*state, scope), Kept())
            self._kept.move_to_end((*state, scope))
            while len(self._kept) > _SCOPES_KEPT:
                self._kept.popitem(last=False)
        return kept
