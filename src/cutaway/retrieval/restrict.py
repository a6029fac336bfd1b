"""Which rows the conditions let in. Resolved before either leg is read, so that none can starve a page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from fnmatch import translate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutaway.index.lexicon import distinct
from cutaway.index.reader import Reader
from cutaway.model import ENTITY, KINDS, NoteId
from cutaway.notes.analyzer import Term
from cutaway.retrieval.conditions import Condition, Has, Holds, IsRow, Test, Under

Mask = NDArray[np.bool_]


class Met(NamedTuple):
    """A condition, and how many notes meet it on its own."""

    condition: Condition
    notes: int
    rows: Mask
    """Which rows meet it, by place in the lexicon."""
    relaxed: bool = False
    """Whether it was given up, as nothing would have been let in."""


class Admission(NamedTuple):
    """What all conditions together let in."""

    met: tuple[Met, ...]
    rows: Mask
    """By place in the lexicon."""
    notes: int
    """How many notes have an admitted row."""
    of: int
    """How many notes are in scope."""

    @property
    def remark(self) -> str | None:
        """What was relaxed, or why nothing can be found, where nothing is let in."""
        relaxed = [met.condition.said for met in self.met if met.relaxed]
        if relaxed:
            return f"relaxed: no note holds {' and '.join(relaxed)}, so these words only rank"
        if self.notes or not self.of:
            return None
        never = [met.condition.said for met in self.met if not met.notes]
        return f"no note meets {', '.join(never)}" if never else "no note meets all conditions at once"


def admitted(conditions: Sequence[Condition], reader: Reader) -> Admission | None:
    """The rows that meet every condition; None where there is no condition.

    Conditions choose notes with all their rows, but ``is:`` and ``category:``, which choose rows.
    A phrase amid other words is given up where no note holds it, or none that meets all else.
    """
    if not conditions:
        return None
    lexicon = reader.lexicon
    met = []
    for condition in conditions:
        passing = meeting(condition, reader)
        met.append(Met(condition, _notes(passing, lexicon.notes), passing))
    if not _all(met).any():
        met = [one._replace(relaxed=one.condition.yields) for one in met]
    rows = _all(met)
    of = int(np.count_nonzero(lexicon.kinds == KINDS.index(ENTITY)))
    return Admission(tuple(met), rows, _notes(rows, lexicon.notes), of)


def _all(met: Sequence[Met]) -> Mask:
    """The rows that meet every condition that was not relaxed."""
    rows: Mask = np.ones(len(met[0].rows), np.bool_)
    for one in met:
        rows = rows if one.relaxed else rows & one.rows
    return rows


def meeting(condition: Condition, reader: Reader) -> Mask:
    """The rows that meet a condition, by place in the lexicon."""
    passing = np.zeros(len(reader.lexicon), np.bool_)
    for test in condition.tests:
        passing |= _testing(test, reader)
    return ~passing if condition.negated else passing


def _testing(test: Test, reader: Reader) -> Mask:
    lexicon = reader.lexicon
    match test:
        case Holds():
            return _holding(test, reader)
        case Has(key, op, values):
            notes = reader.notes_with(key, op, values)
        case Under(pattern):
            notes = _under(pattern, reader)
        case IsRow(kind, categories):
            of_kind: Mask = lexicon.kinds == KINDS.index(kind)
            return of_kind & np.isin(lexicon.ids, reader.rows_in(categories)) if categories else of_kind
    within: Mask = np.isin(lexicon.notes, notes)
    return within


def _holding(test: Holds, reader: Reader) -> Mask:
    """All rows of the notes whose own row holds the words; a word by any word of its stem."""
    lexicon = reader.lexicon
    phrases = [test.words]
    if not test.exact:
        term = Term(test.words[0], test.prefix, reader.spoken)
        phrases += [(word,) for word in lexicon.forms(term)]
    places = np.concatenate([lexicon.holding(words, test.fields, test.prefix) for words in phrases])
    own = places[lexicon.kinds[places] == KINDS.index(ENTITY)]
    within: Mask = np.isin(lexicon.notes, lexicon.notes[own])
    return within


def _under(pattern: str, reader: Reader) -> list[NoteId]:
    """Notes by path: all of it where the pattern has a wildcard, in which `*` crosses folders, else any part of it."""
    wanted = unicodedata.normalize("NFC", pattern).casefold()
    paths = ((card.note, unicodedata.normalize("NFC", card.path).casefold()) for card in reader.catalog)
    if any(sign in wanted for sign in "*?["):
        whole = re.compile(translate(wanted))
        return [note for note, path in paths if whole.match(path)]
    return [note for note, path in paths if wanted in path]


def _notes(rows: Mask, notes: NDArray[np.int64]) -> int:
    return len(distinct(notes[rows]))
