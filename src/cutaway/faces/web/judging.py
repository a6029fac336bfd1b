"""What people say of results: kept from the search page, listed and taken back on a page of its own."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form
from pydantic import Field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from cutaway.faces.asked import In, Name, ScopeIn
from cutaway.faces.http.problems import NotAllowed
from cutaway.faces.http.service import Service
from cutaway.faces.sessions import Session
from cutaway.faces.web.frame import Here, framed, local
from cutaway.faces.web.render import page
from cutaway.faces.web.state import State
from cutaway.index.state import Judgment, Judgments
from cutaway.inspector.chunk_map import find_note
from cutaway.retrieval.request import MAX_QUERY_CHARS

router = APIRouter(include_in_schema=False)


class JudgedIn(In):
    """What somebody says of a result of a query."""

    query: str = Field(min_length=1, max_length=MAX_QUERY_CHARS)
    project: Name
    path: Name
    grade: str = Field(pattern="^(none|[0-3])$")
    back: str = Field("/", max_length=40_000)


@router.get("/judged")
async def judged_page(request: Request, service: Here) -> Response:
    """Everything that was said of results, also of projects that the index has no more."""

    def shown(_: State) -> dict[str, Any]:
        return {"judged": Judgments(service.engine.home, service.engine.settings).all()}

    return await framed(request, service, "judged.html", shown)


@router.post("/judge")
async def judge(request: Request, service: Here, said: Annotated[JudgedIn, Form()]) -> Response:
    """Keep what somebody says of a result, or take it back."""
    if service.read_only:
        raise NotAllowed("this server was started with --read-only: it keeps no judgments.")
    await service.gate.run(_kept, service, said)
    if not request.headers.get("hx-request"):
        return RedirectResponse(local(said.back), 303)
    now = {} if said.grade == "none" else {(said.project, said.path): int(said.grade)}
    return page("judge.html", 200, {**said.model_dump(exclude={"grade"}), "grades": now})


def grades(session: Session, query: str) -> dict[tuple[str, str], int]:
    """What was said of results of this query, by project and path."""
    held = Judgments(session.home, session.base).of([project.name for project in session.reader.scope])
    return {(one.project, one.path): one.grade for one in held if one.query == query.strip()}


def _kept(service: Service, said: JudgedIn) -> None:
    store, query = Judgments(service.engine.home, service.engine.settings), said.query.strip()
    if said.grade == "none":
        store.forget(Judgment(said.project, query, said.path, 0))
        return
    with service.engine.session(ScopeIn(projects=(said.project,))) as session:
        path = find_note(session.reader, said.path).path
    store.keep([Judgment(said.project, query, path, int(said.grade))])
