"""An index opened for one request: what every view is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cutaway.config import Settings, for_scope
from cutaway.errors import UsageError
from cutaway.faces.asked import ScopeIn, SearchIn
from cutaway.faces.loading import Loader
from cutaway.index.kept import Kept
from cutaway.index.projects import as_scope, projects_of, scope_of
from cutaway.index.reader import Reader
from cutaway.index.state import ScoreCache
from cutaway.index.store import Store, open_reader
from cutaway.model import Scope
from cutaway.models.embedder import Embedder
from cutaway.retrieval.pipeline import Answer, search
from cutaway.retrieval.plan import Models


@dataclass(frozen=True, slots=True)
class Session:
    """One state of the index, for the projects asked for, and the models to search it with."""

    home: Path
    base: Settings
    """The home's settings."""
    settings: Settings
    """Those of what is searched: its projects' own where they agree, else the home's."""
    reader: Reader
    loader: Loader
    told: Callable[[Answer], None] | None = None
    """Who is told of each search."""

    def embedder(self) -> Embedder | str:
        """The configured embedder, or why there is none."""
        return self.loader.embedder(self.settings)

    def models(self, asked: SearchIn, inspecting: bool = False) -> Models:
        """What this search may ask. *inspecting* writes nothing, not even what the reranker said."""
        embedder, reranker = self.loader.for_search(self.settings, asked.mode, asked.rerank, asked.depth)
        remembered = self.settings.rerank_cache
        cache = ScoreCache(self.home, remembered, read_only=inspecting, settings=self.settings)
        return Models(embedder, reranker, cache)

    def answer(self, asked: SearchIn, inspecting: bool = False, models: Models | None = None) -> Answer:
        """Run the search."""
        answer = search(asked.request(), self.settings, self.reader, models or self.models(asked, inspecting))
        if self.told is not None:
            self.told(answer)
        return answer


def nothing_kept(store: Store, scope: Scope) -> Kept:  # noqa: ARG001
    """For who asks once."""
    return Kept()


@contextmanager
def opened(
    home: Path,
    settings: Settings,
    asked: ScopeIn,
    loader: Loader,
    kept: Callable[[Store, Scope], Kept] = nothing_kept,
    told: Callable[[Answer], None] | None = None,
) -> Iterator[Session]:
    """Open the index read only, as one state of it, for the projects asked for.

    Raises IndexMissing, IndexMismatch, IndexUnfinished, StoreUnavailable, UnknownProject, UsageError.
    """
    store = open_reader(home, settings)
    try:
        with store.snapshot():
            here = _folder(asked.here)
            scope = as_scope(projects_of(store)) if asked.all_projects else scope_of(store, asked.projects, here)
            own = for_scope(settings, [project.settings for project in scope])
            yield Session(home, settings, own, Reader(store, scope, kept(store, scope), here), loader, told)
    finally:
        store.close()


def _folder(here: str | None) -> Path | None:
    if here is not None and not Path(here).is_absolute():
        raise UsageError(f"here is {here!r}; give the folder's whole path.")
    return None if here is None else Path(here)
