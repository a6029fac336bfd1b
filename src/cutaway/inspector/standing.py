"""How the files of a project stand to what the index holds of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from cutaway.index.difference import difference
from cutaway.index.reader import Reader
from cutaway.index.sync import in_form
from cutaway.model import Problem, Project
from cutaway.notes.files import Scan
from cutaway.notes.frontmatter import read_frontmatter


class Form(NamedTuple):
    """How notes would be read now, and whether that is without a model."""

    text: str
    without_model: bool


class Standing(NamedTuple):
    """Each path of a project in one place: as the next ``cutaway index`` would find it."""

    same: tuple[str, ...]
    changed: tuple[str, ...]
    new: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    gone: tuple[str, ...]
    opted_out: tuple[str, ...]
    unreadable: tuple[Problem, ...]
    """Files, and folders that cannot be listed."""
    reread: tuple[tuple[str, str], ...]
    """Of the same, those that were read in another form, and in which."""


def standing(reader: Reader, project: Project, found: Scan, form: Form | None = None) -> Standing:
    """Compare what the index holds with what a scan found. Without a form, none is another."""
    known = reader.known(project)
    if form is None:
        judged = {path: held._replace(form="") for path, held in known.items()}
    else:
        judged = in_form(known, form.text, form.without_model)
    changes = difference(judged, found, form.text if form else "")
    reported = {problem.path for owner, problem in reader.problems() if (owner, problem.kind) == (project, "opted out")}
    unindexed = found.hashes.keys() - known.keys()
    opted_out = {path for path in reported & unindexed if _opts_out(found.files[path])}
    return Standing(
        same=tuple(path for path in known if path in found.hashes and path not in changes.changed),
        changed=changes.changed,
        new=tuple(path for path in changes.added if path not in opted_out),
        renamed=tuple(pair for pair in changes.renamed if pair[1] not in opted_out),
        gone=(*changes.removed, *(old for old, new in changes.renamed if new in opted_out)),
        opted_out=tuple(sorted(opted_out)),
        unreadable=tuple(problem for problem in found.problems if problem.kind in ("unreadable", "folder")),
        reread=tuple((path, known[path].form) for path in changes.stale),
    )


def _opts_out(file: Path) -> bool:
    """Whether a note that wished to stay out still does: what it held then is not known."""
    try:
        return not read_frontmatter(file.read_bytes().decode("utf-8")).flag("index")
    except (OSError, UnicodeDecodeError):  # it changed after the scan
        return True
