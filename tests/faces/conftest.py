"""The command line in process, over the example vault, with models whose values do not matter."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from builders import Cutaway, HashEmbedder, LengthReranker, Ran
from cutaway.faces import indexing, loading
from cutaway.faces.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples" / "vault"


@pytest.fixture
def cutaway(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cutaway:
    """Run a command against an empty home; usage errors give their exit code too."""
    monkeypatch.setenv("CUTAWAY_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "100")
    for module in (indexing, loading):
        monkeypatch.setattr(module, "named_embedder", lambda *_, **__: HashEmbedder())
    monkeypatch.setattr(loading, "named_cross_encoder", lambda *_, **__: LengthReranker())

    def run(*arguments: str) -> Ran:
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Ran(code, *capsys.readouterr())

    return run


@pytest.fixture
def bread(cutaway: Cutaway, tmp_path: Path) -> Cutaway:
    """The command line with the example vault indexed as project `bread`."""
    vault = shutil.copytree(EXAMPLES, tmp_path / "bread")
    assert 0 == cutaway("index", str(vault)).code
    return cutaway
