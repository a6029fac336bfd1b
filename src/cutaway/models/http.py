"""A reranker behind an address: any Cohere- or Jina-style `/rerank` endpoint. The only module that sends note text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from time import monotonic
from typing import Any

from cutaway import __version__
from cutaway.errors import ModelUnavailable, RerankFailed

try:
    import httpx2
except ImportError as missing:
    raise ModelUnavailable(
        f"a rerank_url is set, and the package to reach it is not installed ({missing}). "
        "Install it with: pip install 'cutaway[remote]'"
    ) from None

_MAX_ANSWER_BYTES = 4_000_000
_MAX_DETAIL_CHARS = 200
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
        self._model, self._key, self._timeout = model, key, timeout
        self.identity = f"{self._url}:{model}"

    def relevance(self, query: str, documents: Sequence[str]) -> list[float]:
        asked = {"model": self._model, "query": query, "documents": list(documents), "top_n": len(documents)}
        return _in_order(self._answer(asked), len(documents), self._url)

    def _answer(self, asked: dict[str, Any]) -> Any:
        """The decoded answer. Raises RerankFailed."""
        headers = {"User-Agent": f"cutaway/{__version__}"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            with (
                httpx2.Client(timeout=self._timeout) as client,
                client.stream("POST", self._url, json=asked, headers=headers) as response,
            ):
                content = self._read(response)
        except httpx2.TimeoutException:
            raise RerankFailed(self._late()) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as failure:
            raise RerankFailed(f"{self._url} could not be reached: {failure or type(failure).__name__}") from None
        if response.status_code != 200:
            raise RerankFailed(self._refusal(response.status_code, content))
        try:
            return json.loads(content)
        except ValueError:  # not JSON, not UTF-8
            raise RerankFailed(f"{self._url} did not answer with JSON") from None

    def _read(self, response: httpx2.Response) -> bytes:
        """The body, within the limits of size and time: a trickle of bytes would renew a timeout for ever."""
        end = monotonic() + self._timeout
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if len(content) > _MAX_ANSWER_BYTES:
                raise RerankFailed(f"{self._url} answered with more than {_MAX_ANSWER_BYTES:,} bytes")
            if monotonic() > end:
                raise RerankFailed(self._late())
        return bytes(content)

    def _late(self) -> str:
        return f"{self._url} did not answer within {self._timeout:g} s (rerank_timeout)"

    def _refusal(self, status: int, content: bytes) -> str:
        said = " ".join(content.decode("utf-8", "replace").split())
        said = "".join(sign for sign in said if sign.isprintable())
        if self._key:
            said = said.replace(self._key, "…")  # some servers repeat what they refuse
        hint = f" ({_HINTS[status]})" if status in _HINTS else ""
        return f"{self._url} answered with status {status}{hint}: {said[:_MAX_DETAIL_CHARS]}"


def _in_order(answer: Any, count: int, url: str) -> list[float]:
    """The scores in the order of the documents: exactly one for each. Raises RerankFailed."""
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list):
        raise RerankFailed(f"{url} answered without a list of `results`")
    scores: dict[int, float] = {}
    for result in results:
        place = result.get("index") if isinstance(result, dict) else None
        if type(place) is not int or not 0 <= place < count:
            raise RerankFailed(f"{url} scored a document that it was not given (index {place!r})")
        if place in scores:
            raise RerankFailed(f"{url} scored document {place} twice")
        scores[place] = result.get("relevance_score")
    if len(scores) < count:
        raise RerankFailed(f"{url} scored {len(scores)} of {count} documents")
    return [scores[place] for place in range(count)]
