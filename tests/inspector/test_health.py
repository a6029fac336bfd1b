"""The index in numbers, and what the checks find: every file and every chunk accounted for."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from builders import HashEmbedder, index_vault, opened, write_vault
from cutaway.index.store import open_writer
from cutaway.inspector.health import Finding, Overview, examine, overview
from cutaway.models.embedder import Embedder, Vectors

HASH = HashEmbedder()


class PartlyBroken(HashEmbedder):
    """Gives an unusable vector for one word."""

    def _vector(self, text: str) -> Vectors:
        return np.full(self.dimension, np.nan, np.float32) if "broken" in text else super()._vector(text)


@pytest.fixture
def sound(home: Path, vault: Path) -> Path:
    """Two embedded notes, one with an observation and a relation."""
    notes = {"a.md": "red sun", "b.md": "moon\n\n- [fact] blue\n- near [[a]]\n"}
    index_vault(home, write_vault(vault, notes), HashEmbedder())
    return home


def found(home: Path, check: str, embedder: Embedder | str = HASH) -> list[Finding]:
    """What one check found."""
    with opened(home) as reader:
        return [finding for finding in examine(reader, embedder) if finding.check == check]


def change(home: Path, statement: str) -> None:
    connection = open_writer(home)
    connection.execute(statement)
    connection.close()


def test_an_overview_counts_notes_rows_and_chunks(sound: Path, vault: Path) -> None:
    """One line for each project."""
    size = sum(file.stat().st_size for file in vault.iterdir())
    with opened(sound) as reader:
        (line,) = overview(reader)

    states = {"chunks": 4, "ready": 4, "pending": 0, "failed": 0}
    assert Overview("vault", str(vault), 2, 1, 1, size, **states, problems=0, embedded_as=("hash/32",)) == line


def test_each_project_is_counted_by_itself(home: Path, tmp_path: Path) -> None:
    """Notes, states and problems of one are not those of the other."""
    index_vault(home, write_vault(tmp_path / "one", {"a.md": "red", "b.md": b"\xff"}))
    index_vault(home, write_vault(tmp_path / "two", {f"n{number}.md": "sun" for number in range(3)}))
    with opened(home) as reader:
        lines = {line.name: (line.notes, line.pending, line.problems) for line in overview(reader)}

    assert {"one": (1, 1, 1), "two": (3, 3, 0)} == lines


def test_a_sound_index_is_found_sound(sound: Path) -> None:
    """Each check says at least that all is well."""
    with opened(sound) as reader:
        findings = examine(reader, HASH)

    assert {"ok"} == {finding.severity for finding in findings}
    assert ["integrity", "vectors", "model", "files"] == [finding.check for finding in findings]


def test_checking_changes_no_byte(sound: Path) -> None:
    """The doctor only looks."""
    before = (sound / "index.sqlite").read_bytes()
    with opened(sound) as reader:
        examine(reader, HASH)

    assert before == (sound / "index.sqlite").read_bytes()


# Files


def edit(vault: Path) -> None:
    (vault / "a.md").write_text("changed")


def add(vault: Path) -> None:
    (vault / "new.md").write_text("new")


def delete(vault: Path) -> None:
    (vault / "a.md").unlink()


def garble(vault: Path) -> None:
    (vault / "a.md").write_bytes(b"\xff\xfe")


@pytest.mark.parametrize(
    ("happened", "check", "path", "said"),
    [
        (edit, "files", "a.md", "changed since it was indexed"),
        (add, "files", "new.md", "not indexed yet"),
        (delete, "files", "a.md", "gone from disk"),
        (garble, "unreadable", "a.md", "not UTF-8 text"),
    ],
)
def test_a_file_that_is_not_as_it_was_indexed_is_named(
    sound: Path, vault: Path, happened: Callable[[Path], None], check: str, path: str, said: str
) -> None:
    """By path, with what happened to it."""
    happened(vault)

    assert [("warning", path, True)] == [
        (finding.severity, finding.path, said in finding.message) for finding in found(sound, check) if finding.path
    ]


def accounted(home: Path) -> tuple[int, dict[str, int]]:
    """How many files the doctor saw, and how many it put where."""
    message = found(home, "files")[-1].message
    total, rest = message.split(" files: ")
    return int(total), {name: int(count) for count, name in re.findall(r"(\d+) ([a-z ]+)", rest)}


def test_every_file_is_accounted_for(home: Path, vault: Path) -> None:
    """As indexed, changed, new, opted out or unreadable; what is gone is no file, ignored files are none of ours."""
    notes = {name: name for name in ("same.md", "a.md", "gone.md")}
    out = {"out.md": "---\nindex: false\n---\n", "bad.md": b"\xff", ".gitignore": "ignored.md", "ignored.md": "x"}
    index_vault(home, write_vault(vault, {**notes, **out}), HashEmbedder())
    (vault / "gone.md").unlink()
    edit(vault)
    add(vault)

    places = {"indexed as they are": 1, "changed": 1, "new": 1, "opted out": 1, "unreadable": 1, "gone": 1}
    assert (5, places) == accounted(home)


@pytest.mark.parametrize(
    "happened", [delete, edit, garble, lambda _: None], ids=["deleted", "edited", "garbled", "left"]
)
def test_counts_add_up_whatever_happened_to_a_note_that_opted_out(
    home: Path, vault: Path, happened: Callable[[Path], None]
) -> None:
    """Every file on disk is in one place, and nothing that is not on disk is."""
    index_vault(home, write_vault(vault, {"a.md": "---\nindex: false\n---\n", "b.md": "red"}), HashEmbedder())
    happened(vault)
    total, places = accounted(home)

    assert len(list(vault.glob("*.md"))) == total == sum(places.values()) - places["gone"]


def test_a_missing_folder_is_an_error(sound: Path, vault: Path) -> None:
    """The index is kept, and the message names the folder."""
    shutil.rmtree(vault)
    (finding,) = found(sound, "folder")

    assert ("error", True) == (finding.severity, str(vault) in finding.message)
    assert [] == found(sound, "files")


def test_problems_of_notes_are_listed(home: Path, vault: Path) -> None:
    """Links that are not followed and frontmatter that is no YAML, by path."""
    write_vault(vault, {"a.md": "red", "bad.md": "---\ntags: [a, b\n---\nbody"})
    (vault / "link.md").symlink_to(vault / "a.md")
    index_vault(home, vault, HashEmbedder())

    assert [("note", "link.md")] == [finding[:1] + finding[3:4] for finding in found(home, "link")]
    assert [("warning", "bad.md")] == [finding[:1] + finding[3:4] for finding in found(home, "frontmatter")]


def test_a_note_that_opted_out_is_noted(home: Path, vault: Path) -> None:
    """It is a wish, not a fault."""
    index_vault(home, write_vault(vault, {"a.md": "---\nindex: false\n---\n", "b.md": "red"}), HashEmbedder())

    assert [("note", "a.md")] == [finding[:1] + finding[3:4] for finding in found(home, "opted out")]
    assert "ok" == found(home, "files")[-1].severity


# Vectors


def test_chunks_that_wait_are_a_warning(home: Path, vault: Path) -> None:
    """How many, and what to run."""
    index_vault(home, write_vault(vault, {"a.md": "red", "b.md": "sun"}))
    (finding,) = found(home, "embedding")

    assert ("warning", "2 chunks wait for a vector. Run: cutaway index") == (finding.severity, finding.message)


def test_chunks_that_failed_are_an_error_of_their_note(home: Path, vault: Path) -> None:
    """Named, counted, with the reason."""
    index_vault(home, write_vault(vault, {"a.md": "red", "b.md": "broken"}), PartlyBroken())
    (finding,) = found(home, "embedding")

    assert ("error", "b.md") == (finding.severity, finding.path)
    assert "1 chunks failed: the vector is not finite" == finding.message


def test_a_vector_of_no_ready_chunk_is_a_warning(sound: Path) -> None:
    """It is never served, and counted."""
    change(sound, "UPDATE chunks SET state = 'pending' WHERE id = (SELECT min(id) FROM chunks)")
    (finding,) = found(sound, "vectors")

    assert ("warning", True) == (finding.severity, finding.message.startswith("1 vectors belong to no ready chunk"))


def test_a_ready_chunk_without_a_vector_is_an_error(sound: Path) -> None:
    """The manifest promises what is not there."""
    change(sound, "DELETE FROM segments")
    (finding,) = found(sound, "vectors")

    assert ("error", True) == (finding.severity, "ready chunks have no vector" in finding.message)


def test_another_model_than_the_one_indexed_is_a_warning(sound: Path) -> None:
    """Of each project: what the index holds, what is in use, and what that means."""
    (finding,) = found(sound, "model", HashEmbedder("other", 64))

    assert ("warning", "vault") == (finding.severity, finding.project)
    said = "embedded as hash/32 in exact-f16/v1; in use: other/64 in exact-f16/v1. Only its words are searched."
    assert f"{said} Run: cutaway index" == finding.message


def test_without_a_model_that_is_the_warning(sound: Path) -> None:
    """Why there is none."""
    (finding,) = found(sound, "model", "no embedder is configured")

    assert ("warning", "none: no embedder is configured") == (finding.severity, finding.message)


def test_an_index_without_vectors_says_so(home: Path, vault: Path) -> None:
    """Nothing was embedded yet."""
    index_vault(home, write_vault(vault, {"a.md": "red"}))

    assert ["nothing is embedded; in use: hash/32"] == [finding.message for finding in found(home, "model")]


def test_a_damaged_lexical_index_is_an_error(sound: Path) -> None:
    """Search would miss words without saying so."""
    change(sound, "DELETE FROM lexical_data WHERE id > 10")

    assert {"error"} == {finding.severity for finding in found(sound, "integrity")}
