"""The bundled models over the example vault: what reranking is for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import index_vault, opened
from cutaway.config import Settings
from cutaway.index.reader import Reader
from cutaway.inspector.reranking import reranked
from cutaway.models.cross_encoder import named_cross_encoder
from cutaway.models.embedder import named_embedder
from cutaway.retrieval.pipeline import search
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import Request

pytestmark = pytest.mark.slow
VAULT = Path(__file__).parents[2] / "examples" / "vault"


@pytest.fixture(scope="module")
def bread(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Reader, Models]]:
    """The example vault, embedded, and both models."""
    embedder, reranker = named_embedder(Settings()), named_cross_encoder(Settings())
    assert embedder is not None
    assert reranker is not None
    home = tmp_path_factory.mktemp("home")
    index_vault(home, shutil.copytree(VAULT, tmp_path_factory.mktemp("vault") / "bread"), embedder)
    with opened(home) as reader:
        yield reader, Models(embedder, reranker)


@pytest.mark.parametrize(
    ("query", "mode", "answer"),
    [
        ("does salt speed up fermentation", "text", "Salt and fermentation"),
        ("how long can shaped dough wait in the fridge", "text", "Cold retard"),
        ("how to tell that bread is baked", "vector", "Is it done"),
        ("inner temperature of baked bread", "vector", "Is it done"),
        ("what to do with leftover starter", "hybrid", "Discard jar"),
    ],
)
def test_the_note_that_answers_moves_up(bread: tuple[Reader, Models], query: str, mode: str, answer: str) -> None:
    """Reading query and passage together, the cross-encoder sees what neither words nor vectors saw."""
    reader, models = bread
    found = search(Request(query, mode=mode, rerank=True), Settings(), reader, models)  # type: ignore[arg-type]
    titles = {found.shelf.notes[card.note].title: row for row, card in found.shelf.rows.items()}
    (movement,) = [movement for movement in reranked(found).movements if movement.row == titles[answer]]

    assert movement.moved > 0
