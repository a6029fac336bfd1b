"""This file is about vectors and their manifest: what is published, what waits, what failed, and under which model."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from random import Random
from types import SimpleNamespace

import apsw
import numpy as np
import pytest
from indexes import SOUND, BatchEmbedder, faults, state, states

from builders import HashEmbedder, ask, index_vault, opened, paths, write_vault
from cutaway.config import Settings
from cutaway.errors import BadVector
from cutaway.index.exact import ExactIndex
from cutaway.index.note_tables import Draft
from cutaway.index.store import open_writer
from cutaway.index.sync import embed_pending, sync
from cutaway.index.writer import Writer
from cutaway.models.embedder import unit
from cutaway.models.onnx import BGE_SMALL_EN, OnnxEmbedder
from cutaway.notes.chunks import chunked
from cutaway.notes.divider import ChunkSettings
from cutaway.notes.rows import parse

MANY = {f"{number:03}.md": f"Note number{number} says word{number}." for number in range(100)}


def quiet(*_: object) -> None: ...


# Waiting and ready


def test_an_interrupted_run_keeps_what_it_embedded_and_says_so(home: Path, vault: Path) -> None:
    """Stopped half way, the index answers with what is ready, and every answer says x of y."""
    write_vault(vault, MANY)

    with pytest.raises(KeyboardInterrupt):
        index_vault(home, vault, BatchEmbedder(stop_at=1))
    (degraded,) = ask(home, "word7", HashEmbedder()).degraded

    assert {"ready": 64, "pending": 36, "failed": 0} == states(home)
    assert "partial_vectors: 64 of 100" in degraded.reason
    assert SOUND == faults(home)


def test_the_next_run_goes_on_where_one_stopped(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Nothing that was embedded is embedded again."""
    write_vault(vault, MANY)
    with pytest.raises(KeyboardInterrupt):
        index_vault(home, vault, BatchEmbedder(stop_at=1))

    index_vault(home, vault, embedder)

    assert (36, 36) == (len(embedder.embedded), len(set(embedder.embedded)))
    assert ({"ready": 100, "pending": 0, "failed": 0}, SOUND) == (states(home), faults(home))


