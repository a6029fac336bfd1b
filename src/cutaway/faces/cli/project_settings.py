"""`cutaway project set`, `show` and `trust`: what is set for one project alone, by its user or by its own file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from cutaway.config import AT_INDEXING, PER_PROJECT, project_value
from cutaway.errors import UsageError
from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.prepare import home_of
from cutaway.faces.cli.projects import said, writing
from cutaway.faces.cli.session import screen
from cutaway.index.choices import store_choice, store_trust
from cutaway.index.projects import named_project
from cutaway.index.store import bump_generation, open_reader
from cutaway.model import Project
from cutaway.notes.files import pattern_fault
from cutaway.notes.vault import OWN_FILE, asked_by, digest_of, read_own, refreshed, understood
from cutaway.retrieval.weights import rules


def choose(options: argparse.Namespace) -> int:
    """Set and unset; all of it or, where anything is wrong, nothing."""
    if not options.pairs and not options.unset:
        raise UsageError("nothing to set: give KEY=VALUE, or --unset KEY.")
    with writing(options) as (connection, _), connection.transaction():
        before = named_project(connection, options.name)
        after = _with(_without(before, options.unset), options.pairs)
        store_choice(connection, after, dict(after.chosen), after.ignore)
        bump_generation(connection)
    held = [f"{name} = {value}" for name, value in after.chosen] + [f"ignore {pattern}" for pattern in after.ignore]
    said(f"{options.name}: {', '.join(held) or 'nothing is set'}{_then(before, after)}")
    return 0


def show(options: argparse.Namespace) -> int:
    """What is set for a project, by whom, and what its own file asks for in vain."""
    held = _held(options)
    now = refreshed(held)
    values = {**_shown(now), "file": _trust(now), "file_is_indexed": now.asked.text == held.asked.text}
    if options.json:
        screen().out(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        _print(values)
    return 0


def trust(options: argparse.Namespace) -> int:
    """Show what a project's own file asks for; with --yes trust that very text, with --revoke no longer."""
    if options.yes and options.revoke:
        raise UsageError("--yes and --revoke were given. Give one of them.")
    change = options.yes or options.revoke
    if not change:
        standing = refreshed(_held(options))
        shown = _as_trusted(standing)
        done = "nothing was changed. --yes trusts the file as it is now, and only so."
    else:
        with writing(options) as (connection, _), connection.transaction():
            before = named_project(connection, options.name)
            shown = standing = refreshed(before._replace(trusted=None)) if options.revoke else _as_trusted(before)
            store_trust(connection, shown)
            bump_generation(connection)
        done = "is no longer trusted" if options.revoke else "is trusted as it is now"
        done = f"{OWN_FILE} of {options.name} {done}{_then(before, shown)}"
    values = {**_shown(shown), "file": _trust(standing)}
    if options.json:
        screen().out(json.dumps({**values, "changed": change}, indent=2, ensure_ascii=False))
    else:
        _print(values)
    said(done)
    return 0


def _held(options: argparse.Namespace) -> Project:
    connection = open_reader(home_of(options))
    try:
        return named_project(connection, options.name)
    finally:
        connection.close()


def _without(project: Project, unset: Sequence[str]) -> Project:
    chosen, ignore = dict(project.chosen), list(project.ignore)
    for name in unset:
        key, sign, pattern = name.partition("=")
        if key == "ignore" and sign:
            if pattern not in ignore:
                raise UsageError(
                    f"{project.name} ignores no {pattern!r}; it ignores: {', '.join(ignore) or 'nothing'}."
                )
            ignore.remove(pattern)
        elif key == "ignore":
            ignore = []
        elif name in PER_PROJECT:
            chosen.pop(name, None)
        else:
            raise UsageError(f"{name!r} is nothing to unset. A project may set: ignore, {', '.join(PER_PROJECT)}.")
    return project._replace(chosen=tuple(chosen.items()), ignore=tuple(ignore))


def _with(project: Project, pairs: Sequence[str]) -> Project:
    chosen, ignore = dict(project.chosen), list(project.ignore)
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            raise UsageError(f"{pair!r} is not KEY=VALUE.")
        if name != "ignore":
            chosen[name] = project_value(name, value, f"project {project.name}")
            _check_weights({name: chosen[name]})
        elif fault := pattern_fault(value):
            raise UsageError(f"ignore: {value!r} is no rule: {fault}. Write it as in .gitignore, such as drafts/")
        elif value not in ignore:
            ignore.append(value)
    return project._replace(chosen=tuple(chosen.items()), ignore=tuple(ignore))


def _check_weights(settings: dict[str, Any]) -> None:
    """Refuse weights now that no search could read. Raises SettingsError."""
    rules(settings.get("weights", ""))


def _as_trusted(project: Project) -> Project:
    """The project as it would be with its own file, as that is now, trusted. Raises UsageError."""
    text, fault = read_own(project.root)
    if fault:
        raise UsageError(f"{project.root / OWN_FILE}: {fault}")
    if not text:
        raise UsageError(f"{project.root} has no {OWN_FILE}, or an empty one; there is nothing to trust.")
    _check_weights(dict(asked_by(text, None).settings))
    return understood(project._replace(trusted=digest_of(text)), text)


def _then(before: Project, after: Project) -> str:
    def indexed(project: Project) -> list[Any]:
        return [project.ignore, project.asked.ignore, *map(project.settings.get, AT_INDEXING)]

    return "" if indexed(before) == indexed(after) else ". Run: cutaway index"


def _trust(project: Project) -> str:
    if not project.asked.text:
        return "unreadable" if project.asked.unused else "none"
    if project.trusted is None:
        return "not trusted"
    return "trusted" if project.trusted == digest_of(project.asked.text) else "changed since it was trusted"


def _shown(project: Project) -> dict[str, Any]:
    own = dict(project.chosen)
    settings = [(name, value, "you" if name in own else OWN_FILE) for name, value in project.settings.items()]
    ignore = [("ignore", pattern, OWN_FILE) for pattern in project.asked.ignore]
    ignore += [("ignore", pattern, "you") for pattern in project.ignore]
    return {
        "project": project.name,
        "title": project.asked.title,
        "root": str(project.root),
        "set": [dict(zip(("key", "value", "by"), row, strict=True)) for row in (*settings, *ignore)],
        "unused": list(project.asked.unused),
    }


def _print(values: dict[str, Any]) -> None:
    console = screen()
    title = f"  {values['title']}" if values["title"] else ""
    console.print(f"{values['project']}{title}  {values['root']}", soft_wrap=True, markup=False)
    if values["file"] != "none":
        console.print(f"{OWN_FILE}  {values['file']}", style="dim", soft_wrap=True)
    rows = [(held["key"], str(held["value"]), f"set by {held['by']}") for held in values["set"]]
    console.print(columns(("", "", ""), rows, console.width, flex="1") if rows else "nothing is set")
    for unused in values["unused"]:
        console.print(f"unused  {unused}", style="yellow", soft_wrap=True, markup=False)
    if not values.get("file_is_indexed", True):
        said(f"{OWN_FILE} was changed since the last index, and searches go by what it was. Run: cutaway index")
