"""The JSON of the inspector: two searches compared."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from cutaway.config import Settings
from cutaway.faces.asked import DiffIn
from cutaway.faces.schemas import Out
from cutaway.faces.sessions import Session
from cutaway.faces.traces import TraceOut, traced
from cutaway.inspector.diff import Ordered, Shift, diff


class ShiftOut(Out):
    """A result that stands elsewhere; a null rank is not among those ranked."""

    name: str
    title: str
    before: int | None
    after: int | None
    stage: str | None = Field(description="The first stage after which its ranks differ; null where nothing says.")


class DiffOut(Out):
    """What changed from one search to another, on their pages."""

    a: str
    b: str
    formulas: tuple[str, str]
    queries: tuple[str, str]
    changed: dict[str, tuple[str, str]] = Field(description="What the two plans decided differently.")
    entered: tuple[ShiftOut, ...]
    left: tuple[ShiftOut, ...]
    moved: tuple[ShiftOut, ...]
    stayed: int
    jaccard: float = Field(description="Of the two pages: what they share, of all that is on either.")
    rbo: float = Field(description="Rank-biased overlap of the two orders, p = .9; 1 is the same order.")

    @classmethod
    def of(cls, a: TraceOut, b: TraceOut, labels: tuple[str, str]) -> DiffOut:
        found = diff(ordered(a), ordered(b))
        titles = {candidate.label: candidate.title for trace in (a, b) for candidate in trace.candidates}

        def shifts(given: tuple[Shift, ...]) -> tuple[ShiftOut, ...]:
            return tuple(ShiftOut(title=titles.get(shift.name, ""), **shift._asdict()) for shift in given)

        return cls(
            a=labels[0],
            b=labels[1],
            formulas=(a.formula, b.formula),
            queries=(a.query, b.query),
            changed=_changed(a, b),
            entered=shifts(found.entered),
            left=shifts(found.left),
            moved=shifts(found.moved),
            stayed=found.stayed,
            jaccard=found.jaccard,
            rbo=found.rbo,
        )


def differing(session: Session, asked: DiffIn, changed: Settings) -> DiffOut:
    """One query as the settings are, and with what is changed."""
    before, after = traced(session, asked), traced(replace(session, settings=changed), asked)
    return DiffOut.of(before, after, ("as set", ", ".join(asked.changes)))


def ordered(trace: TraceOut) -> Ordered:
    """A trace as an order of names, each with its ranks after every stage.

    Results of notes are named by their note, whichever row stands for it.
    """
    by_note = trace.plan["group"] == "note"
    name = {
        candidate.row: f"{candidate.project}:{candidate.path}" if by_note else candidate.label
        for candidate in trace.candidates
    }
    last = next((step.name for step in reversed(trace.stages) if step.name not in ("cut", "rerank")), None)
    trails: dict[str, dict[str, int | None]] = {}
    ranked: list[tuple[int, str]] = []
    for candidate in trace.candidates:
        trail = trails.setdefault(name[candidate.row], {})
        for step in candidate.journey:
            if step.rank is None:
                trail.setdefault(step.stage, None)
            else:
                trail[step.stage] = min(step.rank, trail.get(step.stage) or step.rank)
                if step.stage == last:
                    ranked.append((step.rank, name[candidate.row]))
    order = {stage.name: place for place, stage in enumerate(trace.stages)}
    placed = {label: dict(sorted(trail.items(), key=lambda at: order[at[0]])) for label, trail in trails.items()}
    return Ordered(
        page=tuple(dict.fromkeys(name[hit.row] for hit in trace.hits)),
        order=tuple(dict.fromkeys(label for _, label in sorted(ranked))),
        trails=placed,
    )


def _changed(a: TraceOut, b: TraceOut) -> dict[str, tuple[str, str]]:
    """What the plans decided differently, nested values apart."""
    ours, theirs = _flat(a.plan), _flat(b.plan)
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    return {name: (str(ours.get(name)), str(theirs.get(name))) for name in names}


def _flat(plan: dict[str, object]) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in plan.items():
        if isinstance(value, dict):
            flat.update({f"{name}.{field}": held for field, held in _flat(value).items()})
        else:
            flat[name] = value
    return flat
