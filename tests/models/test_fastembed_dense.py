"""FastEmbed's dense models, with one from local files: what it gives is what the bundled model gives."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
from test_fastembed import FAILURES

from cutaway.config import Settings
from cutaway.errors import ModelUnavailable, SettingsError
from cutaway.models import fastembed
from cutaway.models.embedder import named_embedder, unit
from cutaway.models.fastembed import FastEmbedEmbedder
from cutaway.models.onnx import BGE_SMALL_EN, OnnxEmbedder

NAME = "local/bge"
E5 = "intfloat/multilingual-e5-large"
TEXTS = [
    "The tractor needs new tyres before the harvest begins.",
    "Keep the loaf in a linen bag at room temperature; the fridge makes it stale within a day.",
    "Bread.",
    "word " * 900,
    "? \ud800",
]


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the bundled model's files, in which FastEmbed's class finds what it would fetch."""
    spec = find_spec(BGE_SMALL_EN.package)
    assert spec is not None
    source = Path(next(iter(spec.submodule_search_locations or ())), BGE_SMALL_EN.folder)
    folder = shutil.copytree(source, tmp_path / "bge")
    if NAME not in [model["model"] for model in TextEmbedding.list_supported_models()]:
        source = ModelSource(hf="local/none")
        TextEmbedding.add_custom_model(NAME, PoolingType.CLS, True, source, dim=384, model_file="model.onnx")

    class Local(TextEmbedding):
        def __init__(self, name: str, **settings: Any) -> None:
            super().__init__(name, specific_model_path=str(folder), **settings)

    monkeypatch.setattr(fastembed, "TextEmbedding", Local)
    return folder


# The model itself


@pytest.mark.slow
@pytest.mark.usefixtures("local")
def test_it_agrees_with_the_bundled_model() -> None:
    """Same files, two libraries: nearly the same vectors, also of what is too long or no text at all."""
    (theirs, faults), (ours, _) = (
        unit(model.embed(TEXTS), 384) for model in (FastEmbedEmbedder(NAME), OnnxEmbedder(BGE_SMALL_EN))
    )

    assert [None] * len(TEXTS) == faults
    assert np.all(np.vecdot(theirs, ours) > 0.99)


@pytest.mark.slow
@pytest.mark.usefixtures("local")
def test_a_vector_does_not_depend_on_the_other_texts() -> None:
    """To the last bit: alone, among others, in another order, on another thread."""
    embedder = FastEmbedEmbedder(NAME)
    together = embedder.embed(TEXTS)

    assert np.array_equal(together, np.concatenate([embedder.embed([text]) for text in TEXTS]))
    assert np.array_equal(together[::-1], embedder.embed(TEXTS[::-1]))
    assert (0, 384) == embedder.embed([]).shape


@pytest.mark.usefixtures("local")
def test_its_tokenizer_is_the_models_own() -> None:
    """Counts are whole, not cut at the limit, and texts are not padded to each other's length."""
    ours, theirs = OnnxEmbedder(BGE_SMALL_EN).tokenizer, FastEmbedEmbedder(NAME).tokenizer

    assert ours.limit == theirs.limit
    assert ours.counts(TEXTS) == theirs.counts(TEXTS)
    assert [ours.starts(text) for text in TEXTS] == [theirs.starts(text) for text in TEXTS]
    assert ours.unknown("如何保存面包") == theirs.unknown("如何保存面包") > 0.25


@pytest.mark.slow
@pytest.mark.usefixtures("local")
def test_a_query_is_read_behind_its_own_prefix() -> None:
    plain, prefixed = FastEmbedEmbedder(NAME), FastEmbedEmbedder(NAME, "query: ", "passage: ")

    assert np.array_equal(plain.embed(["query: bread"]), prefixed.embed(["bread"], query=True))
    assert np.array_equal(plain.embed(["passage: bread"]), prefixed.embed(["bread"]))


# Identity


def test_the_identity_names_weights_dimension_pooling_and_prefixes(local: Path) -> None:
    """No version of a library: an update embeds nothing again."""
    weights = hashlib.sha256((local / "model.onnx").read_bytes()).hexdigest()

    assert f"fastembed:{NAME}@{weights[:8]}/384/CustomTextEmbedding/no-prefix" == FastEmbedEmbedder(NAME).identity
    assert FastEmbedEmbedder(NAME, "query: ").identity != FastEmbedEmbedder(NAME, "", "query: ").identity


