"""What an answer says of itself: weak, empty, partial, degraded, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from builders import HashEmbedder, ask, index_vault, paths, write_vault
from cutaway.config import Settings
from cutaway.errors import ModelUnavailable, UsageError
from cutaway.index.store import open_writer
from cutaway.inspector.journeys import misses
from cutaway.models.embedder import Vectors

NOTES = {"a.md": "red sun", "b.md": "green moon", "c.md": "blue moon"}
modes = pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])


class Crowded(HashEmbedder):
    """Like real models: texts that share nothing are still rather close."""

    def _vector(self, text: str) -> Vectors:
        return super()._vector(text) + np.float32(0.3)


class Failing(HashEmbedder):
    """A model whose files were there when it was opened, but not when it was used."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise ModelUnavailable(f"the model file is damaged; {len(texts)} texts were not embedded")


class Broken(HashEmbedder):
    """A model that gives every text the same unusable vector."""

    def __init__(self, vector: list[float]) -> None:
        super().__init__()
        self.vector = np.array(vector, np.float32)

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.vector for _ in texts])


@pytest.fixture
def small(home: Path, vault: Path) -> Path:
    """Three notes, embedded."""
    index_vault(home, write_vault(vault, NOTES), HashEmbedder())
    return home


def remarks(answer: object) -> dict[str, str]:
    return dict(answer.remarks)  # type: ignore[attr-defined]


# Weak answers


def test_nonsense_is_answered_weakly_and_says_that_no_term_matched(home: Path, vault: Path) -> None:
    """Nothing looks confident: the best score is below the bar, and the lexical leg names the reason."""
    index_vault(home, write_vault(vault, NOTES), Crowded())
    answer = ask(home, "zxqv flumph", Crowded())

    assert ("no term matched", True) == (remarks(answer)["match"], answer.weak)
    assert [] == [hit for hit in answer.page if hit.score >= Settings().weak_below]


def test_a_good_answer_is_not_called_weak(home: Path, vault: Path) -> None:
    """The words of a note, found by both legs."""
    index_vault(home, write_vault(vault, NOTES), Crowded())

    assert not ask(home, "red sun", Crowded()).weak


@pytest.mark.parametrize(
    ("mode", "model"), [("text", HashEmbedder()), ("hybrid", "no model")], ids=["text search", "hybrid without a model"]
)
def test_words_alone_are_not_held_to_the_bar_of_both_legs(home: Path, vault: Path, mode: str, model: object) -> None:
    """A note that is about the one word asked for, in title and text, is no weak answer."""
    index_vault(home, write_vault(vault, {**NOTES, "pluto.md": "pluto pluto"}), HashEmbedder())

    assert not ask(home, "pluto", model, mode=mode).weak  # type: ignore[arg-type]


@pytest.mark.parametrize("fusion", ["dismax-0.3", "rrf"])
def test_scores_that_mean_nothing_by_themselves_are_never_called_weak(home: Path, vault: Path, fusion: str) -> None:
    """Without calibration a score says nothing of strength."""
    index_vault(home, write_vault(vault, NOTES), Crowded())

    assert not ask(home, "zxqv flumph", Crowded(), fusion=fusion).weak


def test_words_that_stand_nowhere_are_named(small: Path) -> None:
    """A term is never dropped silently."""
    said = remarks(ask(small, "red violet flumph", mode="text"))["match"]

    assert "not found anywhere: violet flumph" in said


# Empty answers


@modes
def test_an_empty_vault_gives_an_empty_answer(home: Path, vault: Path, mode: str) -> None:
    """No result, an exact total of none, nothing degraded, no division by nothing."""
    index_vault(home, vault, HashEmbedder())
    answer = ask(home, "red sun", HashEmbedder(), mode=mode)

    assert ((), 0, True, False, False) == (
        *(answer.page, answer.total, answer.total_is_exact, answer.has_more, answer.weak),
    )
    assert () == answer.degraded
    assert 0.5 == answer.evidence.baseline.mean


@modes
def test_notes_without_text_are_never_a_result(home: Path, vault: Path, mode: str) -> None:
    """Empty files, files of spaces and files of frontmatter alone have no passage to be similar."""
    index_vault(home, write_vault(vault, {"a.md": "", "b.md": " \n", "c.md": "---\nx: 1\n---\n"}), HashEmbedder())

    assert [] == paths(ask(home, "red sun", HashEmbedder(), mode=mode))


def test_an_impossible_floor_shows_the_nearest_miss(small: Path) -> None:
    """No vector result; all are dropped by name, and the closest says what it lacked."""
    answer = ask(small, "red moon", HashEmbedder(), mode="vector", min_similarity=1.0)
    best = max(hit.score for hit in answer.stages[0].kept)
    nearest = misses(answer)[0].fate

    assert ((), 0, True) == (answer.page, answer.total, answer.total_is_exact)
    assert ("threshold", "below min_similarity", 1.0 - best) == (nearest.stage, nearest.reason, nearest.margin)


def test_a_floor_silences_similarity_but_not_words(small: Path) -> None:
    """Rows that words found stay, in the order and with the scores of their words."""
    hybrid = ask(small, "moon green violet", HashEmbedder(), min_similarity=1.0)
    text = ask(small, "moon green violet", mode="text")

    assert ["b.md", "c.md"] == paths(hybrid)
    assert [hit.score for hit in text.page] == [hit.score for hit in hybrid.page]


