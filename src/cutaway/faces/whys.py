"""The JSON of the inspector: one note's standing for a query, and one result against another."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from cutaway.errors import NoteNotFound
from cutaway.faces.asked import CompareIn, SearchIn, WhyIn
from cutaway.faces.schemas import Out, RowOut, SaidOut
from cutaway.faces.sessions import Session
from cutaway.faces.traces import CandidateOut
from cutaway.index.cards import NoteCard
from cutaway.inspector.compare import AtStage, Part, Versus, versus
from cutaway.inspector.journeys import Candidate, Step
from cutaway.inspector.why import Why, opened, why
from cutaway.models.embedder import Remembering
from cutaway.retrieval.pipeline import Answer


class FoundOut(Out):
    """A term of the query, its weight, and what it gives the row: 0 where the row does not hold it."""

    term: str
    idf: float
    share: float


class StandingOut(Out):
    """What one leg has of the row, exactly, whatever its window."""

    leg: str
    score: float
    rank: int = Field(description="Among all that the leg could give.")
    of: int
    window: int
    needed: float | None = Field(description="What it lacks of the last one inside the window; null inside it.")


class WhyOut(SaidOut):
    """Why a note is where it is for a query, or nowhere."""

    query: str
    formula: str
    verdict: str
    project: str
    path: str
    title: str
    row: RowOut
    passage: str | None = Field(description="Locator of the passage that was asked about, where a line was named.")
    freshness: str
    lag: str | None
    ready: int
    chunks: int
    met: tuple[str, ...]
    unmet: tuple[str, ...] = Field(description="Conditions of the query that the row does not meet.")
    terms: tuple[FoundOut, ...]
    standings: tuple[StandingOut, ...]
    rank: int | None
    page: int | None
    recorded: CandidateOut | None = Field(description="Its way through the search, where it was inside a window.")
    beyond: CandidateOut | None = Field(
        description="Its way with the windows wide open, where it was not. The search itself is not changed by it."
    )

    @classmethod
    def of(cls, found: Why, answer: Answer, wide: Answer) -> WhyOut:
        note, entry = found.note, found.entry
        return cls(
            **SaidOut.said(answer),
            query=answer.plan.text,
            formula=answer.formula,
            project=note.project.name,
            path=note.path,
            title=note.title,
            row=RowOut.of(found.row),
            passage=f"{note.path}#{entry.ordinal}" if entry else None,
            ready=found.readiness.ready,
            chunks=found.readiness.total,
            terms=tuple(FoundOut(**term._asdict()) for term in found.terms),
            standings=tuple(StandingOut(**standing._asdict()) for standing in found.standings),
            recorded=_candidate(answer, found.recorded, note),
            beyond=_candidate(wide, found.beyond, note),
            **{name: getattr(found, name) for name in ("verdict", "freshness", "lag", "met", "unmet", "rank", "page")},
        )


class PartOut(Out):
    """A named part of a score, of both, and the difference."""

    name: str
    a: float
    b: float
    difference: float

    @classmethod
    def of(cls, part: Part) -> PartOut:
        return cls(**part._asdict(), difference=part.difference)


class SideOut(Out):
    """Where one of the two stood after a stage; null where it was not there."""

    rank: int | None
    score: float
    reason: str | None

    @classmethod
    def of(cls, step: Step | None) -> SideOut | None:
        return None if step is None else cls(rank=step.rank, score=step.score, reason=step.reason)


class AtStageOut(Out):
    stage: str
    a: SideOut | None
    b: SideOut | None

    @classmethod
    def of(cls, at: AtStage) -> AtStageOut:
        return cls(stage=at.stage, a=SideOut.of(at.a), b=SideOut.of(at.b))


class VersusOut(SaidOut):
    """One result against another: the differences of the parts add up to that of the score."""

    query: str
    formula: str
    a: str
    b: str
    beyond: bool = Field(description="Whether one was outside the windows, so that both were asked for beside it.")
    score: PartOut
    parts: tuple[PartOut, ...]
    bm25: PartOut
    terms: tuple[PartOut, ...] = Field(description="Each term in each field; they add up to `bm25`.")
    cosine: PartOut
    stages: tuple[AtStageOut, ...]
    decided: str | None = Field(description="The stage from which on the leader never fell behind again.")

    @classmethod
    def of(cls, answer: Answer, found: Versus, titles: tuple[str, str], beyond: bool) -> VersusOut:
        return cls(
            **SaidOut.said(answer),
            query=answer.plan.text,
            formula=answer.formula,
            a=titles[0],
            b=titles[1],
            beyond=beyond,
            score=PartOut.of(found.score),
            parts=tuple(map(PartOut.of, found.parts)),
            bm25=PartOut.of(found.bm25),
            terms=tuple(PartOut.of(part) for _, part in found.terms),
            cosine=PartOut.of(found.cosine),
            stages=tuple(map(AtStageOut.of, found.stages)),
            decided=found.decided,
        )


def _candidate(answer: Answer, found: Candidate | None, note: NoteCard) -> CandidateOut | None:
    return None if found is None else CandidateOut.of(answer, found, note)


def explained(session: Session, asked: WhyIn) -> WhyOut:
    """Why a note is where it is for a query, or nowhere. Raises NoteNotFound."""
    answer, wide = _asked(session, asked)
    return WhyOut.of(why(session.reader, asked.note, answer, wide), answer, wide)


def compared(session: Session, asked: CompareIn) -> VersusOut:
    """One result against another. Raises NoteNotFound, also where nothing of the query is in one of them."""
    answer, wide = _asked(session, asked)
    found = [why(session.reader, name, answer, wide) for name in (asked.a, asked.b)]
    beyond = any(one.recorded is None for one in found)
    sides = [_side(one, beyond) for one in found]
    titles = (found[0].note.title, found[1].note.title)
    return VersusOut.of(wide if beyond else answer, versus(*sides), titles, beyond)


def _asked(session: Session, asked: SearchIn) -> tuple[Answer, Answer]:
    """The search, and the same with the windows wide open; the query is embedded once for both."""
    models = session.models(asked, inspecting=True)
    if not isinstance(models.embedder, str):
        models = replace(models, embedder=Remembering(models.embedder))
    answer = session.answer(asked, models=models)
    return answer, opened(answer, session.reader, models)


def _side(found: Why, beyond: bool) -> Candidate:
    """The candidate to compare. Raises NoteNotFound where nothing of the query is in the note."""
    candidate = found.everywhere if beyond else found.recorded
    if candidate is None:
        raise NoteNotFound(f"{found.note.title} cannot be compared: {found.verdict}.")
    return candidate
