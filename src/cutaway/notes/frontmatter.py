"""A note's YAML frontmatter: where it ends, what it says, and what is wrong with it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as Loader
except ImportError:  # a PyYAML built without libyaml
    from yaml import SafeLoader as Loader  # type: ignore[assignment]

_BLOCK = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)(?:^|(?<=\n))(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_KEY = re.compile(r"\s*(?:#[^\n]*\n\s*)*[\w-]+[ \t]*:(?:[ \t]|\r?\n|\Z)")
_MAX_VALUES = 10_000


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What stands before the body. ``length`` counts characters, delimiters included."""

    length: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None

    def text(self, key: str) -> str | None:
        """A scalar value as text, or None."""
        value = self.metadata.get(key)
        if value is None or isinstance(value, (dict, list)):
            return None
        return str(value).strip() or None

    def texts(self, *keys: str) -> tuple[str, ...]:
        """The values under any of *keys*, as a list; one string may hold several, by comma."""
        return tuple(dict.fromkeys(text for key in keys for text in _listed(self.metadata.get(key))))

    def flag(self, key: str, default: bool = True) -> bool:
        """A yes-or-no value; anything but a clear no is *default*."""
        return False if self.metadata.get(key) is False else default


def read_frontmatter(text: str) -> Frontmatter:
    """Read the frontmatter at the head of a note.

    Only a YAML mapping between ``---`` lines counts: two horizontal rules around prose are
    text. A block that was clearly meant as frontmatter but is not YAML is set aside, with the
    problem named, so that its keys never become the passage of a note.
    """
    block = _BLOCK.match(text)
    if block is None:
        return Frontmatter()
    try:
        values = yaml.load(block[1], Loader=Loader)
        metadata = None if values is None else _plain(values, iter(range(_MAX_VALUES)))
    except (yaml.YAMLError, ValueError, RecursionError, StopIteration) as error:
        if _KEY.match(block[1]):
            return Frontmatter(block.end(), problem=f"frontmatter is not valid YAML: {_sentence(error)}")
        return Frontmatter()
    if metadata is None:
        return Frontmatter(block.end())
    return Frontmatter(block.end(), metadata) if isinstance(metadata, dict) else Frontmatter()


def _plain(value: Any, budget: Iterator[int]) -> Any:
    """A YAML value as JSON types. The budget ends a document that expands without bound."""
    next(budget)
    match value:
        case dict():
            return {str(key): _plain(held, budget) for key, held in value.items()}
        case list() | tuple() | set():
            return [_plain(held, budget) for held in value]
        case datetime.date():
            return value.isoformat()
        case bool() | int() | str() | None:
            return value
        case float():
            return value if value - value == 0 else str(value)
        case _:
            return str(value)


def _listed(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield from (part.strip() for part in value.split(",") if part.strip())
        case list():
            yield from (str(part).strip() for part in value if part is not None and str(part).strip())
        case None | dict():
            return
        case _:
            yield str(value)


def _sentence(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    if isinstance(error, StopIteration):
        return f"more than {_MAX_VALUES:,} values"
    words = getattr(error, "problem", None) or str(error) or type(error).__name__
    return f"{words} (line {mark.line + 2})" if mark else words.splitlines()[0]
