"""What an agent can ask for: the parameters of each tool, described for it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cutaway.config import Grouping, Mode
from cutaway.faces.asked import MAX_NAME_CHARS, In, Name
from cutaway.retrieval.request import MAX_QUERY_CHARS

_NOTE = "A path (`project:path` where several projects are asked), file name, title, permalink or alias."


class NothingIn(In):
    """No parameters."""


class ScopeIn(In):
    """Which projects are asked."""

    projects: tuple[Name, ...] = Field(
        (), max_length=100, description="Names of projects; without any, the default one, or the only one."
    )
    all_projects: bool = Field(False, description="Ask every project.")


class DetailIn(ScopeIn):
    """How much is told."""

    detail: Literal["compact", "full"] = Field(
        "compact", description="`compact` is enough to decide; `full` gives everything and costs many tokens."
    )


class QueryIn(DetailIn):
    """A search."""

    query: str = Field(
        max_length=MAX_QUERY_CHARS,
        description='Words or a question. Conditions narrow: "a phrase", -word, tag:x, type:x, path:folder/, title:x, '
        "created:2025, a OR b, pref*.",
    )
    where: tuple[Name, ...] = Field(
        (), max_length=20, description="Conditions on frontmatter, as `status=active` or `due<2025-06`."
    )
    mode: Mode | None = Field(None, description="`hybrid` (default), `text` for exact words, `vector` for meaning.")
    group: Grouping | None = Field(
        None, description="What a result is: a `note` (default), or a `row`, which is one observation or relation."
    )
    rerank: bool | None = Field(None, description="Let a cross-encoder reorder the best: slower, at times better.")


class SearchIn(QueryIn):
    """A search for notes."""

    limit: int = Field(10, ge=1, le=50, description="Results on a page.")
    cursor: str | None = Field(
        None,
        max_length=MAX_NAME_CHARS,
        description="The `cursor` of an earlier answer to the same search: its next page.",
    )


class InspectIn(QueryIn):
    """A search to look into."""

    limit: int = Field(10, ge=1, le=50, description="How many results, and how many near misses, are told.")


class WhyIn(QueryIn):
    """A search, and a note whose place in it is to be explained."""

    note: Name = Field(description=_NOTE + " With `:LINE` or `#N`, a passage of it.")


class ChunksIn(DetailIn):
    """A note to look into."""

    note: Name = Field(description=_NOTE)


class NeighboursIn(DetailIn):
    """A passage, or words, whose neighbours are asked for."""

    target: Name | None = Field(
        None, description="A chunk (`NOTE#3`, as locators are printed), a line (`NOTE:12`) or a whole NOTE."
    )
    text: str | None = Field(
        None, max_length=MAX_QUERY_CHARS, description="Instead of a target: what is closest to these words."
    )
    limit: int = Field(10, ge=1, le=50, description="How many are listed.")


class NoteIn(ScopeIn):
    """A note to read."""

    note: Name = Field(description=_NOTE)
    first_line: int = Field(1, ge=1, le=100_000_000, description="First line to read.")
    last_line: int | None = Field(None, ge=1, le=100_000_000, description="Last line to read; without it, to the end.")
    start: int = Field(0, ge=0, le=10_000_000_000, description="Where to go on: the `next` of an earlier answer.")
    max_chars: int = Field(8_000, ge=100, le=100_000, description="At most so many characters at once.")
