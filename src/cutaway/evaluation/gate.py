"""The gate: a file of queries with expectations, checked against today's results.

Made for a vault's own CI: what must be found, what must not, how good and how steady the results
must be, and the laws of order. A failure says where the note is instead.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from cutaway.errors import UsageError
from cutaway.evaluation.measures import Measure
from cutaway.index.reader import Reader
from cutaway.inspector.journeys import candidates
from cutaway.model import NoteId
from cutaway.retrieval.pipeline import Answer

Ask = Callable[[str, int, int], Answer]
"""A search: the query, how many results on a page, which page."""


class Check(BaseModel):
    """One query and what its results must be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str = Field(min_length=1, pattern=r"\S")
    find: dict[str, Annotated[int, Field(ge=1)]] = Field(
        default={}, description="Notes that must be found, and within how many results."
    )
    avoid: list[str] = Field(default=[], description="Notes that must not be among the first results.")
    grades: dict[str, Annotated[int, Field(ge=0, le=3)]] = Field(
        default={}, description="How relevant notes are, 0 to 3, for `min_ndcg`."
    )
    min_ndcg: float | None = Field(default=None, ge=0, le=1)
    baseline: list[str] = Field(default=[], description="The first results when this was recorded, by path.")
    min_overlap: float | None = Field(default=None, ge=0, le=1, description="Share of the baseline to keep.")

    @model_validator(mode="after")
    def _has_what_it_measures_by(self) -> Self:
        """An expectation that nothing could miss, or nothing could meet, is a mistake."""
        if self.min_ndcg is not None and not any(self.grades.values()):
            raise ValueError("min_ndcg needs grades, and one of them above 0")
        if self.min_overlap is not None and not self.baseline:
            raise ValueError("min_overlap needs a baseline")
        return self


class Gate(BaseModel):
    """A gate file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = Field(default=1, ge=1, le=1)
    settings: dict[str, Any] = Field(default={}, description="Settings to search with, over those of the home.")
    k: int = Field(default=10, ge=1, le=100, description="How many first results are looked at.")
    laws: bool = Field(default=True, description="Check that pages concatenate and longer pages begin alike.")
    checks: list[Check] = Field(min_length=1)


class Verdict(NamedTuple):
    """One expectation, met or not, and why."""

    query: str
    expectation: str
    passed: bool
    said: str


def read_gate(file: Path) -> Gate:
    """A gate from its YAML file. Raises UsageError, naming what is wrong."""
    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:  # ValueError: a date in month 13
        raise UsageError(f"{file} cannot be read as YAML: {error}") from None
    try:
        return Gate.model_validate(values)
    except ValidationError as error:
        faults = "; ".join(_said(fault, values) for fault in error.errors())
        raise UsageError(f"{file} is not a gate file: {faults}") from None


def _said(fault: ErrorDetails, values: Any) -> str:
    """A fault with its place, and the query of the check that has it."""
    said = f"{'.'.join(map(str, fault['loc']))}: {fault['msg'].removeprefix('Value error, ')}"
    if fault["type"] == "string_type" and isinstance(fault["input"], int | float | datetime.date):
        said += "; put it in quotes"
    match fault["loc"]:
        case ("checks", int(number), *_) if isinstance(check := values["checks"][number], dict) and "query" in check:
            return f"{said} (query {str(check['query'])[:60]!r})"
    return said


def gate_as_yaml(gate: Gate) -> str:
    """A gate as its file, without what is at its default."""
    return yaml.safe_dump(gate.model_dump(exclude_defaults=True), sort_keys=False, allow_unicode=True, width=100)


def judged_by(gate: Gate, ask: Ask, reader: Reader) -> Iterator[Verdict]:
    """Every expectation of a gate, in the order of the file."""
    for check in gate.checks:
        answer = ask(check.query, gate.k, 1)
        shown = shown_notes(answer)
        yield from _found(check, answer, reader)
        yield from _avoided(check, shown, reader)
        yield from _good_enough(check, gate, shown, reader)
        yield from _steady(check, shown, reader)
        if gate.laws:
            yield _lawful(check, gate, answer, ask)


def recorded(query: str, grades: dict[str, int], answer: Answer, reader: Reader, k: int) -> Check:
    """A check that today's results pass. Raises UsageError for grades that a gate does not know."""
    grades = {name: max(grade, 0) for name, grade in grades.items()}  # TREC's junk is worth as little as 0
    if max(grades.values(), default=0) > 3:
        raise UsageError(f"query {query!r} has a grade of {max(grades.values())}; a gate knows 0, 1, 2 and 3.")
    shown = shown_notes(answer)
    ndcg = _ndcg(grades, shown, reader, k)
    return Check(
        query=query,
        grades=grades,
        min_ndcg=int(ndcg * 100) / 100 if any(grades.values()) else None,
        baseline=[_path(note, reader) for note in shown],
        min_overlap=0.8 if shown else None,
    )


