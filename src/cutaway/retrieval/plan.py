"""What one search will do: every default resolved, every identity named, bad input refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from cutaway.config import Grouping, Mode, RerankFailure, Settings
from cutaway.errors import RerankFailed, UsageError
from cutaway.index.cards import Readiness
from cutaway.index.reader import Reader
from cutaway.index.state import ScoreCache
from cutaway.models.cross_encoder import CrossEncoder
from cutaway.models.embedder import Embedder
from cutaway.notes.analyzer import ANALYZER, Term
from cutaway.retrieval.bm25 import Weighting
from cutaway.retrieval.conditions import Condition, where
from cutaway.retrieval.cursor import unsealed
from cutaway.retrieval.query import understood
from cutaway.retrieval.request import Request, asked_for, checked, settings_with
from cutaway.retrieval.scoped import unused_settings
from cutaway.retrieval.weights import Rule, rules

FORMULAS: dict[str, str] = {
    "calibrated-dismax": "calibrated-dismax/v3",
    "dismax-0.3": "dismax-0.3/v1",
    "rrf": "rrf-60/v1",
    "text": "bm25-saturated/v3",
    "listed": "listed/v1",
    "vector": "cosine-calibrated/v1",
}
"""What a score is, by fusion where both legs are read, else by mode."""
RERANK_FORMULAS = {"blend": "blend/v1", "replace": "replace/v1"}
"""What reranking makes of it."""


@dataclass(frozen=True, slots=True)
class Models:
    """What a search may ask besides the index; a model may be the reason why there is none."""

    embedder: Embedder | str
    reranker: CrossEncoder | str = "no reranker here"
    cache: ScoreCache | None = None


class Reranking(NamedTuple):
    """What will be done about reranking, and why."""

    model: str | None
    """The identity of the cross-encoder that will be asked; None where none will."""
    why: str
    unavailable: str | None
    """Why it cannot be asked, where it was wanted."""
    depth: int
    formula: str
    weight: float
    failure: RerankFailure


@dataclass(frozen=True, slots=True)
class Plan:
    """One search, decided. Everything that affects its order is here, so it is in every trace."""

    text: str
    sought: str
    """What models read of it: the text without operators and conditions."""
    terms: tuple[Term, ...]
    set_aside: tuple[Term, ...]
    """Function words of the query: they would be found everywhere and say nothing."""
    conditions: tuple[Condition, ...]
    """All must be met; they decide what is ranked, and change no score."""
    spoken: tuple[str, ...]
    """The Latin-script languages of the scope: whose function words are set aside, and whose stems count."""
    query_remarks: tuple[str, ...]
    """What in the query looked like an operator and was read as text."""
    unused_settings: tuple[str, ...]
    """What projects of the scope have set, or ask for, that this search does not use, and why."""
    mode: Mode
    group: Grouping
    offset: int
    limit: int
    formula: str
    weighting: Weighting
    weights: tuple[Rule, ...] | None
    """By how much what notes count; None where all count the same."""
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
    foreign: tuple[str, ...]
    """Projects whose vectors are another model's, or in another home: only their words are searched."""
    unavailable: str | None
    """Why the vector leg cannot be read, where it was wanted."""
    reranking: Reranking

    @property
    def listing(self) -> bool:
        """Whether there are conditions only, and nothing to rank by."""
        return not self.sought

    @property
    def lexical(self) -> bool:
        return self.mode != "vector" or self.listing

    @property
    def vector(self) -> bool:
        return self.mode != "text" and self.unavailable is None and not self.listing

    @property
    def calibrated(self) -> bool:
        """Whether scores mean the same in every query, so that a weak one can be called weak."""
        return self.formula not in (FORMULAS["dismax-0.3"], FORMULAS["rrf"], FORMULAS["listed"])

    @property
    def end(self) -> int:
        """How many results must be ranked for this page and to know whether another follows."""
        return self.offset + self.limit + 1

    @property
    def asked(self) -> tuple[object, ...]:
        """What was asked for, whatever the page: a cursor belongs to it."""
        return self.text, self.sought, self.conditions, self.mode, self.group, self.projects

    @property
    def decided_by(self) -> tuple[object, ...]:
        """All else that the order of results depends on, but for the index itself."""
        formula = (
            self.formula,
            self.weighting,
            self.weights,
            self.tie_breaker,
            self.saturation,
            self.min_similarity,
            self.base,
        )
        identities = (self.analyzer, self.embedding_identity, self.index_identity) if self.vector else (self.analyzer,)
        reranking = self.reranking
        read = (reranking.model, reranking.depth, reranking.formula, reranking.weight) if reranking.model else ()
        return *formula, *identities, *read


