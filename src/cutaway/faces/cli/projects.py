"""`cutaway project`: the folders of notes in an index. Files are never touched."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager

from rich.markup import escape

from cutaway.config import load_settings
from cutaway.errors import RootMissing, UsageError
from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.prepare import home_of
from cutaway.faces.cli.session import messages, screen
from cutaway.faces.statuses import ListedProjectOut, every_project
from cutaway.index.projects import default_of, named_project
from cutaway.index.state import Judgments
from cutaway.index.store import Store, alone, bump_generation, open_reader, open_writer
from cutaway.index.writer import Writer


def listing(options: argparse.Namespace) -> int:
    """Every project; 1 where there is none."""
    found = every_project(home_of(options), load_settings(home_of(options)))
    if options.json:
        screen().out(json.dumps([held.model_dump() for held in found], indent=2, ensure_ascii=False))
    elif found:
        rows = [_row(held) for held in found]
        screen().print(columns(("project", "notes", "ready", "", "folder"), rows, screen().width, right="12", flex="4"))
    else:
        messages().print("no project yet. Run: cutaway index FOLDER")
    return 0 if found else 1


def add(options: argparse.Namespace) -> int:
    """A folder under a name, to be indexed later."""
    root = options.folder.expanduser().resolve()
    if not root.is_dir():
        raise RootMissing(f"{root} is not a folder. Nothing was changed.")
    with writing(options) as (connection, writer), connection.transaction():
        project = writer.add_project(options.name, root)
        if project.name != options.name:
            raise UsageError(f"{root} is already project {project.name!r}. Rename it with: cutaway project rename")
    said(f"added {options.name} ({root}). Run: cutaway index")
    return 0


def remove(options: argparse.Namespace) -> int:
    """Forget a project. Judgments of its notes stay."""
    with writing(options) as (connection, writer), connection.transaction():
        project = named_project(connection, options.name)
        count = writer.remove_project(project)
        bump_generation(connection)
    said(f"removed {options.name} from the index ({count:,} notes). The files in {project.root} were not touched.")
    return 0


def rename(options: argparse.Namespace) -> int:
    """Another name, for its judgments too."""
    with writing(options) as (connection, writer), connection.transaction():
        project = named_project(connection, options.name)
        writer.rename_project(project, options.new)
        Judgments(home_of(options), connection.settings).rename(options.name, options.new)
        bump_generation(connection)
    said(f"{options.name} is now called {options.new}")
    return 0


def default(options: argparse.Namespace) -> int:
    """Say or choose which project is meant where none is named; 1 where none is chosen."""
    if options.name is None and not options.none:
        connection = open_reader(home_of(options), load_settings(home_of(options)))
        try:
            chosen = [project.name for project in default_of(connection)]
        finally:
            connection.close()
        screen().out(json.dumps(chosen[0] if chosen else None) if options.json else "".join(chosen) or "none")
        return 0 if chosen else 1
    if options.name is not None and options.none:
        raise UsageError("a name and --none were given. Give one of them.")
    with writing(options) as (connection, writer), connection.transaction():
        writer.choose_default(None if options.none else named_project(connection, options.name))
    said("no project is the default" if options.none else f"{options.name} is meant where no project is named")
    return 0


@contextmanager
def writing(options: argparse.Namespace) -> Iterator[tuple[Store, Writer]]:
    """The index opened for writing, alone."""
    home = home_of(options)
    settings = load_settings(home)
    with alone(home, settings):
        connection = open_writer(home, settings)
        try:
            yield connection, Writer(connection)
        finally:
            connection.close()


def _row(held: ListedProjectOut) -> tuple[str, ...]:
    ready = f"{held.ready:,} of {held.chunks:,}"
    folder = f"{held.title}  {held.root}" if held.title else held.root
    return held.name, f"{held.notes:,}", ready, "default" if held.default else "", folder


def said(text: str) -> None:
    """What was done, on standard error."""
    messages().print(escape(text), soft_wrap=True, highlight=False)
