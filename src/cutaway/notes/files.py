"""The files of a project: which there are, what they hold, and which cannot be read."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from cutaway.errors import RootMissing
from cutaway.model import Problem

IGNORE_FILES = (".gitignore", ".ignore", ".cutawayignore")
SUFFIXES = (".md", ".markdown")
_MAX_BYTES = 64 * 1024 * 1024


@dataclass(slots=True)
class Scan:
    """What a walk over a project's folder found."""

    hashes: dict[str, bytes] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def unseen(self, path: str) -> bool:
        """Whether the walk could not tell if this file is still there."""
        blocked = (problem.path for problem in self.problems if problem.kind in ("unreadable", "folder"))
        return any(path == place or path.startswith(f"{place}/") for place in blocked)


class _Rules(NamedTuple):
    """The ignore files of one folder."""

    folder: str
    spec: GitIgnoreSpec


def content_hash(raw: bytes) -> bytes:
    """What tells two contents apart."""
    return hashlib.blake2b(raw, digest_size=16).digest()


def scan(root: Path) -> Scan:
    """Hash every note under *root*. Hidden and ignored paths are left out; links are not followed.

    Raises RootMissing where the folder itself cannot be listed.
    """
    try:
        with os.scandir(root) as entries:
            next(entries, None)
    except OSError as error:
        raise RootMissing(
            f"the folder {root} cannot be read ({error.strerror}). Its index is kept; bring the folder back."
        ) from None
    found = Scan()
    for path, file in _walk(root, "", (), found):
        _add(found, path, file)
    return found


def locate(root: Path, path: str) -> Path:
    """The file behind a note's path, whichever Unicode form its name has on disk."""
    direct = root / path
    if direct.exists() or path.isascii():
        return direct
    place = root
    for part in PurePosixPath(path).parts:
        names = [entry.name for entry in place.iterdir()] if place.is_dir() else []
        place = place / next((name for name in names if unicodedata.normalize("NFC", name) == part), part)
    return place


def _add(found: Scan, path: str, file: Path) -> None:
    try:
        path.encode()
        if file.stat().st_size > _MAX_BYTES:
            raise OSError(0, f"larger than {_MAX_BYTES // 2**20} MiB")
        raw = file.read_bytes()
        raw.decode("utf-8")
    except UnicodeEncodeError:
        found.problems.append(Problem(ascii(path), "file name", "the file name is not valid UTF-8; not indexed"))
    except UnicodeDecodeError as error:
        found.problems.append(Problem(path, "unreadable", f"not UTF-8 text (byte {error.start}); not indexed"))
    except OSError as error:
        found.problems.append(Problem(path, "unreadable", f"cannot be read: {error.strerror}"))
    else:
        if path in found.hashes:
            found.problems.append(
                Problem(path, "file name", "two files differ only in the Unicode form of their names")
            )
        found.hashes.setdefault(path, content_hash(raw))


def _walk(folder: Path, prefix: str, rules: Sequence[_Rules], found: Scan) -> Iterator[tuple[str, Path]]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        found.problems.append(Problem(prefix.rstrip("/"), "folder", f"cannot be listed: {error.strerror}"))
        return
    rules = (*rules, *_rules(folder, prefix, found))
    for entry in entries:
        path = prefix + unicodedata.normalize("NFC", entry.name)
        is_folder = entry.is_dir(follow_symlinks=False)
        is_note = entry.name.lower().endswith(SUFFIXES)
        if entry.name.startswith(".") or _ignored(path, is_folder, rules):
            continue
        if entry.is_symlink():
            if is_note or entry.is_dir():
                found.problems.append(Problem(path, "link", "symbolic links are not followed; not indexed"))
        elif is_folder:
            yield from _walk(Path(entry.path), f"{path}/", rules, found)
        elif is_note:
            yield path, Path(entry.path)


def _rules(folder: Path, prefix: str, found: Scan) -> Iterator[_Rules]:
    lines: list[str] = []
    for name in IGNORE_FILES:
        file = folder / name
        if file.is_file():
            try:
                lines += file.read_text(encoding="utf-8-sig").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                found.problems.append(
                    Problem(prefix + name, "ignore file", f"cannot be read, so not honoured: {error}")
                )
    if lines:
        yield _Rules(prefix, GitIgnoreSpec.from_lines(lines))


def _ignored(path: str, is_folder: bool, rules: Sequence[_Rules]) -> bool:
    """The innermost ignore file with an opinion decides, as in git."""
    for folder, spec in reversed(rules):
        verdict = spec.check_file(path[len(folder) :] + ("/" if is_folder else "")).include
        if verdict is not None:
            return verdict
    return False
