"""What lags behind: every note whose index is not what the next run would leave, and what mends it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from builders import HashEmbedder, elsewhere, index_vault, opened, write_vault
from cutaway.config import Settings
from cutaway.index.store import open_writer
from cutaway.inspector.stale import MEANINGS, Behind, Lag, behind
from cutaway.models.embedder import Embedder, Vectors

SETTINGS = Settings()


class PartlyBroken(HashEmbedder):
    """Gives an unusable vector for one word."""

    def _vector(self, text: str) -> Vectors:
        return np.full(self.dimension, np.nan, np.float32) if "moon" in text else super()._vector(text)


@pytest.fixture
def sound(home: Path, vault: Path) -> Path:
    """Three embedded notes; one opted out."""
    notes = {"a.md": "red sun", "b.md": "moon", "sub/c.md": "blue", "out.md": "---\nindex: false\n---\n"}
    index_vault(home, write_vault(vault, notes), HashEmbedder())
    return home


def found(home: Path, embedder: Embedder | str | None = None, settings: Settings = SETTINGS) -> Behind:
    with opened(home) as reader:
        return behind(reader, settings, HashEmbedder() if embedder is None else embedder)


def told(lags: tuple[Lag, ...]) -> list[tuple[str, str | None]]:
    return [(lag.kind, lag.path) for lag in lags]


def change(home: Path, statement: str) -> None:
    connection = open_writer(home)
    connection.execute(statement)
    connection.close()


def test_nothing_lags_after_an_index_run(sound: Path) -> None:
    """All notes are fresh; one that wished to stay out is none of them."""
    assert Behind((), notes=3, fresh=3, remarks=()) == found(sound)


FILES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "edited": (lambda vault: (vault / "a.md").write_text("new words"), "changed", "a.md"),
    "added": (lambda vault: (vault / "d.md").write_text("new"), "new", "d.md"),
    "deleted": (lambda vault: (vault / "a.md").unlink(), "gone", "a.md"),
    "moved": (lambda vault: (vault / "a.md").rename(vault / "z.md"), "renamed", "a.md"),
    "garbled": (lambda vault: (vault / "a.md").write_bytes(b"\xff"), "unreadable", "a.md"),
    "opted in": (lambda vault: (vault / "out.md").write_text("in again"), "new", "out.md"),
}


@pytest.mark.parametrize(("happened", "kind", "path"), FILES.values(), ids=FILES)
def test_a_file_that_is_not_as_indexed_lags(
    sound: Path, vault: Path, happened: Callable[[Path], object], kind: str, path: str
) -> None:
    """By what happened to it; the others are fresh."""
    happened(vault)
    held = found(sound)

    assert [(kind, path)] == told(held.lags)
    assert (3, 3 if kind == "new" else 2) == (held.notes, held.fresh)


@pytest.mark.parametrize(("happened", "kind", "path"), FILES.values(), ids=FILES)
def test_an_index_run_mends_what_lags_in_files(
    sound: Path, vault: Path, happened: Callable[[Path], object], kind: str, path: str
) -> None:
    """As the command that is named promises; what cannot be read must be made readable first."""
    happened(vault)
    (lag,) = found(sound).lags
    if kind == "unreadable":
        assert lag.mend.startswith("make it readable")
        (vault / path).write_text("readable")
    index_vault(sound, vault, HashEmbedder())

    assert lag.mend.endswith("cutaway index")
    assert () == found(sound).lags


@pytest.mark.parametrize(
    ("settings", "embedder", "said"),
    [
        (Settings(chunk_chars=600), HashEmbedder(), "900 chars → 600 chars"),
        (Settings(context_line=False), HashEmbedder(), "context → no context"),
        (SETTINGS, HashEmbedder("other", 32), "hash/32 → other/32"),
    ],
    ids=["size", "context", "model"],
)
def test_notes_read_in_another_form_lag(sound: Path, settings: Settings, embedder: HashEmbedder, said: str) -> None:
    """Only what differs is named."""
    held = found(sound, embedder, settings)
    lags = [lag for lag in held.lags if lag.kind == "another form"]

    assert (3, {said}, 0) == (len(lags), {lag.reason for lag in lags}, held.fresh)


def test_a_model_that_is_missing_for_once_makes_nothing_stale(sound: Path) -> None:
    """Notes were read with it; that vectors are not judged is said."""
    held = found(sound, "it is not installed.")

    assert ((), ("vectors are not judged: it is not installed.",)) == (held.lags, held.remarks)


def test_vectors_of_another_model_lag(sound: Path) -> None:
    """Both identities are named."""
    lags = [lag for lag in found(sound, HashEmbedder("other", 64)).lags if lag.kind == "another model"]

    assert ["a.md", "b.md", "sub/c.md"] == [lag.path for lag in lags]
    assert "hash/32 in exact-f16/v1; in use: other/64 in exact-f16/v1" == lags[0].reason


def test_vectors_stored_in_another_way_lag(sound: Path) -> None:
    """The vector index has an identity too: here the first passage of each note is in another."""
    change(sound, elsewhere("hash/32", "exact-f8/v0"))

    assert 3 * ["another model"] == [lag.kind for lag in found(sound).lags]


def test_passages_that_wait_lag(home: Path, vault: Path) -> None:
    """Counted by note."""
    index_vault(home, write_vault(vault, {"a.md": "- [fact] red\n- [fact] sun\n"}))
    lags = [lag for lag in found(home).lags if lag.kind == "pending"]

    assert [("a.md", 2, "cutaway index")] == [(lag.path, lag.chunks, lag.mend) for lag in lags]


def test_passages_wait_for_a_missing_model(home: Path, vault: Path) -> None:
    """What it lacks is part of the way out."""
    index_vault(home, write_vault(vault, {"a.md": "red"}))
    (lag,) = found(home, "Install it.").lags

    assert ("pending", "Install it. Then: cutaway index") == (lag.kind, lag.mend)


def test_passages_that_no_model_is_meant_to_embed_do_not_lag(home: Path, vault: Path) -> None:
    """With `embedder = none`, words are all that is wanted; it is said."""
    index_vault(home, write_vault(vault, {"a.md": "red"}))
    held = found(home, "no embedder is configured", Settings(embedder="none"))

    assert ((), 1) == (held.lags, held.fresh)
    assert "1 passages have no vector, as the settings want it (embedder = none)" == held.remarks[0]


def test_passages_that_failed_lag_with_their_reason(home: Path, vault: Path) -> None:
    """Another run alone would not help, and the way out says so."""
    index_vault(home, write_vault(vault, {"a.md": "red", "b.md": "moon"}), PartlyBroken())
    (lag,) = found(home).lags

    assert ("failed", "b.md", "the vector is not finite", 1) == (lag.kind, lag.path, lag.reason, lag.chunks)
    assert "change what the passage says, then: cutaway index" == lag.mend


def test_a_folder_that_is_gone_makes_its_notes_unsure(sound: Path, vault: Path) -> None:
    """None of them is called fresh, and the folder is named."""
    shutil.rmtree(vault)
    held = found(sound)

    assert [("no folder", None)] == told(held.lags)
    assert (0, True) == (held.fresh, str(vault) in str(held.lags[0].reason))


def test_a_folder_that_lost_all_notes_needs_to_be_told_so(sound: Path, vault: Path) -> None:
    """A plain run refuses to empty the index: the command that does not is named."""
    for file in vault.rglob("*.md"):
        file.unlink()

    assert {f"cutaway index {vault} --allow-empty"} == {lag.mend for lag in found(sound).lags}


def test_a_lag_is_of_its_own_project(home: Path, tmp_path: Path) -> None:
    """Equal paths in two projects are not confused."""
    for name in ("one", "two"):
        index_vault(home, write_vault(tmp_path / name, {"a.md": "red"}), HashEmbedder())
    (tmp_path / "two" / "a.md").write_text("changed")
    held = found(home)

    assert [("two", "a.md")] == [(lag.project, lag.path) for lag in held.lags]
    assert (2, 1) == (held.notes, held.fresh)


def test_every_kind_says_what_it_means() -> None:
    """In one line of a terminal."""
    assert all(0 < len(meaning) <= 78 for meaning in MEANINGS.values())
