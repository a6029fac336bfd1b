"""Neighbours by stored vectors: what a scan in double precision finds, near-duplicates counted under the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import HashEmbedder, index_vault, opened, vectors_of, write_vault
from cutaway.config import Settings
from cutaway.index.exact import ExactIndex
from cutaway.index.reader import Reader
from cutaway.index.vectors import Nearest, Record, StoredVectors, Vector, VectorIndex
from cutaway.inspector.neighbours import ALIKE, MAX_LISTED, MUTUAL_WITHIN, Asked, Neighbours, neighbours
from cutaway.inspector.targets import locator
from cutaway.model import ChunkId
from cutaway.models.embedder import Embedder
from retrieval.worlds import Worlds, scoped, seeds, worlds_in

HASH = HashEmbedder()


class Narrow:
    """A vector index that can do no more than it must."""

    def __init__(self, index: ExactIndex) -> None:
        self._index, self.identity = index, index.identity

    def upsert(self, records: Sequence[Record]) -> None:
        self._index.upsert(records)

    def delete(self, ids: Sequence[ChunkId]) -> None:
        self._index.delete(ids)

    def nearest(self, query: Vector, k: int, within: Sequence[int] | None = None) -> Nearest:
        return self._index.nearest(query, k, within)

    def drop(self) -> None:
        self._index.drop()

    def close(self) -> None:
        self._index.close()


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    with worlds_in(tmp_path_factory.mktemp("worlds")) as made:
        yield made


def near(reader: Reader, target: str | None = None, embedder: Embedder | str = HASH, **asked: object) -> Neighbours:
    """Neighbours, as many as may be listed unless told otherwise."""
    return neighbours(Asked(target, **{"limit": MAX_LISTED, **asked}), reader, embedder)  # type: ignore[arg-type]


def places(reader: Reader, found: Neighbours) -> list[str]:
    return [locator(reader, each.passage.note, each.passage.entry) for each in found.listed]


def members(found: Neighbours) -> list[list[ChunkId]]:
    """Each neighbour with those that count in it."""
    return [[each.passage.entry.id, *(other.entry.id for other in each.alike)] for each in found.listed]


class Table:
    """Every similarity in a world, by a loop in double precision."""

    def __init__(self, reader: Reader) -> None:
        space = reader.space("hash/32")
        assert space
        self.ids = reader.served_chunks(space)
        vectors = vectors_of(reader, HASH).vectors(self.ids)
        exact = {chunk: vector.astype(np.float64) for chunk, vector in vectors.items()}
        lengths = {chunk: sum(vector * vector) ** 0.5 for chunk, vector in exact.items()}
        self.cosines = {
            (one, other): round(float(sum(exact[one] * exact[other]) / (lengths[one] * lengths[other])), 9)
            for one in self.ids
            for other in self.ids
        }

    def order(self, targets: Sequence[ChunkId], own: Sequence[ChunkId]) -> list[tuple[ChunkId, float, ChunkId]]:
        """All but the target's own, each with the first of its passages that it is closest to."""
        best = []
        for chunk in set(self.ids) - set(own):
            similarity = max(self.cosines[target, chunk] for target in targets)
            best.append((chunk, similarity, next(t for t in targets if self.cosines[t, chunk] == similarity)))
        return sorted(best, key=lambda found: (-found[1], found[0]))

    def mutual(self, chunk: ChunkId, own: Sequence[ChunkId]) -> int | None:
        order = [other for other, *_ in self.order([chunk], [chunk])][:MUTUAL_WITHIN]
        return next((place for place, other in enumerate(order, start=1) if other in own), None)


class Drawn:
    """A target of a world, and what is to be found of it."""

    def __init__(self, reader: Reader, number: int, whole: bool) -> None:
        self.table = Table(reader)
        chunk = self.table.ids[number % len(self.table.ids)]
        note = reader.entries([chunk])[chunk].note
        entries = reader.entries_of_note(note) if whole else [reader.entries([chunk])[chunk]]
        self.note = reader.notes([note])[note]
        self.name = self.note.path if whole else str(chunk)
        self.own = [entry.id for entry in entries]
        self.targets = [chunk for chunk in self.own if chunk in self.table.ids]
        self.order = self.table.order(self.targets, self.own)


every_target = given(seed=seeds, unready=st.booleans(), number=st.integers(0, 300), whole=st.booleans())
few = settings(max_examples=25)


# What is found


@few
@every_target
def test_neighbours_are_those_of_a_scan_in_double_precision(
    worlds: Worlds, seed: int, unready: bool, number: int, whole: bool
) -> None:
    """Ids, numbers and order, among many ties: only ready chunks, without the target's own."""
    reader = worlds.reader(seed, unready)
    drawn = Drawn(reader, number, whole)
    found = near(reader, drawn.name, singly=True)

    assert drawn.order[:MAX_LISTED] == [
        (each.passage.entry.id, each.similarity, each.to and each.to.id) for each in found.listed
    ]
    assert len(drawn.order) == found.among


