"""The pages. Each reads its address, asks a view, and renders what that gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from cutaway.faces.asked import ChunksIn, NeighboursIn, ScopeIn, WhyIn
from cutaway.faces.chunk_maps import ChunkMapOut, mapped
from cutaway.faces.diffs import DiffOut
from cutaway.faces.neighbours import nearby
from cutaway.faces.sessions import Session
from cutaway.faces.stale import lagging
from cutaway.faces.statuses import status
from cutaway.faces.traces import TraceOut, traced
from cutaway.faces.web.charts import bars, flow, plane
from cutaway.faces.web.frame import Here, framed
from cutaway.faces.web.judging import grades
from cutaway.faces.web.state import State, parsed
from cutaway.faces.web.views import AT_ONCE, best_rows, changed, fates, paged, stretches, window
from cutaway.faces.whys import explained
from cutaway.inspector.chunk_map import find_note

router = APIRouter(include_in_schema=False)


@router.get("/")
async def search_page(request: Request, service: Here) -> Response:
    """Search, and a page of results."""

    def shown(state: State) -> dict[str, Any]:
        if not state["q"]:
            return {"answer": None}
        asked = state.search()
        with service.engine.session(asked) as session:
            return {"answer": paged(_under(session, state), asked), "grades": grades(session, state["q"])}

    return await framed(request, service, "search.html", shown)


@router.get("/explain")
async def explain_page(request: Request, service: Here) -> Response:
    """The same search with its casing off, and what changed since the last look."""

    def shown(state: State) -> dict[str, Any]:
        asked = state.search()
        if not state["q"]:
            return {"trace": None}
        with service.engine.session(asked) as session:
            trace = traced(_under(session, state), asked)
            drawn = window(trace, state["fate"], state["at"] or "0")
            pictures = {"flow": flow(trace, drawn), "fates": fates(trace), "drawn": drawn}
            return {"trace": trace, "diff": _since(session, request, trace), **pictures}

    return await framed(request, service, "explain.html", shown)


@router.get("/note")
async def note_page(request: Request, service: Here) -> Response:
    """A note as the index sees it."""

    def shown(state: State) -> dict[str, Any]:
        values = {**state.scope(), "note": state["note"], "query": state["q"] or None}
        asked = parsed(ChunksIn, values)
        with service.engine.session(asked) as session:
            found: ChunkMapOut = mapped(session, asked)
            source = find_note(session.reader, asked.note).source
        chunks = [chunk for row in found.rows for chunk in row.chunks]
        close = [chunk.similarity for chunk in chunks if chunk.similarity is not None]
        return {"found": found, "parts": stretches(source, found), "close": close}

    return await framed(request, service, "note.html", shown)


@router.get("/neighbors")
async def neighbours_page(request: Request, service: Here) -> Response:
    """What lies around a passage."""

    def shown(state: State) -> dict[str, Any]:
        chosen = {"target": state["target"] or None, "text": state["text"] or None}
        if not any(chosen.values()):
            return {"found": None, "bars": ()}
        asked = parsed(NeighboursIn, {**state.scope(), **chosen, "limit": state["limit"] or 12})
        with service.engine.session(asked) as session:
            found = nearby(session, asked)
        lowest = found.neighbours[-1].similarity if found.neighbours else None
        drawn = bars(found.histogram, lowest) if found.histogram else ()
        return {"found": found, "bars": drawn, "plane": plane(found.picture)}

    return await framed(request, service, "neighbours.html", shown)


@router.get("/why")
async def why_page(request: Request, service: Here) -> Response:
    """Why a note is where it is, or nowhere."""

    def shown(state: State) -> dict[str, Any]:
        if not state["q"]:
            return {"found": None, "seen": ()}
        search = state.search()
        with service.engine.session(search) as opened:
            session = _under(opened, state)
            if not state["note"]:
                return {"found": None, "seen": best_rows(traced(session, search))[:AT_ONCE]}
            return {"found": explained(session, parsed(WhyIn, {**dict(search), "note": state["note"]})), "seen": ()}

    return await framed(request, service, "why.html", shown)


@router.get("/index")
async def index_page(request: Request, service: Here) -> Response:
    """What is indexed, what lags behind, and runs."""

    def shown(_: State) -> dict[str, Any]:
        asked = ScopeIn(all_projects=True)
        with service.engine.session(asked) as session:
            found, stale = status(session), lagging(session, asked)
        return {"found": found, "stale": stale, "runs": service.runs.all()}

    return await framed(request, service, "index.html", shown)


def _under(session: Session, state: State) -> Session:
    """The session under the settings that the address changes."""
    pairs = state.all("set") + [f"tie_breaker={value}" for value in state.all("tie")]
    return replace(session, settings=changed(session.settings, pairs)) if pairs else session


def _since(session: Session, request: Request, trace: TraceOut) -> DiffOut | None:
    """What changed since the search that the page was on, where the address says which."""
    before = request.query_params.get("from")
    if before is None:
        return None
    then = State(parse_qs(before, max_num_fields=100))
    if then["q"] != trace.query:
        return None
    return DiffOut.of(traced(_under(session, then), then.search()), trace, ("before", "now"))
