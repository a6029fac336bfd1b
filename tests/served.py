"""The example vault, indexed and served: fixtures for whatever asks a server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from builders import HashEmbedder, LengthReranker, index_vault
from cutaway.faces import indexing, loading
from serving import client_of, running

EXAMPLES = Path(__file__).parents[1] / "examples" / "vault"


@pytest.fixture(scope="module")
def monkeymodule() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def served_home(tmp_path_factory: pytest.TempPathFactory, monkeymodule: pytest.MonkeyPatch) -> Path:
    """A home with the example vault as project `bread`; models whose values do not matter."""
    folder = tmp_path_factory.mktemp("h")
    for module in (indexing, loading):
        monkeymodule.setattr(module, "named_embedder", lambda *_, **__: HashEmbedder())
    monkeymodule.setattr(loading, "named_cross_encoder", lambda *_, **__: LengthReranker())
    index_vault(folder / "home", shutil.copytree(EXAMPLES, folder / "bread"), HashEmbedder())
    return folder / "home"


@pytest.fixture(scope="module")
def client(served_home: Path) -> Iterator[httpx2.Client]:
    """Somebody on this machine who asks a server of that home."""
    with running(served_home) as server, client_of(server) as asking:
        yield asking