@few
@every_target
def test_what_is_said_of_a_neighbour_can_be_counted(
    worlds: Worlds, seed: int, unready: bool, number: int, whole: bool
) -> None:
    """Its percentile, the target's place among its own nearest, whether it stands in the same note."""
    reader = worlds.reader(seed, unready)
    drawn = Drawn(reader, number, whole)
    scores = [similarity for _, similarity, _ in drawn.order]

    for each in near(reader, drawn.name, singly=True, limit=8).listed:
        no_closer = sum(score <= each.similarity for score in scores)
        assert 100 * no_closer / len(scores) == pytest.approx(each.percentile)
        assert drawn.table.mutual(each.passage.entry.id, drawn.own) == each.mutual
        assert (each.passage.note.id == drawn.note.id) == each.same_note


@few
@every_target
def test_the_histogram_holds_every_passage_once(
    worlds: Worlds, seed: int, unready: bool, number: int, whole: bool
) -> None:
    """Each in the range that its similarity falls in."""
    reader = worlds.reader(seed, unready)
    drawn = Drawn(reader, number, whole)
    bars = near(reader, drawn.name, limit=1).histogram

    if bars is None:
        assert [] == drawn.order
    else:
        counted = np.histogram([similarity for _, similarity, _ in drawn.order], bars.edges)[0]
        assert (counted.tolist(), len(drawn.order)) == (list(bars.counts), sum(bars.counts))


@few
@given(seed=seeds, number=st.integers(0, 300))
def test_similarity_is_symmetric(worlds: Worlds, seed: int, number: int) -> None:
    """A neighbour gives the target the very number that the target gives it."""
    reader = worlds.reader(seed)
    name = Drawn(reader, number, whole=False).name

    for each in near(reader, name, singly=True, limit=5).listed:
        back = {
            other.passage.entry.id: other.similarity
            for other in near(reader, str(each.passage.entry.id), singly=True).listed
        }
        assert each.similarity == back.get(ChunkId(int(name)), each.similarity)


# Near-duplicates


@few
@every_target
def test_collapsing_loses_nothing(worlds: Worlds, seed: int, unready: bool, number: int, whole: bool) -> None:
    """Groups and singles together are all there are, each once; the best of each group comes in order."""
    reader = worlds.reader(seed, unready)
    drawn = Drawn(reader, number, whole)
    found = near(reader, drawn.name)
    together = [chunk for group in members(found) for chunk in group]

    assert len(set(together)) == len(together)
    if len(found.listed) < MAX_LISTED:
        assert {chunk for chunk, *_ in drawn.order} == set(together)
    places = [chunk for chunk, *_ in drawn.order]
    leading = [places.index(group[0]) for group in members(found)]
    assert sorted(leading) == leading


@few
@every_target
def test_a_group_is_alike_and_groups_are_not(
    worlds: Worlds, seed: int, unready: bool, number: int, whole: bool
) -> None:
    """Members are alike to their best or, in the marked group, to the target; no two bests are alike."""
    reader = worlds.reader(seed, unready)
    drawn = Drawn(reader, number, whole)
    found = near(reader, drawn.name)
    to_target = {chunk: similarity for chunk, similarity, _ in drawn.order}
    cosines = drawn.table.cosines

    bests = [group[0] for group, each in zip(members(found), found.listed, strict=True) if not each.twin]
    assert all(cosines[one, other] < ALIKE for one in bests for other in bests if one != other)
    assert [chunk for chunk, similarity in to_target.items() if similarity >= ALIKE] == [
        chunk for group, each in zip(members(found), found.listed, strict=True) if each.twin for chunk in group
    ]
    for (best, *others), each in zip(members(found), found.listed, strict=True):
        assert each.twin or all(cosines[best, other] >= ALIKE for other in others)


@few
@given(seed=seeds, number=st.integers(0, 300), limit=st.integers(1, 6))
def test_a_shorter_list_is_how_a_longer_one_begins(worlds: Worlds, seed: int, number: int, limit: int) -> None:
    """With all that counts in each: a limit hides no near-duplicate."""
    reader = worlds.reader(seed)
    name = Drawn(reader, number, whole=False).name

    assert near(reader, name).listed[:limit] == near(reader, name, limit=limit).listed


FORM = "mood weather tasks meetings gratitude sleep plans notes review tomorrow energy people reading"
DAYS = {f"log/{day}.md": f"# Daily\n\n{FORM} {FORM} {FORM} entry{day}\n" for day in range(20)}
REST = {"bread.md": "mood weather tasks bread flour", "sea.md": "salt water mood sleep", "red.md": "red blue green"}


@pytest.mark.parametrize(("target", "twin"), [("bread.md#1", False), ("log/3.md#1", True)])
def test_twenty_notes_from_one_template_do_not_drown_the_others(
    home: Path, vault: Path, target: str, twin: bool
) -> None:
    """They are one line of the view, marked where the target is one of them; the other notes are seen."""
    index_vault(home, write_vault(vault, {**DAYS, **REST}), HashEmbedder())
    with opened(home) as reader:
        found = near(reader, target, limit=4)

        shown = [each.passage.note.path for each in found.listed]
        assert {*REST} - {target.split("#")[0]} <= set(shown)
        (days,) = [each for each in found.listed if each.passage.note.path in DAYS]
        assert (twin, 18 if twin else 19) == (days.twin, len(days.alike))
        assert found.listed[0] is days or not twin
        drowned = near(reader, target, limit=4, singly=True).listed
        assert 4 == sum(each.passage.note.path in DAYS for each in drowned)


