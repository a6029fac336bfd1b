"""A reranker behind an address: any Cohere- or Jina-style `/rerank` endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import SecretStr

from cutaway.errors import RerankFailed
from cutaway.models.remote import NoAnswer, endpoint

_MAX_ANSWER_BYTES = 4_000_000


class RerankEndpoint:
    """``POST {base}/rerank`` with model, query and documents; ``results`` of index and relevance_score back.

    One call, no retries: the failure policy decides what happens next.
    """

    def __init__(self, base: str, model: str, key: SecretStr | str | None, timeout: float) -> None:
        self._address = endpoint(base, "/rerank", key, timeout, "rerank", _MAX_ANSWER_BYTES)
        self._model = model
        self.identity = f"{self._address.url}:{model}"

    def relevance(self, query: str, documents: Sequence[str]) -> list[float]:
        asked = {"model": self._model, "query": query, "documents": list(documents), "top_n": len(documents)}
        try:
            return _in_order(self._address.ask(asked), len(documents))
        except NoAnswer as failure:
            raise RerankFailed(self._address.told(failure, (query, *documents))) from None


def _in_order(answer: Any, count: int) -> list[float]:
    """The scores in the order of the documents: exactly one for each. Raises NoAnswer."""
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list):
        raise NoAnswer("answered without a list of `results`")
    scores: dict[int, float] = {}
    for result in results:
        place = result.get("index") if isinstance(result, dict) else None
        if type(place) is not int or not 0 <= place < count:
            raise NoAnswer(f"scored a document that it was not given (index {place!r})")
        if place in scores:
            raise NoAnswer(f"scored document {place} twice")
        score = result.get("relevance_score")
        if type(score) not in (int, float):
            raise NoAnswer(f"gave {score!r} where a score was expected")
        scores[place] = score
    if len(scores) < count:
        raise NoAnswer(f"scored {len(scores)} of {count} documents")
    return [scores[place] for place in range(count)]
