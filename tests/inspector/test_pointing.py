"""What a person can point at, and every way in which that goes wrong, with the way out."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from builders import HashEmbedder, elsewhere, index_vault, opened, write_vault
from cutaway.errors import AmbiguousNote, CutawayError, IndexMismatch, NoteNotFound, NotIndexed, UsageError
from cutaway.index.store import open_writer
from cutaway.inspector.neighbours import Asked, neighbours
from cutaway.inspector.targets import Target, find_target, locator
from cutaway.models.embedder import Embedder, Vectors
from retrieval.worlds import scoped

NOTE = "---\ntitle: Café\n---\n# One\n\nred sun\n\n- [fact] blue moon\n\n## Two\n\ngreen\nand yellow\n"


class PartlyBroken(HashEmbedder):
    """Gives an unusable vector for one word."""

    def _vector(self, text: str) -> Vectors:
        return np.full(self.dimension, np.nan, np.float32) if "violet" in text else super()._vector(text)


@pytest.fixture
def indexed(home: Path, vault: Path) -> Path:
    """A note of several chunks, some notes with names like locators, one that failed, one that is not embedded."""
    odd = {"x/same.md": "one", "y/same.md": "two", "Issue.md": "numbered", "i.md": "---\ntitle: 'Issue #1'\n---\nwords"}
    no = {"failed.md": "violet", "none.md": "---\nembed: false\n---\nwords", "10.md": "---\ntitle: '10:30'\n---\nclock"}
    index_vault(home, write_vault(vault, {"sub/cafe.md": NOTE, **odd, **no}), PartlyBroken())
    return home


def target(home: Path, name: str) -> Target:
    with opened(home) as reader:
        return find_target(reader, name)


def met(home: Path, name: str | None, embedder: Embedder | str | None = None, **asked: object) -> CutawayError:
    """The refusal."""
    with opened(home) as reader, pytest.raises(CutawayError) as refusal:
        neighbours(Asked(name, **asked), reader, embedder or HashEmbedder())  # type: ignore[arg-type]
    return refusal.value


def change(home: Path, statement: str) -> None:
    connection = open_writer(home)
    connection.execute(statement)
    connection.close()


# What is found


@pytest.mark.parametrize("name", ["sub/cafe.md#2", "vault:sub/cafe.md#2", "cafe#2", "Café#2"])
def test_a_chunk_is_found_by_its_locator(indexed: Path, name: str) -> None:
    """With any name of its note."""
    found = target(indexed, name)

    assert ("chunk", "sub/cafe.md", [2]) == (found.kind, found.note.path, [entry.ordinal for entry in found.entries])


def test_a_chunk_is_found_by_its_id(indexed: Path) -> None:
    """As JSON prints it."""
    (entry,) = target(indexed, "cafe#3").entries

    assert (entry,) == target(indexed, str(entry.id)).entries


@pytest.mark.parametrize(
    ("line", "ordinals"), [(4, [1]), (5, [1]), (6, [1]), (7, [1]), (8, [2]), (9, [2]), (12, [3]), (13, [3])]
)
def test_a_line_is_in_the_chunk_that_covers_it(indexed: Path, line: int, ordinals: list[int]) -> None:
    """A blank line too: its bytes are in a chunk."""
    found = target(indexed, f"sub/cafe.md:{line}")

    assert ("line", ordinals) == (found.kind, [entry.ordinal for entry in found.entries])


def test_a_line_cut_into_several_chunks_stands_for_all_of_them(home: Path, vault: Path) -> None:
    """A paragraph on one line may be long."""
    index_vault(home, write_vault(vault, {"a.md": "A sentence of some words. " * 200}), HashEmbedder())
    found = target(home, "a.md:1")

    assert 1 < len(found.entries) == len(target(home, "a.md").entries)


@pytest.mark.parametrize(
    ("name", "kind", "path"),
    [
        ("Café", "note", "sub/cafe.md"),
        ("Issue #1", "note", "i.md"),
        ("Issue#1", "chunk", "Issue.md"),
        ("10:30", "note", "10.md"),
        ("10", "note", "10.md"),
    ],
)
def test_a_name_that_looks_like_another_thing_is_still_a_name(indexed: Path, name: str, kind: str, path: str) -> None:
    """A note that is called so is meant."""
    found = target(indexed, name)

    assert (kind, path) == (found.kind, found.note.path)


@pytest.mark.parametrize(("scope", "printed"), [(("one",), "a.md#1"), (("one", "two"), "one:a.md#1")])
def test_a_locator_that_is_printed_leads_back(home: Path, tmp_path: Path, scope: tuple[str, ...], printed: str) -> None:
    """With the project where the scope has several."""
    for name in ("one", "two"):
        index_vault(home, write_vault(tmp_path / name, {"a.md": name}), HashEmbedder())
    with scoped(home, *scope) as reader:
        entry = find_target(reader, "one:a.md").entries[0]
        shown = locator(reader, reader.notes([entry.note])[entry.note], entry)

        assert (printed, (entry,)) == (shown, find_target(reader, shown).entries)


# What is not


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("nowhere", NoteNotFound, "no note in vault has the path, title, permalink or alias 'nowhere'"),
        ("nowhere#1", NoteNotFound, "'nowhere#1'"),
        ("nowhere:3", NoteNotFound, "'nowhere:3'"),
        ("", NoteNotFound, "no note in vault"),
        ("a\0b#1", NoteNotFound, "no note in vault"),
        ("123456789", NoteNotFound, "no chunk here has the id 123456789"),
        ("9" * 40, NoteNotFound, "no note in vault"),
        ("same", AmbiguousNote, "x/same.md"),
        ("same#1", AmbiguousNote, "y/same.md"),
        ("same:1", AmbiguousNote, "y/same.md"),
        ("cafe#9", UsageError, "sub/cafe.md has no chunk #9: it has 3 chunks, #1 to #3"),
        ("cafe#0", UsageError, "has no chunk #0"),
        ("Issue.md#2", UsageError, "it has one chunk, #1"),
        ("none.md#1", UsageError, "it has no chunks"),
        ("cafe:2", UsageError, "line 2 of sub/cafe.md is in no chunk; it was left out as: frontmatter"),
        ("none.md:4", UsageError, "it was left out as: embed: false"),
        ("cafe:99", UsageError, "sub/cafe.md has 13 lines as indexed; there is no line 99"),
        ("cafe:0", UsageError, "there is no line 0"),
        (
            "none.md",
            UsageError,
            "no passage to compare; all of it was left out as: frontmatter, embed: false",
        ),
        ("failed.md", UsageError, "failed.md#1 could not be embedded: the vector is not finite. Change what it says"),
        (None, UsageError, "give one of the two"),
    ],
)
def test_what_cannot_be_pointed_at_is_refused_in_words(
    indexed: Path, name: str | None, kind: type[CutawayError], said: str
) -> None:
    """What was asked for, what there is instead, and what to do."""
    refusal = met(indexed, name)

    assert (kind, True) == (type(refusal), said in str(refusal)), str(refusal)


@pytest.mark.parametrize("name", ["new.md", "new.md#1", "new.md:1"])
def test_a_file_that_is_not_indexed_says_so(indexed: Path, vault: Path, name: str) -> None:
    """However it is pointed at."""
    (vault / "new.md").write_text("new")

    assert isinstance(met(indexed, name), NotIndexed)


def test_a_passage_that_waits_names_both_ways_out(indexed: Path) -> None:
    """To index, or to compare by text."""
    change(indexed, "UPDATE chunks SET state = 'pending'")
    change(indexed, "UPDATE chunks SET state = 'ready' WHERE id = (SELECT min(id) FROM chunks WHERE error IS NULL)")
    waiting = [name for name in ("cafe#1", "cafe#2") if target(indexed, name).entries[0].state == "pending"]
    refusal = met(indexed, waiting[0])

    assert "waits for its vector. Run: cutaway index, or compare its text with --by-text" in str(refusal)


def test_a_note_of_which_some_passages_wait_is_compared_by_the_others(indexed: Path) -> None:
    """And that is said."""
    change(indexed, "UPDATE chunks SET state = 'pending' WHERE ordinal = 2")
    with opened(indexed) as reader:
        found = neighbours(Asked("cafe"), reader, HashEmbedder())

    assert ("1 of 3 passages of the target have no vector and were not compared",) == found.remarks


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (elsewhere("hash/32", "old/v0"), "was embedded as hash/32 in old/v0"),
        (elsewhere("old/32", "exact-f16/v1"), "was embedded as old/32 in exact-f16/v1"),
    ],
)
def test_a_passage_under_another_identity_is_refused(indexed: Path, statement: str, said: str) -> None:
    """Both are named."""
    change(indexed, statement)
    refusal = met(indexed, "cafe#1")

    assert (IndexMismatch, True) == (type(refusal), said in str(refusal))
    assert "in use is hash/32 in exact-f16/v1" in str(refusal)


@pytest.mark.parametrize("asked", [{}, {"by_text": True}], ids=["stored", "by text"])
def test_an_index_of_another_model_is_refused(indexed: Path, asked: dict[str, object]) -> None:
    """Its vectors cannot be compared with ours: both identities are named."""
    refusal = met(indexed, "cafe", HashEmbedder("other", 64), **asked)

    assert isinstance(refusal, IndexMismatch)
    assert "embedded as hash/32 in exact-f16/v1; in use is other/64" in str(refusal)


@pytest.mark.parametrize("embedder", [None, HashEmbedder()], ids=["never embedded", "all failed"])
def test_an_index_without_vectors_says_so(home: Path, vault: Path, embedder: HashEmbedder | None) -> None:
    """With the command that brings them."""
    index_vault(home, write_vault(vault, {"a.md": "red"}), embedder)
    change(home, "UPDATE chunks SET state = 'pending'")

    assert str(met(home, "a.md")).endswith("Run: cutaway index")


def test_a_ready_passage_without_a_vector_says_how_to_mend_the_index(indexed: Path) -> None:
    """The manifest promises what is not there."""
    change(indexed, "DELETE FROM segments")

    assert "is called ready but has no vector. Delete the index file and run: cutaway index" in str(
        met(indexed, "cafe")
    )


@pytest.mark.parametrize(
    ("asked", "embedder", "said"),
    [
        ({"text": "red"}, "not installed", "--text needs an embedder: not installed"),
        ({"text": "  "}, None, "--text is empty"),
        ({"text": "x" * 20_001}, None, "at most 20,000 are read"),
        ({"text": "UNK UNK"}, None, "does not know 100% of these tokens"),
        ({"text": "violet"}, PartlyBroken(), "a vector that is not finite"),
        ({"text": "red", "target": "cafe"}, None, "give one of the two"),
        ({"target": "cafe", "by_text": True}, "not installed", "text cannot be embedded: not installed"),
        ({"target": "cafe", "limit": 0}, None, "limit is 0; it may be 1 to 200"),
        ({"target": "cafe", "limit": 201}, None, "limit is 201"),
    ],
)
def test_a_request_that_cannot_be_carried_out_is_refused(
    indexed: Path, asked: dict[str, object], embedder: Embedder | str | None, said: str
) -> None:
    """By what is wrong with it."""
    assert said in str(met(indexed, asked.pop("target", None), embedder, **asked))  # type: ignore[arg-type]


def test_the_index_answers_for_a_folder_that_is_gone(indexed: Path, vault: Path) -> None:
    """What it holds is what is compared."""
    shutil.rmtree(vault)
    with opened(indexed) as reader:
        assert neighbours(Asked("cafe#1"), reader, HashEmbedder()).listed
