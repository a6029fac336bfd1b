"""Cross-encoders: what is accepted of their scores, which one settings name, and the bundled one itself."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.config import Settings
from cutaway.errors import ModelUnavailable, RerankFailed, SettingsError
from cutaway.models.cross_encoder import checked, named_cross_encoder, squashed
from cutaway.models.embedder import named_embedder
from cutaway.models.http import RerankEndpoint
from cutaway.models.onnx import MS_MARCO_MINILM, OnnxCrossEncoder

QUERY = "how is bread kept from going stale"
RIGHT = "Keep the loaf in a linen bag at room temperature; the fridge makes it stale within a day."
WRONG = "The tractor needs new tyres before the harvest begins."


# What is accepted


@pytest.mark.parametrize("scores", [[0, 1], [0.0, 1.0], [0.25, 0.25], [np.float64(0.5), 1]])
def test_one_score_in_range_for_each_document_is_accepted(scores: list[float]) -> None:
    assert [float(score) for score in scores] == checked(scores, 2)


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([0.5], "1 scores for 2 documents"),
        ([], "0 scores for 2 documents"),
        ([0.1, 0.2, 0.3], "3 scores for 2 documents"),
        ([0.5, math.nan], "not finite: nan"),
        ([0.5, math.inf], "not finite: inf"),
        ([-math.inf, 0.5], "not finite: -inf"),
        ([0.5, 1.0001], "outside 0 to 1: 1.0001"),
        ([-0.1, 0.5], "outside 0 to 1: -0.1"),
        ([0.5, True], "True where a score was expected"),
        ([0.5, "0.5"], "'0.5' where a score was expected"),
        ([None, 0.5], "None where a score was expected"),
    ],
)
def test_anything_else_is_refused_and_named(scores: list[float], said: str) -> None:
    with pytest.raises(RerankFailed) as refusal:
        checked(scores, 2)

    assert said in str(refusal.value)


def test_a_logit_is_squashed_with_temperature_four() -> None:
    """sigmoid(4 / 4) = 1 / (1 + 1/e)."""
    assert 0.5 == squashed(0)
    assert 1 / (1 + 1 / math.e) == pytest.approx(squashed(4))


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_squashing_keeps_the_order_and_the_range(one: float, two: float) -> None:
    """Also of logits no model gives."""
    low, high = sorted((one, two))

    assert 0 <= squashed(low) <= squashed(high) <= 1


# Which one


def test_none_is_none() -> None:
    assert named_cross_encoder(Settings(reranker="none")) is None


def test_none_is_none_even_where_an_address_is_set() -> None:
    """Nothing is sent anywhere."""
    assert named_cross_encoder(Settings(reranker="none", rerank_url="http://127.0.0.1:1")) is None


def test_the_default_is_the_bundled_one() -> None:
    reranker = named_cross_encoder(Settings())

    assert isinstance(reranker, OnnxCrossEncoder)
    assert "ms-marco-MiniLM-L-12-v2@1225ccd6/512/sigmoid-4" == reranker.identity


@pytest.mark.parametrize("at_once", [True, False])
def test_it_is_loaded_ahead_only_when_asked(monkeypatch: pytest.MonkeyPatch, at_once: bool) -> None:
    """In the background, so that naming a model takes no time."""
    prepared: list[OnnxCrossEncoder] = []
    monkeypatch.setattr(OnnxCrossEncoder, "prepare", lambda reranker: prepared.append(reranker))
    reranker = named_cross_encoder(Settings(), at_once=at_once)

    assert ([reranker] if at_once else []) == prepared


def test_an_address_goes_before_any_local_model() -> None:
    reranker = named_cross_encoder(Settings(rerank_url="http://127.0.0.1:1/v1", reranker="theirs"))

    assert isinstance(reranker, RerankEndpoint)
    assert "http://127.0.0.1:1/v1/rerank:theirs" == reranker.identity


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"'no-such-model' is not known; FastEmbed has: .*BAAI/bge-reranker-base"):
        named_cross_encoder(Settings(reranker="no-such-model"))


@pytest.mark.parametrize(
    ("named", "settings", "package", "extra"),
    [
        (named_cross_encoder, Settings(reranker="BAAI/bge-reranker-base"), "fastembed", r"cutaway\[fastembed\]"),
        (named_cross_encoder, Settings(rerank_url="http://127.0.0.1:1"), "httpx2", r"cutaway\[remote\]"),
        (named_embedder, Settings(embedder="BAAI/bge-base-en-v1.5"), "fastembed", r"cutaway\[fastembed\]"),
        (named_embedder, Settings(embedder_url="http://127.0.0.1:1"), "httpx2", r"cutaway\[remote\]"),
    ],
)
def test_a_missing_package_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch, named: Any, settings: Settings, package: str, extra: str
) -> None:
    """Of either kind of model."""
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    for name in (
        "cutaway.models.fastembed",
        "cutaway.models.http",
        "cutaway.models.embeddings",
        "cutaway.models.remote",
    ):
        monkeypatch.delitem(sys.modules, name, raising=False)

    with pytest.raises(ModelUnavailable, match=extra):
        named(settings)


def test_missing_model_files_are_named_before_the_first_search() -> None:
    with pytest.raises(ModelUnavailable, match=r"model ms-marco-MiniLM-L-12-v2 are not installed.*cutaway\[local\]"):
        OnnxCrossEncoder(replace(MS_MARCO_MINILM, package="no_such_package"))


def test_a_file_that_is_not_in_the_package_is_named() -> None:
    """The package is there, but of a release without this model."""
    with pytest.raises(ModelUnavailable, match=r"holds no models/data/elsewhere/model\.onnx.*cutaway\[local\]"):
        OnnxCrossEncoder(replace(MS_MARCO_MINILM, folder="models/data/elsewhere"))


def test_a_tokenizer_that_is_not_in_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half an installation is none."""
    folder = tmp_path / "half_a_model" / MS_MARCO_MINILM.folder
    folder.mkdir(parents=True)
    (tmp_path / "half_a_model" / "__init__.py").touch()
    (folder / "model.onnx").touch()
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ModelUnavailable, match=r"half_a_model holds no .*tokenizer\.json"):
        OnnxCrossEncoder(replace(MS_MARCO_MINILM, package="half_a_model")).relevance(QUERY, [RIGHT])


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_a_package_the_bundled_model_needs_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """With the way to get it."""
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(ModelUnavailable, match=rf"needs the package {package}\. .*cutaway\[local\]"):
        OnnxCrossEncoder(MS_MARCO_MINILM).relevance(QUERY, [RIGHT])


