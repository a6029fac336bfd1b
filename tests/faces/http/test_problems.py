"""Refusals are problem documents: every error of ours has its status and name, and nothing else leaks."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from cutaway import errors
from cutaway.errors import AmbiguousNote, CutawayError, IndexBusy
from cutaway.faces.http.problems import problem_of

ERRORS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, CutawayError)
]  # fmt: skip


@pytest.mark.parametrize("kind", [kind for kind in ERRORS if kind is not CutawayError], ids=lambda kind: kind.__name__)
def test_every_error_has_a_status(kind: type[CutawayError]) -> None:
    """A new one must be thought of: that of its parent is not taken for granted."""
    from cutaway.faces.http import problems

    assert kind in problems._STATUS


def test_what_an_ambiguous_name_may_mean_is_listed() -> None:
    problem = problem_of(AmbiguousNote("a", ("x/a.md", "y/a.md")))

    assert (409, "urn:cutaway:ambiguous-note", ("x/a.md", "y/a.md")) == (
        *(problem.status, problem.type, problem.candidates),
    )


@pytest.mark.parametrize(
    ("values", "status", "kind", "said"),
    [
        ({"query": "x", "limt": 3}, 422, "invalid-parameters", "did you mean 'limit'"),
        ({"query": "x", "zzz": 3}, 422, "invalid-parameters", "There are: "),
        ({"query": "x", "limit": 0}, 422, "invalid-parameters", "limit: "),
        ({"query": "x", "limit": "many"}, 422, "invalid-parameters", "limit: "),
        ({"query": "x" * 20_001}, 422, "invalid-parameters", "query: "),
        ({"query": 7}, 422, "invalid-parameters", "query: "),
        ({}, 400, "usage-error", "the query is empty"),
        ({"query": "a\0b"}, 400, "usage-error", "NUL"),
        ({"query": "x", "projects": ["nowhere"]}, 404, "unknown-project", "nowhere"),
        ({"query": "x", "here": "some/folder"}, 400, "usage-error", "whole path"),
        ({"query": "x", "cursor": "made up"}, 400, "usage-error", "cursor"),
        ({"query": "x", "where": ["due<<"]}, 400, "usage-error", "due<<"),
    ],
)
def test_a_bad_request_is_refused_by_name(
    client: httpx2.Client, values: dict[str, Any], status: int, kind: str, said: str
) -> None:
    answer = client.post("search", json=values)
    problem = answer.json()

    assert (status, f"urn:cutaway:{kind}") == (answer.status_code, problem["type"])
    assert said in problem["detail"]
    assert ("application/problem+json", answer.headers["x-request-id"]) == (
        *(answer.headers["content-type"], problem["request_id"]),
    )


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"null", b'{"query": "x", "page": 1e400}'])
def test_what_is_no_json_of_ours_is_refused(client: httpx2.Client, body: bytes) -> None:
    assert 422 == client.post("search", content=body, headers={"Content-Type": "application/json"}).status_code
    assert 400 == client.post("search", content=b"\xff", headers={"Content-Type": "application/json"}).status_code


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "nothing", 404), ("GET", "search", 405)])
def test_what_is_not_there_is_a_problem_too(client: httpx2.Client, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)

    assert (status, status) == (answer.status_code, answer.json()["status"])


@pytest.mark.parametrize(
    "change", ["embedder_url=http://evil.example", "store=postgresql://x", "chunk_chars=100", "x=1", "k1"]
)
def test_a_request_changes_nothing_but_what_ranks(client: httpx2.Client, change: str) -> None:
    answer = client.post("inspect/diff", json={"query": "salt", "changes": [change]})

    assert 400 == answer.status_code
    assert change.split("=")[0] in answer.json()["detail"]


def test_a_fault_of_ours_says_nothing_of_itself(
    client: httpx2.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise LookupError("the secret of /home/somebody")

    monkeypatch.setattr("cutaway.faces.http.views.searched", broken)
    monkeypatch.setattr("cutaway.faces.http.app.LOG.handlers", [caplog.handler])
    answer = client.post("search", json={"query": "salt"})

    assert (500, "urn:cutaway:unexpected") == (answer.status_code, answer.json()["type"])
    assert "secret" not in answer.text
    assert "the secret of" in caplog.text
    assert answer.json()["request_id"] in caplog.text


def test_an_error_that_is_not_the_callers_keeps_its_words(
    client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise IndexBusy("wait a little")

    monkeypatch.setattr("cutaway.faces.http.views.searched", busy)

    assert (409, "wait a little") == (
        (answer := client.post("search", json={"query": "salt"})).status_code,
        answer.json()["detail"],
    )
