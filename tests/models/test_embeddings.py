"""An embedder behind an address: what is asked, what is accepted, when it waits, and every way it can fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler
from time import sleep
from typing import Any

import numpy as np
import pytest

from builders import HashEmbedder
from cutaway.config import Settings
from cutaway.errors import BadVector, ModelUnavailable, SettingsError, TextRefused
from cutaway.models import embeddings
from cutaway.models.embedder import embedded, named_embedder
from cutaway.models.embeddings import EmbeddingEndpoint
from endpoints import Server, answering, embed_with, vectors

KEY = "sk-not-to-be-seen"
SECRET = 'Anna\'s diagnosis is in the grey folder\nbehind "the" stove, künftig'
HASH = HashEmbedder("theirs", 32)


def endpoint(server: Server, **settings: Any) -> EmbeddingEndpoint:
    """One that knows its dimension, so that it asks for nothing until it embeds."""
    chosen = {"embedder": "theirs", "embedder_url": server.address, "embedder_dimension": 32, "embedder_timeout": 5}
    return EmbeddingEndpoint(Settings(**{**chosen, **settings}))


def asked(server: Server) -> list[list[str]]:
    """The texts of each request."""
    return [body["input"] for _, _, body in server.requests]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds it waited, without waiting."""
    waited: list[float] = []
    monkeypatch.setattr(embeddings, "sleep", waited.append)
    return waited


# The request


def test_it_sends_model_and_texts_and_nothing_else(server: Server) -> None:
    """What every server understands; no key where none is set."""
    embed_with(server, HASH)
    found = endpoint(server).embed(["one", "two"])
    ((path, headers, body),) = server.requests

    assert ("/embeddings", {"model": "theirs", "input": ["one", "two"]}) == (path, body)
    assert "Authorization" not in headers
    assert np.array_equal(HASH.embed(["one", "two"]), found)


@pytest.mark.parametrize("tail", ["", "/", "/embeddings", "/embeddings/"])
def test_the_endpoint_is_named_once_however_its_base_is_written(server: Server, tail: str) -> None:
    embed_with(server, HASH)
    endpoint(server, embedder_url=f"{server.address}/v1{tail}").embed(["one"])

    assert "/v1/embeddings" == server.requests[0][0]


@pytest.mark.parametrize("key", [KEY, f"{KEY}\n", f"  {KEY} "])
def test_a_key_is_sent_as_a_bearer_token(server: Server, key: str) -> None:
    """White space around it, as from a clipboard, is no part of it; and it is in no identity."""
    embed_with(server, HASH)
    model = endpoint(server, embedder_key=key)
    model.embed(["one"])

    assert f"Bearer {KEY}" == server.requests[0][1]["Authorization"]
    assert KEY not in model.identity


def test_queries_and_passages_have_their_prefixes(server: Server) -> None:
    embed_with(server, HASH)
    model = endpoint(server, embedder_query_prefix="Q\nquery: ", embedder_passage_prefix="passage: ")
    model.embed(["red"])
    model.embed(["red"], query=True)

    assert [["passage: red"], ["Q\nquery: red"]] == asked(server)


@pytest.mark.parametrize(
    ("texts", "sizes"),
    [(["word"] * 70, [32, 32, 6]), (["x" * 20_000] * 3, [1, 1, 1]), (["x" * 90_000, "y", "z"], [1, 2])],
    ids=["many", "long", "one longer than all may be"],
)
def test_a_request_is_bounded_by_texts_and_by_characters(server: Server, texts: list[str], sizes: list[int]) -> None:
    embed_with(server, HASH)
    found = endpoint(server).embed(texts)

    assert sizes == [len(request) for request in asked(server)]
    assert np.array_equal(HASH.embed(texts), found)


def test_a_lone_surrogate_does_not_stop_a_query(server: Server) -> None:
    """A command line may hold one; no JSON may."""
    embed_with(server, HASH)
    endpoint(server).embed(["red \ud800"], query=True)

    assert [["red \ufffd"]] == asked(server)


# Dimension and identity


def test_an_unset_dimension_is_asked_for_once_with_a_short_text(server: Server) -> None:
    """Of nobody's notes."""
    embed_with(server, HASH)
    model = endpoint(server, embedder_dimension=None)
    model.embed(["one"])

    assert ([["text"], ["one"]], 32) == (asked(server), model.dimension)


def test_a_dimension_that_is_set_needs_no_question(server: Server) -> None:
    assert 32 == endpoint(server).dimension
    assert [] == server.requests


