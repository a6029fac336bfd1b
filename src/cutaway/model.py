"""Values every layer shares: how rows, chunks and spans of a note are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, NewType

ChunkId = NewType("ChunkId", int)
"""A passage. Made from the path a note was first indexed under, so a rebuilt index gives the same ids."""

NoteId = NewType("NoteId", int)


class RowId(NamedTuple):
    """A search row, the unit a query ranks. Numbers of different kinds may coincide."""

    kind: str
    number: int


ENTITY, OBSERVATION, RELATION = KINDS = ("entity", "observation", "relation")
"""The kinds of row: the note itself, one observation, one outgoing relation."""


class Asked(NamedTuple):
    """What a project's own file asks for, as far as it is honoured."""

    text: str = ""
    title: str | None = None
    ignore: tuple[str, ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    unused: tuple[str, ...] = ()
    """What is not honoured, and why."""


class Project(NamedTuple):
    """A named root folder of notes, and what is set for it alone."""

    id: int
    name: str
    root: Path
    chosen: tuple[tuple[str, Any], ...] = ()
    """The settings that the user chose for it, by name."""
    ignore: tuple[str, ...] = ()
    """The user's ignore rules, after all of the folder's own."""
    trusted: str | None = None
    """The digest of the own file that the user trusts."""
    asked: Asked = Asked()

    @property
    def settings(self) -> dict[str, Any]:
        """What is used instead of the home's settings; the user's choice comes before the file's."""
        return {**dict(self.asked.settings), **dict(self.chosen)}


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
