"""The files of a project: which there are, what they hold, and which cannot be read."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from cutaway.errors import RootMissing
from cutaway.model import Problem

IGNORE_FILES = (".gitignore", ".ignore", ".cutawayignore")
SUFFIXES = (".md", ".markdown")
_MAX_BYTES = 64 * 1024 * 1024


@dataclass(slots=True)
class Scan:
    """What a walk over a project's folder found: each note's content by path, and where it is on disk."""

    hashes: dict[str, bytes] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    files: dict[str, Path] = field(default_factory=dict)

    def report(self, path: str, kind: str, message: str) -> None:
        """Note a problem; names that are no text are shown with their odd bytes escaped."""
        self.problems.append(Problem(_printable(path), kind, _printable(message)))

    def unseen(self, path: str) -> bool:
        """Whether the walk could not tell if this file is still there."""
        blocked = (problem.path for problem in self.problems if problem.kind in ("unreadable", "folder"))
        return any(path == place or path.startswith(f"{place}/") for place in blocked)


class _Rule(NamedTuple):
    """One line of an ignore file, and the folder the file stands in."""

    folder: str
    ignores: bool
    folders_only: bool
    regex: re.Pattern[str]

    def decides(self, path: str, is_folder: bool) -> bool:
        """Whether the line speaks of this very path, not of something that holds it."""
        name = path[len(self.folder) :] + ("/" if is_folder and self.folders_only else "")
        found = self.regex.finditer(name)
        return any(match.groupdict().get("ps_d") is None or match.end("ps_d") == len(name) for match in found)


_Rules = tuple[Sequence[_Rule], Sequence[_Rule]]
"""Those of the folders down to here, and those that come after any folder's."""


def content_hash(raw: bytes) -> bytes:
    """What tells two contents apart."""
    return hashlib.blake2b(raw, digest_size=16).digest()


def scan(root: Path, before: Iterable[str] = (), after: Iterable[str] = ()) -> Scan:
    """Hash every note under *root*. Hidden and ignored paths are left out; links are not followed.

    Ignore rules *before* are as if they came before those of the folder's ignore files, and those *after* as if
    they came behind them all. Raises RootMissing where the folder itself cannot be listed.
    """
    try:
        with os.scandir(root) as entries:
            next(entries, None)
    except OSError as error:
        raise RootMissing(
            f"the folder {root} cannot be read ({error.strerror}). Its index is kept; bring the folder back."
        ) from None
    found = Scan()
    first, last = (tuple(filter(None, (_rule("", line) for line in lines))) for lines in (before, after))
    for path, file in _walk(root, "", (first, last), found):
        _add(found, path, file)
    return found


def locate(root: Path, path: str) -> Path:
    """The file behind a note's path, whichever Unicode form its name has on disk."""
    direct = root / path
    return direct if path.isascii() or direct.is_file() else next(_spelled(root, PurePosixPath(path).parts), direct)


def _spelled(folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    """Every file whose name reads like these parts."""
    if not parts:
        yield folder
    elif folder.is_dir():
        for entry in sorted(folder.iterdir()):
            if unicodedata.normalize("NFC", entry.name) == parts[0]:
                yield from _spelled(entry, parts[1:])


def _add(found: Scan, path: str, file: Path) -> None:
    try:
        path.encode()
        if file.stat().st_size > _MAX_BYTES:
            raise OSError(errno.EFBIG, f"larger than {_MAX_BYTES // 2**20} MiB")
        raw = file.read_bytes()
        raw.decode("utf-8")
    except UnicodeEncodeError:
        found.report(path, "file name", "the file name is not valid UTF-8; not indexed")
    except UnicodeDecodeError as error:
        found.report(path, "unreadable", f"not UTF-8 text (byte {error.start}); not indexed")
    except OSError as error:
        found.report(path, "unreadable", f"cannot be read: {error.strerror}")
    else:
        if path in found.hashes:
            found.report(path, "file name", "two files differ only in the Unicode form of their names")
        if path not in found.hashes or file.as_posix().endswith(path):  # the composed form is the one kept
            found.hashes[path], found.files[path] = content_hash(raw), file


def _walk(folder: Path, prefix: str, rules: _Rules, found: Scan) -> Iterator[tuple[str, Path]]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        found.report(prefix.rstrip("/"), "folder", f"cannot be listed: {error.strerror}")
        return
    inner = (*rules[0], *_rules(folder, prefix, found))
    decisive = (*inner, *rules[1])
    for entry in entries:
        path = prefix + unicodedata.normalize("NFC", entry.name)
        is_folder = entry.is_dir(follow_symlinks=False)
        is_note = entry.name.lower().endswith(SUFFIXES)
        if entry.name.startswith(".") or _ignored(path, is_folder, decisive):
            continue
        if is_folder:
            yield from _walk(Path(entry.path), f"{path}/", (inner, rules[1]), found)
        elif entry.is_symlink():
            if is_note or _leads_to_a_folder(entry):
                found.report(path, "link", "symbolic links are not followed; not indexed")
        elif is_note and entry.is_file(follow_symlinks=False):
            yield path, Path(entry.path)
        elif is_note:
            found.report(path, "unreadable", "neither a file nor a folder; not indexed")


def _leads_to_a_folder(link: os.DirEntry[str]) -> bool:
    try:
        return link.is_dir()
    except OSError:  # a link to itself leads nowhere, and is worth a word
        return True


def _rules(folder: Path, prefix: str, found: Scan) -> Iterator[_Rule]:
    for name in IGNORE_FILES:
        file = folder / name
        if not file.is_file():
            continue
        try:
            lines = file.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            found.report(prefix + name, "ignore file", f"cannot be read, so not honoured: {error}")
            continue
        for number, line in enumerate(lines, start=1):
            try:
                rule = _rule(prefix, line)
            except (ValueError, re.error) as error:
                found.report(prefix + name, "ignore file", f"line {number} is no rule and not honoured: {error}")
                continue
            if rule is not None:
                yield rule


def _rule(folder: str, line: str) -> _Rule | None:
    """A line of an ignore file as a rule; None where it is blank or a comment."""
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # a search reads no rules, and starts sooner

    pattern = GitIgnoreSpecPattern(line)
    if pattern.include is None or pattern.regex is None:
        return None
    return _Rule(folder, pattern.include, line.rstrip().endswith("/"), pattern.regex)


def pattern_fault(line: str) -> str | None:
    """Why a line is no ignore rule; None where it is one."""
    try:
        return None if _rule("", line) else "it says nothing"
    except (ValueError, re.error) as error:
        return str(error)


def _ignored(path: str, is_folder: bool, rules: Sequence[_Rule]) -> bool:
    """The last line with an opinion decides, an inner file's before an outer's, as in git."""
    return next((rule.ignores for rule in reversed(rules) if rule.decides(path, is_folder)), False)


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
