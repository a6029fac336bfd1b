"""A reranker behind an address: any Cohere- or Jina-style `/rerank` endpoint. The only module that sends note text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any

from cutaway import __version__
from cutaway.errors import ModelUnavailable, RerankFailed, SettingsError

try:
    import httpx2
except ImportError as missing:
    raise ModelUnavailable(
        f"a rerank_url is set, and the package to reach it is not installed ({missing}). "
        "Install it with: pip install 'cutaway[remote]'"
    ) from None

_MAX_ANSWER_BYTES, _MAX_REFUSAL_BYTES, _MAX_MESSAGE_CHARS = 4_000_000, 2_000, 400
_HINTS = {
    401: "check rerank_key",
    403: "check rerank_key",
    404: "check rerank_url and reranker",
    429: "it asks to wait",
}


class RerankEndpoint:
    """``POST {base}/rerank`` with model, query and documents; ``results`` of index and relevance_score back.

    Redirects are not followed: a key goes to no other address than the one configured. One call,
    no retries: the failure policy decides what happens next.
    """

    def __init__(self, base: str, model: str, key: str | None, timeout: float) -> None:
        bare = base.rstrip("/")
        self._url = bare if bare.endswith("/rerank") else f"{bare}/rerank"
        self._model, self._key, self._timeout = model, (key or "").strip(), timeout
        self.identity = f"{self._url}:{model}"
        if not (self._key.isascii() and self._key.isprintable()):
            raise SettingsError("rerank_key holds signs that cannot be sent. Copy it again.")

    def relevance(self, query: str, documents: Sequence[str]) -> list[float]:
        asked = {"model": self._model, "query": query, "documents": list(documents), "top_n": len(documents)}
        try:
            status, content = _within(self._timeout, lambda: self._answer(asked))
            if status != 200:
                raise RerankFailed(_refusal(status, content))
            return _in_order(_decoded(content), len(documents))
        except TimeoutError:
            raise self._failed(f"did not answer within {self._timeout:g} s (rerank_timeout)") from None
        except RerankFailed as failure:
            raise self._failed(str(failure)) from None

    def _answer(self, asked: dict[str, Any]) -> tuple[int, bytes]:
        """Status and body. Raises RerankFailed, TimeoutError."""
        headers = {"User-Agent": f"cutaway/{__version__}"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            with (
                httpx2.Client(timeout=self._timeout) as client,
                client.stream("POST", self._url, json=asked, headers=headers) as response,
            ):
                return response.status_code, _read(response)
        except httpx2.TimeoutException:
            raise TimeoutError from None
        # A proxy that needs another package, or an address that is none, fails in ways of its own.
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ImportError, OSError, ValueError) as failure:
            raise RerankFailed(f"could not be reached: {failure or type(failure).__name__}") from None

    def _failed(self, said: str) -> RerankFailed:
        """A failure by address, on one line; servers repeat what they refuse, and the key is not shown."""
        line = "".join(sign for sign in " ".join(said.split()) if sign.isprintable())
        line = line.replace(self._key, "…") if self._key else line
        return RerankFailed(f"{self._url} {line}"[:_MAX_MESSAGE_CHARS])


def _within(seconds: float, work: Callable[[], tuple[int, bytes]]) -> tuple[int, bytes]:
    """A result within so many seconds. Raises TimeoutError.

    The client's own timeout is one of single steps: a slow name server, or headers and bodies that
    trickle in byte by byte, renew it for ever.
    """
    result: Future[tuple[int, bytes]] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as failure:  # noqa: BLE001 - raised again where the result is taken
            result.set_exception(failure)

    Thread(target=run, daemon=True).start()
    return result.result(seconds)


def _read(response: httpx2.Response) -> bytes:
    """The body within its limit; of a refusal, only the beginning."""
    content = bytearray()
    for part in response.iter_bytes():
        content += part
        if response.status_code != 200 and len(content) > _MAX_REFUSAL_BYTES:
            break
        if len(content) > _MAX_ANSWER_BYTES:
            raise RerankFailed(f"answered with more than {_MAX_ANSWER_BYTES:,} bytes")
    return bytes(content)


def _refusal(status: int, content: bytes) -> str:
    hint = f" ({_HINTS[status]})" if status in _HINTS else ""
    return f"answered with status {status}{hint}: {content.decode('utf-8', 'replace')}"


def _decoded(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):  # not JSON, not UTF-8
        raise RerankFailed("did not answer with JSON") from None


def _in_order(answer: Any, count: int) -> list[float]:
    """The scores in the order of the documents: exactly one for each. Raises RerankFailed."""
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list):
        raise RerankFailed("answered without a list of `results`")
    scores: dict[int, float] = {}
    for result in results:
        place = result.get("index") if isinstance(result, dict) else None
        if type(place) is not int or not 0 <= place < count:
            raise RerankFailed(f"scored a document that it was not given (index {place!r})")
        if place in scores:
            raise RerankFailed(f"scored document {place} twice")
        score = result.get("relevance_score")
        if type(score) not in (int, float):
            raise RerankFailed(f"gave {score!r} where a score was expected")
        scores[place] = score
    if len(scores) < count:
        raise RerankFailed(f"scored {len(scores)} of {count} documents")
    return [scores[place] for place in range(count)]
