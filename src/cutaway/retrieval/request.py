"""A search as it is asked for, before anything is decided."""

from __future__ import annotations

from dataclasses import dataclass

from cutaway.config import Fusion, Grouping, Mode, Settings, validated
from cutaway.errors import UsageError

MAX_QUERY_CHARS = 20_000
MAX_RESULTS = 1_000


@dataclass(frozen=True, slots=True)
class Request:
    """A search as asked for; None means the setting decides."""

    text: str
    where: tuple[str, ...] = ()
    """Conditions beside those of the query, such as ``status=active``."""
    literal: bool | None = None
    """Read the query as words only."""
    mode: Mode | None = None
    group: Grouping | None = None
    limit: int | None = None
    page: int = 1
    cursor: str | None = None
    """Instead of a page: where an earlier answer to the same request ended."""
    fusion: Fusion | None = None
    min_similarity: float | None = None
    rerank: bool | None = None
    depth: int | None = None
    """How many results to rerank. Naming a depth asks for reranking."""


def checked(request: Request) -> str:
    """The text of a request as it can be searched. Raises UsageError."""
    text = request.text.encode("utf-8", "replace").decode().strip()
    if not text and not request.where:
        raise UsageError("the query is empty. Give some words to search for.")
    if "\0" in text:
        raise UsageError("the query holds a NUL character (U+0000). Remove it and search again.")
    if len(text) > MAX_QUERY_CHARS:
        raise UsageError(f"the query has {len(text):,} characters; at most {MAX_QUERY_CHARS:,} are read.")
    if request.page < 1:
        raise UsageError(f"page is {request.page}; pages are numbered from 1.")
    if request.limit is not None and not 1 <= request.limit <= MAX_RESULTS:
        raise UsageError(f"limit is {request.limit}; it may be 1 to {MAX_RESULTS:,}.")
    return text


def settings_with(settings: Settings, request: Request) -> Settings:
    """The settings, but for what the request decides. Raises SettingsError."""
    asked = {name: value for name, value in asked_for(request).items() if name != "rerank"}
    return validated({**settings.model_dump(), **asked}, "this request") if asked else settings


def asked_for(request: Request) -> dict[str, object]:
    """The settings that the request itself decides."""
    names = ("mode", "literal", "group", "limit", "fusion", "min_similarity", "rerank")
    asked = {name: value for name in names if (value := getattr(request, name)) is not None}
    return asked if request.depth is None else {"rerank": True, **asked, "rerank_depth": request.depth}
