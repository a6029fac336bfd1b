"""Why a note is where it is for a query, or why it is nowhere: its standing in the index, in each leg, at each stage.

What the search recorded is shown as it was recorded. Of a note that no window reached, the same
legs are asked once more with the windows wide open; what that gives is kept apart, and labelled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from cutaway.index.cards import Entry, NoteCard, Readiness
from cutaway.index.reader import Reader
from cutaway.inspector.chunk_map import Freshness, chunk_map
from cutaway.inspector.journeys import RETURNED, Candidate, candidates
from cutaway.inspector.targets import find_target
from cutaway.model import RowId
from cutaway.retrieval.gather import gather
from cutaway.retrieval.pipeline import Answer, answered, usable
from cutaway.retrieval.plan import Models
from cutaway.retrieval.tracing import InField

_LEGS = {"lexical": ("match",), "vector": ("collapse", "complete_similarity")}


class Standing(NamedTuple):
    """What one leg has of a row: exactly, whatever its window."""

    leg: str
    score: float
    rank: int
    """Among all that the leg could give; 1 is the best."""
    of: int
    window: int
    needed: float | None
    """What the score lacks of the last one inside the window; None inside it."""


class Found(NamedTuple):
    """A term of the query, its weight, and what it gives the row; 0 where the row does not hold it."""

    term: str
    idf: float
    share: float


@dataclass(frozen=True, slots=True)
class Why:
    """All that is known of one note, or of one passage of it, for one query."""

    note: NoteCard
    row: RowId
    entry: Entry | None
    """The passage that was asked about, where a line was named."""
    freshness: Freshness
    lag: str | None
    readiness: Readiness
    met: tuple[str, ...]
    unmet: tuple[str, ...]
    """Conditions of the query that the row meets, and that it does not."""
    terms: tuple[Found, ...]
    standings: tuple[Standing, ...]
    recorded: Candidate | None
    """Its way through the search, where it was inside a window."""
    everywhere: Candidate | None
    """Its way with the windows wide open; None where no leg has anything of it."""
    rank: int | None
    """Its place in the order of results; where it was outside the windows, in that with the windows wide open."""
    page: int | None
    verdict: str

    @property
    def beyond(self) -> Candidate | None:
        """Its way with the windows wide open, where the search itself did not rank it."""
        return None if _ranked(self.recorded) else self.everywhere


def why(reader: Reader, name: str, answer: Answer, wide: Answer) -> Why:
    """Follow a note, or one of its passages (``NOTE:LINE``, ``NOTE#3``, a chunk's id), through an answer.

    *wide* is the same search as ``opened`` gives it.

    Raises NoteNotFound, NotIndexed, AmbiguousNote, UsageError.
    """
    target = find_target(reader, name)
    held = chunk_map(reader, f"{target.note.project.name}:{target.note.path}", answer.plan.embedding_identity)
    entry = None if target.kind == "note" else target.entries[0]
    recorded, everywhere = (_followed(found, held.note, entry) for found in (answer, wide))
    seen = recorded or everywhere
    row = seen.row if seen else entry.row if entry else held.rows[0].id
    source = answer if _ranked(recorded) else wide
    met, unmet = _conditions(answer, reader, row)
    rank = source.ranking.ranks.get(row)
    page = None if rank is None or source is wide else (rank - 1) // answer.plan.limit + 1
    standings = tuple(_standings(answer, wide, row))
    found = Why(
        note=held.note,
        row=row,
        entry=entry,
        freshness=held.freshness,
        lag=held.reason,
        readiness=held.readiness,
        met=met,
        unmet=unmet,
        terms=_terms(answer, row),
        standings=standings,
        recorded=recorded,
        everywhere=everywhere,
        rank=rank,
        page=page,
        verdict="",
    )
    return replace(found, verdict=_verdict(found))


def opened(answer: Answer, reader: Reader, models: Models) -> Answer:
    """The same search with the windows wide open: every row that a leg can give is ranked, nothing is reranked."""
    everything = max(len(reader.lexicon), answer.plan.readiness.total, 1)
    plan = replace(
        answer.plan,
        offset=0,
        base=everything,
        lexical_window=everything,
        vector_window=everything,
        reranking=answer.plan.reranking._replace(model=None),
    )
    ready = usable(models, reader)
    return answered(plan, gather(plan, reader, ready.embedder), reader, ready)


def _followed(answer: Answer, note: NoteCard, entry: Entry | None) -> Candidate | None:
    """The note's row that came furthest, or the row of the passage asked about."""
    return next(
        (seen for seen in candidates(answer) if seen.note == note.id and (entry is None or seen.row == entry.row)),
        None,
    )


def _conditions(answer: Answer, reader: Reader, row: RowId) -> tuple[tuple[str, ...], tuple[str, ...]]:
    admission = answer.evidence.admission
    place = reader.lexicon.places([row]).get(row)
    if admission is None or place is None:
        return (), ()
    met = tuple(met.condition.said for met in admission.met if met.rows[place])
    return met, tuple(held.condition.said for held in admission.met if not held.rows[place])


def _terms(answer: Answer, row: RowId) -> tuple[Found, ...]:
    bm25 = answer.evidence.bm25
    if bm25 is None:
        return ()
    hit = bm25.of([row]).get(row)
    shares: dict[str, float] = {}
    for where, share in hit.parts if hit else ():
        if isinstance(where, InField):
            shares[where.term] = round(shares.get(where.term, 0.0) + share, 9)
    return tuple(Found(str(term), bm25.idf[term], shares.get(str(term), 0.0)) for term in bm25.terms)


def _standings(answer: Answer, wide: Answer, row: RowId) -> list[Standing]:
    """The row in each leg that was read, as if the leg had no window."""
    found = []
    for leg, names in _LEGS.items():
        whole = next((step for step in wide.stages if step.name == names[0]), None)
        if whole is None or row not in whole.ranks:
            continue
        window = answer.plan.lexical_window if leg == "lexical" else answer.plan.vector_window
        inside = [step for step in answer.stages if step.name.removeprefix("prefix.") in names]
        within = any(row in step.ranks for step in inside)
        last = min((hit.score for step in inside[:1] for hit in step.kept), default=0.0)
        needed = None if within else round(last - whole.scores[row], 9)
        found.append(Standing(leg, whole.scores[row], whole.ranks[row], len(whole.kept), window, needed))
    return found


def _ranked(recorded: Candidate | None) -> bool:
    """Whether the search ranked it: a leg may have read it, and only past the window that decides the first page."""
    return recorded is not None and recorded.fate.stage != "head"


def _verdict(found: Why) -> str:
    """In one sentence, what became of it."""
    if found.unmet:
        return f"left out before anything was ranked: it does not meet {', '.join(found.unmet)}"
    if found.recorded is None and found.everywhere is None:
        return "no word of the query is in it, and no passage of it is any closer than the mean passage" + _unembedded(
            found
        )
    if not found.recorded or not _ranked(found.recorded):
        short = "; ".join(f"{standing.leg} rank {standing.rank:,} of {standing.of:,}" for standing in found.standings)
        return f"outside the windows of this search ({short})"
    fate = found.recorded.fate
    if fate.reason == RETURNED:
        return f"returned at rank {found.rank}"
    lacked = "" if fate.margin is None else f", lacking {fate.margin:.3f}"
    if fate.stage == "cut":
        return f"at rank {found.rank}, on page {found.page}{lacked if fate.reason == 'after this page' else ''}"
    return f"fell at {fate.stage}: {fate.reason}{lacked}" + (_unembedded(found) if fate.stage == "hydrate" else "")


def _unembedded(found: Why) -> str:
    waiting = found.readiness.total - found.readiness.ready
    return f" ({waiting} of its {found.readiness.total} passages are not embedded)" if waiting else ""
