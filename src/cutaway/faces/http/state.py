"""The API's other half: what is indexed, runs that bring it in line, and how the server is doing."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import Field
from starlette.responses import JSONResponse, Response

from cutaway import __version__
from cutaway.errors import CutawayError, UnknownProject
from cutaway.faces.asked import In, Name, ScopeIn
from cutaway.faces.http.problems import NotAllowed, refusals
from cutaway.faces.http.runs import Run, RunOut
from cutaway.faces.http.service import Service, answered, service_of
from cutaway.faces.schemas import Out
from cutaway.faces.statuses import ListedProjectOut, StatusOut, every_project, status

router = APIRouter(responses=refusals(400, 403, 404, 409, 422, 503))
Here = Annotated[Service, Depends(service_of)]
RunId = Annotated[str, Path(max_length=64, description="The `id` of a run.")]


class ProjectsOut(Out):
    """Every project of the index."""

    projects: tuple[ListedProjectOut, ...]


class RunIn(In):
    """What to bring in line."""

    projects: tuple[Name, ...] = Field((), max_length=1_000, description="Names of projects; without any, every one.")
    embed: bool = Field(True, description="Whether to embed what waits, too.")


class RunsOut(Out):
    """Runs of this server, the latest first."""

    runs: tuple[RunOut, ...]


class HealthOut(Out):
    """The server answers."""

    status: str
    version: str
    pid: int = Field(description="The process.")
    running: int = Field(description="Requests at work.")
    waiting: int = Field(description="Requests that wait for their turn.")
    read_only: bool = Field(description="Whether index runs are refused.")


class ReadyOut(Out):
    """Whether searches can be answered, and with what."""

    ready: bool
    index: str = Field(description="`ok`, or why the index cannot be read.")
    embedder: str = Field(description="Identity of the embedding model, or why there is none.")


@router.get("/projects", response_model=ProjectsOut, tags=["index"])
async def projects(service: Here) -> Response:
    """Every project: where it is, and how much of it is indexed."""
    return answered(await service.gate.run(_projects, service))


@router.get("/status", response_model=StatusOut, tags=["index"])
async def index_status(service: Here) -> Response:
    """What is indexed, how much of it is ready, and where."""
    return await service.look(lambda session, _: status(session), ScopeIn(all_projects=True))


@router.post("/index/runs", response_model=RunOut, status_code=202, tags=["index"])
async def start_run(asked: RunIn, service: Here) -> Response:
    """Bring projects in line with their folders: the answer comes at once, the run goes on by itself."""
    if service.read_only:
        raise NotAllowed("this server was started with --read-only: it starts no index runs.")
    run = await service.gate.run(service.runs.start, asked.projects, asked.embed)
    begun = answered(run.model_dump_json(by_alias=True), 202)
    begun.headers["Location"] = f"/api/v1/index/runs/{run.id}"
    return begun


@router.get("/index/runs", response_model=RunsOut, tags=["index"])
async def runs(service: Here) -> Response:
    """The runs that this server has started."""
    return answered(RunsOut(runs=tuple(service.runs.all())).model_dump_json(by_alias=True))


async def the_run(run: RunId, service: Here) -> Run:
    """A run by its id."""
    return service.runs.get(run)


@router.get("/index/runs/{run}", response_model=RunOut, tags=["index"])
async def one_run(run: Annotated[Run, Depends(the_run)]) -> Response:
    """How a run is doing, or what it did."""
    return answered(run.state.model_dump_json(by_alias=True))


@router.delete("/index/runs/{run}", response_model=RunOut, tags=["index"])
async def stop_run(run: RunId, service: Here) -> Response:
    """Stop a run between two steps. What it did stays."""
    if service.read_only:
        raise NotAllowed("this server was started with --read-only: it stops no index runs.")
    return answered(service.runs.stop(run).model_dump_json(by_alias=True))


@router.get("/index/runs/{run}/events", response_class=EventSourceResponse, tags=["index"])
async def follow_run(run: Annotated[Run, Depends(the_run)]) -> AsyncIterator[ServerSentEvent]:
    """A run as it goes on: an event `run` with each new state of it, the last of which has ended."""
    async for state in run.follow():
        yield ServerSentEvent(raw_data=state.model_dump_json(by_alias=True), event="run")


@router.get("/health", response_model=HealthOut, tags=["server"])
async def health(service: Here) -> HealthOut:
    """Whether the server answers. Needs no token."""
    return HealthOut(
        status="ok",
        version=__version__,
        pid=os.getpid(),
        running=service.gate.running,
        waiting=service.gate.waiting,
        read_only=service.read_only,
    )


@router.get("/ready", response_model=ReadyOut, responses={503: {"model": ReadyOut}}, tags=["server"])
async def ready(service: Here) -> Response:
    """Whether searches can be answered."""
    found = await service.gate.run(_ready, service)
    return JSONResponse(found.model_dump(), 200 if found.ready else 503)


def _projects(service: Service) -> str:
    found = every_project(service.engine.home, service.engine.settings)
    return ProjectsOut(projects=found).model_dump_json(by_alias=True)


def _ready(service: Service) -> ReadyOut:
    embedder = service.engine.loader.embedder(service.engine.settings)
    model = embedder if isinstance(embedder, str) else embedder.identity
    try:
        with service.engine.session(ScopeIn(all_projects=True)):
            return ReadyOut(ready=True, index="ok", embedder=model)
    except UnknownProject:
        return ReadyOut(ready=True, index="ok", embedder=model)
    except CutawayError as error:
        return ReadyOut(ready=False, index=str(error), embedder=model)
