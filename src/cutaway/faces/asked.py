"""What can be asked for, whichever face asks: parameters, their bounds, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from cutaway.config import Fusion, Grouping, Mode
from cutaway.faces.glossary import described
from cutaway.retrieval.request import MAX_QUERY_CHARS, MAX_RESULTS, Request

MAX_NAME_CHARS = 4_000
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
"""A name of a project, a note, a condition."""


class In(BaseModel):
    """Parameters as they come in. One that is not known is refused by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        made = handler(core)
        described(cls.__name__, handler.resolve_ref_schema(made))
        return made


class ScopeIn(In):
    """Which projects are asked. Without any, the default one, or the only one."""

    projects: tuple[Name, ...] = Field((), max_length=1_000, description="Names of projects.")
    all_projects: bool = Field(False, description="Every project of the index.")
    here: Name | None = Field(
        None,
        description="A folder on the server's machine. Where no project is named, the one around it is meant; "
        "and a note may be named by its path from there.",
    )


class SearchIn(ScopeIn):
    """A search. What is left out is decided by the settings."""

    query: str = Field(
        "",
        max_length=MAX_QUERY_CHARS,
        description='Words rank. Conditions decide what may be ranked: "a phrase", -word, tag:x, type:x, '
        "path:folder/, title:x, created:2025, a OR b, pref*.",
        examples=["why do pages repeat rows"],
    )
    where: tuple[Name, ...] = Field(
        (),
        max_length=100,
        description="Conditions on the notes' frontmatter, beside those in the query.",
        examples=[["status=active", "due<2025-06"]],
    )
    literal: bool | None = Field(None, description="Read the query as words only, without operators.")
    mode: Mode | None = Field(None, description="`text` (words), `vector` (meaning), or `hybrid` (both).")
    group: Grouping | None = Field(None, description="Whether a result is a `note` or a single `row` of one.")
    limit: int | None = Field(None, ge=1, le=MAX_RESULTS, description="Results on a page.")
    page: int = Field(1, ge=1, le=1_000_000, description="Which page, from 1.")
    cursor: str | None = Field(
        None, max_length=MAX_NAME_CHARS, description="Instead of a page: the `cursor` of an answer to the same search."
    )
    fusion: Fusion | None = Field(None, description="Formula that joins the two legs.")
    min_similarity: float | None = Field(
        None, ge=0, le=1, description="Cosine below which the vector leg is silent for a row."
    )
    rerank: bool | None = Field(None, description="Let a cross-encoder reorder the best results, or not.")
    depth: int | None = Field(None, ge=1, le=200, description="How many results it reads. Naming it turns it on.")

    def request(self) -> Request:
        """The search as the engine takes it."""
        names = ("where", "literal", "mode", "group", "limit", "page", "cursor", "fusion", "min_similarity", "rerank")
        return Request(self.query, depth=self.depth, **{name: getattr(self, name) for name in names})


class WhyIn(SearchIn):
    """A search, and the note whose place in it is to be explained."""

    note: Name = Field(description="A path, title, permalink or alias; with `:LINE` or `#N`, a passage of it.")


class CompareIn(SearchIn):
    """A search, and two notes to compare."""

    a: Name = Field(description="A path, title, permalink or alias; with `:LINE` or `#N`, a passage of it.")
    b: Name = Field(description="The other one.")


class DiffIn(SearchIn):
    """A search, and what to change about it."""

    changes: tuple[Name, ...] = Field(
        min_length=1,
        max_length=100,
        description="Settings of ranking as NAME=VALUE: the search is asked as it is, and with these.",
        examples=[["fusion=rrf", "tie_breaker=0.3"]],
    )


class ChunksIn(ScopeIn):
    """A note to look into."""

    note: Name = Field(description="A path, file name, title, permalink or alias.")
    query: str | None = Field(
        None, max_length=MAX_QUERY_CHARS, description="Words that each chunk's similarity is given to."
    )


class NeighboursIn(ScopeIn):
    """A passage, or words, whose neighbours are asked for."""

    target: Name | None = Field(
        None, description="A chunk (`NOTE#3`, or its id), a line (`NOTE:12`), or a whole `NOTE`."
    )
    text: str | None = Field(
        None, max_length=MAX_QUERY_CHARS, description="Instead of a target: what is closest to these words."
    )
    limit: int = Field(10, ge=1, le=200, description="How many are listed.")
    singly: bool = Field(False, description="List near-duplicates one by one, not under the best of them.")
    by_text: bool = Field(False, description="Embed the target's text now, whatever is stored.")


class NoteIn(ScopeIn):
    """A note to read, whole or in part."""

    note: Name = Field(description="A path, file name, title, permalink or alias.")
    first_line: int = Field(1, ge=1, le=100_000_000, description="First line to give.")
    last_line: int | None = Field(None, ge=1, le=100_000_000, description="Last line to give; without it, to the end.")
    start: int = Field(0, ge=0, le=10_000_000_000, description="Where to go on: the `next` of an earlier answer.")
    max_chars: int = Field(
        20_000, ge=1, le=1_000_000, description="At most so many characters, cut at the end of a line where one is."
    )


def faults(found: Iterable[Mapping[str, Any]], known: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """What is wrong with parameters, by name; of one that there is not, what may have been meant."""
    return tuple(_fault(fault, sorted(known)) for fault in found)


def _fault(fault: Mapping[str, Any], known: Sequence[str]) -> tuple[str, str]:
    name, message = ".".join(map(str, fault.get("loc", ()))), str(fault.get("msg", ""))
    if fault.get("type") == "extra_forbidden":
        near = get_close_matches(name, known, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else f". There are: {', '.join(known)}" if known else ""
        message = f"there is no such parameter{meant}"
    return name, message
