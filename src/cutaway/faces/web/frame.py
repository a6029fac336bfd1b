"""What all pages have in common: the address they are made from, and the page that says why there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from cutaway.errors import CutawayError, NoteNotFound, UsageError
from cutaway.faces.http.problems import problem_of
from cutaway.faces.http.service import Service, service_of
from cutaway.faces.http.token import COOKIE
from cutaway.faces.statuses import every_project
from cutaway.faces.web.render import page
from cutaway.faces.web.state import State

Here = Annotated[Service, Depends(service_of)]
"""The service that a page is asked of."""


async def framed(
    request: Request, service: Service, template: str, shown: Callable[[State], dict[str, Any]]
) -> Response:
    """A page of what *shown* gives, on a worker thread; or the page that says why there is none."""
    asked, path = request.query_params, request.url.path
    state = State({name: asked.getlist(name) for name in asked})
    common = {
        "state": state,
        "path": path,
        "here": f"{path}?{request.url.query}",
        "read_only": service.read_only,
        "signed_in": COOKIE in request.cookies and service.engine.settings.serve_token is not None,
    }

    def made() -> Response:
        try:
            projects = every_project(service.engine.home, service.engine.settings)
        except CutawayError:
            projects = ()
        values = {**common, "projects": projects}
        try:
            return page(template, 200, {**values, **shown(state)})
        except CutawayError as error:
            found = problem_of(error)
            return page("error.html", found.status, {**values, "problem": found, "kind": _kind(error)})

    return await service.gate.run(made)


def local(back: str) -> str:
    """An address of this server to lead back to; the first page where it is none of its own."""
    return back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/"


def _kind(error: CutawayError) -> str:
    if isinstance(error, NoteNotFound):
        return "nothing"
    return "asked" if isinstance(error, UsageError) else "down"
