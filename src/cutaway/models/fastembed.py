"""Any cross-encoder FastEmbed knows, by name. It fetches a model it has not seen; Cutaway itself fetches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version

from cutaway.errors import ModelUnavailable, RerankFailed, SettingsError
from cutaway.models.cross_encoder import squashed
from cutaway.models.onnx import clean, runtime_failures

try:
    from fastembed.rerank.cross_encoder import TextCrossEncoder
    from loguru import logger
except ImportError as missing:
    raise ModelUnavailable(
        f"only FastEmbed may know this model, and it is not installed ({missing}). "
        "Install it with: pip install 'cutaway[fastembed]'"
    ) from None


logger.disable("fastembed")  # what goes wrong is in our own message; its log would stand between the results


class FastEmbedCrossEncoder:
    """A cross-encoder by FastEmbed's name for it, loaded when it first reads. Raises SettingsError."""

    def __init__(self, name: str) -> None:
        known = {model["model"].lower(): model["model"] for model in TextCrossEncoder.list_supported_models()}
        if name.lower() not in known:
            raise SettingsError(f"reranker {name!r} is not known; FastEmbed has: {', '.join(sorted(known.values()))}.")
        self._name = known[name.lower()]
        self.identity = f"fastembed-{version('fastembed')}:{self._name}/sigmoid-4"

    def relevance(self, query: str, documents: Sequence[str]) -> list[float]:
        try:  # one pair a run: in a batch, padding would let documents change each other's scores
            scores = self._model.rerank(clean(query), [clean(text) for text in documents], batch_size=1)
            return [squashed(score) for score in scores]
        except runtime_failures() as failure:
            raise RerankFailed(f"{self._name}: {failure}") from None

    @cached_property
    def _model(self) -> TextCrossEncoder:
        try:
            return TextCrossEncoder(self._name)
        except runtime_failures() as failure:
            raise ModelUnavailable(f"FastEmbed could not load {self._name}: {str(failure).rstrip('.')}") from None
