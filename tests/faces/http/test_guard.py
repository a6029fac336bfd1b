"""Who is let in: hosts, origins, tokens, lengths and times, tried with raw requests against a real server."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cutaway.errors import UsageError
from cutaway.faces.http import server as serving_module
from cutaway.faces.http.guard import Policy
from cutaway.faces.http.server import Server
from cutaway.faces.local import socket_file
from serving import running

TOKEN = "0123456789abcdef-tüken"
HEALTH, STATUS = "GET /api/v1/health HTTP/1.1", "GET /api/v1/status HTTP/1.1"
SEARCH = "POST /api/v1/search HTTP/1.1"
JSON = "Content-Type: application/json"


@pytest.fixture(scope="module")
def guarded(served_home: Path) -> Iterator[Server]:
    with running(served_home, hosts=("Notes.Example", "[fd00::7]")) as server:
        yield server


@pytest.fixture
def with_token(served_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("CUTAWAY_SERVE_TOKEN", TOKEN)
    with running(served_home) as server:
        yield server


def said(at: Any, *lines: str, body: bytes = b"", wait: bool = True) -> SimpleNamespace:
    """The answer to raw lines; *at* is a server, or a socket's file."""
    if isinstance(at, Path):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(at))
    else:
        connection = socket.create_connection(("127.0.0.1", at.port))
    with connection:
        head = "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1", "replace")
        connection.sendall(head + body)
        if not wait:
            return SimpleNamespace()
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    top, _, text = answer.partition(b"\r\n\r\n")
    first, *headers = top.decode("latin-1").split("\r\n")
    named = {name.lower(): value for name, _, value in (line.partition(": ") for line in headers)}
    return SimpleNamespace(status=int(first.split()[1]), headers=named, text=text.decode())


def refused(answer: SimpleNamespace, status: int, kind: str) -> None:
    """A refusal is a problem document with all that every response has."""
    problem = json.loads(answer.text)
    assert (status, f"urn:cutaway:{kind}", status) == (answer.status, problem["type"], problem["status"])
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert ("nosniff", "no-store") == (answer.headers["x-content-type-options"], answer.headers["cache-control"])
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8765", "localhost", "LOCALHOST.", "[::1]", "[::1]:80", "notes.example", "[fd00::7]:1"],
)
def test_its_own_names_are_let_in(guarded: Server, host: str) -> None:
    assert 200 == said(guarded, HEALTH, f"Host: {host}").status


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost@evil.example"),
        *("127.0.0.2", "0.0.0.0", "", "[", "notes.example.evil", "::1"),
    ],
)
def test_a_site_whose_name_leads_here_is_refused(guarded: Server, host: str) -> None:
    """DNS rebinding: the browser thinks it talks to evil.example."""
    refused(said(guarded, HEALTH, f"Host: {host}"), 421, "wrong-host")


def test_a_whole_address_as_target_does_not_pass_for_a_host(guarded: Server) -> None:
    line = "GET http://127.0.0.1/api/v1/health HTTP/1.1"

    refused(said(guarded, line, "Host: evil.example"), 421, "wrong-host")


def test_a_request_without_a_host_is_refused(guarded: Server) -> None:
    refused(said(guarded, "GET /api/v1/health HTTP/1.0"), 421, "wrong-host")


@pytest.mark.parametrize(
    ("headers", "let_in"),
    [
        (("Origin: http://127.0.0.1:8765",), True),
        (("Origin: http://evil.example",), False),
        (("Origin: http://127.0.0.1:9999",), False),
        (("Origin: null",), False),
        (("Origin: http://127.0.0.1:8765.evil.example",), False),
        (("Origin: file://127.0.0.1:8765",), False),
        (("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"), False),
        (("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"), True),
        (("Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors"), True),
    ],
)
def test_a_page_of_another_site_may_not_ask(guarded: Server, headers: tuple[str, ...], let_in: bool) -> None:
    answer = said(guarded, HEALTH, "Host: 127.0.0.1:8765", *headers)

    if let_in:
        assert 200 == answer.status
    else:
        refused(answer, 403, "wrong-origin")


