"""Trust: how much a note's word counts, from what its frontmatter says of it. Off unless the settings turn it on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from cutaway.errors import SettingsError, UsageError
from cutaway.index.lexicon import distinct
from cutaway.index.reader import Reader
from cutaway.model import NoteId, RowId
from cutaway.retrieval.conditions import Condition, where
from cutaway.retrieval.restrict import meeting
from cutaway.retrieval.tracing import Outcome, Scored, Stage, best_first, stage

CONFIDENCE = "confidence"
_DIGITS = 9


class Rule(NamedTuple):
    """Notes that meet the condition count *factor* times as much."""

    condition: Condition
    factor: float


class Weight(NamedTuple):
    """What a note's scores are multiplied by, and why."""

    factor: float
    source: str


def rules(text: str) -> tuple[Rule, ...]:
    """``CONDITION: FACTOR; …`` as rules. Raises SettingsError, naming the one that cannot be read."""
    found = []
    for part in filter(None, map(str.strip, text.split(";"))):
        condition, colon, factor = part.rpartition(":")
        try:
            value = float(factor) if colon else math.nan
            if not 0 <= value <= 1:
                raise ValueError
            found.append(Rule(where(condition.strip()), value))
        except ValueError:
            raise SettingsError(f"weights: {part!r} is not CONDITION: FACTOR with a factor from 0 to 1.") from None
        except UsageError as error:
            raise SettingsError(f"weights: {error}") from None
    return tuple(found)


def weights_of(given: tuple[Rule, ...], reader: Reader) -> dict[NoteId, Weight]:
    """The weight of every note that has one: its ``confidence`` (0 to 1), times the factor of each rule it meets."""
    factors: dict[NoteId, list[tuple[float, str]]] = {}
    for note, confidence in reader.numbers(CONFIDENCE).items():
        if 0 <= confidence <= 1:
            factors.setdefault(note, []).append((confidence, f"{CONFIDENCE} {confidence:g}"))
    for rule in given:
        for note in distinct(reader.lexicon.notes[meeting(rule.condition, reader)]).tolist():
            factors.setdefault(NoteId(note), []).append((rule.factor, rule.condition.said))
    return {
        note: Weight(round(math.prod(factor for factor, _ in held), _DIGITS), ", ".join(source for _, source in held))
        for note, held in factors.items()
    }


@stage
def weigh(
    rows: Stage[RowId], notes: Mapping[RowId, NoteId], weights: Mapping[NoteId, Weight], *, rules: str
) -> Outcome[RowId]:
    """Multiply each row's score by the weight of its note; what that takes away is a part of its own."""
    weighed = []
    for hit in rows.kept:
        weight = weights.get(notes[hit.id])
        if weight is None or weight.factor == 1:
            weighed.append(hit._replace(parts=()))
            continue
        score = round(hit.score * weight.factor, _DIGITS)
        parts = (("fused", hit.score), ("weight", round(score - hit.score, _DIGITS)))
        weighed.append(Scored(hit.id, score, hit.via, parts, f"×{weight.factor:g} {weight.source}"))
    changed = sum(hit.mark is not None and hit.mark.startswith("×") for hit in weighed)
    return Outcome(best_first(weighed), remark=f"{changed} weighed")
