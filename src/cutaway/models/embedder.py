"""What an embedder is, and which one a setting names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cutaway.errors import BadVector, SettingsError
from cutaway.notes.tokenizer import Tokenizer

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """A model that turns text into vectors."""

    identity: str
    """Model, weights, dimension, pooling: vectors of different identities are never compared."""

    dimension: int

    @property
    def tokenizer(self) -> Tokenizer: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector per text, shape (len(texts), dimension). A text's vector never depends on its batch.

        A text longer than the tokenizer's limit is read up to the limit.
        """


class Remembering:
    """An embedder of queries that embeds the last one once, however often it is asked."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vectors] = {}
        self.identity, self.dimension, self.tokenizer = embedder.identity, embedder.dimension, embedder.tokenizer

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The vector of the one text."""
        (text,) = texts
        if text not in self._vectors:
            self._vectors = {text: self._embedder.embed(texts)}
        return self._vectors[text]


def unit(vectors: Vectors, dimension: int) -> tuple[Vectors, list[str | None]]:
    """Vectors at length one, and beside each what is wrong with it (None where nothing is)."""
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise BadVector(f"the embedder returned shape {vectors.shape}; expected (n, {dimension}). Nothing was stored.")
    lengths = np.sqrt(np.vecdot(vectors, vectors))[:, None]
    faults = [
        "not finite" if not np.isfinite(length) else "all zeros" if length == 0 else None for length in lengths[:, 0]
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        return (vectors / lengths).astype(np.float32), faults


def embedded(embedder: Embedder, texts: Sequence[str]) -> tuple[Vectors, list[str | None]]:
    """The texts' vectors as ``unit`` gives them. Raises BadVector where there is not one for each."""
    vectors, faults = unit(embedder.embed(texts), embedder.dimension)
    if len(vectors) != len(texts):
        raise BadVector(f"the embedder returned {len(vectors)} vectors for {len(texts)} texts. Nothing was stored.")
    return vectors, faults


def named_embedder(name: str, at_once: bool = False) -> Embedder | None:
    """The embedder a setting names; None for ``none``. Raises ModelUnavailable, SettingsError.

    A model is loaded when it first embeds; *at_once* starts that in the background now.
    """
    if name == "none":
        return None
    from cutaway.models.onnx import BGE_SMALL_EN, OnnxEmbedder  # heavy: only where vectors are wanted

    if name == BGE_SMALL_EN.name:
        embedder = OnnxEmbedder(BGE_SMALL_EN)
        if at_once:
            embedder.prepare()
        return embedder
    raise SettingsError(f"embedder {name!r} is not known; choose {BGE_SMALL_EN.name!r} or 'none'.")
