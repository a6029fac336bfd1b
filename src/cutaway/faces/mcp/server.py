"""The tools behind the protocol, over standard input and output or over HTTP."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from pydantic import ValidationError

from cutaway import __version__
from cutaway.errors import CutawayError
from cutaway.faces.asked import faults
from cutaway.faces.engine import Engine
from cutaway.faces.limits import Gate, Overloaded
from cutaway.faces.mcp.tools import INSTRUCTIONS, TOOLS, Tool

_LOG = logging.getLogger("cutaway.mcp")
_HARMLESS = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


def server_of(engine: Engine, gate: Gate) -> Server:
    """The protocol's server over an engine. Each call is answered by itself; there is no session to keep."""
    named = {tool.name: tool for tool in TOOLS}

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(map(_described, TOOLS)))

    async def call_tool(_: Any, called: types.CallToolRequestParams) -> types.CallToolResult:
        tool = named.get(called.name)
        if tool is None:
            return _refused(f"there is no tool {called.name!r}. There are: {', '.join(named)}")
        return await _called(tool, called.arguments or {}, engine, gate)

    return Server(
        "cutaway",
        version=__version__,
        title="Cutaway",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def over_stdio(engine: Engine, gate: Gate) -> None:
    """Answer until standard input ends."""
    server = server_of(engine, gate)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class OverHttp:
    """The same as an ASGI application, without sessions. It answers only while it runs."""

    def __init__(self, engine: Engine, gate: Gate) -> None:
        server = server_of(engine, gate)
        # Hosts and origins were checked by the guard in front of all.
        self._sessions = StreamableHTTPSessionManager(app=server, json_response=True, stateless=True)
        self.app = StreamableHTTPASGIApp(self._sessions)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Be there for as long as the parent application is."""
        async with self._sessions.run():
            yield


async def _called(tool: Tool, given: dict[str, Any], engine: Engine, gate: Gate) -> types.CallToolResult:
    try:
        asked = tool.asked.model_validate(given)
        told = await gate.run(tool.answer, engine, asked)
        text = types.TextContent(type="text", text=tool.text(told))
        return types.CallToolResult(content=[text], structured_content=told.model_dump(mode="json", by_alias=True))
    except ValidationError as error:
        said = faults(({**fault} for fault in error.errors()), tool.asked.model_fields)
        return _refused("; ".join(f"{name}: {message}" for name, message in said))
    except (CutawayError, Overloaded) as error:
        return _refused(str(error))
    except Exception:  # noqa: BLE001 - an agent is told that there was a fault, and nothing of it
        _LOG.exception("%s failed", tool.name)
        return _refused("something went wrong in Cutaway; its log says more.")


def _refused(said: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)], is_error=True)


@cache
def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.asked.model_json_schema(),
        output_schema=tool.told.model_json_schema(by_alias=True, mode="serialization"),
        annotations=_HARMLESS.model_copy(update={"title": tool.title}),
    )
