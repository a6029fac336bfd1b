"""The query language: words that rank, and conditions that decide what may be ranked.

::

    sourdough starter        words: they rank, and none of them must be there
    "exact phrase"           these words, one after the other, must be there; amid other words, if any note has them
    rye OR spelt             one of them must be there
    -rye  -"old dough"       notes that hold it are left out
    fermen*                  ranks by every word that begins like this; title:fermen* has one in its title
    title:levain tag:recipe path:bread/* type:guide category:fact is:observation created:2024-05 modified:>=2024

Anything else is text. What looks like an operator and cannot be one is read as text too, and the
answer says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cutaway.notes.analyzer import Term, query_terms
from cutaway.notes.languages import DEFAULT
from cutaway.retrieval.conditions import (
    FIELDS,
    Condition,
    Test,
    Unreadable,
    beginning,
    field_test,
    phrase_test,
    text_test,
)

_PIECE = re.compile(
    rf"(?P<minus>-(?=[^\s-]))?(?:(?P<field>(?ai:{'|'.join(FIELDS)})):)?"
    r"(?:\"(?P<quoted>[^\"]*)\"|“(?P<curly>[^“”]*)”|(?P<bare>\S+))"
)
_FOREIGN = {
    "AND": "AND is read as a word: words rank together anyway, and quotes make one a must",
    "NOT": "NOT is read as a word: a minus leaves notes out, as in -word",
}


@dataclass(frozen=True, slots=True)
class Query:
    """A query as it was understood."""

    sought: str
    """What models read: the text without operators, and without conditions that say nothing of its subject."""
    terms: tuple[Term, ...] = ()
    set_aside: tuple[Term, ...] = ()
    """Function words of the query: they would be found everywhere and say nothing."""
    conditions: tuple[Condition, ...] = ()
    remarks: tuple[str, ...] = ()
    """What looked like an operator and was read as text."""


class _Piece(NamedTuple):
    """What stands between spaces, or between quotes."""

    raw: str
    value: str
    quoted: bool = False
    field: str | None = None
    negated: bool = False

    @property
    def prefix(self) -> Term | None:
        """What ``word*`` asks for."""
        return None if self.quoted or self.field not in (None, "title") else beginning(self.value)

    @property
    def fault(self) -> str | None:
        """Why it cannot be the operator that it looks like."""
        if self.quoted:
            return None
        if self.value[0] in '"“':
            return "its quotation mark has no partner"
        dangling = self.field is None and self.value[-1] == ":" and self.value[:-1].lower() in FIELDS
        return "no space may stand before its value" if dangling else None

    @property
    def words(self) -> str:
        """What it adds to the words of the query."""
        return "" if self.negated or self.prefix or self.field not in (None, "title") else self.value

    def test(self) -> Test | None:
        """As a condition; None where nothing in it can be searched. Raises Unreadable."""
        if self.fault:
            raise Unreadable(self.fault)
        if self.field:
            return field_test(self.field, self.value, self.quoted)
        return phrase_test(self.value) if self.quoted else text_test(self.value)


@dataclass(slots=True)
class _Reading:
    """What has been understood so far."""

    kept: list[_Piece]
    conditions: list[Condition]
    remarks: list[str]


def understood(text: str, literal: bool = False, spoken: tuple[str, ...] = DEFAULT) -> Query:
    """A query as typed, read; *literal* takes all of it as words. The languages *spoken* are those of the notes."""
    pieces = [] if literal else list(_pieces(text))
    reading = _Reading([], [], [])
    place = 0
    while place < len(pieces):
        place += _take(pieces, place, reading)
    if not reading.conditions and not any(piece.prefix for piece in reading.kept):
        return Query(text, *query_terms(text, (), spoken), remarks=tuple(dict.fromkeys(reading.remarks)))
    prefixes = [piece.prefix for piece in reading.kept if piece.prefix]
    found = query_terms(
        " ".join(filter(None, (piece.words for piece in reading.kept))), [term.text for term in prefixes], spoken
    )
    sought = " ".join(filter(None, (str(piece.prefix.text) if piece.prefix else piece.words for piece in reading.kept)))
    amid_words = any(not piece.quoted and not piece.field and piece.words for piece in reading.kept)
    conditions = (held._replace(yields=held.yields and amid_words) for held in reading.conditions)
    return Query(sought, *found, conditions=tuple(conditions), remarks=tuple(dict.fromkeys(reading.remarks)))


def _pieces(text: str) -> Iterator[_Piece]:
    for match in _PIECE.finditer(text):
        field = match["field"].lower() if match["field"] else None
        value = next(match[name] for name in ("bare", "quoted", "curly") if match[name] is not None)
        letter = match["minus"] and field is None and match["bare"] is not None and len(value) == 1
        if letter and value.isascii() and value.isalnum():  # an option of some command, as in `grep -r`
            yield _Piece(match[0], match[0])
        else:
            yield _Piece(match[0], value, match["bare"] is None, field, bool(match["minus"]))


def _take(pieces: Sequence[_Piece], place: int, reading: _Reading) -> int:
    """Read what stands at a place: alternatives, or a single piece. Returns how many pieces that took."""
    tests, count = _alternatives(pieces, place)
    if count > 1:
        chosen = pieces[place : place + count : 2]
        reading.conditions.append(Condition(tests, False, " or ".join(piece.raw for piece in chosen)))
        reading.kept += chosen
        return count
    piece = pieces[place]
    try:
        test = piece.test() if piece.quoted or piece.field or piece.negated or piece.fault else None
    except Unreadable as fault:
        reading.remarks.append(f"“{piece.raw}” is read as text: {fault}")
        test = None
    if test is None:
        reading.remarks += _misread(piece)
        reading.kept.append(_Piece(piece.raw, piece.raw))
    elif piece.negated:
        reading.conditions.append(Condition((test,), True, f"without {piece.raw[1:]}"))
    else:
        reading.conditions.append(Condition((test,), False, piece.raw, yields=piece.quoted and not piece.field))
        reading.kept.append(piece)
    return 1


def _alternatives(pieces: Sequence[_Piece], first: int) -> tuple[tuple[Test, ...], int]:
    """The tests of ``a OR b OR c``, and how many pieces they stand in."""
    tests: list[Test] = []
    for place in range(first, len(pieces), 2):
        if pieces[place].negated or pieces[place].raw == "OR":
            break
        try:
            test = pieces[place].test()
        except Unreadable:
            break
        if test is None:
            break
        tests.append(test)
        if place + 1 == len(pieces) or pieces[place + 1].raw != "OR":
            break
    return tuple(tests), 2 * len(tests) - 1


def _misread(piece: _Piece) -> Iterator[str]:
    """What to say of text that looks like an operator."""
    if piece.raw in _FOREIGN:
        yield _FOREIGN[piece.raw]
    elif piece.raw == "OR":
        yield "OR is read as a word: it needs a word, a phrase or a field on both sides"
    elif piece.quoted and not piece.field:
        yield f"“{piece.raw}” is read as text: no word is in it"
    elif piece.raw[0].isalnum() and re.search(r"[^*]\*$", piece.raw) and not (piece.field or piece.prefix):
        yield f"“{piece.raw}” is read as text: * stands behind the beginning of a single word"
