"""The judged set of the example vault, with the real model: what CI holds the search to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cutaway.faces.cli.main import main

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def bread(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Options that name a home where the example vault is indexed and embedded."""
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("vault") / "bread"
    assert 0 == main(["index", str(shutil.copytree(EXAMPLES / "vault", folder)), "--home", str(home)])
    return "--home", str(home)


@pytest.mark.parametrize("rerank", ["false", "true"])
def test_the_example_vault_meets_its_gate(
    bread: tuple[str, str], rerank: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every expectation and the laws of order, with and without reranking."""
    monkeypatch.setenv("CUTAWAY_RERANK", rerank)
    code = main(["eval", "gate", str(EXAMPLES / "gate.yaml"), *bread])

    assert 0 == code, capsys.readouterr().out


def test_a_search_by_words_alone_does_not_meet_it(
    bread: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The gate is no formality: without vectors, notes that say it in other words are missed, and it says where."""
    monkeypatch.setenv("CUTAWAY_MODE", "text")
    code = main(["eval", "gate", str(EXAMPLES / "gate.yaml"), *bread])

    assert 1 == code
    assert "finds Chilly rooms and sluggish yeast within 2: " in capsys.readouterr().out
