"""FastEmbed itself, with a model from local files: what it gives is what the bundled model gives."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from fastembed.common.model_description import ModelSource
from fastembed.rerank.cross_encoder import TextCrossEncoder
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidProtobuf, RuntimeException

from cutaway.errors import ModelUnavailable, RerankFailed, SettingsError
from cutaway.models import fastembed
from cutaway.models.cross_encoder import checked
from cutaway.models.fastembed import FastEmbedCrossEncoder
from cutaway.models.onnx import MS_MARCO_MINILM, OnnxCrossEncoder

NAME = "local/ms-marco"
QUERY = "how is bread kept from going stale"
DOCUMENTS = [
    "The tractor needs new tyres before the harvest begins.",
    "Keep the loaf in a linen bag at room temperature; the fridge makes it stale within a day.",
    "Bread is baked at 230 degrees.",
    "Stale bread is toasted or soaked.",
]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """FastEmbed's class, finding the bundled model's files where it would fetch them."""
    spec = find_spec(MS_MARCO_MINILM.package)
    assert spec is not None
    folder = tmp_path_factory.mktemp("model")
    for file in Path(next(iter(spec.submodule_search_locations or ())), MS_MARCO_MINILM.folder).iterdir():
        shutil.copy(file, folder)
    (folder / "config.json").write_text('{"pad_token_id": 0}')
    if NAME not in [model["model"] for model in TextCrossEncoder.list_supported_models()]:
        TextCrossEncoder.add_custom_model(NAME, ModelSource(hf="local/none"), model_file="model.onnx")

    class Local(TextCrossEncoder):
        def __init__(self, name: str) -> None:
            super().__init__(name, specific_model_path=str(folder))

    return Local


@pytest.mark.slow
def test_it_agrees_with_the_bundled_model(local: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Same files, two libraries: the same order, and nearly the same scores."""
    monkeypatch.setattr(fastembed, "TextCrossEncoder", local)
    theirs = FastEmbedCrossEncoder(NAME).relevance(QUERY, DOCUMENTS)
    ours = OnnxCrossEncoder(MS_MARCO_MINILM).relevance(QUERY, DOCUMENTS)

    assert ours == pytest.approx(theirs, abs=0.02)
    assert sorted(range(4), key=ours.__getitem__) == sorted(range(4), key=theirs.__getitem__)


@pytest.mark.slow
def test_a_score_does_not_depend_on_the_other_documents(
    local: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fastembed, "TextCrossEncoder", local)
    reranker = FastEmbedCrossEncoder(NAME)

    assert [reranker.relevance(QUERY, [text])[0] for text in DOCUMENTS] == reranker.relevance(QUERY, DOCUMENTS)
    assert reranker.relevance(QUERY, DOCUMENTS)[::-1] == reranker.relevance(QUERY, DOCUMENTS[::-1])


@pytest.mark.slow
def test_its_scores_are_accepted_whatever_it_reads(local: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing, signs only, far too much: one score in [0, 1] each."""
    monkeypatch.setattr(fastembed, "TextCrossEncoder", local)
    scores = FastEmbedCrossEncoder(NAME).relevance(QUERY, ["", "?!", "much longer " * 5_000, "\0"])

    assert scores == checked(scores, 4)


@pytest.mark.slow
def test_an_endless_query_leaves_room_for_the_document(
    local: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What answers still stands above what does not."""
    monkeypatch.setattr(fastembed, "TextCrossEncoder", local)
    wrong, right = FastEmbedCrossEncoder(NAME).relevance(f"{QUERY}? " * 600, DOCUMENTS[:2])

    assert right > wrong


FAILURES = [
    ValueError("no such host"),
    OSError("disk full"),
    RuntimeError("bad file"),
    InvalidProtobuf("not a model"),
    RuntimeException("out of memory"),
]


class Halves:
    """A model that gives every document the logit 0. Counts how often one was loaded."""

    loaded = 0

    def __init__(self, _: str) -> None:
        type(self).loaded += 1

    list_supported_models = TextCrossEncoder.list_supported_models

    def rerank(self, query: str, documents: list[str], batch_size: int) -> list[float]:  # noqa: ARG002
        return [0.0] * len(documents)


def test_it_is_loaded_once_and_not_before_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Naming a model fetches nothing."""
    counted = type("Counted", (Halves,), {"loaded": 0})
    monkeypatch.setattr(fastembed, "TextCrossEncoder", counted)
    reranker = FastEmbedCrossEncoder("BAAI/bge-reranker-base")
    before = counted.loaded

    assert [0.5, 0.5] == reranker.relevance(QUERY, ["one"]) + reranker.relevance(QUERY, ["two"])
    assert (0, 1) == (before, counted.loaded)


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_a_failure_while_it_reads_is_told_with_its_name(monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
    """Also what onnxruntime raises, which is of no kind that Python knows."""

    class Failing(Halves):
        def rerank(self, query: str, documents: list[str], batch_size: int) -> list[float]:  # noqa: ARG002
            raise failure

    monkeypatch.setattr(fastembed, "TextCrossEncoder", Failing)

    with pytest.raises(RerankFailed, match=f"BAAI/bge-reranker-base: {failure}"):
        FastEmbedCrossEncoder("BAAI/bge-reranker-base").relevance(QUERY, DOCUMENTS)


def test_a_model_that_could_not_be_fetched_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network may be back."""

    class Broken(Halves):
        def __init__(self, _: str) -> None:
            raise OSError("no such host")

    monkeypatch.setattr(fastembed, "TextCrossEncoder", Broken)
    reranker = FastEmbedCrossEncoder("BAAI/bge-reranker-base")
    with pytest.raises(ModelUnavailable):
        reranker.relevance(QUERY, ["one"])
    monkeypatch.setattr(fastembed, "TextCrossEncoder", Halves)

    assert [0.5] == reranker.relevance(QUERY, ["one"])


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_a_model_that_cannot_be_fetched_is_unavailable(monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
    """The reason is FastEmbed's own."""

    class Unreachable(TextCrossEncoder):
        def __init__(self, _: str) -> None:
            raise failure

    monkeypatch.setattr(fastembed, "TextCrossEncoder", Unreachable)

    with pytest.raises(ModelUnavailable, match=f"could not load BAAI/bge-reranker-base: {failure}"):
        FastEmbedCrossEncoder("BAAI/bge-reranker-base").relevance(QUERY, DOCUMENTS)


def test_a_name_it_does_not_know_is_refused_with_those_it_does() -> None:
    with pytest.raises(SettingsError, match=r"FastEmbed has: .*jina-reranker"):
        FastEmbedCrossEncoder("nobody/nothing")


def test_the_identity_names_model_and_library() -> None:
    """Another release may read the same model differently."""
    assert FastEmbedCrossEncoder("BAAI/bge-reranker-base").identity.startswith("fastembed-")
    assert ":BAAI/bge-reranker-base/" in FastEmbedCrossEncoder("BAAI/bge-reranker-base").identity
