"""`cutaway project import-…`: folders of notes that other programs know. Their files are only read."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cutaway.config import load_settings
from cutaway.errors import UsageError
from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.prepare import home_of
from cutaway.faces.cli.projects import said, writing
from cutaway.faces.cli.session import screen
from cutaway.index.projects import projects_of
from cutaway.index.sqlite import index_file
from cutaway.index.store import open_reader
from cutaway.model import Project


class Candidate(NamedTuple):
    """A folder that another program knows, and what would become of it."""

    name: str
    root: Path
    verdict: str
    """``add``, or why not."""


def obsidian(options: argparse.Namespace) -> int:
    """The vaults in Obsidian's own list."""
    return _imported(options, options.config or _obsidian_config(), _vaults)


def basic_memory(options: argparse.Namespace) -> int:
    """The projects in Basic Memory's configuration."""
    folder = Path(os.environ.get("BASIC_MEMORY_CONFIG_DIR") or Path.home() / ".basic-memory")
    return _imported(options, options.config or folder / "config.json", _memories)


def _imported(
    options: argparse.Namespace, config: Path, read: Callable[[dict[str, Any]], Iterator[tuple[str, str]]]
) -> int:
    """List what a configuration names; with --yes, add what can be added. 1 where it names nothing."""
    folders = list(read(_read(config)))
    candidates = _judged(folders, _known(options))
    chosen = [held for held in candidates if held.verdict == "add"]
    if options.json:
        values = [{"name": held.name, "folder": str(held.root), "verdict": held.verdict} for held in candidates]
        screen().out(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        rows = [(held.name, held.verdict, str(held.root)) for held in candidates]
        screen().print(
            columns(("project", "", "folder"), rows, screen().width, flex="2") if rows else "no folder there"
        )
    if chosen and options.yes:
        with writing(options) as (connection, writer), connection.transaction():
            for held in chosen:
                writer.add_project(held.name, held.root)
        said(f"added {len(chosen)} projects. Run: cutaway index")
    elif chosen:
        said(f"nothing was changed. --yes adds {'it' if len(chosen) == 1 else f'these {len(chosen)}'}.")
    return 0 if folders else 1


def _known(options: argparse.Namespace) -> list[Project]:
    if not index_file(home_of(options)).is_file():
        return []
    connection = open_reader(home_of(options), load_settings(home_of(options)))
    try:
        return projects_of(connection)
    finally:
        connection.close()


def _judged(folders: list[tuple[str, str]], known: list[Project]) -> list[Candidate]:
    """What would become of each folder, those before it added."""
    held = [(project.name, project.root) for project in known]
    found = []
    for wanted, folder in folders:
        root = Path(folder).expanduser().resolve()
        verdict = _verdict(root, held)
        name = _free(re.sub(r"[\s:#/]+", "-", wanted).strip("-") or "notes", {other for other, _ in held})
        if verdict == "add":
            held.append((name, root))
        found.append(Candidate(name if verdict == "add" else wanted, root, verdict))
    return found


def _verdict(root: Path, held: list[tuple[str, Path]]) -> str:
    if not root.is_dir():
        return "no such folder"
    for name, other in held:
        if root == other:
            return f"is project {name}"
        if root.is_relative_to(other) or other.is_relative_to(root):
            return f"overlaps {name}"
    return "add"


def _free(name: str, taken: set[str]) -> str:
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(other for other in numbered if other not in taken)


def _read(config: Path) -> dict[str, Any]:
    try:
        values = json.loads(config.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{config} cannot be read: {error.strerror or error}. Name the file with --config.") from None
    except ValueError as error:
        raise UsageError(f"{config} is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise UsageError(f"{config} is not such a configuration.")
    return values


def _obsidian_config() -> Path:
    """Where Obsidian keeps the list of its vaults, by platform."""
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/obsidian/obsidian.json"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", "")) / "obsidian" / "obsidian.json"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "obsidian" / "obsidian.json"


def _vaults(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """``{"vaults": {id: {"path": …}}}``: a vault is called like its folder."""
    held = values.get("vaults")
    for vault in held.values() if isinstance(held, dict) else ():
        if isinstance(vault, dict) and isinstance(vault.get("path"), str):
            yield Path(vault["path"]).name, vault["path"]


def _memories(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """``{"projects": {name: path}}``, or ``{name: {"path": …}}`` in later versions."""
    held = values.get("projects")
    for name, project in held.items() if isinstance(held, dict) else ():
        path = project.get("path") if isinstance(project, dict) else project
        if isinstance(path, str) and path:
            yield name, path
