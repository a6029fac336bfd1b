"""A project's own file, `.cutaway.toml`: what it may say to anybody, and what only once the user trusts it."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from cutaway.config import HOMES_OWN, PER_PROJECT, Settings, project_value
from cutaway.errors import SettingsError
from cutaway.model import Asked, Problem, Project
from cutaway.notes.files import Scan, pattern_fault, scan

OWN_FILE = ".cutaway.toml"
_MAX_BYTES, _MAX_TITLE, _LISTED = 65_536, 100, 8


def surveyed(project: Project) -> tuple[Project, Scan]:
    """A project as its own file has it now, and its files without what is to be left out.

    Whoever compares an index with the files asks here, so all see the same files. Raises RootMissing.
    """
    project = refreshed(project)
    found = scan(project.root, project.asked.ignore, project.ignore)
    found.problems += problems_of(project)
    return project, found


def refreshed(project: Project) -> Project:
    """The project with what its own file says now."""
    text, fault = read_own(project.root)
    asked = understood(project, text)
    return asked._replace(asked=asked.asked._replace(unused=(fault,))) if fault else asked


def problems_of(project: Project) -> list[Problem]:
    """What of its own file is not honoured, as one problem; none where all is."""
    unused = project.asked.unused
    return [Problem(OWN_FILE, "config", "; ".join(unused))] if unused else []


def read_own(root: Path) -> tuple[str, str | None]:
    """The text of a project's own file, and why it cannot be read; nothing where there is no such file."""
    file = root / OWN_FILE
    try:
        if file.is_symlink():
            return "", "symbolic links are not followed; nothing of it is used"
        if not file.exists():
            return "", None
        if not file.is_file():  # a pipe would never end
            return "", "not a file; nothing of it is used"
        if file.stat().st_size > _MAX_BYTES:
            return "", f"larger than {_MAX_BYTES // 1024} KiB; nothing of it is used"
        return file.read_bytes().decode("utf-8-sig"), None
    except OSError as error:
        return "", f"cannot be read ({error.strerror}); nothing of it is used"
    except UnicodeDecodeError as error:
        return "", f"not UTF-8 text (byte {error.start}); nothing of it is used"


def digest_of(text: str) -> str:
    """What a user trusts: this very text."""
    return hashlib.sha256(text.encode()).hexdigest()


def understood(project: Project, text: str) -> Project:
    """The project with what a text of its own file asks for, as far as it is honoured."""
    if text and project.trusted == digest_of(text):
        return project._replace(asked=asked_by(text, None))
    look = f"see: cutaway project trust {project.name}"
    changed = project.trusted is not None
    return project._replace(
        asked=asked_by(text, f"the file {'was changed after it was' if changed else 'is not'} trusted ({look})")
    )


def asked_by(text: str, untrusted: str | None) -> Asked:
    """What a text asks for; *untrusted* says why it may not decide how notes are read and ranked."""
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return Asked(text, unused=(f"not TOML, nothing of it is used: {_printable(str(error))}",))
    unused: list[str] = []
    title = _title(values.pop("title", None), unused)
    ignore = _patterns(values.pop("ignore", []), unused)
    own = {name: values.pop(name) for name in PER_PROJECT if name in values}
    settings = _settings(own, unused) if untrusted is None else {}
    if own and untrusted is not None:
        unused.append(f"{_listed(own)}: not used, as {untrusted}")
    if homes := [name for name in values if name in Settings.model_fields]:
        unused.append(f"{_listed(homes)}: not used, as such a setting {HOMES_OWN}")
    if strange := [name for name in values if name not in Settings.model_fields]:
        unused.append(f"{_listed(strange)}: no such setting")
    return Asked(text, title, ignore, tuple(settings.items()), tuple(unused))


def _title(value: object, unused: list[str]) -> str | None:
    if value is None or (isinstance(value, str) and value.isprintable() and 0 < len(value.strip()) <= _MAX_TITLE):
        return value.strip() if value is not None else None
    unused.append(f"title: not a line of 1 to {_MAX_TITLE} characters")
    return None


def _patterns(value: object, unused: list[str]) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(pattern, str) for pattern in value):
        unused.append('ignore: not a list of patterns, such as ["drafts/"]')
        return ()
    if faulty := [pattern for pattern in value if pattern_fault(pattern)]:
        unused.append(f"ignore: no rule and not used: {_listed([repr(pattern) for pattern in faulty])}")
    return tuple(pattern for pattern in value if pattern not in faulty)


def _settings(own: Mapping[str, object], unused: list[str]) -> dict[str, Any]:
    settings = {}
    for name, value in own.items():
        try:
            settings[name] = project_value(name, value, OWN_FILE)
        except SettingsError as error:
            unused.append(_printable(str(error)))
    return settings


def _listed(names: Collection[str]) -> str:
    """Names from a file that nobody has vouched for: printable, and not too many."""
    shown = [_printable(name) for name in list(names)[:_LISTED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)[:200]
