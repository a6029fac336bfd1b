"""The door for a browser where a server wants its token: it is given once, and a proof of it is kept as a cookie."""

from __future__ import annotations

from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Form
from pydantic import Field
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from cutaway.faces.asked import In
from cutaway.faces.http.token import COOKIE, token_of
from cutaway.faces.web.frame import Here, local
from cutaway.faces.web.render import page
from cutaway.faces.web.state import State

router = APIRouter(include_in_schema=False)
_PAUSE = 0.5
"""Seconds before a wrong token is answered."""


class TokenIn(In):
    """The token, and where to go with it."""

    token: str = Field(max_length=4_096)
    back: str = Field("/", max_length=40_000)


@router.get("/login")
async def login_page(request: Request, service: Here) -> Response:
    """Ask for the token."""
    back = local(request.query_params.get("back", "/"))
    return _asking(request, back) if token_of(service.engine.settings) else RedirectResponse(back, 303)


@router.post("/login")
async def login(request: Request, service: Here, said: Annotated[TokenIn, Form()]) -> Response:
    """Let a browser in that gives the token."""
    token = token_of(service.engine.settings)
    answer = RedirectResponse(local(said.back), 303)
    if token is None:
        return answer
    if not token.is_given(said.token.strip().encode("utf-8", "replace")):
        await anyio.sleep(_PAUSE)
        return _asking(request, local(said.back), "That is not the token.")
    answer.set_cookie(COOKIE, token.proof, secure=request.url.scheme == "https", httponly=True, samesite="strict")
    return answer


@router.post("/logout")
async def logout() -> Response:
    """Forget this browser."""
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _asking(request: Request, back: str, refused: str | None = None) -> Response:
    values: dict[str, Any] = {"state": State({}), "path": request.url.path, "signed_in": False}
    return page("login.html", 401 if refused else 200, {**values, "back": back, "refused": refused})
