"""What a refusal looks like: a problem document (RFC 9457), whoever refuses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from cutaway import errors
from cutaway.errors import AmbiguousNote, CutawayError
from cutaway.faces.asked import faults
from cutaway.faces.schemas import Out

MEDIA_TYPE = "application/problem+json"


class NotAllowed(CutawayError):
    """Something that this server was told not to do."""


class NoSuchRun(CutawayError):
    """No run of that id is remembered."""


_STATUS: dict[type[CutawayError], int] = {
    NotAllowed: 403,
    NoSuchRun: 404,
    errors.UsageError: 400,
    errors.SettingsError: 400,
    errors.UnreadableQuery: 400,
    errors.TextRefused: 400,
    errors.UnknownProject: 404,
    errors.NoteNotFound: 404,
    errors.NotIndexed: 404,
    errors.AmbiguousNote: 409,
    errors.StaleCursor: 409,
    errors.IndexBusy: 409,
    errors.RootMissing: 409,
    errors.RerankFailed: 502,
    errors.BadVector: 502,
    errors.IndexMissing: 503,
    errors.IndexMismatch: 503,
    errors.IndexUnfinished: 503,
    errors.ModelUnavailable: 503,
    errors.VectorsUnavailable: 503,
    errors.StoreUnavailable: 503,
    errors.StateUnavailable: 503,
}


class FieldOut(Out):
    """What is wrong with one parameter."""

    field: str
    message: str


class Problem(Out):
    """Why a request was refused, and what to do next."""

    type: str = Field(description="Which kind of problem: `urn:cutaway:` and its name.")
    title: str
    status: int
    detail: str = Field(description="What happened, and the way out.")
    request_id: str | None = Field(None, description="As in the header X-Request-Id, and in the server's log.")
    errors: tuple[FieldOut, ...] = Field((), description="Each parameter that is not accepted.")
    candidates: tuple[str, ...] = Field((), description="What an ambiguous name may mean.")

    @classmethod
    def named(cls, name: str, status: int, detail: str, **more: Any) -> Problem:
        """A problem of that kind."""
        title = HTTPStatus(status).phrase
        return cls(type=f"urn:cutaway:{name}", title=title, status=status, detail=detail, **more)

    def response(self, request_id: str | None) -> Response:
        """The problem as a response."""
        body = self.model_copy(update={"request_id": request_id}).model_dump_json(exclude_defaults=False)
        return Response(body, self.status, media_type=MEDIA_TYPE)


UNEXPECTED = Problem.named("unexpected", 500, "something went wrong in the server; its log says more.")


def problem_of(error: CutawayError) -> Problem:
    """An error as a problem."""
    kind = next(known for known in type(error).__mro__ if known in _STATUS or known is CutawayError)
    more = {"candidates": error.candidates} if isinstance(error, AmbiguousNote) else {}
    return Problem.named(_kebab(type(error).__name__), _STATUS.get(kind, 500), str(error), **more)


def invalid(found: Sequence[Mapping[str, Any]], known: Iterable[str] = ()) -> Problem:
    """Parameters that are not accepted, each by name, with what may have been meant."""
    # A place begins with where it was given: in the body, the query or the path.
    listed = faults(({**fault, "loc": fault.get("loc", ())[1:]} for fault in found), known)
    detail = "; ".join(f"{name}: {message}" if name else message for name, message in listed)
    fields = tuple(FieldOut(field=name, message=message) for name, message in listed)
    return Problem.named("invalid-parameters", 422, detail, errors=fields)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route's documentation says of its refusals."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"model": Problem, "description": HTTPStatus(status).phrase, "content": content} for status in statuses
    }


def _kebab(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def request_id(request: Request) -> str | None:
    """What this request is called."""
    found: str | None = getattr(request.state, "request_id", None)
    return found
