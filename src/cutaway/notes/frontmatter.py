"""A note's YAML frontmatter: where it ends, what it says, and what is wrong with it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from cutaway.notes.source import with_line_feeds

try:
    from yaml import CBaseLoader as _Writing
    from yaml import CSafeLoader as Loader
except ImportError:  # a PyYAML built without libyaml
    from yaml import BaseLoader as _Writing  # type: ignore[assignment]
    from yaml import SafeLoader as Loader  # type: ignore[assignment]

_BLOCK = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)(?:^|(?<=\n))(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_KEY = re.compile(r"""\s*(?:#[^\n]*\n\s*)*(["']?)[\w.-]+\1[ \t]*:(?:[ \t]|\r?\n|\Z)""")
_MAX_VALUES = 10_000
_MAX_DIGITS = 100


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What stands before the body. ``length`` counts characters, delimiters included."""

    length: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None
    spelled: dict[str, Any] = field(default_factory=dict)
    """The same with every value as it was written: a title ``1.10`` or ``No`` is a text, not a number or a no."""

    def text(self, key: str) -> str | None:
        """A value as the text it was written as, on one line; None where it is none, a list or a mapping."""
        value = self._written(key)
        return " ".join(value.split()) or None if isinstance(value, str) else None

    def texts(self, *keys: str) -> tuple[str, ...]:
        """The values under any of *keys*, as a list; one string may hold several, by comma."""
        return tuple(dict.fromkeys(text for key in keys for text in _listed(self._written(key))))

    def _written(self, key: str) -> Any:
        value, written = self.metadata.get(key), self.spelled.get(key)
        if isinstance(value, list) and isinstance(written, list):
            return [text for held, text in zip(value, written, strict=False) if held is not None]
        return None if value is None else written

    def flag(self, key: str, default: bool = True) -> bool:
        """A yes-or-no value; anything but a clear no is *default*."""
        return False if self.metadata.get(key) is False else default


class _Loader(Loader):
    """Safe YAML without merge keys, which can square the size of a document."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Leave `<<` a key like any other."""


def _number(read: Callable[[Any, yaml.ScalarNode], float]) -> Callable[[Any, yaml.ScalarNode], Any]:
    """A number; one so long that Python would not write it, or take minutes to read it, stays a text."""

    def constructed(loader: Any, node: yaml.ScalarNode) -> Any:
        written = loader.construct_scalar(node)
        return written if len(written) > _MAX_DIGITS else read(loader, node)

    return constructed


_Loader.add_constructor("tag:yaml.org,2002:merge", lambda *_: "<<")
_Loader.add_constructor("tag:yaml.org,2002:int", _number(Loader.construct_yaml_int))
_Loader.add_constructor("tag:yaml.org,2002:float", _number(Loader.construct_yaml_float))


def read_frontmatter(text: str) -> Frontmatter:
    """Read the frontmatter at the head of a note.

    Only a YAML mapping between ``---`` lines counts: two horizontal rules around prose are
    text. A block that was clearly meant as frontmatter but is not YAML is set aside, with the
    problem named, so that its keys never become the passage of a note.
    """
    block = _BLOCK.match(with_line_feeds(text))
    if block is None:
        return Frontmatter()
    try:
        values = yaml.load(block[1], Loader=_Loader)
        written = yaml.load(block[1], Loader=_Writing)
        metadata = None if values is None else _plain(values, iter(range(_MAX_VALUES)))
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError, StopIteration) as error:
        if _KEY.match(block[1]):
            return Frontmatter(block.end(), problem=f"frontmatter is not valid YAML: {_sentence(error)}")
        return Frontmatter()
    match metadata, written:
        case None, _:
            return Frontmatter(block.end())
        case dict(), dict():
            return Frontmatter(block.end(), metadata, spelled=written)
    return Frontmatter()


def _plain(value: Any, budget: Iterator[int]) -> Any:
    """A YAML value as JSON types. The budget ends a document that expands without bound."""
    next(budget)
    match value:
        case dict():
            return {str(key): _plain(held, budget) for key, held in value.items()}
        case list() | tuple():
            return [_plain(held, budget) for held in value]
        case set():
            return [_plain(held, budget) for held in sorted(value, key=str)]
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
            yield from (text for part in value for text in _texts(part))


def _texts(value: Any) -> Iterator[str]:
    """The texts of one element of a list: `[[Note]]` is a list in a list, `- Note: more` a mapping in one."""
    match value:
        case list():
            yield from (text for part in value for text in _texts(part))
        case dict():
            yield from (f"{key}: {held}".strip() for key, held in value.items() if isinstance(held, str))
        case str() if value.strip():
            yield " ".join(value.split())


def _sentence(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    if isinstance(error, StopIteration):
        return f"more than {_MAX_VALUES:,} values"
    words = getattr(error, "problem", None) or str(error) or type(error).__name__
    return f"{words} (line {mark.line + 2})" if mark else words.splitlines()[0]
