"""The pages. Each reads its address, asks a view, and renders what that gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Form
from pydantic import Field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from cutaway.errors import CutawayError, NoteNotFound, UsageError
from cutaway.faces.asked import ChunksIn, In, Name, NeighboursIn, ScopeIn, WhyIn
from cutaway.faces.chunk_maps import ChunkMapOut, mapped
from cutaway.faces.diffs import DiffOut
from cutaway.faces.http.problems import NotAllowed, problem_of
from cutaway.faces.http.service import Service, service_of
from cutaway.faces.neighbours import nearby
from cutaway.faces.sessions import Session
from cutaway.faces.stale import lagging
from cutaway.faces.statuses import every_project, status
from cutaway.faces.traces import TraceOut, traced
from cutaway.faces.web.charts import bars, flow
from cutaway.faces.web.render import page
from cutaway.faces.web.state import State, parsed
from cutaway.faces.web.views import changed, paged, stretches
from cutaway.faces.whys import explained
from cutaway.index.state import Judgment, Judgments
from cutaway.inspector.chunk_map import find_note
from cutaway.retrieval.request import MAX_QUERY_CHARS

router = APIRouter(include_in_schema=False)
_KINDS = ((NoteNotFound, "nothing"), (UsageError, "asked"))
Here = Annotated[Service, Depends(service_of)]


class JudgedIn(In):
    """What somebody says of a result of a query."""

    query: str = Field(min_length=1, max_length=MAX_QUERY_CHARS)
    project: Name
    path: Name
    grade: str = Field(pattern="^(none|[0-3])$")
    back: str = Field("/", max_length=40_000)


@router.get("/")
async def search_page(request: Request, service: Here) -> Response:
    """Search, and a page of results."""

    def shown(state: State) -> dict[str, Any]:
        if not state["q"]:
            return {"answer": None}
        asked = state.search()
        with service.engine.session(asked) as session:
            return {"answer": paged(session, asked), "grades": _grades(session, state["q"])}

    return await _page(request, service, "search.html", shown)


@router.get("/explain")
async def explain_page(request: Request, service: Here) -> Response:
    """The same search with its casing off, and what changed since the last look."""

    def shown(state: State) -> dict[str, Any]:
        asked = state.search()
        if not state["q"]:
            return {"trace": None}
        with service.engine.session(asked) as session:
            trace = _traced_under(session, state)
            return {"trace": trace, "flow": flow(trace), "diff": _since(session, request, trace)}

    return await _page(request, service, "explain.html", shown)


@router.get("/note")
async def note_page(request: Request, service: Here) -> Response:
    """A note as the index sees it."""

    def shown(state: State) -> dict[str, Any]:
        values = {**state.scope(), "note": state["note"], "query": state["q"] or None}
        asked = parsed(ChunksIn, values)
        with service.engine.session(asked) as session:
            found: ChunkMapOut = mapped(session, asked)
            source = find_note(session.reader, asked.note).source
            return {"found": found, "parts": stretches(source, found)}

    return await _page(request, service, "note.html", shown)


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
        return {"found": found, "bars": bars(found.histogram, lowest) if found.histogram else ()}

    return await _page(request, service, "neighbours.html", shown)


@router.get("/why")
async def why_page(request: Request, service: Here) -> Response:
    """Why a note is where it is, or nowhere."""

    def shown(state: State) -> dict[str, Any]:
        if not (state["q"] and state["note"]):
            return {"found": None}
        asked = parsed(WhyIn, {**dict(state.search()), "note": state["note"]})
        with service.engine.session(asked) as session:
            return {"found": explained(session, asked)}

    return await _page(request, service, "why.html", shown)


@router.get("/index")
async def index_page(request: Request, service: Here) -> Response:
    """What is indexed, what lags behind, and runs."""

    def shown(_: State) -> dict[str, Any]:
        asked = ScopeIn(all_projects=True)
        with service.engine.session(asked) as session:
            found, stale = status(session), lagging(session, asked)
        return {"found": found, "stale": stale, "runs": service.runs.all(), "read_only": service.read_only}

    return await _page(request, service, "index.html", shown)


@router.post("/judge")
async def judge(request: Request, service: Here, said: Annotated[JudgedIn, Form()]) -> Response:
    """Keep what somebody says of a result, or take it back."""
    if service.read_only:
        raise NotAllowed("this server was started with --read-only: it keeps no judgments.")
    await service.gate.run(_kept, service, said)
    if request.headers.get("hx-request"):
        grades = {} if said.grade == "none" else {(said.project, said.path): int(said.grade)}
        given = {name: getattr(said, name) for name in ("query", "project", "path", "back")}
        return page("judge.html", 200, {**given, "grades": grades})
    local = said.back.startswith("/") and not said.back.startswith(("//", "/\\"))
    return RedirectResponse(said.back if local else "/", 303)


def _kept(service: Service, said: JudgedIn) -> None:
    with service.engine.session(ScopeIn(projects=(said.project,))) as session:
        path = find_note(session.reader, said.path).path
    store = Judgments(service.engine.home, service.engine.settings)
    judgment = Judgment(said.project, said.query.strip(), path, 0 if said.grade == "none" else int(said.grade))
    if said.grade == "none":
        store.forget(judgment)
    else:
        store.keep([judgment])


async def _page(
    request: Request, service: Service, template: str, shown: Callable[[State], dict[str, Any]]
) -> Response:
    """A page, or the page that says why there is none."""
    asked = request.query_params
    state = State({name: asked.getlist(name) for name in asked})
    common = {"state": state, "path": request.url.path, "here": str(request.url.path) + "?" + str(request.url.query)}

    def made() -> Response:
        try:
            projects = every_project(service.engine.home, service.engine.settings)
        except CutawayError:
            projects = ()
        values = {**common, "projects": projects, "read_only": service.read_only}
        try:
            return page(template, 200, {**values, **shown(state)})
        except CutawayError as error:
            found = problem_of(error)
            kind = (
                "nothing" if isinstance(error, NoteNotFound) else "asked" if isinstance(error, UsageError) else "down"
            )
            return page("error.html", found.status, {**values, "problem": found, "kind": kind})

    return await service.gate.run(made)


def _traced_under(session: Session, state: State) -> TraceOut:
    """The search under what the page changes."""
    pairs = state.all("set") + [f"tie_breaker={value}" for value in state.all("tie")]
    under = replace(session, settings=changed(session.settings, pairs)) if pairs else session
    return traced(under, state.search())


def _since(session: Session, request: Request, trace: TraceOut) -> DiffOut | None:
    """What changed since the search that the page was on, where the address says which."""
    before = request.query_params.get("from")
    if before is None:
        return None
    then = State(parse_qs(before, max_num_fields=100))
    if then["q"] != trace.query:
        return None
    return DiffOut.of(_traced_under(session, then), trace, ("before", "now"))


def _grades(session: Session, query: str) -> dict[tuple[str, str], int]:
    """What was said of results of this query."""
    names = [project.name for project in session.reader.scope]
    held = Judgments(session.home, session.base).of(names)
    return {(one.project, one.path): one.grade for one in held if one.query == query.strip()}
