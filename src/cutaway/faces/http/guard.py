"""What a request must pass before anything looks at it: who may ask, from where, and how much at once."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cutaway.faces.http.logs import LOG
from cutaway.faces.http.problems import UNEXPECTED, Problem
from cutaway.faces.http.token import COOKIE, Token

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
OPEN = ("/api/v1/health", "/login")
"""Answered without a token: they say nothing of any note."""
_FOR_PROGRAMS = ("/api/", "/mcp")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",  # with none at all, a form of ours would not say where it comes from
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Policy:
    """Who may ask, and how much."""

    hosts: frozenset[str] = frozenset()
    """Names that a request may give as its host, besides the loopback's."""
    token: str | None = field(default=None, repr=False)
    max_body: int = 1_000_000
    body_seconds: float = 10.0


class Refused(Exception):
    """A request that is not let in."""

    def __init__(self, name: str, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.problem = Problem.named(name, status, detail)
        self.headers = headers


class Guard:
    """Lets requests in that may come in. Each has a name, in its state and in every response's header."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app, self._policy = app, policy
        self._hosts = frozenset(name.lower().strip("[]") for name in policy.hosts) | LOOPBACK
        self._token = None if policy.token is None else Token(policy.token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} is not served")
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        name = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = name

        begun = False

        async def marked(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                said = MutableHeaders(scope=message)
                said["X-Request-Id"] = name
                for header, value in _HEADERS.items():
                    said.setdefault(header, value)
            await send(message)

        try:
            if not _owners_own(scope):
                self._check_host(headers)
                self._check_origin(scope, headers)
                self._check_token(scope, headers)
            body = await self._read(headers, receive)
        except Refused as refusal:
            response = refusal.problem.response(name)
            response.headers.update(refusal.headers)
            await response(scope, receive, marked)
            return
        try:
            await self._app(scope, _replayed(body, receive), marked)
        except Exception:  # noqa: BLE001 - the answer says that there was one, and nothing of it
            if not begun:  # else it was answered, and logged, by who raised it
                LOG.exception("unexpected error in request %s", name)
                await UNEXPECTED.response(name)(scope, receive, marked)

    def _check_host(self, headers: Headers) -> None:
        """A page of another site that has made its name lead here still sends that name."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _name(hosts[0]) not in self._hosts:
            said = "names a host that this server does not answer to" if hosts else "has no Host"
            detail = f"the request {said}. Use its own address, or start it with --allow-host NAME."
            raise Refused("wrong-host", 421, detail)

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        """A browser says which site's page asks: only a page from here may."""
        origin = headers.get("origin")
        if origin is not None:
            found = urlsplit(origin)
            if found.scheme not in ("http", "https") or found.netloc.lower() != headers["host"].lower():
                raise Refused("wrong-origin", 403, "a page of another site may not ask this server.")
        top_level = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site") == "cross-site" and not top_level:
            raise Refused("wrong-origin", 403, "a page of another site may not ask this server.")

    def _check_token(self, scope: Scope, headers: Headers) -> None:
        path: str = scope["path"]
        if self._token is None or path in OPEN or path.startswith("/static/"):
            return
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._token.is_given(given.strip().encode("latin-1", "replace")):
            return
        if self._token.is_proved(cookie_parser(headers.get("cookie", "")).get(COOKIE)):
            return
        detail = "this server wants its token, as `Authorization: Bearer TOKEN`."
        if _is_a_page(scope, headers):
            asked = path + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
            raise Refused("not-authorized", 303, detail, Location=f"/login?back={quote(asked, safe='')}")
        raise Refused("not-authorized", 401, detail, **{"WWW-Authenticate": "Bearer"})

    async def _read(self, headers: Headers, receive: Receive) -> bytes:
        """The whole body, if it is not too long and does not take too long."""
        most = self._policy.max_body
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise Refused("bad-request", 400, "Content-Length is no number.")
        too_long = Refused("too-long", 413, f"the body is longer than {most:,} bytes.")
        if int(length) > most:
            raise too_long
        parts, size = [], 0
        try:
            with anyio.fail_after(self._policy.body_seconds):
                async for part in _parts(receive):
                    size += len(part)
                    if size > most:
                        raise too_long
                    parts.append(part)
        except TimeoutError:
            raise Refused("too-slow", 408, "the body did not arrive in time.") from None
        return b"".join(parts)


def _owners_own(scope: Scope) -> bool:
    """Whether it came through the socket in the home, which only its owner can open."""
    server = scope.get("server")
    return server is not None and server[1] is None


def _is_a_page(scope: Scope, headers: Headers) -> bool:
    """Whether somebody looks with a browser."""
    wants = "text/html" in headers.get("accept", "")
    return wants and scope["method"] == "GET" and not scope["path"].startswith(_FOR_PROGRAMS)


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


async def _parts(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, then whatever else happens."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
