"""Searching a scope is searching an index that holds nothing else: no note outside it changes what is found."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import HashEmbedder, LengthReranker, index_vault, write_vault
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import Request
from retrieval.worlds import SETTINGS, answer, hits, notes, requests, scoped

PROJECTS = ("one", "two", "three")
MODELS = Models(HashEmbedder(), LengthReranker())
conditions = st.sampled_from([(), ("path=n1*",), ("is=observation",), ("title!=n2",), ("category=fact",)])


def split(seed: int, places: list[int]) -> dict[str, dict[str, str]]:
    """The notes of a small vault, each in one of three projects; names and texts recur across them."""
    found: dict[str, dict[str, str]] = {name: {} for name in PROJECTS}
    for number, (path, text) in enumerate(notes(seed).items()):
        found[PROJECTS[places[number % len(places)]]][path] = text
    return {name: {"n0.md": f"red sun {name}", "own.md": "- [fact] blue sun"} | held for name, held in found.items()}


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 8),
    places=st.lists(st.integers(0, 2), min_size=1, max_size=7),
    scope=st.lists(st.sampled_from(PROJECTS), min_size=1, max_size=3, unique=True),
    request_=requests,
    where=conditions,
)
def test_a_scope_is_an_index_of_its_own(
    seed: int, places: list[int], scope: list[str], request_: Request, where: tuple[str, ...]
) -> None:
    """The same ids, scores, order, total, and the same word on whether it is weak, on every page."""
    vaults = split(seed, places)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for project, held in vaults.items():
            vault = write_vault(folder / project, held)
            index_vault(folder / "all", vault, HashEmbedder(), SETTINGS)
            if project in scope:
                index_vault(folder / "alone", vault, HashEmbedder(), SETTINGS)
        with scoped(folder / "all", *scope) as within, scoped(folder / "alone", *scope) as alone:
            for page in (1, 2):
                one, other = (
                    answer(reader, request_, models=MODELS, where=where, limit=4, page=page)
                    for reader in (within, alone)
                )
                assert hits(one) == hits(other)
                assert (one.total, one.weak, one.has_more) == (other.total, other.weak, other.has_more)
                assert [step.name for step in one.stages] == [step.name for step in other.stages]


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
def test_a_look_alike_in_another_project_is_never_seen(tmp_path: Path, mode: str) -> None:
    """The same path, title, words and vector: only the one in scope is there, in results and in every stage."""
    for name in PROJECTS:
        index_vault(tmp_path / "home", write_vault(tmp_path / name, {"same.md": "# Same\n\nred sun"}), HashEmbedder())
    with scoped(tmp_path / "home", "two") as reader:
        found = answer(reader, Request("red sun", mode=mode), models=MODELS)  # type: ignore[arg-type]
        own = {reader.catalog[0].note}

    assert 1 == len(found.page) == found.total
    assert own == set(found.evidence.notes.values())
