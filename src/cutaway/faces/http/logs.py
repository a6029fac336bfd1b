"""One line for each request: what was asked for and what became of it, never what was in it."""

from __future__ import annotations

import json
import logging
import sys
from time import gmtime, perf_counter, strftime
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = logging.getLogger("cutaway.serve")


class AccessLog:
    """Logs requests by the route they took: a query, a note's name or a body is never written down."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, said = perf_counter(), {"status": 0, "bytes": 0}

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                said["status"] = message["status"]
            elif message["type"] == "http.response.body":
                said["bytes"] += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, counted)
        finally:
            route = getattr(scope.get("route"), "path", None) or "other"
            name = (scope.get("state") or {}).get("request_id")
            took = round((perf_counter() - started) * 1e3, 1)
            values = {"request_id": name, "method": scope["method"], "route": route, **said, "ms": took}
            LOG.info("request", extra={"values": values})


def log_to_stderr(form: str) -> None:
    """Write the server's log to standard error, as text or as JSON, a line each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    for name in ("cutaway.serve", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "cutaway.serve" else logging.WARNING)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        values = getattr(record, "values", {})
        said = " ".join(f"{name}={value}" for name, value in values.items())
        parts = (strftime("%H:%M:%S"), record.levelname.lower(), record.getMessage(), said, self._trouble(record))
        return "  ".join(filter(None, parts))

    def _trouble(self, record: logging.LogRecord) -> str:
        return "\n" + self.formatException(record.exc_info) if record.exc_info else ""


class _Json(_Text):
    def format(self, record: logging.LogRecord) -> str:
        values: dict[str, Any] = {
            "time": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(record.created)),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "values", {}),
        }
        if trouble := self._trouble(record):
            values["trouble"] = trouble.strip()
        return json.dumps(values)
