"""The API's views: every one a function of `faces`, and nothing but that."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from cutaway.config import AT_SEARCH, project_value
from cutaway.errors import UsageError
from cutaway.faces.asked import (
    ChunksIn,
    CompareIn,
    DiffIn,
    NeighboursIn,
    NoteIn,
    ScopeIn,
    SearchIn,
    WhyIn,
)
from cutaway.faces.chunk_maps import ChunkMapOut, mapped
from cutaway.faces.diffs import DiffOut, differing
from cutaway.faces.http.problems import refusals
from cutaway.faces.http.service import Service, agreed, service_of
from cutaway.faces.neighbours import NeighboursOut, nearby
from cutaway.faces.note_texts import NoteTextOut, read
from cutaway.faces.schemas import SearchOut, searched
from cutaway.faces.sessions import Session
from cutaway.faces.stale import StaleOut, lagging
from cutaway.faces.traces import TraceOut, traced
from cutaway.faces.whys import VersusOut, WhyOut, compared, explained

router = APIRouter(dependencies=[Depends(agreed)], responses=refusals(400, 403, 404, 409, 422, 503))
Here = Annotated[Service, Depends(service_of)]


@router.post("/search", response_model=SearchOut, tags=["search"])
async def search(asked: SearchIn, service: Here) -> Response:
    """Search notes: a page of results, each with its best passage and its scores by name."""
    return await service.look(searched, asked)


@router.get("/note", response_model=NoteTextOut, tags=["notes"])
async def note(asked: Annotated[NoteIn, Query()], service: Here) -> Response:
    """A note's source, whole or in part, as the index holds it."""
    return await service.look(read, asked)


@router.post("/inspect/query", response_model=TraceOut, tags=["inspect"])
async def inspect_query(asked: SearchIn, service: Here) -> Response:
    """A search with its casing off: the plan, every stage, every candidate's way through them, the misses."""
    return await service.look(traced, asked)


@router.post("/inspect/why", response_model=WhyOut, tags=["inspect"])
async def inspect_why(asked: WhyIn, service: Here) -> Response:
    """Why a note is where it is for a query, or nowhere."""
    return await service.look(explained, asked)


@router.post("/inspect/compare", response_model=VersusOut, tags=["inspect"])
async def inspect_compare(asked: CompareIn, service: Here) -> Response:
    """Why one note beats another for a query: differences that add up to that of the score."""
    return await service.look(compared, asked)


@router.post("/inspect/diff", response_model=DiffOut, tags=["inspect"])
async def inspect_diff(asked: DiffIn, service: Here) -> Response:
    """One query as the settings are, and with some of ranking changed: what entered, left and moved."""
    return await service.look(_differing, asked)


@router.post("/inspect/neighbors", response_model=NeighboursOut, tags=["inspect"])
async def inspect_neighbors(asked: NeighboursIn, service: Here) -> Response:
    """The passages closest to one by the stored vectors, or to words, and what their similarity means."""
    return await service.look(nearby, asked)


@router.get("/inspect/chunks", response_model=ChunkMapOut, tags=["inspect"])
async def inspect_chunks(asked: Annotated[ChunksIn, Query()], service: Here) -> Response:
    """A note as the index sees it: its rows, their chunks, what is skipped and why, and how fresh it is."""
    return await service.look(mapped, asked)


@router.get("/inspect/stale", response_model=StaleOut, tags=["inspect"])
async def inspect_stale(asked: Annotated[ScopeIn, Query()], service: Here) -> Response:
    """Every note whose index lags behind its file or the settings, and what mends it."""
    return await service.look(lagging, asked)


def _differing(session: Session, asked: DiffIn) -> DiffOut:
    """A request may change what ranks, and nothing else."""
    changed: dict[str, object] = {}
    for pair in asked.changes:
        name, sign, value = pair.partition("=")
        if not sign:
            raise UsageError(f"{pair!r} is not NAME=VALUE.")
        if name.strip() not in AT_SEARCH:
            raise UsageError(f"a request cannot change {name.strip()!r}. It may change: {', '.join(AT_SEARCH)}.")
        changed[name.strip()] = project_value(name.strip(), value.strip(), "changes")
    return differing(session, asked, session.settings.model_copy(update=changed))