# Degraded answers


def test_partial_vectors_are_said(small: Path) -> None:
    """How many chunks of how many are embedded."""
    connection = open_writer(small)
    connection.execute("UPDATE chunks SET state = 'pending' WHERE id = (SELECT min(id) FROM chunks)")
    connection.close()
    ((stage, reason),) = ask(small, "red", HashEmbedder()).degraded

    assert ("nearest", "partial_vectors: 2 of 3") == (stage, reason[:23])


def test_text_search_is_not_degraded_by_missing_vectors(small: Path) -> None:
    """What was not wanted is not missed."""
    assert () == ask(small, "red", mode="text").degraded


def test_without_a_model_words_answer_alone(small: Path) -> None:
    """Hybrid search goes on, as good as text search, and says what it lacks."""
    answer = ask(small, "red", "the model is not installed")

    assert ["a.md"] == paths(answer)
    assert (("nearest", "the model is not installed"),) == answer.degraded


def test_without_a_model_vector_search_is_refused(small: Path) -> None:
    """There is nothing it could answer with."""
    with pytest.raises(UsageError, match="the model is not installed"):
        ask(small, "red", "the model is not installed", mode="vector")


@pytest.mark.parametrize(
    "model",
    [Failing(), Broken([np.nan] * 32), Broken([0.0] * 32), Broken([np.inf] * 32), Broken([1.0] * 7)],
    ids=["raises", "not a number", "zeros", "infinite", "another dimension"],
)
def test_a_model_that_fails_at_query_time_degrades(small: Path, model: HashEmbedder) -> None:
    """Words answer alone, and the failure is said."""
    answer = ask(small, "red", model)

    assert ["a.md"] == paths(answer)
    assert ["nearest"] == [degraded.stage for degraded in answer.degraded]


def test_a_model_that_fails_at_query_time_fails_vector_search(small: Path) -> None:
    """With the model's own reason."""
    with pytest.raises(ModelUnavailable, match="the model file is damaged"):
        ask(small, "red", Failing(), mode="vector")


@pytest.mark.parametrize(
    "other", [HashEmbedder("other"), HashEmbedder("hash", 64)], ids=["same dimension", "another dimension"]
)
def test_vectors_of_another_model_are_never_compared(small: Path, other: HashEmbedder) -> None:
    """Words answer alone, and both identities are named."""
    answer = ask(small, "red", other)
    ((_, reason),) = answer.degraded

    assert (["a.md"], 0) == (paths(answer), other.calls)
    assert "hash/32" in reason
    assert other.identity in reason


def test_an_index_never_embedded_says_so(home: Path, vault: Path) -> None:
    """A model at hand is of no use before anything is embedded."""
    index_vault(home, write_vault(vault, NOTES))
    ((_, reason),) = ask(home, "red", HashEmbedder()).degraded

    assert reason.startswith("partial_vectors: 0 of 3 chunks are embedded")


def test_a_query_longer_than_the_model_reads_is_said(home: Path, vault: Path) -> None:
    """Its words all count; the end of it was not embedded."""
    index_vault(home, write_vault(vault, NOTES), HashEmbedder(limit=40))
    answer = ask(home, "filler " * 40 + "red", HashEmbedder(limit=40))

    assert "a.md" in paths(answer)
    assert (("nearest", "the query is longer than the model reads; its end was not embedded"),) == answer.degraded


def test_a_query_the_model_cannot_read_is_answered_by_words(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """A vector of unknown tokens is near every text of unknown tokens, so it is not asked."""
    index_vault(home, write_vault(vault, {"a.md": "UNKone stands here", "b.md": "UNKtwo stands here"}), embedder)

    found = ask(home, "UNKone", embedder)

    assert ["a.md"] == paths(found)
    assert [("nearest", "the model does not know 100% of this query's tokens; only words can answer it")] == list(
        found.degraded
    )


def test_one_strange_word_does_not_silence_the_model(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Names and symbols are strange to every model."""
    index_vault(home, write_vault(vault, {"a.md": "red sun over hills"}), embedder)

    assert () == ask(home, "red sun over hills beside UNKone", embedder).degraded


def test_a_search_by_meaning_alone_refuses_what_the_model_cannot_read(
    home: Path, vault: Path, embedder: HashEmbedder
) -> None:
    """There is nothing else it could answer with."""
    index_vault(home, write_vault(vault, {"a.md": "UNKone stands here"}), embedder)

    with pytest.raises(UsageError, match="only words can answer it"):
        ask(home, "UNKone", embedder, mode="vector")


def test_words_are_not_called_weak_while_no_vector_is_ready(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Before anything is embedded, the bar for both legs together says nothing."""
    index_vault(home, write_vault(vault, {"a.md": "red sun", "b.md": "blue moon"}), embedder)
    connection = open_writer(home)
    connection.execute("UPDATE chunks SET state = 'pending'; DELETE FROM segments")
    connection.close()

    found = ask(home, "red", embedder)

    assert (False, ["a.md"]) == (found.weak, paths(found))
