"""A reranker behind an address: what is asked, what is accepted, and every way it can fail."""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from builders import HashEmbedder, ask, index_vault, write_vault
from cutaway.config import Settings
from cutaway.errors import RerankFailed, SettingsError
from cutaway.models.cross_encoder import checked, named_cross_encoder
from cutaway.models.http import RerankEndpoint
from cutaway.retrieval.plan import Models
from endpoints import Server, answering

DOCUMENTS = ["one", "two", "three"]
KEY = "sk-not-to-be-seen"


def scored(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    return {"results": [{"index": index, "relevance_score": score} for index, score in pairs]}


def asked(server: Server, key: str | None = None, timeout: float = 5.0) -> list[float]:
    return RerankEndpoint(server.address, "theirs", key, timeout).relevance("which", DOCUMENTS)


# The request


def test_it_asks_for_every_document_at_once(server: Server) -> None:
    server.respond = answering(scored((0, 0.1), (1, 0.2), (2, 0.3)))
    asked(server)
    ((path, headers, body),) = server.requests

    assert "/rerank" == path
    assert {"model": "theirs", "query": "which", "documents": DOCUMENTS, "top_n": 3} == body
    assert "Authorization" not in headers


@pytest.mark.parametrize("tail", ["", "/", "/rerank", "/rerank/"])
def test_the_endpoint_is_named_once_however_its_base_is_written(server: Server, tail: str) -> None:
    server.respond = answering(scored((0, 0.1)))
    RerankEndpoint(f"{server.address}/v1{tail}", "theirs", None, 5).relevance("which", ["one"])

    assert "/v1/rerank" == server.requests[0][0]


def test_a_key_is_sent_as_a_bearer_token(server: Server) -> None:
    server.respond = answering(scored((0, 0.1), (1, 0.2), (2, 0.3)))
    asked(server, KEY)

    assert f"Bearer {KEY}" == server.requests[0][1]["Authorization"]


def test_the_settings_say_where_to_what_model_and_with_which_key(server: Server) -> None:
    """The key itself is sent, and it is no part of the identity, which every trace shows."""
    server.respond = answering(scored((0, 0.1)))
    endpoint = named_cross_encoder(Settings(rerank_url=server.address, reranker="theirs", rerank_key=KEY))
    assert endpoint is not None
    endpoint.relevance("which", ["one"])
    ((_, headers, body),) = server.requests

    assert ("theirs", f"Bearer {KEY}") == (body["model"], headers["Authorization"])
    assert KEY not in endpoint.identity


# The answer


def test_scores_come_back_in_the_order_of_the_documents(server: Server) -> None:
    """Endpoints answer best first."""
    server.respond = answering(scored((2, 0.9), (0, 0.5), (1, 0.1)))

    assert [0.5, 0.1, 0.9] == asked(server)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (scored((0, 0.5), (1, 0.5)), "scored 2 of 3 documents"),
        (scored((0, 0.5), (1, 0.5), (1, 0.4)), "scored document 1 twice"),
        (scored((0, 0.5), (1, 0.5), (3, 0.4)), "not given (index 3)"),
        (scored((0, 0.5), (1, 0.5), (-1, 0.4)), "not given (index -1)"),
        (scored((0, 0.5), (1, 0.5), (True, 0.4)), "not given (index True)"),
        (scored((0, 0.5), (1, 0.5), (2.0, 0.4)), "not given (index 2.0)"),
        (scored((0, 0.5), (1, 0.5), (None, 0.4)), "not given (index None)"),
        ({"results": [1, 2, 3]}, "not given (index None)"),
        ({"results": {}}, "without a list of `results`"),
        ({"detail": "nothing"}, "without a list of `results`"),
        ([0.1, 0.2, 0.3], "without a list of `results`"),
        (b"<html>Welcome</html>", "did not answer with JSON"),
        (b"\xff\xfe\x00", "did not answer with JSON"),
        (b"", "did not answer with JSON"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(server: Server, answer: Any, said: str) -> None:
    """By address, and by what is wrong with it."""
    server.respond = answering(answer)

    with pytest.raises(RerankFailed) as refusal:
        asked(server)
    assert said in str(refusal.value)
    assert server.address in str(refusal.value)


@pytest.mark.parametrize("score", ["NaN", "Infinity", "-Infinity", "null", '"0.5"', "true", "1.5", "-0.5"])
def test_a_score_that_is_no_share_is_refused(server: Server, score: str) -> None:
    server.respond = answering(f'{{"results": [{{"index": 0, "relevance_score": {score}}}]}}'.encode())
    endpoint = RerankEndpoint(server.address, "theirs", None, 5)

    with pytest.raises(RerankFailed):
        checked(endpoint.relevance("which", ["one"]), 1)


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (400, ""),
        (401, "check rerank_key"),
        (403, "check rerank_key"),
        (404, "check rerank_url"),
        (429, "asks to wait"),
        (500, ""),
    ],
)
def test_a_refusal_is_told_with_what_to_check(server: Server, status: int, hint: str) -> None:
    server.respond = answering({"message": "no such luck"}, status)

    with pytest.raises(RerankFailed, match=rf"status {status}.*{hint}.*no such luck"):
        asked(server)