def test_a_text_that_stands_in_many_notes_is_embedded_once(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """All its chunks are ready with the one vector."""
    write_vault(vault, {f"{number}.md": "The same words everywhere." for number in range(5)})

    _, embedding = index_vault(home, vault, embedder)

    assert ["The same words everywhere."] == embedder.embedded
    assert ((5, 0), SOUND) == (embedding, faults(home))


def test_a_vector_is_published_only_for_the_text_it_was_made_from(home: Path, embedder: HashEmbedder) -> None:
    """A note that was edited while it was being embedded goes on waiting; its old vector is nobody's."""
    connection = open_writer(home)
    writer = Writer(connection)
    project = writer.add_project("vault", home)
    space = writer.manifest.space(embedder.identity, embedder.dimension)

    def write(text: str) -> None:
        note = parse("a.md", text.encode())
        writer.write(project, Draft(note, chunked(note, embedder.tokenizer, ChunkSettings()), "form"))

    write("What it said.")
    manifest = writer.manifest
    (waiting,) = manifest.claimed([project], 10)
    write("What it says now.")
    manifest.cache(embedder.identity, [(waiting.text_hash, embedder.embed([waiting.text])[0])])
    published = manifest.publish([project], space, [waiting.text_hash])

    assert (0, 1, ["What it says now."]) == (
        published,
        manifest.count("pending", [project]),
        [pending.text for pending in manifest.claimed([project], 10)],
    )
    connection.close()


def test_a_model_is_handed_few_texts_at_a_time_and_short_ones_first(home: Path, vault: Path) -> None:
    """A huge note among many small ones makes no batch larger, and no text longer than a passage."""
    write_vault(vault, {**MANY, "huge.md": " ".join(f"filler{number}" for number in range(9_000))})
    embedder = BatchEmbedder()

    index_vault(home, vault, embedder)
    sizes = [len(text) for text in embedder.embedded]

    assert 64 == max(map(len, embedder.batches))
    assert max(sizes) <= Settings().chunk_chars
    assert sorted(sizes) == sizes


def test_reading_what_waits_takes_little_memory(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """A batch of passages of one long note is read with a few copies of that note, not with one for each that waits."""
    words = Random(1)
    text = "\n\n".join(" ".join(f"{words.getrandbits(30):x}" for _ in range(90)) for _ in range(250))
    connection = open_writer(home)
    project = Writer(connection).add_project("vault", write_vault(vault, {"long.md": text}))
    sync(project, connection, embedder, Settings(), quiet)

    apsw.memory_high_water(True)
    before = apsw.memory_used()
    Writer(connection).manifest.claimed([project], 64)
    taken = apsw.memory_high_water() - before
    connection.close()

    assert taken < 5 * len(text)


@pytest.mark.skipif(find_spec(BGE_SMALL_EN.package) is None, reason="the package with the model is not installed")
def test_the_model_itself_reads_one_text_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text is padded to another's length, so memory is bounded by the longest text alone."""
    shapes: list[tuple[int, ...]] = []

    def run(_: None, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        shapes.append(feed["input_ids"].shape)
        return [np.ones((1, 1, BGE_SMALL_EN.dimension), np.float32)]

    embedder = OnnxEmbedder(BGE_SMALL_EN)
    monkeypatch.setattr(embedder._session, "_load", lambda: SimpleNamespace(run=run))
    embedder.embed(["short", "much longer " * 5_000, ""])

    assert {1} == {texts for texts, _ in shapes}
    assert BGE_SMALL_EN.limit == max(tokens for _, tokens in shapes)


# Failed


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0])
def test_a_vector_that_cannot_be_compared_marks_its_chunk_failed(home: Path, vault: Path, value: float) -> None:
    """It is refused and named, it is never ranked by similarity, and words still find the note."""
    write_vault(vault, {"bad.md": "This text is spoiled.", "good.md": "This text is fine."})

    _, embedding = index_vault(home, vault, BatchEmbedder(spoiled="spoiled", value=value))

    with opened(home) as reader:
        failures = [(held.path, held.chunks) for held in reader.unserved(reader.scope[0], None)]
    assert ((1, 1), [("bad.md", 1)]) == (embedding, failures)
    assert ["good.md"] == paths(ask(home, "this text is spoiled", HashEmbedder(), mode="vector"))
    assert "bad.md" in paths(ask(home, "spoiled", HashEmbedder()))
    assert SOUND == faults(home)


def test_a_failed_chunk_does_not_keep_its_older_vector(home: Path, vault: Path) -> None:
    """A note whose new text cannot be embedded is no longer near what its old text was near."""
    write_vault(vault, {"a.md": "Fine words."})
    index_vault(home, vault, BatchEmbedder(spoiled="spoiled"))
    write_vault(vault, {"a.md": "Fine words, spoiled."})

    index_vault(home, vault, BatchEmbedder(spoiled="spoiled"))

    assert ({"ready": 0, "pending": 0, "failed": 1}, SOUND) == (states(home), faults(home))


def test_a_failed_chunk_waits_again_once_its_note_is_edited(home: Path, vault: Path) -> None:
    """A new text is a new chance."""
    write_vault(vault, {"a.md": "This text is spoiled."})
    index_vault(home, vault, BatchEmbedder(spoiled="spoiled"))
    write_vault(vault, {"a.md": "This text is mended."})

    index_vault(home, vault, BatchEmbedder(spoiled="spoiled"))

    assert ({"ready": 1, "pending": 0, "failed": 0}, SOUND) == (states(home), faults(home))


def test_an_embedder_that_changed_its_dimension_stores_nothing(home: Path, vault: Path) -> None:
    """Vectors of the wrong shape are refused whole, naming both sizes; the chunks go on waiting."""
    write_vault(vault, MANY)
    embedder = HashEmbedder()
    embedder.embed = lambda texts, *_: np.ones((len(texts), 48), np.float32)  # type: ignore[method-assign]

    with pytest.raises(BadVector, match=r"48.*32"):
        index_vault(home, vault, embedder)
    assert ({"ready": 0, "pending": 100, "failed": 0}, SOUND) == (states(home), faults(home))


# Another model


@pytest.mark.parametrize("other", [HashEmbedder("other"), HashEmbedder("hash", 48)], ids=["same size", "other size"])
def test_another_model_makes_every_chunk_wait(
    home: Path, vault: Path, embedder: HashEmbedder, other: HashEmbedder
) -> None:
    """Once another model is adopted no old vector is served, not even before the new ones are there."""
    write_vault(vault, MANY)
    index_vault(home, vault, embedder)
    connection = open_writer(home)
    sync(Writer(connection).projects()[0], connection, other, Settings(), quiet)
    connection.close()

    with opened(home) as reader:
        served = [reader.space(identity) for identity in (other.identity, embedder.identity)]
    assert ([None, None], {"ready": 0, "pending": 100, "failed": 0}) == (served, states(home))
    assert SOUND == faults(home)


@pytest.mark.parametrize("other", [HashEmbedder("other"), HashEmbedder("hash", 48)], ids=["same size", "other size"])
def test_vectors_of_two_models_never_stand_side_by_side(
    home: Path, vault: Path, embedder: HashEmbedder, other: HashEmbedder
) -> None:
    """A run under a new model that stops half way leaves ready chunks of the new model only."""
    write_vault(vault, MANY)
    index_vault(home, vault, embedder)
    connection = open_writer(home)
    sync(Writer(connection).projects()[0], connection, other, Settings(), quiet)
    with connection.transaction():
        writer = Writer(connection)
        projects, manifest = writer.projects(), writer.manifest
        first = manifest.claimed(projects, 10)
        vectors, _ = unit(other.embed([pending.text for pending in first]), other.dimension)
        manifest.cache(other.identity, zip((pending.text_hash for pending in first), vectors, strict=True))
        manifest.publish(projects, manifest.space(other.identity, other.dimension))
    identities = connection.execute("SELECT embedding FROM spaces").fetchall()
    connection.close()

    assert [(other.identity,)] == identities
    assert ({"ready": 10, "pending": 90, "failed": 0}, SOUND) == (states(home), faults(home))


def test_going_back_to_a_model_embeds_nothing(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """What was embedded under an identity is kept under it."""
    write_vault(vault, MANY)
    index_vault(home, vault, embedder)
    index_vault(home, vault, HashEmbedder("other"))
    embedder.embedded.clear()

    index_vault(home, vault, embedder)

    assert ([], {"ready": 100, "pending": 0, "failed": 0}) == (embedder.embedded, states(home))
    assert SOUND == faults(home)


@pytest.mark.parametrize("other", [HashEmbedder("other"), HashEmbedder("hash", 768)], ids=["same size", "other size"])
def test_a_search_with_another_model_answers_by_words_and_names_both(
    home: Path, vault: Path, embedder: HashEmbedder, other: HashEmbedder
) -> None:
    """The vectors of one model are never compared with those of another; the answer says which two."""
    write_vault(vault, MANY)
    index_vault(home, vault, embedder)

    answer = ask(home, "word7", other)

    assert ["007.md"] == paths(answer)
    assert all(identity in answer.degraded[0].reason for identity in (embedder.identity, other.identity))


def test_vectors_asked_for_in_another_size_are_an_error_that_names_both(
    home: Path, vault: Path, embedder: HashEmbedder
) -> None:
    """Indexed at one dimension and opened at another: both numbers are in the message."""
    write_vault(vault, MANY)
    index_vault(home, vault, embedder)

    with opened(home) as reader, pytest.raises(BadVector, match=r"32.*768"):
        reader.space(embedder.identity, 768)


def test_embedding_alone_adopts_the_model_it_is_given(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """A vault indexed by words gets its vectors later, without being read again."""
    write_vault(vault, MANY)
    index_vault(home, vault)
    connection = open_writer(home)

    embedding = embed_pending(Writer(connection).projects(), connection, embedder, quiet)
    connection.close()

    assert ((100, 0), SOUND) == (embedding, faults(home))
    assert "007.md" in paths(ask(home, "word7", embedder, mode="vector"))


@pytest.mark.parametrize("changed", [True, False])
def test_a_home_hears_when_a_run_has_stored_all(
    home: Path, vault: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch, changed: bool
) -> None:
    """Once a run, after the last vector; if its answers may then be others, the index counts as changed."""
    heard: list[int] = []

    def settle(index: ExactIndex) -> bool:
        heard.append(len(index._slots))
        return changed

    write_vault(vault, MANY)
    index_vault(home, vault, embedder)
    before = state(home)[0]
    monkeypatch.setattr(ExactIndex, "settle", settle, raising=False)
    index_vault(home, vault, embedder)

    assert [100] == heard
    assert changed == (state(home)[0] > before)
