"""Laws of runs over random vaults: what variants share changes none of them, and a rank is one document's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import HashEmbedder, LengthReranker
from cutaway.config import Settings
from cutaway.evaluation.judged import JudgedSet, Topic
from cutaway.evaluation.runs import Documents, Run, ran
from cutaway.index.reader import Reader
from cutaway.retrieval.plan import Models
from retrieval.worlds import QUERIES, Worlds, seeds, worlds_in

JUDGED = JudgedSet(tuple(Topic(text, text) for text in QUERIES), {text: {"n1.md": 1} for text in QUERIES})
variants = st.builds(
    Settings,
    mode=st.sampled_from(["text", "vector", "hybrid"]),
    group=st.sampled_from(["note", "row"]),
    limit=st.sampled_from([1, 3, 20]),
    window=st.sampled_from([10, 20]),
    fusion=st.sampled_from(["calibrated-dismax", "dismax-0.3", "rrf"]),
    min_similarity=st.sampled_from([0.0, 0.6, 0.8]),
    rerank=st.booleans(),
)
unready = st.booleans()


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    with worlds_in(tmp_path_factory.mktemp("worlds")) as worlds:
        yield worlds


def run_all(reader: Reader, chosen: list[Settings]) -> list[Run]:
    """One run of each, without times, over notes that go by their paths."""
    names = Documents({card.note: card.path for card in reader.catalog})
    labelled = {str(number): settings for number, settings in enumerate(chosen)}
    runs = ran(JUDGED, labelled, reader, Models(HashEmbedder(), LengthReranker()), names, lambda *_: None)
    return [replace(run, label="", topics=tuple(replace(topic, ms={}) for topic in run.topics)) for run in runs]


@settings(max_examples=30)
@given(seed=seeds, unready=unready, chosen=st.lists(variants, min_size=2, max_size=4))
def test_a_variant_among_others_is_the_variant_alone(
    worlds: Worlds, seed: int, unready: bool, chosen: list[Settings]
) -> None:
    """Whatever the others want read, in whatever order."""
    reader = worlds.reader(seed, unready)

    assert run_all(reader, chosen) == [run for settings in chosen for run in run_all(reader, [settings])]


@settings(max_examples=30)
@given(seed=seeds, unready=unready, chosen=variants)
def test_trails_are_ranks_without_gaps(worlds: Worlds, seed: int, unready: bool, chosen: Settings) -> None:
    """After each stage no two documents have one rank, and the first result was first on the page."""
    (run,) = run_all(worlds.reader(seed, unready), [chosen])

    for topic in run.topics:
        for stage in {stage for trail in topic.trails.values() for stage in trail}:
            ranks = [trail[stage] for trail in topic.trails.values() if stage in trail]
            assert len(ranks) == len(set(ranks)), stage
        assert all(1 == topic.trails[hit.document]["cut"] for hit in topic.hits[:1])