def test_weights_in_the_hubs_cache_are_known_by_the_name_of_their_blob(tmp_path: Path) -> None:
    """Gigabytes are not read for it."""
    (tmp_path / ("a1" * 32)).write_text("not what the name says")
    (tmp_path / "model.onnx").symlink_to(tmp_path / ("a1" * 32))

    assert "a1" * 32 == fastembed._digest(tmp_path / "model.onnx")


class Recorded:
    """FastEmbed without a model: what it was asked for, and vectors of ones."""

    list_supported_models = TextEmbedding.list_supported_models
    made: list[dict[str, Any]]
    read: list[str]

    def __init__(self, name: str, **settings: Any) -> None:  # noqa: ARG002
        type(self).made.append(settings)
        self.model = type("OnnxTextEmbedding", (), {"_model_dir": Path(__file__).parent})()

    def passage_embed(self, texts: list[str]) -> Iterable[Any]:
        type(self).read += texts
        return iter([np.ones(1024)] * len(texts))

    def query_embed(self, texts: list[str]) -> Iterable[Any]:
        return self.passage_embed([f"{text}?" for text in texts])


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> type[Recorded]:
    fake = type("Recorded", (Recorded,), {"made": [], "read": []})
    monkeypatch.setattr(fastembed, "TextEmbedding", fake)
    monkeypatch.setattr(fastembed, "_digest", lambda _: "0" * 64)
    return fake


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ((None, None), ["passage: red", "query: red?"]),
        (("", ""), ["red", "red?"]),
        (("ask: ", None), ["passage: red", "ask: red?"]),
        ((None, "text: "), ["text: red", "query: red?"]),
    ],
)
def test_a_model_that_needs_prefixes_has_them_unless_others_are_set(
    recorded: type[Recorded], chosen: tuple[str | None, str | None], expected: list[str]
) -> None:
    """An empty one is none. FastEmbed is told, too, which of the two it reads: some models need to know."""
    embedder = FastEmbedEmbedder(E5, *chosen)
    embedder.embed(["red"])
    embedder.embed(["red"], query=True)

    assert expected == recorded.read


def test_every_known_prefix_is_of_a_model_that_there_is() -> None:
    """A misspelled name would go without."""
    assert fastembed._PREFIXES.keys() <= {model["model"].lower() for model in TextEmbedding.list_supported_models()}


@pytest.mark.parametrize(("fetch", "local_only"), [(True, False), (False, True)])
def test_it_is_downloaded_only_where_that_is_allowed(recorded: type[Recorded], fetch: bool, local_only: bool) -> None:
    """A search, or a look at the status, fetches nothing."""
    named_embedder(Settings(embedder=E5.upper()), fetch=fetch)

    assert [local_only] == [settings["local_files_only"] for settings in recorded.made]


# What can go wrong


def test_a_model_that_is_not_here_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FastEmbed itself, over an empty cache."""
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))

    with pytest.raises(ModelUnavailable, match=rf"{E5} is not downloaded\. Run: cutaway index"):
        FastEmbedEmbedder(E5)


def test_a_model_that_cannot_be_fetched_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a network."""
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(ModelUnavailable, match=rf"{E5} could not be fetched: .+\. Connect this computer"):
        FastEmbedEmbedder(E5, fetch=True)


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_a_failure_while_it_embeds_is_told_with_its_name(
    recorded: type[Recorded], monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    """Also what onnxruntime raises, which is of no kind that Python knows."""

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(recorded, "passage_embed", fail)

    with pytest.raises(ModelUnavailable, match=f"{E5} failed: {failure}"):
        FastEmbedEmbedder(E5).embed(["red"])


@pytest.mark.parametrize(
    ("file", "break_it"),
    [
        ("model.onnx", Path.unlink),
        ("model.onnx", lambda file: file.write_text("{}")),
        ("tokenizer.json", Path.unlink),
        ("tokenizer_config.json", lambda file: file.write_text("{}")),
    ],
)
def test_damaged_files_are_an_unavailable_model(local: Path, file: str, break_it: Callable[[Path], object]) -> None:
    """Whichever file it is, and when it is noticed."""
    break_it(local / file)

    with pytest.raises(ModelUnavailable, match=NAME):
        embedder = FastEmbedEmbedder(NAME)
        embedder.tokenizer.counts(["red"])
        embedder.embed(["red"])


def test_a_name_nobody_knows_is_refused_with_those_that_are() -> None:
    with pytest.raises(SettingsError, match=r"'nobody/nothing' is not known; choose 'bge-small-en-v1\.5'.*e5-large"):
        named_embedder(Settings(embedder="nobody/nothing"))
