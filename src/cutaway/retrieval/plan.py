"""What one search will do: every default resolved, every identity named, bad input refused."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cutaway.config import Fusion, Grouping, Mode, Settings, validated
from cutaway.errors import UsageError
from cutaway.index.exact import ExactIndex
from cutaway.index.reader import Reader, Readiness
from cutaway.models.embedder import Embedder
from cutaway.notes.analyzer import ANALYZER, query_terms

MAX_QUERY_CHARS = 20_000
MAX_RESULTS = 1_000
FORMULAS: dict[str, str] = {
    "calibrated-dismax": "calibrated-dismax/v1",
    "dismax-0.3": "dismax-0.3/v1",
    "rrf": "rrf-60/v1",
    "text": "bm25-saturated/v1",
    "vector": "cosine-calibrated/v1",
}
"""What a score is, by fusion where both legs are read, else by mode."""


@dataclass(frozen=True, slots=True)
class Request:
    """A search as asked for; None means the setting decides."""

    text: str
    mode: Mode | None = None
    group: Grouping | None = None
    limit: int | None = None
    page: int = 1
    fusion: Fusion | None = None
    min_similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """One search, decided. Everything that affects its order is here, so it is in every trace."""

    text: str
    terms: tuple[str, ...]
    set_aside: tuple[str, ...]
    """Function words of the query: they would be found everywhere and say nothing."""
    mode: Mode
    group: Grouping
    offset: int
    limit: int
    formula: str
    tie_breaker: float
    saturation: float
    min_similarity: float
    weak_below: float
    base: int
    lexical_window: int
    vector_window: int
    analyzer: str
    embedding_identity: str | None
    index_identity: str | None
    projects: tuple[str, ...]
    readiness: Readiness
    unavailable: str | None
    """Why the vector leg cannot be read, where it was wanted."""

    @property
    def lexical(self) -> bool:
        return self.mode != "vector"

    @property
    def vector(self) -> bool:
        return self.mode != "text" and self.unavailable is None

    @property
    def calibrated(self) -> bool:
        """Whether scores mean the same in every query, so that a weak one can be called weak."""
        return self.formula not in (FORMULAS["dismax-0.3"], FORMULAS["rrf"])

    @property
    def end(self) -> int:
        """How many results must be ranked for this page and to know whether another follows."""
        return self.offset + self.limit + 1


def make_plan(request: Request, settings: Settings, reader: Reader, embedder: Embedder | str) -> Plan:
    """Decide a search. *embedder* may be the reason why there is none. Raises UsageError."""
    text = _checked(request)
    chosen = _with(settings, request)
    if chosen.mode == "vector" and isinstance(embedder, str):
        raise UsageError(f"vector search is not possible: {embedder}")
    terms, set_aside = query_terms(text)
    plan = Plan(
        text=text,
        terms=terms,
        set_aside=set_aside,
        mode=chosen.mode,
        group=chosen.group,
        offset=(request.page - 1) * chosen.limit,
        limit=chosen.limit,
        formula=_formula(chosen),
        tie_breaker=0.3 if chosen.fusion == "dismax-0.3" else chosen.tie_breaker,
        saturation=chosen.saturation,
        min_similarity=chosen.min_similarity,
        weak_below=chosen.weak_below,
        base=chosen.window,
        lexical_window=0,
        vector_window=0,
        analyzer=ANALYZER,
        embedding_identity=None if isinstance(embedder, str) else embedder.identity,
        index_identity=None if isinstance(embedder, str) else ExactIndex.identity,
        projects=tuple(project.name for project in reader.scope),
        readiness=reader.readiness,
        unavailable=embedder if isinstance(embedder, str) and chosen.mode != "text" else None,
    )
    lexicon = reader.lexicon
    unready = plan.readiness.total - plan.readiness.ready
    return replace(
        plan,
        lexical_window=max(plan.base, lexicon.widest(plan.group, plan.end, "rows")),
        vector_window=max(plan.base, lexicon.widest(plan.group, plan.end, "chunks") + unready),
    )


def _formula(chosen: Settings) -> str:
    return FORMULAS.get(chosen.mode) or FORMULAS[chosen.fusion]


def _checked(request: Request) -> str:
    text = request.text.encode("utf-8", "replace").decode().strip()
    if not text:
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


def _with(settings: Settings, request: Request) -> Settings:
    names = ("mode", "group", "limit", "fusion", "min_similarity")
    asked = {name: value for name in names if (value := getattr(request, name)) is not None}
    return validated({**settings.model_dump(), **asked}, "this request") if asked else settings
