"""Values every layer shares: how rows, chunks and spans of a note are named."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, NewType

ChunkId = NewType("ChunkId", int)
"""A passage. Made from the path a note was first indexed under, so a rebuilt index gives the same ids."""

NoteId = NewType("NoteId", int)


class RowId(NamedTuple):
    """A search row, the unit a query ranks. Numbers of different kinds may coincide."""

    kind: str
    number: int


ENTITY, OBSERVATION, RELATION = KINDS = ("entity", "observation", "relation")
"""The kinds of row: the note itself, one observation, one outgoing relation."""


class Project(NamedTuple):
    """A named root folder of notes."""

    id: int
    name: str
    root: Path


Scope = tuple[Project, *tuple[Project, ...]]
"""The projects that a request may see. There is at least one: no scope is not every project."""


class Problem(NamedTuple):
    """Something about one path that the user should know; the rest of the project goes on."""

    path: str
    kind: str
    message: str


class Span(NamedTuple):
    """A half-open byte range of a note's source."""

    start: int
    end: int


class Skip(NamedTuple):
    """Bytes of a note that belong to no chunk, and why."""

    start: int
    end: int
    reason: str


class Passage(NamedTuple):
    """A chunk before it is stored: a verbatim byte range and what is embedded with it."""

    start: int
    end: int
    heading_path: tuple[str, ...]
    context: str
    text: str
    tokens: int | None

    @property
    def embedded(self) -> str:
        """The text the model sees."""
        return embedded_text(self.context, self.text)


def embedded_text(context: str, text: str) -> str:
    """What is embedded for a passage: its context line, then its text without the margins."""
    return "\n".join(part for part in (context, text.strip()) if part)
