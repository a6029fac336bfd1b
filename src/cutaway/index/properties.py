"""What conditions can ask of a note: its frontmatter, tags and dates as flat, folded values."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from cutaway.notes.rows import Note

MAX_CHARS = 500
_DATE = re.compile(
    r"(\d{4}(?:-\d\d(?:-\d\d)?)?)(?:[t ](\d\d(?::\d\d){0,2})(?:\.\d+)?\s*(?:z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TAGS = ("tag", "tags")
_WRITTEN = {"yes": "true", "on": "true", "no": "false", "off": "false"}  # what YAML reads as another word
_ALTERNATIVES = {"created": ("created", "date"), "modified": ("modified", "updated")}


class Property(NamedTuple):
    """One value of a note under a key: as folded text, and as a number where it is one."""

    key: str
    text: str
    number: float | None


def folded(text: str) -> str:
    """A value as it is compared: composed, without case, without spaces around it."""
    return unicodedata.normalize("NFC", " ".join(text.split())).casefold()[:MAX_CHARS]


def properties_of(note: Note, changed: str | None) -> frozenset[Property]:
    """A note's properties. Tags are all of them, also those of the text; a mapping's keys are joined by a dot.

    ``created`` and ``modified`` come from the frontmatter; where it does not say, *changed*, the
    file's own date, is when it was modified.
    """
    keys = {key: folded(key) for key in note.frontmatter.metadata}
    declared = note.frontmatter.texts(*(key for key, name in keys.items() if name in _TAGS))
    found = {Property("tags", folded(tag.lstrip("#")), None) for tag in (*declared, *note.tags)}
    for key, held in note.frontmatter.metadata.items():
        found |= set() if keys[key] in _TAGS else set(_flat(keys[key], held))
    for name, sources in _ALTERNATIVES.items():
        given = [value.text for key in sources for value in sorted(found) if value.key == key and _date(value.text)]
        dates = given or ([folded(changed)] if name == "modified" and changed else [])
        found = {value for value in found if value.key != name} | {Property(name, date, None) for date in dates[:1]}
    return frozenset(found)


def meets(held: Property, op: str, values: Sequence[str]) -> bool:
    """Whether a property has one of the values (``=``), is in a range (``..``), or compares so with the value.

    Numbers are compared as numbers. A date is compared as far as it is given: ``<= 2024-05`` holds
    all of May. A tag has the tags above it: ``a/b`` is ``a`` too.
    """
    match op:
        case "=":
            return any(_equal(held, folded(value)) for value in values)
        case "..":
            first, last = map(folded, values)
            return _ordered(held, ">=", first) and _ordered(held, "<=", last)
        case _:
            return _ordered(held, op, folded(values[0]))


def _equal(held: Property, value: str) -> bool:
    if held.text in (value, _WRITTEN.get(value)) or (held.key == "tags" and held.text.startswith(f"{value}/")):
        return True
    date, asked = _date(held.text), _date(value)
    if date and asked and date.startswith(asked):
        return True
    return held.number is not None and held.number == _number(value)


def _ordered(held: Property, op: str, value: str) -> bool:
    compare = _ORDER[op]
    number = _number(value)
    if held.number is not None and number is not None:
        return compare(held.number, number)
    date, asked = _date(held.text), _date(value)
    return bool(date and asked) and compare(str(date)[: len(str(asked))], asked)


def _date(text: str) -> str | None:
    """A folded text as ``2024-05-31t10:30`` where it is a date, with or without a time; zones are left out."""
    match = _DATE.fullmatch(text)
    return None if match is None else "t".join(filter(None, match.groups()))


def _flat(key: str, value: Any) -> Iterator[Property]:
    match value:
        case dict():
            for name, held in value.items():
                yield from _flat(f"{key}.{folded(name)}", held)
        case list():
            for held in value:
                yield from _flat(key, held)
        case bool():
            yield Property(key, str(value).lower(), None)
        case None:
            return
        case _:
            text = folded(str(value))
            yield Property(key, text, _number(text))


def _number(text: str) -> float | None:
    try:
        number = float(text) if re.fullmatch(r"[-+]?[\d.]+(?:e[-+]?\d+)?", text) else None
    except ValueError:
        return None
    return number if number is not None and number - number == 0 else None