def test_the_key_is_in_no_message_even_if_the_server_repeats_it(server: Server) -> None:
    server.respond = answering({"message": f"bad key {KEY}"}, 401)

    with pytest.raises(RerankFailed) as refusal:
        asked(server, KEY)
    assert "bad key …" in str(refusal.value)


@pytest.mark.parametrize("status", [200, 307, 401, 500])
def test_half_a_key_is_in_no_message_either(server: Server, status: int) -> None:
    """Where the detail is cut, as anywhere before."""
    server.respond = answering(f"{KEY}{'x' * 192} {KEY}".encode(), status, (("Location", f"/{KEY}"),))

    with pytest.raises(RerankFailed) as refusal:
        asked(server, KEY)
    assert KEY[:4] not in str(refusal.value)


def test_a_detail_is_one_short_line_of_printable_signs(server: Server) -> None:
    """A message can neither flood a terminal nor steer it."""
    server.respond = answering(b"no\n\n luck \x1b[31m\x00\xff" + b"x" * 10_000, 500)

    with pytest.raises(RerankFailed) as refusal:
        asked(server)
    (detail,) = str(refusal.value).split("status 500: ")[1:]
    assert detail.startswith("no luck [31m")
    assert detail.isprintable()
    assert 400 >= len(str(refusal.value))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(server: Server, status: int) -> None:
    """The key goes to no other address than the one configured."""
    server.respond = answering({}, status, (("Location", f"{server.address}/elsewhere"),))

    with pytest.raises(RerankFailed, match=f"{server.address}/rerank answered with status {status}"):
        asked(server, KEY)
    assert ["/rerank"] == [path for path, *_ in server.requests]


def test_an_answer_without_end_is_cut_off(server: Server) -> None:
    server.respond = answering(b" " * 4_100_000)

    with pytest.raises(RerankFailed, match="more than 4,000,000 bytes"):
        asked(server)


# No answer


def test_nobody_there(server: Server) -> None:
    server.close()

    with pytest.raises(RerankFailed, match=f"{server.address}/rerank could not be reached: .*refused"):
        asked(server)


@pytest.mark.parametrize(
    "respond",
    [
        lambda request: request.wfile.close(),
        lambda request: request.wfile.write(b"SSH-2.0-OpenSSH\r\n"),
        lambda request: request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"),
        answering(b"no gzip", headers=(("Content-Encoding", "gzip"),)),
    ],
    ids=["closed", "not HTTP", "cut short", "not gzip"],
)
def test_half_an_answer_is_none(server: Server, respond: Callable[[BaseHTTPRequestHandler], None]) -> None:
    """Whatever breaks on the way is told with the address."""
    server.respond = respond

    with pytest.raises(RerankFailed, match=f"{server.address}/rerank could not be reached: ."):
        asked(server)


def test_no_answer_in_time(server: Server) -> None:
    server.respond = lambda _: sleep(2)

    with pytest.raises(RerankFailed, match=r"did not answer within 0\.2 s \(rerank_timeout\)"):
        asked(server, timeout=0.2)


def test_a_trickle_does_not_renew_the_timeout(server: Server) -> None:
    def trickle(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        for _ in range(100):
            request.wfile.write(b" ")
            request.wfile.flush()
            sleep(0.05)

    server.respond = trickle

    with pytest.raises(RerankFailed, match=r"did not answer within 0\.3 s"):
        asked(server, timeout=0.3)


def test_a_search_goes_on_without_it_and_says_so(home: Path, vault: Path, server: Server) -> None:
    """The whole way: the fused order, and the reason beside it."""
    index_vault(home, write_vault(vault, {"a.md": "red sun", "b.md": "red moon"}), HashEmbedder())
    server.respond = answering({"message": "overloaded"}, 500)
    models = Models(HashEmbedder(), RerankEndpoint(server.address, "theirs", None, 5))
    fused, found = ask(home, "red", HashEmbedder()), ask(home, "red", models=models, rerank=True)

    assert fused.page == found.page
    ((stage, reason),) = found.degraded
    assert "rerank" == stage
    assert "status 500: " in reason


@pytest.mark.parametrize("key", [f"{KEY}\n", f"  {KEY} "])
def test_white_space_around_a_key_is_not_part_of_it(server: Server, key: str) -> None:
    """As it comes from a file or a clipboard."""
    server.respond = answering(scored((0, 0.1), (1, 0.2), (2, 0.3)))
    asked(server, key)

    assert f"Bearer {KEY}" == server.requests[0][1]["Authorization"]


@pytest.mark.parametrize("key", [f"{KEY}\r\nX-Other: 1", f"{KEY}ü"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(server: Server, key: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        asked(server, key)

    assert KEY not in str(refusal.value)


def test_headers_that_trickle_do_not_renew_the_timeout(server: Server) -> None:
    """The whole call has one deadline, name look-up and headers included."""

    def trickle(request: BaseHTTPRequestHandler) -> None:
        for _ in range(60):
            request.wfile.write(b"H")
            request.wfile.flush()
            sleep(0.05)

    server.respond = trickle

    with pytest.raises(RerankFailed, match=r"did not answer within 0\.3 s"):
        asked(server, timeout=0.3)
