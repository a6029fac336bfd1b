"""An embedder behind an address: any OpenAI-style `/embeddings` endpoint (Ollama, vLLM, TEI, LiteLLM, OpenAI)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from time import sleep
from typing import Any

import numpy as np

from cutaway.config import Settings
from cutaway.errors import BadVector, ModelUnavailable, TextRefused
from cutaway.models.embedder import Prefixes, Vectors
from cutaway.models.remote import NoAnswer, endpoint
from cutaway.models.tokens import EstimatedTokenizer, clean

_MAX_ANSWER_BYTES = 16_000_000
_TEXTS_A_REQUEST, _CHARS_A_REQUEST = 32, 32_000
_PAUSES, _LONGEST_PAUSE = (1.0, 2.0, 4.0, 8.0), 60.0
_QUERY_PAUSES, _LONGEST_QUERY_PAUSE = (0.5,), 2.0  # somebody waits, and words can answer
_BUSY, _REFUSED = (429, 503), (400, 413, 422)
_TOO_LONG = re.compile(r"too (long|large)|context (length|size|window)", re.IGNORECASE)
_SHORT = "text"


class EmbeddingEndpoint:
    """``POST {base}/embeddings`` with model and input; ``data`` of index and embedding back.

    The identity is what can be known from here: the model's name, the dimension, the prefixes. Where
    the endpoint is does not matter, and which weights it serves under that name it does not tell.
    """

    def __init__(self, settings: Settings) -> None:
        self._address = endpoint(
            settings.embedder_url or "",
            "/embeddings",
            settings.embedder_key,
            settings.embedder_timeout,
            "embedder",
            _MAX_ANSWER_BYTES,
        )
        self._model = settings.embedder
        self._prefixes = Prefixes(settings.embedder_query_prefix or "", settings.embedder_passage_prefix or "")
        self.tokenizer = EstimatedTokenizer(settings.embedder_tokens, self._prefixes.passage)
        self.dimension = settings.embedder_dimension or self._measured()
        self.identity = f"endpoint:{self._model}/{self.dimension}/{self._prefixes.name}"

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        found = np.empty((len(texts), self.dimension), np.float32)
        done = 0
        for batch in _batches(self._prefixes.before([clean(text) for text in texts], query)):
            for vector in self._patiently(batch, query):
                if len(vector) != self.dimension:
                    raise BadVector(
                        f"{self._model} gives {len(vector):,} numbers for a text; expected {self.dimension:,}. "
                        "Nothing was stored. Check embedder and embedder_dimension"
                    )
                with np.errstate(over="ignore"):  # then it is not finite, and refused as that
                    found[done] = vector
                done += 1
        return found

    def _measured(self) -> int:
        """How many numbers the model gives for a text."""
        (vector,) = self._patiently([_SHORT], query=True)
        return len(vector)

    def _patiently(self, texts: list[str], query: bool) -> list[list[float]]:
        """Vectors of a batch; asked again, and later, where the endpoint is busy."""
        pauses, longest = (_QUERY_PAUSES, _LONGEST_QUERY_PAUSE) if query else (_PAUSES, _LONGEST_PAUSE)
        for pause in pauses:
            try:
                return self._asked(texts)
            except NoAnswer as failure:
                wanted = pause if failure.wait is None else failure.wait
                if failure.status not in _BUSY or wanted > longest:
                    raise self._error(failure, texts) from None
            sleep(wanted)
        try:
            return self._asked(texts)
        except NoAnswer as failure:
            raise self._error(failure, texts) from None

    def _asked(self, texts: list[str]) -> list[list[float]]:
        """Raises NoAnswer."""
        return _in_order(self._address.ask({"model": self._model, "input": texts}), len(texts))

    def _error(self, failure: NoAnswer, texts: list[str]) -> ModelUnavailable | TextRefused:
        """What it means: that this text has no vector, or that no text has."""
        said = self._address.told(failure, texts)
        concerns_texts = failure.status in _REFUSED or (failure.status == 500 and _TOO_LONG.search(failure.quoted))
        if concerns_texts and (len(texts) > 1 or self._reads_others(texts)):
            return TextRefused(said)
        return ModelUnavailable(said)

    def _reads_others(self, refused: list[str]) -> bool:
        """Whether it is the text: a wrong model or a wrong setting is refused with the same status."""
        if refused == [_SHORT]:
            return False
        try:
            self._asked([_SHORT])
        except NoAnswer:
            return False
        return True


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    chars = 0
    for text in texts:
        if batch and (len(batch) == _TEXTS_A_REQUEST or chars + len(text) > _CHARS_A_REQUEST):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch


def _in_order(answer: Any, count: int) -> list[list[float]]:
    """The vectors in the order of the texts: exactly one for each. Raises NoAnswer."""
    results = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(results, list):
        raise NoAnswer("answered without a list of `data`")
    vectors: dict[int, list[float]] = {}
    for result in results:
        place = result.get("index") if isinstance(result, dict) else None
        if type(place) is not int or not 0 <= place < count:
            raise NoAnswer("embedded a text that it was not given: wrong `index`")
        if place in vectors:
            raise NoAnswer(f"embedded text {place} twice")
        vectors[place] = _numbers(result.get("embedding"))
    if len(vectors) < count:
        raise NoAnswer(f"embedded {len(vectors)} of {count} texts")
    return [vectors[place] for place in range(count)]


def _numbers(vector: Any) -> list[float]:
    if not isinstance(vector, list) or not vector or any(type(number) not in (int, float) for number in vector):
        raise NoAnswer("gave an `embedding` that is no list of numbers")
    try:
        return [float(number) for number in vector]
    except OverflowError:
        raise NoAnswer("gave an `embedding` with a number beyond all bounds") from None