def shown_notes(answer: Answer) -> list[NoteId]:
    """The notes on a page, each where it first stands."""
    return list(dict.fromkeys(answer.evidence.notes[hit.id] for hit in answer.page))


def _found(check: Check, answer: Answer, reader: Reader) -> Iterator[Verdict]:
    order = list(dict.fromkeys(answer.evidence.notes[hit.id] for hit in answer.ranking.kept))
    for name, within in check.find.items():
        note = _note(name, reader)
        rank = order.index(note) + 1 if note in order else None
        said = f"rank {rank}" if rank else _fate(note, answer)
        yield Verdict(check.query, f"finds {name} within {within}", rank is not None and rank <= within, said)


def _avoided(check: Check, shown: list[NoteId], reader: Reader) -> Iterator[Verdict]:
    for name in check.avoid:
        note = _note(name, reader)
        said = f"rank {shown.index(note) + 1}" if note in shown else "not among the first results"
        yield Verdict(check.query, f"does not return {name}", note not in shown, said)


def _good_enough(check: Check, gate: Gate, shown: list[NoteId], reader: Reader) -> Iterator[Verdict]:
    if check.min_ndcg is not None:
        ndcg = _ndcg(check.grades, shown, reader, gate.k)
        expectation = f"nDCG@{gate.k} at least {check.min_ndcg:g}"
        yield Verdict(check.query, expectation, ndcg >= check.min_ndcg, f"{ndcg:.3f}")


def _steady(check: Check, shown: list[NoteId], reader: Reader) -> Iterator[Verdict]:
    if check.min_overlap is not None:
        now = {_path(note, reader) for note in shown}
        lost = [path for path in check.baseline if path not in now]
        overlap = (len(check.baseline) - len(lost)) / len(check.baseline)
        said = f"{overlap:.0%}" + (f"; gone: {', '.join(lost)}" if lost else "")
        yield Verdict(check.query, f"keeps {check.min_overlap:.0%} of its baseline", overlap >= check.min_overlap, said)


def _lawful(check: Check, gate: Gate, first: Answer, ask: Ask) -> Verdict:
    """Two pages are one page of twice the length."""
    pages = [*first.page, *ask(check.query, gate.k, 2).page]
    whole = ask(check.query, 2 * gate.k, 1).page
    same = [(hit.id, hit.score) for hit in pages] == [(hit.id, hit.score) for hit in whole]
    said = "the same results in the same order" if same else "two pages differ from one of twice the length"
    return Verdict(check.query, "pages concatenate", same, said)


def _fate(note: NoteId, answer: Answer) -> str:
    """Where a note fell that is nowhere in the order."""
    found = next((seen for seen in candidates(answer) if seen.note == note), None)
    if found is None:
        return "not among the candidates of either leg"
    lacked = "" if found.fate.margin is None else f", lacking {found.fate.margin:.3f}"
    return f"fell at {found.fate.stage}: {found.fate.reason}{lacked}"


def _ndcg(grades: dict[str, int], shown: list[NoteId], reader: Reader, k: int) -> float:
    by_note = {str(_note(name, reader)): grade for name, grade in grades.items()}
    return Measure("nDCG", k).of([str(note) for note in shown], by_note)


def _note(name: str, reader: Reader) -> NoteId:
    """The one note of that name. Raises UsageError."""
    notes = reader.named(name)
    if len(notes) != 1:
        found = "no note" if not notes else f"{len(notes)} notes"
        raise UsageError(f"the gate names {name!r}, and {found} of the index answers to that. Give its path.")
    return notes[0]


def _path(note: NoteId, reader: Reader) -> str:
    return next(card.path for card in reader.catalog if card.note == note)
