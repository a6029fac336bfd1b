"""The door for a browser, where the server wants its token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from cutaway.faces.web import entry
from serving import client_of, running

TOKEN = "0123456789abcdef-tüken"
PAGE = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def browser(served_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx2.Client]:
    monkeypatch.setenv("CUTAWAY_SERVE_TOKEN", TOKEN)
    monkeypatch.setattr(entry, "_PAUSE", 0)
    with running(served_home) as server, client_of(server) as client:
        client.base_url = f"http://127.0.0.1:{server.port}"  # type: ignore[assignment]
        yield client


def test_a_browser_gives_the_token_once(browser: httpx2.Client) -> None:
    """It is led to the door, and from there to what it wanted. No page can read its cookie, no other site send it."""
    first = browser.get("/explain?q=salt&mode=text", headers=PAGE)
    door = browser.get(first.headers["location"], headers=PAGE)
    given = browser.post("/login", data={"token": TOKEN, "back": "/explain?q=salt&mode=text"})
    cookie = given.headers["set-cookie"]
    then = browser.get(given.headers["location"], headers=PAGE)

    assert (303, "/login?back=%2Fexplain%3Fq%3Dsalt%26mode%3Dtext") == (first.status_code, first.headers["location"])
    assert 'name="back" value="/explain?q=salt&amp;mode=text"' in door.text
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert "0123456789abcdef" not in cookie + door.text + then.text
    assert (200, True) == (then.status_code, "The funnel" in then.text)
    assert 200 == browser.get("/api/v1/status").status_code  # so that a page can follow a run


def test_a_wrong_token_is_refused_where_it_was_asked_for(browser: httpx2.Client) -> None:
    refused = browser.post("/login", data={"token": "wrong <b>", "back": "/index"})

    assert (401, False) == (refused.status_code, "set-cookie" in refused.headers)
    assert "That is not the token" in refused.text
    assert 'value="/index"' in refused.text
    assert "wrong" not in refused.text
    assert 303 == browser.get("/", headers=PAGE).status_code


@pytest.mark.parametrize("cookie", [TOKEN, "", "0" * 64, "é"])
def test_only_the_proof_of_the_token_lets_in(cookie: str, browser: httpx2.Client) -> None:
    said = f"cutaway={cookie}".encode()

    assert 303 == browser.get("/", headers=[(b"Accept", b"text/html"), (b"Cookie", said)]).status_code


@pytest.mark.parametrize("path", ["/api/v1/status", "/mcp"])
def test_a_program_is_told_and_not_led_anywhere(path: str, browser: httpx2.Client) -> None:
    assert 401 == browser.get(path, headers=PAGE).status_code
    assert 401 == browser.get("/index").status_code
    assert 401 == browser.post("/judge", headers=PAGE).status_code


def test_leaving_forgets_the_browser(browser: httpx2.Client) -> None:
    browser.post("/login", data={"token": f" {TOKEN}\n"})
    inside = browser.get("/", headers=PAGE)
    left = browser.post("/logout")

    assert "Sign out" in inside.text
    assert "/login" == left.headers["location"]
    assert 303 == browser.get("/", headers=PAGE).status_code


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example", "/\\evil.example"])
def test_the_door_leads_nowhere_else(back: str, browser: httpx2.Client) -> None:
    assert "/" == browser.post("/login", data={"token": TOKEN, "back": back}).headers["location"]
    assert "evil" not in browser.get("/login", params={"back": back}).text


def test_another_site_cannot_let_a_browser_in_or_out(browser: httpx2.Client) -> None:
    for path in ("/login", "/logout"):
        answer = browser.post(path, data={"token": TOKEN}, headers={"Origin": "http://evil.example"})
        assert (403, False) == (answer.status_code, "set-cookie" in answer.headers)


def test_without_a_token_there_is_no_door(served_home: Path) -> None:
    with running(served_home) as server, client_of(server) as client:
        client.base_url = f"http://127.0.0.1:{server.port}"  # type: ignore[assignment]

        assert (303, "/") == ((answer := client.get("/login")).status_code, answer.headers["location"])
        assert "set-cookie" not in client.post("/login", data={"token": "whatever"}).headers
        assert "Sign out" not in client.get("/").text
