"""What every command needs: the home, its settings, the open index, the model, the two streams."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from cutaway.config import Settings, for_scope, load_settings
from cutaway.faces.cli.prepare import embedder_or_reason, home_of, models_under
from cutaway.index.projects import as_scope, projects_of, scope_of
from cutaway.index.reader import Reader
from cutaway.index.sqlite import index_file
from cutaway.index.store import open_reader
from cutaway.models.embedder import Embedder


@dataclass(frozen=True, slots=True)
class Session:
    """An index opened for reading."""

    home: Path
    base: Settings
    """The home's settings."""
    settings: Settings
    """Those of what is searched: its projects' own where they agree, else the home's."""
    reader: Reader

    def embedder(self) -> Embedder | str:
        """The configured embedder, or why there is none."""
        return embedder_or_reason(self.settings)

    @property
    def file(self) -> Path:
        return index_file(self.home)


@contextmanager
def reading(options: argparse.Namespace) -> Iterator[Session]:
    """Open the index read only, as one state of it, for the projects asked for."""
    base = load_settings(home_of(options))
    with open_scope(options, base) as reader:
        settings = settings_under(base, reader)
        if "models" in options and settings != base:
            options.models = models_under(settings, options, options.models)
        yield Session(home_of(options), base, settings, reader)


def settings_under(base: Settings, reader: Reader) -> Settings:
    """The settings of what a reader was opened for, from those of the home."""
    return for_scope(base, [project.settings for project in reader.scope])


@contextmanager
def open_scope(options: argparse.Namespace, settings: Settings | None = None) -> Iterator[Reader]:
    """One state of the index, for the projects asked for."""
    home = home_of(options)
    connection = open_reader(home, settings or load_settings(home))
    try:
        with connection.snapshot():
            every = options.all_projects
            named = as_scope(projects_of(connection)) if every else scope_of(connection, options.project, Path.cwd())
            yield Reader(connection, named)
    finally:
        connection.close()


class Screen(Console):
    """A console whose reader may leave early, as `| head` does, without that being a failure."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def screen() -> Console:
    """Standard output: colour and width of the terminal, plain and 100 columns wide when piped."""
    return Screen(highlight=False, width=None if sys.stdout.isatty() else 100)


def messages() -> Console:
    """Standard error, for progress and remarks."""
    return Console(stderr=True, highlight=False)
