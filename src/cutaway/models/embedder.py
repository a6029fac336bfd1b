"""What an embedder is, and which one a setting names."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cutaway.config import Settings
from cutaway.errors import BadVector, SettingsError, TextRefused
from cutaway.notes.tokenizer import Tokenizer

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """A model that turns text into vectors."""

    identity: str
    """Model, weights, dimension, pooling, prefixes: vectors of different identities are never compared."""

    dimension: int

    @property
    def tokenizer(self) -> Tokenizer: ...

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        """One vector per text, shape (len(texts), dimension), of passages or of what is sought among them.

        A text's vector never depends on its batch. A text longer than the tokenizer's limit is read up
        to the limit. Raises ModelUnavailable; TextRefused where one of the texts, by itself, has no vector.
        """


class Prefixes(NamedTuple):
    """What a model reads before the text itself: many tell questions from what answers them by it."""

    query: str = ""
    passage: str = ""

    def before(self, texts: Sequence[str], query: bool) -> list[str]:
        """The texts as the model reads them."""
        return [(self.query if query else self.passage) + text for text in texts]

    @property
    def name(self) -> str:
        """Their part of an identity."""
        return f"prefix-{blake2b(chr(0).join(self).encode(), digest_size=4).hexdigest()}" if any(self) else "no-prefix"


class Remembering:
    """An embedder of queries that embeds the last one once, however often it is asked."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[tuple[str, bool], Vectors] = {}
        self.identity, self.dimension, self.tokenizer = embedder.identity, embedder.dimension, embedder.tokenizer

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        """The vector of the one text."""
        (text,) = texts
        if (text, query) not in self._vectors:
            self._vectors = {(text, query): self._embedder.embed(texts, query)}
        return self._vectors[text, query]


def unit(vectors: Vectors, dimension: int) -> tuple[Vectors, list[str | None]]:
    """Vectors at length one, and beside each what is wrong with it (None where nothing is)."""
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise BadVector(f"the embedder returned shape {vectors.shape}; expected (n, {dimension}). Nothing was stored.")
    lengths = np.sqrt(np.vecdot(vectors, vectors))[:, None]
    faults = [
        "the vector is not finite" if not np.isfinite(length) else "the vector is all zeros" if length == 0 else None
        for length in lengths[:, 0]
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        return (vectors / lengths).astype(np.float32), faults


def embedded(embedder: Embedder, texts: Sequence[str], query: bool = False) -> tuple[Vectors, list[str | None]]:
    """The texts' vectors as ``unit`` gives them. Raises BadVector where there is not one for each.

    Where the embedder refuses, the texts are halved until those are found that it refuses alone.
    """
    try:
        found = embedder.embed(texts, query)
    except TextRefused as refusal:
        if len(texts) == 1:
            return np.full((1, embedder.dimension), np.nan, np.float32), [str(refusal)]
        half = len(texts) // 2
        (left, first), (right, last) = (embedded(embedder, part, query) for part in (texts[:half], texts[half:]))
        return np.concatenate([left, right]), [*first, *last]
    vectors, faults = unit(found, embedder.dimension)
    if len(vectors) != len(texts):
        raise BadVector(f"the embedder returned {len(vectors)} vectors for {len(texts)} texts. Nothing was stored.")
    return vectors, faults


def named_embedder(settings: Settings, at_once: bool = False, fetch: bool = False) -> Embedder | None:
    """The embedder the settings name; None for ``none``. Raises ModelUnavailable, SettingsError.

    A model is loaded when it first embeds; *at_once* starts that in the background now. One that would
    have to be downloaded is, if *fetch* allows it.
    """
    if settings.embedder == "none":
        return None
    if settings.embedder_url is not None:
        from cutaway.models.embeddings import EmbeddingEndpoint

        return EmbeddingEndpoint(settings)
    from cutaway.models.onnx import BGE_SMALL_EN, OnnxEmbedder  # heavy: only where vectors are wanted

    chosen = settings.embedder_query_prefix, settings.embedder_passage_prefix
    if settings.embedder == BGE_SMALL_EN.name:
        if any(chosen):
            raise SettingsError(
                f"{BGE_SMALL_EN.name} reads no prefix. Unset embedder_query_prefix and …_passage_prefix."
            )
        embedder = OnnxEmbedder(BGE_SMALL_EN)
        if at_once:
            embedder.prepare()
        return embedder
    from cutaway.models.fastembed import FastEmbedEmbedder

    return FastEmbedEmbedder(settings.embedder, *chosen, fetch=fetch)