# Other ways to point


TWO = {"a.md": "- [fact] red sun\n- [fact] blue moon\n", "b.md": "red sun\n", "c.md": "blue moon\n", "d.md": "green\n"}


@pytest.fixture
def indexed(home: Path, vault: Path) -> Path:
    """A note of two facts, and others that are close to one of them."""
    index_vault(home, write_vault(vault, TWO), HashEmbedder())
    return home


def test_a_note_stands_for_all_its_passages(indexed: Path) -> None:
    """A neighbour is said to be close to the one it is close to; the note's own passages are none."""
    with opened(indexed) as reader:
        found = near(reader, "a.md")

    closest = {each.passage.note.path: each.to and each.to.ordinal for each in found.listed}
    assert (1, 2) == (closest["b.md"], closest["c.md"])
    assert closest.keys() == {"b.md", "c.md", "d.md"}


def test_a_passage_of_the_same_note_is_a_neighbour_of_a_chunk(indexed: Path) -> None:
    """And is marked as such."""
    with opened(indexed) as reader:
        found = near(reader, "a.md#1", singly=True)

    assert {"a.md"} == {each.passage.note.path for each in found.listed if each.same_note}


def test_words_have_neighbours_too(indexed: Path) -> None:
    """They are in no index: nothing is left out, and no place in anybody's list is told."""
    with opened(indexed) as reader:
        found = near(reader, text="blue moon", singly=True)

        assert ["c.md#1"] == places(reader, found)[:1]
    assert (5, {None}, {None}) == (
        found.among,
        {each.mutual for each in found.listed},
        {each.to for each in found.listed},
    )


def test_a_scope_is_all_there_is(home: Path, tmp_path: Path) -> None:
    """Another project's passages are neither listed nor counted."""
    for name in ("one", "two"):
        index_vault(home, write_vault(tmp_path / name, {"a.md": "red", "b.md": "red sun"}), HashEmbedder())
    with scoped(home, "one") as reader:
        found = near(reader, "a.md")

    assert (1, {"one"}) == (found.among, {each.passage.note.project.name for each in found.listed})


def test_stored_vectors_need_no_model(indexed: Path) -> None:
    """What the index holds is compared, whatever is installed."""
    with opened(indexed) as reader:
        assert near(reader, "a.md", "no model here").listed == near(reader, "a.md").listed


def test_a_lone_passage_has_no_neighbours(home: Path, vault: Path) -> None:
    """That is no error."""
    index_vault(home, write_vault(vault, {"a.md": "red"}), HashEmbedder())
    with opened(home) as reader:
        found = near(reader, "a.md")

    assert ((), 0, None) == (found.listed, found.among, found.histogram)


# An index that does not give out its vectors


@pytest.fixture
def narrow(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same home behind an index without the capability."""
    whole = Reader.vectors
    monkeypatch.setattr(Reader, "vectors", lambda reader, space: Narrow(whole(reader, space)))
    return indexed


@pytest.mark.parametrize("target", ["a.md", "a.md#2", "b.md:1"])
def test_vectors_that_are_not_given_out_are_made_anew(
    narrow: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same neighbours up to the digits that storing costs; that it was so is said; no histogram."""
    with opened(narrow) as reader:
        anew = near(reader, target)
        monkeypatch.undo()
    with opened(narrow) as reader:
        stored = near(reader, target)

    assert (True, False, None) == (anew.reembedded, stored.reembedded, anew.histogram)
    assert members(anew) == members(stored)
    assert [each.mutual for each in anew.listed] == [each.mutual for each in stored.listed]
    assert [each.similarity for each in anew.listed] == pytest.approx(
        [each.similarity for each in stored.listed], abs=1e-3
    )


def test_an_exact_index_is_one_that_gives_out_its_vectors(indexed: Path) -> None:
    """The capability is seen on the object, as a protocol of its own."""
    with opened(indexed) as reader:
        index: VectorIndex = vectors_of(reader, HASH)

        assert isinstance(index, StoredVectors)
        assert not isinstance(Narrow(index), StoredVectors)


def test_the_text_is_embedded_now_where_that_is_asked_for(home: Path, vault: Path) -> None:
    """Also of a passage that waits for its vector; all others are compared by theirs."""
    index_vault(home, write_vault(vault, {"b.md": "red sun", "c.md": "blue"}), HashEmbedder())
    index_vault(home, write_vault(vault, {"a.md": "red sun shine"}), None, Settings())
    with opened(home) as reader:
        found = near(reader, "a.md#1", by_text=True)

        assert (True, "b.md#1") == (found.reembedded, places(reader, found)[0])
    assert {None} == {each.mutual for each in found.listed}
