"""What changed between the index and the folder. Pure: two listings in, one list of changes out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from cutaway.index.cards import Known
from cutaway.notes.files import Scan


class Difference(NamedTuple):
    """Paths by what happened to them. ``stale`` notes are unchanged but were read in another way."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    removed: tuple[str, ...]
    stale: tuple[str, ...]
    unchanged: int


def difference(known: Mapping[str, Known], found: Scan, form: str) -> Difference:
    """Compare what the index knows with what a scan found.

    A note that is gone while a new path has its very bytes was renamed. A note that could not be
    read this time is neither changed nor removed.
    """
    new = [path for path in found.hashes if path not in known]
    gone = [path for path in known if path not in found.hashes and not found.unseen(path)]
    renamed = _renames(known, found.hashes, gone, new)
    old_names, new_names = {old for old, _ in renamed}, {path for _, path in renamed}
    both = [path for path in known if path in found.hashes]
    changed = tuple(path for path in both if known[path].hash != found.hashes[path])
    stale = tuple(path for path in both if known[path].hash == found.hashes[path] and known[path].form != form)
    return Difference(
        added=tuple(path for path in new if path not in new_names),
        changed=changed,
        renamed=renamed,
        removed=tuple(path for path in gone if path not in old_names),
        stale=stale,
        unchanged=len(both) - len(changed) - len(stale),
    )


def _renames(
    known: Mapping[str, Known], hashes: Mapping[str, bytes], gone: list[str], new: list[str]
) -> tuple[tuple[str, str], ...]:
    """Pair gone and new paths of equal content, those of equal file name first."""
    pairs: list[tuple[str, str]] = []
    for alike in (_name, _any):
        waiting: dict[tuple[bytes, str], list[str]] = defaultdict(list)
        taken = {path for pair in pairs for path in pair}
        for path in sorted(gone, reverse=True):
            if path not in taken:
                waiting[known[path].hash, alike(path)].append(path)
        for path in sorted(new):
            candidates = waiting.get((hashes[path], alike(path)))
            if candidates and path not in taken:
                pairs.append((candidates.pop(), path))
    return tuple(pairs)


def _any(_: str) -> str:
    return ""


def _name(path: str) -> str:
    return PurePosixPath(path).name
