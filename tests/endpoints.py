"""Endpoints of models: a real server on loopback that answers as a test tells it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from builders import HashEmbedder


class Server:
    """A real endpoint on loopback that answers as it is told and remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.respond: Callable[[BaseHTTPRequestHandler], None] = answering({})
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, dict(self.headers), body))
                outer.respond(self)

            def log_message(self, *_: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._http.server_port}"
        Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def answering(answer: Any, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Any:
    """Respond with a value as JSON, or with bytes as they are."""
    content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    def respond(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in (("Content-Length", str(len(content))), *headers):
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)

    return respond


def vectors(given: Sequence[Sequence[object]]) -> dict[str, Any]:
    """An answer of `/embeddings`, in the order of the texts."""
    return {"data": [{"index": place, "embedding": vector} for place, vector in enumerate(given)]}


def embed_with(server: Server, model: HashEmbedder, refused: Callable[[list[str]], object] = lambda _: None) -> None:
    """Let a server embed, but refuse with status 400 and a message where there is one."""

    def respond(request: BaseHTTPRequestHandler) -> None:
        texts = server.requests[-1][2]["input"]
        said = refused(texts)
        answer = {"error": {"message": said}} if said else vectors(model.embed(texts).tolist())
        answering(answer, 400 if said else 200)(request)

    server.respond = respond