@pytest.mark.parametrize(
    "given",
    [
        (),
        *((f"Authorization: {value}",) for value in ("Bearer wrong", "Basic YTpi", "Bearer ", "Bearer \xff\xfe")),
        *((f"Authorization: {value}",) for value in (TOKEN, f"Bearer {TOKEN}x")),
    ],
)
def test_without_the_token_nothing_is_told(with_token: Server, given: tuple[str, ...]) -> None:
    answer = said(with_token, STATUS, "Host: localhost", *given)

    refused(answer, 401, "not-authorized")
    assert ("Bearer", False) == (answer.headers["www-authenticate"], "0123456789abcdef" in answer.text)
    assert 200 == said(with_token, HEALTH, "Host: localhost").status


def test_the_token_lets_in(with_token: Server) -> None:
    token = TOKEN.encode().decode("latin-1")

    assert 200 == said(with_token, STATUS, "Host: localhost", f"Authorization: Bearer {token}").status


def test_the_owners_socket_asks_for_no_token_and_lets_nobody_else_in(with_token: Server, served_home: Path) -> None:
    file = socket_file(served_home)
    assert file

    assert 200 == said(file, STATUS, "Host: whatever").status
    assert 0o600 == file.stat().st_mode & 0o777
    assert with_token.port


def test_a_policy_does_not_show_its_token() -> None:
    assert TOKEN not in repr(Policy(token=TOKEN))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5"])
def test_nobody_beyond_this_machine_is_let_in_without_a_token(served_home: Path, host: str) -> None:
    with pytest.raises(UsageError, match="serve_token"), running(served_home, host=host):
        pass


def test_a_short_token_is_refused(served_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTAWAY_SERVE_TOKEN", "secret")

    with pytest.raises(UsageError, match="16 or more"), running(served_home):
        pass


@pytest.mark.parametrize(
    ("headers", "body", "status", "kind"),
    [
        (("Content-Length: 1000001",), b"", 413, "too-long"),
        (("Transfer-Encoding: chunked",), b"f4250\r\n" + b"x" * 1_000_016 + b"\r\n0\r\n\r\n", 413, "too-long"),
    ],
    ids=["said", "sent"],
)
def test_a_long_body_is_refused(guarded: Server, headers: tuple[str, ...], body: bytes, status: int, kind: str) -> None:
    refused(said(guarded, SEARCH, "Host: localhost", JSON, *headers, body=body), status, kind)


def test_a_body_that_does_not_come_is_not_waited_for(served_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brief = lambda **values: Policy(**values, body_seconds=0.05)  # noqa: E731
    monkeypatch.setattr(serving_module, "Policy", brief)

    with running(served_home) as server:
        refused(said(server, SEARCH, "Host: localhost", JSON, "Content-Length: 9", body=b"{"), 408, "too-slow")


def test_who_leaves_in_the_middle_leaves_nothing_behind(guarded: Server) -> None:
    said(guarded, SEARCH, "Host: localhost", JSON, "Content-Length: 9", body=b"{", wait=False)

    assert 200 == said(guarded, HEALTH, "Host: localhost").status


@pytest.mark.parametrize("name", ["mine-1.x_Y", "a" * 64])
def test_a_request_may_have_its_own_id(guarded: Server, name: str) -> None:
    assert name == said(guarded, HEALTH, "Host: localhost", f"X-Request-Id: {name}").headers["x-request-id"]


@pytest.mark.parametrize("name", ["a b", "a" * 65, "<x>", "é"])
def test_an_id_that_could_do_harm_is_not_taken(guarded: Server, name: str) -> None:
    given = said(guarded, HEALTH, "Host: localhost", f"X-Request-Id: {name}").headers["x-request-id"]

    assert given not in ("", name)
    assert given.isalnum()


def test_a_websocket_is_refused(guarded: Server) -> None:
    upgrade = ("Upgrade: websocket", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13")

    assert said(guarded, "GET /api/v1/health HTTP/1.1", "Host: localhost", *upgrade).status in (200, 400, 403, 426)
