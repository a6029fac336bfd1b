"""What a cross-encoder is, what is checked of its answers, and which one the settings name."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator, Sequence
from numbers import Real
from time import monotonic
from typing import Protocol

from cutaway.config import Settings
from cutaway.errors import RerankFailed

_TEMPERATURE = 4.0


class CrossEncoder(Protocol):
    """A model that reads a query and a document together and says how well the one answers the other."""

    identity: str
    """Model, weights, scale: scores of different identities are never mixed."""

    def relevance(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        """One score in [0, 1] per document, in their order, independent of the other documents.

        What is too long is read up to the model's limit. Raises RerankFailed, ModelUnavailable.
        """


def squashed(logit: float) -> float:
    """A raw score as one in [0, 1]: sigmoid(logit / 4).

    Cross-encoders give about -11 to 10. Undivided, nearly all of that is 0 or 1, and a blend could
    not tell good from better. NaN stays NaN, for ``checked`` to refuse.
    """
    if math.isnan(logit):
        return logit
    return 1 / (1 + math.exp(-max(-500.0, min(logit, 500.0)) / _TEMPERATURE))


def in_time(scores: Iterator[float], count: int, seconds: float) -> list[float]:
    """Scores as they come, while there is time: a model that reads here cannot be left waiting. Raises RerankFailed."""
    until, read = monotonic() + seconds, list[float]()
    for score in scores:
        read.append(score)
        if len(read) < count and monotonic() > until:
            raise RerankFailed(
                f"it had read {len(read)} of {count} documents after {seconds:g} s. Let it read fewer (rerank_depth) "
                "or give it more time (rerank_timeout)"
            )
    return read


def checked(scores: Sequence[float], count: int) -> list[float]:
    """The scores, once there is one for each document and all are in [0, 1]. Raises RerankFailed."""
    if len(scores) != count:
        raise RerankFailed(f"the reranker gave {len(scores)} scores for {count} documents")
    for score in scores:
        if isinstance(score, bool) or not isinstance(score, Real):
            raise RerankFailed(f"the reranker gave {reprlib.repr(score)} where a score was expected")
        if score != score or score in (math.inf, -math.inf):
            raise RerankFailed(f"the reranker gave a score that is not finite: {score}")
        if not 0 <= score <= 1:
            raise RerankFailed(
                f"the reranker gave a score outside 0 to 1: {reprlib.repr(score)}. Have it normalise its scores"
            )
    return [float(score) for score in scores]


def named_cross_encoder(settings: Settings, at_once: bool = False) -> CrossEncoder | None:
    """The cross-encoder the settings name; None for ``none``. Raises ModelUnavailable, SettingsError.

    A local model is loaded when it first reads; *at_once* starts that in the background now.
    """
    if settings.reranker == "none":
        return None
    if settings.rerank_url is not None:
        from cutaway.models.http import RerankEndpoint

        return RerankEndpoint(settings.rerank_url, settings.reranker, settings.rerank_key, settings.rerank_timeout)
    from cutaway.models.onnx import MS_MARCO_MINILM, OnnxCrossEncoder

    if settings.reranker == MS_MARCO_MINILM.name:
        local = OnnxCrossEncoder(MS_MARCO_MINILM, settings.rerank_timeout)
        if at_once:
            local.prepare()
        return local
    from cutaway.models.fastembed import FastEmbedCrossEncoder

    return FastEmbedCrossEncoder(settings.reranker, settings.rerank_timeout)