@pytest.mark.parametrize(
    "settings",
    [
        {"embedder": "other"},
        {"embedder_dimension": 33},
        {"embedder_query_prefix": "query: "},
        {"embedder_passage_prefix": "query: "},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_what_makes_other_vectors_is_another_identity(server: Server, settings: dict[str, Any]) -> None:
    assert endpoint(server).identity != endpoint(server, **settings).identity


@pytest.mark.parametrize(
    "settings",
    [{"embedder_url": "http://elsewhere.example/v1"}, {"embedder_key": KEY}, {"embedder_timeout": 9}],
    ids=lambda settings: next(iter(settings)),
)
def test_where_and_how_it_is_reached_is_not(server: Server, settings: dict[str, Any]) -> None:
    """A server that moves embeds nothing again."""
    assert "endpoint:theirs/32/no-prefix" == endpoint(server).identity == endpoint(server, **settings).identity


def test_a_query_prefix_is_not_a_passage_prefix(server: Server) -> None:
    """However the two are shared out."""
    pairs = [("a", "b"), ("ab", ""), ("", "ab"), ("b", "a")]
    names = {endpoint(server, embedder_query_prefix=q, embedder_passage_prefix=p).identity for q, p in pairs}

    assert 4 == len(names)


# The answer


def test_vectors_come_back_in_the_order_of_their_index(server: Server) -> None:
    shuffled = [{"index": place, "embedding": [float(place), 1.0]} for place in (2, 0, 1)]
    server.respond = answering({"data": shuffled})

    assert [[0, 1], [1, 1], [2, 1]] == endpoint(server, embedder_dimension=2).embed(["a", "b", "c"]).tolist()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (vectors([[1, 2]]), "embedded 1 of 2 texts"),
        (vectors([[1, 2]] * 3), "wrong `index`"),
        ({"data": [{"index": 0, "embedding": [1, 2]}] * 2}, "embedded text 0 twice"),
        ({"data": [{"index": True, "embedding": [1, 2]}] * 2}, "wrong `index`"),
        ({"data": [{"index": -1, "embedding": [1, 2]}] * 2}, "wrong `index`"),
        ({"data": [{"index": 0.0, "embedding": [1, 2]}] * 2}, "wrong `index`"),
        ({"data": [{"embedding": [1, 2]}] * 2}, "wrong `index`"),
        ({"data": [1, 2]}, "wrong `index`"),
        (vectors([[1, 2], []]), "no list of numbers"),
        (vectors([[1, 2], ["1", "2"]]), "no list of numbers"),
        (vectors([[1, 2], [None, 1]]), "no list of numbers"),
        (vectors([[1, 2], [True, 1]]), "no list of numbers"),
        (vectors([[1, 2], [[1], [2]]]), "no list of numbers"),
        (vectors([[1, 2], [10**400, 1]]), "beyond all bounds"),
        ({"data": [{"index": 0, "embedding": "AACAPw=="}, {"index": 1}]}, "no list of numbers"),
        ({"data": {}}, "without a list of `data`"),
        ([[1, 2], [3, 4]], "without a list of `data`"),
        (b"<html>Welcome</html>", "did not answer with JSON"),
        (b"", "did not answer with JSON"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(server: Server, answer: Any, said: str) -> None:
    """By address, and by what is wrong with it."""
    server.respond = answering(answer)

    with pytest.raises(ModelUnavailable, match=said) as refusal:
        endpoint(server, embedder_dimension=2).embed(["one", "two"])
    assert server.address in str(refusal.value)


@pytest.mark.parametrize("dimension", [31, 33])
def test_vectors_of_another_size_are_refused(server: Server, dimension: int) -> None:
    """Naming both sizes, and what to check."""
    embed_with(server, HASH)

    with pytest.raises(BadVector, match=f"theirs gives 32 numbers.*expected {dimension}.*embedder_dimension"):
        endpoint(server, embedder_dimension=dimension).embed(["one"])


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e39", "0"])
def test_a_vector_that_cannot_be_compared_is_a_fault_of_its_text_alone(server: Server, value: str) -> None:
    spoiled = json.dumps(vectors([[1, 1], ["?", "?"]])).replace('"?"', value)
    server.respond = answering(spoiled.encode())
    _, faults = embedded(endpoint(server, embedder_dimension=2), ["one", "two"])

    assert (None, True) == (faults[0], bool(faults[1]))


# A text it will not embed


def too_long(texts: list[str]) -> str | None:
    return "maximum context length is 512 tokens" if any(len(text) > 50 for text in texts) else None


@pytest.mark.parametrize("place", [0, 3, 6])
def test_a_text_that_is_too_long_is_found_and_the_others_embedded(server: Server, place: int) -> None:
    """Its fault is what the endpoint says."""
    embed_with(server, HASH, refused=too_long)
    texts = [f"word{number}" for number in range(7)]
    texts[place] = "long " * 20
    found, faults = embedded(endpoint(server), texts)

    assert [place] == [number for number, fault in enumerate(faults) if fault]
    assert 'status 400: {"error": {"message": "maximum context length' in str(faults[place])
    sound = [number for number in range(7) if number != place]
    assert np.allclose(found[sound], embedded(HASH, texts)[0][sound])


@pytest.mark.parametrize("status", [400, 413, 422])
def test_more_texts_than_a_request_may_have_are_sent_in_halves(server: Server, status: int) -> None:
    """Servers differ in how many they take."""

    def respond(request: BaseHTTPRequestHandler) -> None:
        texts = server.requests[-1][2]["input"]
        if len(texts) > 2:
            answering({"error": "batch size"}, status)(request)
        else:
            answering(vectors(HASH.embed(texts).tolist()))(request)

    server.respond = respond
    _, faults = embedded(endpoint(server), list("abcdefg"))

    assert [None] * 7 == faults


@pytest.mark.parametrize("status", [400, 413, 422])
def test_an_endpoint_that_refuses_every_text_is_no_fault_of_the_text(server: Server, status: int) -> None:
    """A wrong model is refused with the same status; no passage is called failed for it."""
    server.respond = answering({"error": "this model cannot embed"}, status)

    with pytest.raises(ModelUnavailable, match=f"status {status}: .*this model cannot embed"):
        embedded(endpoint(server), ["one", "two", "three"])


def test_a_server_error_that_speaks_of_the_length_is_a_refusal_too(server: Server) -> None:
    """As llama.cpp answers."""

    def respond(request: BaseHTTPRequestHandler) -> None:
        short = server.requests[-1][2]["input"] == ["text"]
        answering(vectors([[1.0] * 32]) if short else {"error": "input is too large"}, 200 if short else 500)(request)

    server.respond = respond

    with pytest.raises(TextRefused, match="status 500"):
        endpoint(server).embed(["long"])


# Busy


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_endpoint_is_asked_again_ever_later(server: Server, pauses: list[float], status: int) -> None:
    """Passages have time: it is asked five times."""
    server.respond = answering({"message": "slow down"}, status)

    with pytest.raises(ModelUnavailable, match=f"status {status}"):
        endpoint(server).embed(["one"])
    assert (5, [1, 2, 4, 8]) == (len(server.requests), pauses)


def test_a_query_does_not_wait_long(server: Server, pauses: list[float]) -> None:
    """Words can answer it meanwhile."""
    server.respond = answering({"message": "slow down"}, 429)

    with pytest.raises(ModelUnavailable):
        endpoint(server).embed(["one"], query=True)
    assert [0.5] == pauses


@pytest.mark.parametrize(
    "asked_for",
    ["30", "0", lambda: format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)],
    ids=["seconds", "none", "date"],
)
def test_it_waits_as_long_as_it_is_asked_to(
    server: Server, pauses: list[float], asked_for: str | Callable[[], str]
) -> None:
    """And then goes on with what it had to do."""
    header = asked_for if isinstance(asked_for, str) else asked_for()

    def respond(request: BaseHTTPRequestHandler) -> None:
        if len(server.requests) == 1:
            answering({}, 429, (("Retry-After", header),))(request)
        else:
            answering(vectors([[1.0] * 32]))(request)

    server.respond = respond
    endpoint(server).embed(["one"])
    (waited,) = pauses

    assert waited == 0 if header == "0" else 25 < waited <= 30


@pytest.mark.parametrize(("query", "seconds"), [(False, 61), (True, 3), (False, 10**9)])
def test_a_wait_beyond_its_bounds_is_not_waited_for(
    server: Server, pauses: list[float], query: bool, seconds: int
) -> None:
    server.respond = answering({}, 429, (("Retry-After", str(seconds)),))

    with pytest.raises(ModelUnavailable, match="it asks to wait"):
        endpoint(server).embed(["one"], query)
    assert ([], 1) == (pauses, len(server.requests))


@pytest.mark.parametrize("nonsense", ["soon", "-5", "nan", "Fri, 99 Foo 2026", ""])
def test_a_wait_that_is_none_is_not_trusted(server: Server, pauses: list[float], nonsense: str) -> None:
    """Its own pauses, or none at all."""
    server.respond = answering({}, 503, (("Retry-After", nonsense),))

    with pytest.raises(ModelUnavailable):
        endpoint(server).embed(["one"])
    assert pauses in ([1, 2, 4, 8], [0, 0, 0, 0])


@pytest.mark.parametrize("status", [401, 403, 404, 500, 502, 504, 301, 307])
def test_any_other_failure_is_final_and_says_what_to_check(server: Server, pauses: list[float], status: int) -> None:
    """Also a redirect: notes go to no other address than the one configured."""
    server.respond = answering({"m": "no such luck"}, status, (("Location", f"{server.address}/elsewhere"),))

    with pytest.raises(ModelUnavailable, match=rf"{server.address}/.*status {status}.*no such luck") as failure:
        endpoint(server).embed(["one"])
    hints = {401: "check embedder_key", 403: "check embedder_key", 404: "check embedder_url and embedder"}
    assert hints.get(status, "") in str(failure.value)
    assert ([], 1) == (pauses, len(server.requests))


# What no message shows


def echoes() -> list[Any]:
    """What servers make of a request they refuse, whole, cut, and in other writings."""
    return [
        f"cannot embed {SECRET}",
        {"detail": [{"msg": "too long", "input": [SECRET]}]},
        json.dumps({"error": SECRET}, ensure_ascii=False),
        f"cannot embed {SECRET[:30]} …",
        f"cannot embed … {SECRET[-30:]}",
        f"bad: {SECRET.upper()[:3]}{SECRET[3:]}",
        {"error": f"Bearer {KEY} may not embed {SECRET}"},
        "x" * 1_990 + KEY,
        SECRET * 60 + KEY,
        (SECRET.replace("ü", "u") * 40)[:1_990] + KEY,
    ]


@pytest.mark.parametrize("status", [400, 401, 413, 422, 500, 503])
@pytest.mark.parametrize("echo", echoes(), ids=range(len(echoes())))
@pytest.mark.usefixtures("pauses")
def test_no_failure_repeats_key_or_text(server: Server, status: int, echo: Any) -> None:
    """Servers do; the message is for logs and screens."""
    server.respond = answering(echo.encode() if isinstance(echo, str) else echo, status)

    with pytest.raises((ModelUnavailable, TextRefused)) as failure:
        endpoint(server, embedder_key=KEY).embed([SECRET])
    for part in ("diagnosis", "stove", "grey", KEY[:8]):
        assert part not in str(failure.value)


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("text", ["Anna\nhas it\nin the\nstove\nall of\nit", "„Ännä“ — „ölt“ — „über“ — „Öl“"])
def test_a_text_in_json_is_the_same_text(server: Server, text: str, ascii_only: bool) -> None:
    """However many of its signs are escaped there."""
    server.respond = answering(json.dumps({"error": text}, ensure_ascii=ascii_only).encode(), 500)

    with pytest.raises(ModelUnavailable, match=r'status 500: \{"error": "…"\}$'):
        endpoint(server).embed([text])


def test_a_short_query_is_not_repeated_either(server: Server) -> None:
    server.respond = answering({"error": "cannot embed: divorce"}, 500)

    with pytest.raises(ModelUnavailable, match=r"cannot embed: …") as failure:
        endpoint(server).embed(["divorce"], query=True)
    assert "divorce" not in str(failure.value)


@pytest.mark.parametrize("key", [f"{KEY}\r\nX-Other: 1", f"{KEY}ü"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(server: Server, key: str) -> None:
    with pytest.raises(SettingsError, match="embedder_key") as refusal:
        endpoint(server, embedder_key=key)
    assert KEY not in str(refusal.value)


# No answer


def test_nobody_there(server: Server) -> None:
    server.close()

    with pytest.raises(ModelUnavailable, match=f"{server.address}/embeddings could not be reached: .*refused"):
        endpoint(server).embed(["one"])


def test_no_answer_in_time(server: Server) -> None:
    server.respond = lambda _: sleep(2)

    with pytest.raises(ModelUnavailable, match=r"did not answer within 0\.2 s \(embedder_timeout\)"):
        endpoint(server, embedder_timeout=0.2).embed(["one"])


def test_an_answer_without_end_is_cut_off(server: Server) -> None:
    server.respond = answering(b" " * 16_100_000)

    with pytest.raises(ModelUnavailable, match="more than 16,000,000 bytes"):
        endpoint(server).embed(["one"])


# Which one


def test_an_address_goes_before_any_local_model(server: Server) -> None:
    """Even for the bundled one's name."""
    settings = Settings(embedder_url=server.address, embedder_dimension=32)

    assert isinstance(named_embedder(settings), EmbeddingEndpoint)


def test_none_is_none_even_where_an_address_is_set(server: Server) -> None:
    """Nothing is sent anywhere."""
    assert named_embedder(Settings(embedder="none", embedder_url=server.address)) is None
    assert [] == server.requests


@pytest.mark.parametrize("setting", ["embedder_query_prefix", "embedder_passage_prefix"])
def test_a_prefix_for_the_bundled_model_is_refused(setting: str) -> None:
    """It was measured without, and would silently be the same."""
    with pytest.raises(SettingsError, match=r"bge-small-en-v1\.5 reads no prefix"):
        named_embedder(Settings(**{setting: "query: "}))


@pytest.mark.parametrize(
    "address", ["ftp://a", "a", "https://me:pw@a", "https://a?key=1", "https://a#b", "https://a b"]
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="embedder_url"):
        Settings(embedder_url=address)
