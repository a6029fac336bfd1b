"""Any embedder and cross-encoder FastEmbed knows, by name. It fetches models; Cutaway itself fetches nothing."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import numpy as np
import platformdirs

from cutaway.errors import ModelUnavailable, RerankFailed, SettingsError
from cutaway.models.cross_encoder import in_time, squashed
from cutaway.models.embedder import Prefixes, Vectors
from cutaway.models.onnx import runtime_failures
from cutaway.models.tokens import FileTokenizer, clean

try:
    from fastembed import TextEmbedding
    from fastembed.common.preprocessor_utils import load_tokenizer
    from fastembed.rerank.cross_encoder import TextCrossEncoder
    from fastembed.text.static_embedding import StaticTextEmbedding, load_static_tokenizer
    from loguru import logger
except ImportError as missing:
    raise ModelUnavailable(
        f"only FastEmbed may know this model, and it is not installed ({missing}). "
        "Install it with: pip install 'cutaway[fastembed]', or choose a bundled model"
    ) from None


logger.disable("fastembed")  # what goes wrong is in our own message; its log would stand between the results


_SHA256 = re.compile("[0-9a-f]{64}")
_POOLING = {"OnnxTextEmbedding": "cls", "PooledEmbedding": "mean", "PooledNormalizedEmbedding": "mean"}
_BGE = Prefixes("Represent this sentence for searching relevant passages: ")
_NOMIC = Prefixes("search_query: ", "search_document: ")
_QWEN = Prefixes(
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
)
# What the models' own cards ask for. Jina's task is told to the model by FastEmbed itself.
_PREFIXES = {
    "baai/bge-small-en": _BGE,
    "baai/bge-base-en": _BGE,
    "mixedbread-ai/mxbai-embed-large-v1": _BGE,
    "snowflake/snowflake-arctic-embed-xs": _BGE,
    "snowflake/snowflake-arctic-embed-s": _BGE,
    "snowflake/snowflake-arctic-embed-m": _BGE,
    "snowflake/snowflake-arctic-embed-m-long": _BGE,
    "snowflake/snowflake-arctic-embed-l": _BGE,
    "nomic-ai/nomic-embed-text-v1": _NOMIC,
    "nomic-ai/nomic-embed-text-v1.5": _NOMIC,
    "nomic-ai/nomic-embed-text-v1.5-q": _NOMIC,
    "intfloat/multilingual-e5-large": Prefixes("query: ", "passage: "),
    "google/embeddinggemma-300m": Prefixes("task: search result | query: ", "title: none | text: "),
    "qwen/qwen3-embedding-0.6b": _QWEN,
    "qwen/qwen3-embedding-0.6b-q": _QWEN,
}
_CACHE = platformdirs.user_cache_path("cutaway", appauthor=False) / "models"  # its own is emptied at start-up
_LIMIT = 512  # what FastEmbed reads of a model that does not say


class FastEmbedEmbedder:
    """A dense model by FastEmbed's name for it. Its files are sought at once, the model is loaded when it first embeds.

    Texts run alone, one on each core: batched, padding would let them change each other's vectors.
    Raises SettingsError; ModelUnavailable where the files are not there and cannot, or may not, be fetched.
    """

    def __init__(
        self, name: str, query_prefix: str | None = None, passage_prefix: str | None = None, fetch: bool = False
    ):
        known = {model["model"].lower(): model for model in TextEmbedding.list_supported_models()}
        if name.lower() not in known:
            names = ", ".join(sorted(model["model"] for model in known.values()))
            raise SettingsError(
                f"embedder {name!r} is not known; choose 'bge-small-en-v1.5', 'none', or one of FastEmbed's: {names}."
            )
        model = known[name.lower()]
        self._name = model["model"]
        needed = _PREFIXES.get(name.lower(), Prefixes())
        self._prefixes = Prefixes(
            needed.query if query_prefix is None else query_prefix,
            needed.passage if passage_prefix is None else passage_prefix,
        )
        self._model = self._found(fetch)
        self._folder = Path(self._model.model._model_dir)  # type: ignore[attr-defined]
        self.dimension = int(model["dim"])
        kind = type(self._model.model).__name__
        pooling = _POOLING.get(kind, kind)
        weights = self._digest(model["model_file"], *model["additional_files"])
        self.identity = f"fastembed:{self._name}@{weights[:8]}/{self.dimension}/{pooling}/{self._prefixes.name}"

    @cached_property
    def tokenizer(self) -> FileTokenizer:
        static = isinstance(self._model.model, StaticTextEmbedding)
        try:
            tokenizer, _ = load_static_tokenizer(self._folder) if static else load_tokenizer(self._folder)
        except runtime_failures() as failure:
            raise self._unavailable(f"has no tokenizer that can be read: {failure}") from None
        limit = (tokenizer.truncation or {}).get("max_length", _LIMIT)
        return FileTokenizer(limit, lambda: tokenizer, self._prefixes.passage)

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        first, *rest = self._prefixes.before([clean(text) for text in texts], query)
        read = self._model.query_embed if query else self._model.passage_embed
        try:  # the first alone: it loads the model
            vectors = [*read([first]), *self._pool.map(lambda text: next(iter(read([text]))), rest)]
        except runtime_failures() as failure:
            raise self._unavailable(f"failed: {failure}") from None
        return np.stack(vectors).astype(np.float32)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(os.cpu_count())

    def _found(self, fetch: bool) -> TextEmbedding:
        """The model, not loaded yet; its files are there."""
        try:
            return TextEmbedding(
                self._name,
                cache_dir=os.environ.get("FASTEMBED_CACHE_PATH") or str(_CACHE),
                threads=1,
                lazy_load=True,
                local_files_only=not fetch,
                enable_cpu_mem_arena=False,
            )
        except runtime_failures() as failure:
            if fetch:
                said = f"could not be fetched: {str(failure).rstrip('.')}"
                raise self._unavailable(f"{said}. Connect this computer, then run: cutaway index") from None
            raise self._unavailable("is not downloaded. Run: cutaway index") from None

    def _digest(self, *names: str) -> str:
        """A digest of the weights."""
        try:
            each = [_digest(self._folder / name) for name in names]
        except OSError as failure:
            raise self._unavailable(f"cannot be read: {failure}") from None
        return each[0] if len(each) == 1 else hashlib.sha256("".join(each).encode()).hexdigest()

    def _unavailable(self, said: str) -> ModelUnavailable:
        return ModelUnavailable(f"FastEmbed's model {self._name} {said}")


def _digest(file: Path) -> str:
    """A file's SHA-256. The hub's cache names weights by it, so they are not read there."""
    if _SHA256.fullmatch(file.resolve().name):
        return file.resolve().name
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


class FastEmbedCrossEncoder:
    """A cross-encoder by FastEmbed's name for it, loaded when it first reads. Raises SettingsError."""

    def __init__(self, name: str, seconds: float = 60.0) -> None:
        self._seconds = seconds
        known = {model["model"].lower(): model["model"] for model in TextCrossEncoder.list_supported_models()}
        if name.lower() not in known:
            raise SettingsError(f"reranker {name!r} is not known; FastEmbed has: {', '.join(sorted(known.values()))}.")
        self._name = known[name.lower()]
        self.identity = f"fastembed-{version('fastembed')}:{self._name}/sigmoid-4"

    def relevance(self, query: str, documents: Sequence[str]) -> list[float]:
        try:  # one pair a run: in a batch, padding would let documents change each other's scores
            scores = self._model.rerank(clean(query), [clean(text) for text in documents], batch_size=1)
            return in_time(map(squashed, scores), len(documents), self._seconds)
        except runtime_failures() as failure:
            raise RerankFailed(f"{self._name}: {failure}") from None

    @cached_property
    def _model(self) -> TextCrossEncoder:
        try:
            return TextCrossEncoder(self._name)
        except runtime_failures() as failure:
            raise ModelUnavailable(f"FastEmbed could not load {self._name}: {str(failure).rstrip('.')}") from None
