"""What every command needs: the open index of what was asked for, and the two streams."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from cutaway.config import load_settings
from cutaway.faces.asked import ScopeIn, SearchIn
from cutaway.faces.cli.inert import inert
from cutaway.faces.cli.prepare import home_of
from cutaway.faces.local import running
from cutaway.faces.schemas import Out

if TYPE_CHECKING:
    from cutaway.faces.sessions import Session

A = TypeVar("A", bound=ScopeIn)
V = TypeVar("V", bound=Out)


def reading(options: argparse.Namespace) -> AbstractContextManager[Session]:
    """The index of what was asked for, read only, as one state of it."""
    from cutaway.faces.loading import Loader
    from cutaway.faces.sessions import opened

    home = home_of(options)
    loader = options.loader if "loader" in options else Loader()
    return opened(home, load_settings(home), ScopeIn.model_construct(**scope_asked(options)), loader)


def shown(
    options: argparse.Namespace, name: str, asked: A, out: type[V], view: Callable[[Session, A], V], reads: bool = False
) -> V:
    """What a view gives: from a server of this home that runs already, else made here."""
    if not options.no_server and running(home_of(options)):
        from cutaway.faces.client import ask

        home = home_of(options)
        answer = ask(home, load_settings(home), name, dict(asked), reads)
        if answer is not None:
            return out.model_validate_json(answer)
    with reading(options) as session:
        return view(session, asked)


def scope_asked(options: argparse.Namespace) -> dict[str, Any]:
    """The options that say which projects."""
    here = None
    with suppress(OSError):  # the folder we are in may be gone
        here = str(Path.cwd())
    return {"projects": tuple(options.project), "all_projects": options.all_projects, "here": here}


def search_asked(options: argparse.Namespace, query: str) -> dict[str, Any]:
    """The options that say what to search for, and how. Whoever searches checks them."""
    names = ("literal", "mode", "group", "limit", "page", "cursor", "fusion", "min_similarity", "rerank", "depth")
    chosen = {name: getattr(options, name) for name in names}
    return {**scope_asked(options), **chosen, "query": query, "where": tuple(options.where)}


def typed(options: argparse.Namespace) -> SearchIn:
    """The search that was typed."""
    return SearchIn.model_construct(**search_asked(options, " ".join(options.query)))


class Screen(Console):
    """A console that obeys nothing in what it prints, and whose reader may leave early, as `| head` does."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=inert(segment.text))

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def screen() -> Console:
    """Standard output: colour and width of the terminal, plain and 100 columns wide when piped."""
    return Screen(highlight=False, width=None if sys.stdout.isatty() else 100)


def messages() -> Console:
    """Standard error, for progress and remarks."""
    return Screen(stderr=True, highlight=False)
