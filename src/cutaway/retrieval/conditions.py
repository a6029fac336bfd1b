"""Conditions: what a note, or a row, must be to be ranked at all. Typed in a query or given beside it."""

from __future__ import annotations

import csv
import re
from datetime import datetime
from typing import NamedTuple

from cutaway.errors import UsageError
from cutaway.model import KINDS
from cutaway.notes.analyzer import Term, phrase, query_terms, tokens

FIELDS = ("title", "tag", "path", "type", "category", "is", "created", "modified")
"""Names with a meaning of their own, in a query and in a condition; any other name is a property of the notes."""
TITLE, TEXT = ("title", "aliases"), ("title", "aliases", "headings", "tags", "body")
_ROWS = {"note": KINDS[0], "observation": KINDS[1], "relation": KINDS[2]}
_DATES = ("created", "modified")
_PRESENT = ("tag", "type", *_DATES)
"""Those that a note may lack."""

_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d(?::\d\d(?::\d\d)?)?)?)?)?", re.ASCII)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_COMPARED = re.compile(r"(?P<op><=|>=|<|>|=)?\s*(?P<value>.*)", re.DOTALL)
_NAME = r"[^\s=<>!](?:[^=<>!]*[^\s=<>!])?"
_WHERE = re.compile(rf"\s*(?P<absent>!)?(?P<name>{_NAME})\s*(?:(?P<op>!=|<=|>=|=|<|>)\s*(?P<value>.*?)\s*)?", re.DOTALL)


class Unreadable(ValueError):
    """A value that its field cannot have; the message says what it may be."""


class Holds(NamedTuple):
    """The note's text holds these words, one after the other; one word is found by its stem unless *exact*."""

    words: tuple[str, ...]
    fields: tuple[str, ...] = TEXT
    exact: bool = False
    prefix: bool = False


class Has(NamedTuple):
    """The note has this property, with one of the values where any are named."""

    key: str
    op: str = "="
    values: tuple[str, ...] = ()


class Under(NamedTuple):
    """The note's path matches the pattern, or has it as a part where it holds no wildcard."""

    pattern: str


class IsRow(NamedTuple):
    """The row is of this kind, or an observation of one of these categories."""

    kind: str
    categories: tuple[str, ...] = ()


Test = Holds | Has | Under | IsRow


class Condition(NamedTuple):
    """One of the tests must be met, or, where *negated*, none may be. ``said`` is how an answer names it.

    One that *yields* is given up where no note meets it: its words then only rank.
    """

    tests: tuple[Test, ...]
    negated: bool
    said: str
    yields: bool = False


def text_test(text: str, fields: tuple[str, ...] = TEXT) -> Holds | None:
    """The test of text without quotes: a word, a beginning, or, where it has several words, a phrase."""
    found = query_terms(text)
    words = (*found.terms, *found.set_aside)
    term = beginning(text) or (words[0] if len(words) == 1 else None)
    return Holds((term.text,), fields, prefix=term.prefix) if term else phrase_test(text, fields)


def beginning(text: str) -> Term | None:
    """What ``word*`` asks for; None where it is not one word and a star."""
    word = text.removesuffix("*")
    whole = [token.term for token in tokens(word) if token.end - token.start == len(word) < len(text)]
    return Term(whole[0], prefix=True) if whole else None


def phrase_test(text: str, fields: tuple[str, ...] = TEXT) -> Holds | None:
    """The test of an exact phrase; None where nothing in it can be searched."""
    words = phrase(text)
    return Holds(words, fields, exact=True) if words else None


def field_test(field: str, value: str, quoted: bool = False) -> Test:
    """The test of ``field:value``. Raises Unreadable."""
    match field:
        case "title":
            return _titled(value, quoted)
        case "path":
            if not value.strip():
                raise Unreadable("`path:` needs a value")
            return Under(value.strip())
        case "is":
            if value.lower() not in _ROWS:
                raise Unreadable(f"`is:` knows {', '.join(_ROWS)}")
            return IsRow(_ROWS[value.lower()])
        case "category":
            return IsRow(KINDS[1], _listed(value))
        case "created" | "modified":
            return _dated(field, value)
        case "tag":
            return Has("tags", "=", _listed(value, mark="#"))
        case _:
            return Has(field, "=", _listed(value))


def where(text: str) -> Condition:
    """A condition given beside the query: ``NAME=A,B`` (or ``!=``, ``<``, ``<=``, ``>``, ``>=``), ``NAME``, ``!NAME``.

    Raises UsageError, naming what is wrong.
    """
    text = text.encode("utf-8", "replace").decode()
    match = _WHERE.fullmatch(text)
    if match is None or (match["absent"] and match["op"]) or (match["op"] and not match["value"]):
        raise UsageError(
            f"condition {text!r} cannot be read. Write NAME=VALUE (or !=, <, <=, >, >=), NAME where it must be there, "
            "!NAME where it must not."
        )
    name, op, value = match["name"].lower(), match["op"] or "=", match["value"] or ""
    name = "tag" if name == "tags" else name
    said = " ".join(text.split())
    try:
        if not match["op"]:
            return Condition((_present(name),), bool(match["absent"]), said)
        if name in FIELDS and name not in _DATES and op not in ("=", "!="):
            raise Unreadable(f"{name} can be = or != a value")
        test = _test(name, "=" if op == "!=" else op, value)
    except Unreadable as fault:
        raise UsageError(f"condition {text!r}: {fault}.") from None
    return Condition((test,), op == "!=", said)


def _present(name: str) -> Has:
    if name in FIELDS and name not in _PRESENT:
        raise Unreadable(f"{name} needs a value, as {name}=VALUE")
    return Has("tags" if name == "tag" else name)


def _test(name: str, op: str, value: str) -> Test:
    if name in _DATES:
        return _dated(name, f"{op}{value}")
    if name in FIELDS:
        return field_test(name, value)
    if op != "=" and not (_NUMBER.fullmatch(value) or _is_date(value)):
        raise Unreadable(f"{value!r} is neither a number nor a date (as 2024-05-31), so nothing is {op} it")
    return Has(name, op, _listed(value) if op == "=" else (value,))


def _titled(value: str, quoted: bool) -> Holds:
    test = phrase_test(value, TITLE) if quoted else text_test(value, TITLE)
    if test is None:
        raise Unreadable("`title:` needs a word")
    return test


def _dated(field: str, value: str) -> Has:
    """A date, its beginning, a comparison with one, or a range ``from..to``."""
    first, dots, last = value.lstrip("=").partition("..")
    if dots and _is_date(first.strip()) and _is_date(last.strip()):
        return Has(field, "..", (first.strip(), last.strip()))
    match = _COMPARED.fullmatch(value.strip())
    if match is None or not _is_date(match["value"]):
        raise Unreadable(f"`{field}` needs a date as 2024, 2024-05 or 2024-05-31, after >, >=, <, <= or as from..to")
    return Has(field, match["op"] or "=", (match["value"],))


def _is_date(text: str) -> bool:
    """Whether this is a date of the calendar or the beginning of one."""
    try:
        return bool(_DATE.fullmatch(text) and datetime.fromisoformat(text + "0001-01-01"[len(text) :]))
    except ValueError:
        return False


def _listed(value: str, mark: str = "") -> tuple[str, ...]:
    """Values by comma; one in quotes may hold a comma."""
    try:
        parts = next(csv.reader([" ".join(value.split())], skipinitialspace=True), [])
    except csv.Error as error:
        raise Unreadable(str(error)) from None
    values = tuple(value for part in parts if (value := part.strip().lstrip(mark)))
    if not values:
        raise Unreadable("it needs a value")
    return values
