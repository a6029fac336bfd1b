"""The API as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import get_type_hints

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from cutaway import __version__
from cutaway.errors import CutawayError
from cutaway.faces.http import state, views
from cutaway.faces.http.document import document
from cutaway.faces.http.logs import LOG
from cutaway.faces.http.problems import UNEXPECTED, Problem, invalid, problem_of, request_id
from cutaway.faces.http.service import Service
from cutaway.faces.limits import Overloaded
from cutaway.faces.web import entry, judging, pages
from cutaway.faces.web.render import STATIC

API = "/api/v1"
_ABOUT = """
Search Markdown notes, and see why. Every answer is made from the record of the stages that ran.

* Scores are named: `score` is what the order is by, in the unit that `formula` names; `bm25` has no bound,
  `cosine` is from -1 to 1, `rerank` from 0 to 1.
* Byte ranges are of a note's UTF-8 source, half open; lines count from 1; times are UTC; `ms` are milliseconds.
* Pages concatenate: pass on an answer's `cursor` with the same request. It is refused once the order no longer holds.
* A refusal is a problem document (RFC 9457): `type` says which kind, `detail` what happened and what to do next.
* Every response carries `X-Request-Id`; send your own to find it in the server's log.
"""


def application(service: Service) -> FastAPI:
    """The API of one home."""
    app = FastAPI(
        title="Cutaway",
        summary="Hybrid search for Markdown notes that shows its work.",
        description=_ABOUT,
        version=__version__,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # its pages come from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        lifespan=_lifespan,
        telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False},
    )
    app.state.service = service
    app.openapi = lambda: document(app)  # type: ignore[method-assign]
    app.include_router(views.router, prefix=API)
    app.include_router(state.router, prefix=API)
    app.router.routes.append(Route("/mcp", endpoint=service.mcp.app))
    for part in (pages, judging, entry):
        app.include_router(part.router)
    app.mount("/static", GZipMiddleware(StaticFiles(directory=STATIC)))
    app.add_exception_handler(CutawayError, _refused)
    app.add_exception_handler(Overloaded, _overloaded)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    service.engine.warm()
    async with service.mcp.running():
        yield
    service.runs.close(patience=30)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, CutawayError)
    return problem_of(error).response(request_id(request))


async def _overloaded(request: Request, error: Exception) -> Response:
    assert isinstance(error, Overloaded)
    response = Problem.named("overloaded", 503, str(error)).response(request_id(request))
    response.headers["Retry-After"] = str(error.retry_after)
    return response


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    asked = get_type_hints(request.scope["route"].endpoint).get("asked")
    return invalid(error.errors(), asked.model_fields if asked else ()).response(request_id(request))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = Problem.named("http", error.status_code, str(error.detail)).response(request_id(request))
    response.headers.update(error.headers or {})
    return response


async def _unexpected(request: Request, error: Exception) -> Response:
    LOG.error("unexpected error in request %s", request_id(request), exc_info=error)
    return UNEXPECTED.response(request_id(request))
