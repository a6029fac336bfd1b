"""The JSON of an ordinary search: small, without diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from cutaway.faces.glossary import described

if TYPE_CHECKING:  # who only reads what a server made needs no engine
    from cutaway.faces.asked import SearchIn
    from cutaway.faces.sessions import Session
    from cutaway.index.cards import NoteCard
    from cutaway.model import RowId
    from cutaway.retrieval.pipeline import Answer
    from cutaway.retrieval.quote import Quote
    from cutaway.retrieval.tracing import Scored

_SAID = ("query", "settings", "restrict", "list_rows", "match", "nearest")


class Out(BaseModel):
    """A value on its way out."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    def as_json(self) -> str:
        """As JSON; NaN and infinity cannot occur."""
        return self.model_dump_json(indent=2, by_alias=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        made = handler(core)
        described(cls.__name__, handler.resolve_ref_schema(made))
        return made


class RowOut(Out):
    kind: str
    id: int

    @classmethod
    def of(cls, row: RowId) -> RowOut:
        return cls(kind=row.kind, id=row.number)


class DegradedOut(Out):
    stage: str
    reason: str


class ConditionOut(Out):
    """A condition, and how many notes meet it on its own."""

    said: str
    notes: int
    relaxed: bool = Field(description="Whether it was given up, as no note would have been let in.")

    @classmethod
    def all_of(cls, answer: Answer) -> tuple[ConditionOut, ...]:
        admission = answer.evidence.admission
        return tuple(
            cls(said=met.condition.said, notes=met.notes, relaxed=met.relaxed)
            for met in (admission.met if admission else ())
        )


class HitOut(Out):
    """A result: where it stands, its best passage, its scores by name."""

    rank: int = Field(description="Position over all pages, from 1.")
    project: str
    path: str
    title: str
    row: RowOut
    locator: str | None = Field(description="The passage's chunk, as other views print it.")
    lines: tuple[int, int] = Field(description="First and last line of the passage.")
    heading_path: tuple[str, ...]
    passage: str
    truncated: bool = Field(description="Whether the passage goes on after what is shown.")
    terms: tuple[str, ...] = Field(description="The query's terms that stand in the passage.")
    highlights: tuple[tuple[int, int], ...] = Field(description="Where, as character ranges of the passage.")
    scores: dict[str, float | None] = Field(
        description="`score` by the answer's formula; `bm25` and `cosine` as the legs gave them; "
        "`fused` is the score before reranking, `rerank` the cross-encoder's (null where it read nothing)."
    )
    mark: str | None = Field(description="`slid` where the result queues behind the ranked prefix.")

    @classmethod
    def of(cls, answer: Answer, rank: int, hit: Scored[RowId]) -> HitOut:
        from cutaway.inspector.journeys import named_scores
        from cutaway.retrieval.quote import quoted

        note = answer.shelf.notes[answer.shelf.rows[hit.id].note]
        quote = quoted(hit, answer.shelf, answer.plan.terms)
        return cls(
            rank=answer.plan.offset + rank,
            project=note.project.name,
            path=note.path,
            title=note.title,
            row=RowOut.of(hit.id),
            locator=_locator(answer, note, hit, quote),
            lines=quote.lines,
            heading_path=quote.heading_path,
            passage=quote.text,
            truncated=quote.truncated,
            terms=quote.terms,
            highlights=quote.highlights,
            scores={"score": hit.score, **named_scores(answer, hit.id)},
            mark=hit.mark,
        )


class SaidOut(Out):
    """What must be known before an answer is believed."""

    weak: bool = Field(description="Even the best score is low: perhaps nothing here answers the query.")
    remarks: tuple[str, ...]
    conditions: tuple[ConditionOut, ...] = Field(description="What was asked of notes, in the query and beside it.")
    admitted: int | None = Field(description="How many notes meet all conditions; null where there are none.")
    degraded: tuple[DegradedOut, ...] = Field(description="What was wanted and could not be had.")

    @classmethod
    def said(cls, answer: Answer) -> dict[str, Any]:
        """These values of an answer."""
        return {
            "weak": answer.weak,
            "remarks": tuple(remark for name, remark in answer.remarks if name in _SAID),
            "conditions": ConditionOut.all_of(answer),
            "admitted": answer.evidence.admission.notes if answer.evidence.admission else None,
            "degraded": tuple(DegradedOut(stage=part.stage, reason=part.reason) for part in answer.degraded),
        }


class SearchOut(Out):
    """The answer to a search."""

    version: Literal["cutaway-search/1"] = Field(
        "cutaway-search/1", description="Changes when what is written here changes."
    )

    query: str
    mode: str
    formula: str = Field(description="What `score` is, with its version.")
    hits: tuple[HitOut, ...]
    total: int
    total_is_exact: bool
    has_more: bool
    cursor: str | None = Field(description="Give it with the same query for the next page; null after the last.")
    weak: bool = Field(description="Even the best score is low: perhaps nothing here answers the query.")
    remarks: tuple[str, ...]
    conditions: tuple[ConditionOut, ...] = Field(description="What was asked of notes, in the query and beside it.")
    admitted: int | None = Field(description="How many notes meet all conditions; null where there are none.")
    degraded: tuple[DegradedOut, ...]

    @classmethod
    def of(cls, answer: Answer) -> SearchOut:
        return cls(
            query=answer.plan.text,
            mode=answer.plan.mode,
            formula=answer.formula,
            hits=tuple(HitOut.of(answer, rank, hit) for rank, hit in enumerate(answer.page, start=1)),
            total=answer.total,
            total_is_exact=answer.total_is_exact,
            has_more=answer.has_more,
            cursor=answer.cursor,
            **SaidOut.said(answer),
        )


def searched(session: Session, asked: SearchIn) -> SearchOut:
    """The answer to a search."""
    return SearchOut.of(session.answer(asked))


def _locator(answer: Answer, note: NoteCard, hit: Scored[RowId], quote: Quote) -> str | None:
    entries = (entry for entry in answer.shelf.chunks.get(hit.id, ()) if entry.id == quote.chunk)
    prefix = f"{note.project.name}:" if len(answer.plan.projects) > 1 else ""
    return next((f"{prefix}{note.path}#{entry.ordinal}" for entry in entries), None)