def test_a_tokenizer_that_is_not_the_known_one_is_refused() -> None:
    """Other tokens would be other scores."""
    spoiled = OnnxCrossEncoder(replace(MS_MARCO_MINILM, tokenizer_sha256="0" * 64))

    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json is not the ms-marco-MiniLM-L-12-v2 file we know"):
        spoiled.relevance(QUERY, [RIGHT])


def test_what_goes_wrong_in_the_background_is_said_at_the_first_read() -> None:
    """Preparing never fails: a search that is not reranked is not disturbed."""
    spoiled = OnnxCrossEncoder(replace(MS_MARCO_MINILM, model_sha256="0" * 64))
    spoiled.prepare()

    with pytest.raises(ModelUnavailable, match=r"model\.onnx is not"):
        spoiled.relevance(QUERY, [RIGHT])


def test_files_that_are_not_the_known_ones_are_refused() -> None:
    spoiled = OnnxCrossEncoder(replace(MS_MARCO_MINILM, model_sha256="0" * 64))

    with pytest.raises(ModelUnavailable, match=r"model\.onnx is not the ms-marco-MiniLM-L-12-v2 file we know"):
        spoiled.relevance(QUERY, [RIGHT])


# The bundled one


@pytest.fixture(scope="module")
def bundled() -> OnnxCrossEncoder:
    return OnnxCrossEncoder(MS_MARCO_MINILM)


@pytest.mark.slow
def test_a_passage_that_answers_scores_above_one_that_does_not(bundled: OnnxCrossEncoder) -> None:
    right, wrong = bundled.relevance(QUERY, [RIGHT, WRONG])

    assert 1 >= right > 0.4 > wrong >= 0


@pytest.mark.slow
def test_a_score_does_not_depend_on_the_other_documents(bundled: OnnxCrossEncoder) -> None:
    """Alone, among others, in another order: to the last bit."""
    alone = bundled.relevance(QUERY, [RIGHT]) + bundled.relevance(QUERY, [WRONG])

    assert alone == bundled.relevance(QUERY, [RIGHT, WRONG])
    assert alone == bundled.relevance(QUERY, [WRONG * 50, WRONG, "", RIGHT])[3:0:-2]