def make_plan(request: Request, settings: Settings, reader: Reader, models: Models) -> Plan:
    """Decide a search. Raises UsageError, and RerankFailed where the settings want an error."""
    text = checked(request)
    chosen = settings_with(settings, request)
    embedder = models.embedder
    identity = _identity(embedder, chosen)
    query = understood(text, chosen.literal, reader.spoken)
    plan = Plan(
        text=text,
        sought=query.sought,
        terms=query.terms,
        set_aside=query.set_aside,
        conditions=(*query.conditions, *map(where, request.where)),
        spoken=reader.spoken,
        query_remarks=query.remarks,
        unused_settings=unused_settings(reader.scope, settings, asked_for(request)),
        mode=chosen.mode,
        group=chosen.group,
        offset=_offset(request, chosen, reader),
        limit=chosen.limit,
        formula=_formula(chosen) if query.sought else FORMULAS["listed"],
        weighting=_weighting(chosen),
        weights=rules(chosen.weights) if chosen.weigh and query.sought else None,
        tie_breaker=0.3 if chosen.fusion == "dismax-0.3" else chosen.tie_breaker,
        saturation=chosen.saturation,
        min_similarity=chosen.min_similarity,
        weak_below=chosen.weak_below,
        base=chosen.window,
        lexical_window=0,
        vector_window=0,
        analyzer=ANALYZER,
        embedding_identity=identity,
        index_identity=None if identity is None else reader.home.identity,
        projects=tuple(project.name for project in reader.scope),
        readiness=reader.readiness(identity),
        foreign=_foreign(reader, identity),
        unavailable=embedder if isinstance(embedder, str) and chosen.mode != "text" and query.sought else None,
        reranking=_reranking(request, chosen, reader, models.reranker if query.sought else None),
    )
    return _with_windows(plan, reader)


def _identity(embedder: Embedder | str, chosen: Settings) -> str | None:
    """The embedding identity, if there is one. Raises UsageError where nothing is possible without."""
    if not isinstance(embedder, str):
        return embedder.identity
    if chosen.mode == "vector":
        raise UsageError(f"vector search is not possible: {embedder}")
    return None


def _with_windows(plan: Plan, reader: Reader) -> Plan:
    """Each leg reads as many candidates as the page can need, but never fewer than the base."""
    lexicon = reader.lexicon
    unready = plan.readiness.pending + plan.readiness.failed
    return replace(
        plan,
        lexical_window=max(plan.base, lexicon.widest(plan.group, plan.end, "rows")),
        vector_window=max(plan.base, lexicon.widest(plan.group, plan.end, "chunks") + unready),
    )


def _offset(request: Request, chosen: Settings, reader: Reader) -> int:
    if request.cursor is None:
        return (request.page - 1) * chosen.limit
    if request.page != 1:
        raise UsageError("a cursor and a page were given; a cursor already says where to go on. Give one of them.")
    return unsealed(request.cursor, reader.key).offset


def _reranking(request: Request, chosen: Settings, reader: Reader, reranker: CrossEncoder | str | None) -> Reranking:
    """What will be done about reranking; nothing (None) can judge where there are conditions only."""
    wanted, why = _rerank_wanted(request, chosen, reader) if reranker else (False, "nothing to judge by")
    missing = reranker if wanted and isinstance(reranker, str) else None
    if missing and chosen.rerank_failure == "error":
        raise RerankFailed(f"reranking is not possible: {missing}")
    return Reranking(
        model=reranker.identity if wanted and reranker and not isinstance(reranker, str) else None,
        why=why,
        unavailable=missing,
        depth=chosen.rerank_depth,
        formula=RERANK_FORMULAS[chosen.rerank_formula],
        weight=chosen.rerank_weight,
        failure=chosen.rerank_failure,
    )


def _rerank_wanted(request: Request, chosen: Settings, reader: Reader) -> tuple[bool, str]:
    if request.rerank is not None:
        return request.rerank, "asked for" if request.rerank else "declined by the request"
    if request.depth is not None:
        return True, "asked for by naming a depth"
    if not chosen.rerank:
        return False, "off in the settings"
    if chosen.mode == "text":
        return False, "a text search is reranked only when asked"
    if len(reader.scope) > 1:
        return False, "several projects are reranked only when asked"
    return True, "on in the settings"


def _foreign(reader: Reader, identity: str | None) -> tuple[str, ...]:
    held = reader.foreign(identity).items() if identity else ()
    return tuple(f"{project.name} is embedded as {' and '.join(said)}" for project, said in held)


def _weighting(chosen: Settings) -> Weighting:
    """The constants of the lexical leg, its fields in the order of FIELD_COLUMNS."""
    title, heading, tag, path = chosen.title_weight, chosen.heading_weight, chosen.tag_weight, chosen.path_weight
    return Weighting(chosen.k1, chosen.b, chosen.inflected, (title, title, heading, tag, 1.0, path))


def _formula(chosen: Settings) -> str:
    return FORMULAS.get(chosen.mode) or FORMULAS[chosen.fusion]
