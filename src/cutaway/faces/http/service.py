"""What the server's routes share: the engine, who may run when, what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from cutaway.faces.agreement import AGREEMENT, agreement
from cutaway.faces.asked import ScopeIn
from cutaway.faces.engine import Engine
from cutaway.faces.http.runs import Runs
from cutaway.faces.limits import Gate
from cutaway.faces.mcp.server import OverHttp
from cutaway.faces.schemas import Out
from cutaway.faces.sessions import Session

A = TypeVar("A", bound=ScopeIn)


@dataclass(frozen=True, slots=True)
class Service:
    """A server's parts."""

    engine: Engine
    gate: Gate
    mcp: OverHttp
    runs: Runs
    read_only: bool

    async def look(self, view: Callable[[Session, A], Out], asked: A) -> Response:
        """What a view gives, as JSON. It runs on a worker thread, its JSON is made there too."""

        def looked() -> str:
            with self.engine.session(asked) as session:
                return view(session, asked).model_dump_json(by_alias=True)

        return answered(await self.gate.run(looked))


async def agreed(request: Request) -> None:
    """Refuse who wants the answer that it would make itself, and would make another one."""
    wanted = request.headers.get(AGREEMENT)
    if wanted is not None and wanted != agreement((await service_of(request)).engine.settings):
        raise HTTPException(412, "this server runs another version, or under other settings.")


def answered(json: str, status: int = 200) -> Response:
    """A response of JSON that is written already."""
    return Response(json, status, media_type="application/json")


async def service_of(request: Request) -> Service:
    """The service that a request came to. (Not async, it would need a thread of its own, and so much memory.)"""
    service: Service = request.app.state.service
    return service