@pytest.mark.slow
def test_an_endless_query_leaves_room_for_the_document(bundled: OnnxCrossEncoder) -> None:
    right, wrong = bundled.relevance(f"{QUERY}? " * 700, [RIGHT, WRONG])

    assert right > wrong


@pytest.mark.slow
def test_odd_texts_have_scores_too(bundled: OnnxCrossEncoder) -> None:
    scores = bundled.relevance("bread \ud800", ["", "\udfff", "面包", "🍞" * 2_000, "a" * 100_000])

    assert scores == checked(scores, 5)
    assert [] == bundled.relevance(QUERY, [])


def test_a_query_the_model_cannot_read_is_refused(bundled: OnnxCrossEncoder) -> None:
    """Scores of unknown tokens would look like any others."""
    with pytest.raises(RerankFailed, match=r"does not know .* of this query's tokens"):
        bundled.relevance("如何保存面包", [RIGHT])


def fed(monkeypatch: pytest.MonkeyPatch, query: str, documents: list[str]) -> list[dict[str, np.ndarray]]:
    """What the model is given to read, pair by pair, in no particular order."""
    feeds: list[dict[str, np.ndarray]] = []

    def run(_: None, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        feeds.append(feed)
        return [np.zeros((1, 1), np.float32)]

    reranker = OnnxCrossEncoder(MS_MARCO_MINILM)
    monkeypatch.setattr(reranker._session, "_load", lambda: SimpleNamespace(run=run))
    reranker.relevance(query, documents)
    return feeds


def test_a_query_takes_half_of_what_is_read_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """256 tokens and two special ones; all the rest is the document's, whatever the query's length."""
    (feed,) = fed(monkeypatch, "bread " * 3_400, ["stale " * 3_400])

    assert [0] * 258 + [1] * 254 == feed["token_type_ids"][0].tolist()


def test_the_model_reads_one_pair_at_a_time_and_no_more_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Query first, as segment 0; the document is what is cut; the closing token stays."""
    feeds = fed(monkeypatch, QUERY, ["short", "much longer " * 5_000])

    assert [1, 1] == [len(feed["input_ids"]) for feed in feeds]
    assert MS_MARCO_MINILM.limit == max(feed["input_ids"].shape[1] for feed in feeds)
    for feed in feeds:
        types = feed["token_type_ids"][0].tolist()
        assert sorted(types) == types
        assert {0, 1} == set(types)
        assert 102 == feed["input_ids"][0, -1]  # [SEP]


def test_a_logit_that_is_no_number_stays_one_for_the_check_to_refuse() -> None:
    with pytest.raises(RerankFailed, match="not finite: nan"):
        checked([squashed(math.nan)], 1)


def test_a_failure_of_the_runtime_is_a_model_that_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnxruntime's exceptions share no base class; none of them ends a search."""
    from onnxruntime.capi.onnxruntime_pybind11_state import RuntimeException

    def run(*_: object) -> None:
        raise RuntimeException("failed to allocate memory")

    reranker = OnnxCrossEncoder(MS_MARCO_MINILM)
    monkeypatch.setattr(reranker._session, "_load", lambda: SimpleNamespace(run=run))

    with pytest.raises(ModelUnavailable, match="ms-marco-MiniLM-L-12-v2 failed: failed to allocate memory"):
        reranker.relevance(QUERY, [RIGHT])


@pytest.mark.parametrize("seconds", [1e-9, 60.0])
def test_a_model_that_reads_here_has_its_time_too(seconds: float) -> None:
    """The policy then decides, as it does where an endpoint is slow."""
    reranker = named_cross_encoder(Settings(rerank_timeout=seconds))
    assert reranker

    if seconds < 1:
        with pytest.raises(RerankFailed, match=r"1 of 4 documents after 1e-09 s.*rerank_depth.*rerank_timeout"):
            reranker.relevance(QUERY, [RIGHT] * 4)
        assert 1 == len(reranker.relevance(QUERY, [RIGHT]))  # what is read is kept
    else:
        assert 4 == len(reranker.relevance(QUERY, [RIGHT] * 4))
