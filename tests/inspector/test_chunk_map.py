"""A note as the index sees it: found by any of its names, read back whole, its freshness judged."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from builders import HashEmbedder, index_vault, opened, write_vault
from cutaway.errors import AmbiguousNote, NoteNotFound
from cutaway.index.store import open_writer
from cutaway.inspector.chunk_map import ChunkMap, chunk_map, find_note
from retrieval.worlds import scoped

NOTE = """---
title: The Café
aliases: [Coffee house]
permalink: places/coffee
---
# Inside

Some words about coffee.

- [fact] it opens early

<!-- hidden -->

- near [[Station]]
"""
IDENTITY = "hash/32"


@pytest.fixture
def indexed(home: Path, vault: Path) -> Path:
    """A vault of one note with rows of every kind."""
    index_vault(home, write_vault(vault, {"sub/cafe.md": NOTE}), HashEmbedder())
    return home


def mapped(home: Path, name: str, identity: str | None = IDENTITY) -> ChunkMap:
    with opened(home) as reader:
        return chunk_map(reader, name, identity)


def found(home: Path, name: str) -> str:
    """The path of the note that a name finds."""
    with opened(home) as reader:
        return find_note(reader, name).path


def change(home: Path, statement: str) -> None:
    connection = open_writer(home)
    connection.execute(statement)
    connection.close()


# Names


@pytest.mark.parametrize(
    "name",
    [
        *("sub/cafe.md", "sub/cafe", "cafe.md", "cafe", "The Café", "places/coffee", "Coffee house"),
        *("SUB/Cafe.MD", "CAFE", "the café", "Places/Coffee", "COFFEE HOUSE"),
        unicodedata.normalize("NFD", "The Café"),
    ],
)
def test_a_note_is_found_by_each_of_its_names(indexed: Path, name: str) -> None:
    """Path, file name, title, permalink, alias; whatever the case and the Unicode form."""
    assert "sub/cafe.md" == found(indexed, name)


@pytest.mark.parametrize("here", ["vault", "vault/sub"])
def test_a_note_is_found_by_its_file(indexed: Path, vault: Path, monkeypatch: pytest.MonkeyPatch, here: str) -> None:
    """By absolute path, and by a path from the current folder."""
    folder = vault.parent / here
    monkeypatch.chdir(folder)
    file = vault / "sub" / "cafe.md"

    assert ["sub/cafe.md"] * 2 == [found(indexed, str(file)), found(indexed, str(file.relative_to(folder)))]


def test_a_note_whose_file_is_gone_is_found_by_its_absolute_path(indexed: Path, vault: Path) -> None:
    """The index still holds it; that is what one wants to look at."""
    file = vault / "sub" / "cafe.md"
    file.unlink()

    assert "sub/cafe.md" == found(indexed, str(file))


def test_a_path_goes_before_a_title(home: Path, vault: Path) -> None:
    """A note that calls itself like another's path does not hide that other."""
    index_vault(home, write_vault(vault, {"a.md": "text", "b.md": "---\ntitle: a.md\n---\n"}))

    assert "a.md" == found(home, "a.md")


def test_an_ambiguous_name_lists_its_notes(home: Path, vault: Path) -> None:
    """In order, as paths to choose from."""
    index_vault(home, write_vault(vault, {"y/same.md": "one", "x/same.md": "two", "other.md": ""}))
    with pytest.raises(AmbiguousNote, match="names 2 notes") as refusal:
        found(home, "Same")

    assert ("x/same.md", "y/same.md") == refusal.value.candidates


def test_an_ambiguous_name_across_projects_lists_them_by_project(home: Path, tmp_path: Path) -> None:
    """Equal paths are told apart by the project's name."""
    for name in ("one", "two"):
        index_vault(home, write_vault(tmp_path / name, {"a.md": name}))
    with pytest.raises(AmbiguousNote) as refusal:
        found(home, "a.md")

    assert ("one:a.md", "two:a.md") == refusal.value.candidates


@pytest.mark.parametrize(
    "notes",
    [
        {"v/x/same.md": "one", "v/y/same.md": "two"},
        {"v/Same.md": "one", "v/same.md": "two"},
        {"v/same.md": "one", "w/same.md": "two"},
    ],
    ids=["two folders", "two cases", "two projects"],
)
def test_each_note_that_an_ambiguous_name_lists_can_be_named(home: Path, tmp_path: Path, notes: dict[str, str]) -> None:
    """The way out that the message offers is open."""
    write_vault(tmp_path, notes)
    if len(list(tmp_path.rglob("*.md"))) < len(notes):
        pytest.skip("this file system does not tell such names apart")
    for name in sorted({path.split("/")[0] for path in notes}):
        index_vault(home, tmp_path / name)
    with pytest.raises(AmbiguousNote) as refusal:
        found(home, "same")

    named = [found(home, candidate) for candidate in refusal.value.candidates]
    assert sorted(path.split("/", 1)[1] for path in notes) == sorted(named)


def test_a_name_that_nothing_has_is_refused(indexed: Path) -> None:
    """With the project that was looked in."""
    with pytest.raises(NoteNotFound, match="no note in vault has the path, title, permalink or alias 'nowhere'"):
        found(indexed, "nowhere")


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "/", "~nobody-of-that-name", "x" * 5_000, "a\0b", "\ud800", "*", "sub"],
    ids=["empty", "here", "above", "root", "a user's home", "very long", "NUL", "surrogate", "pattern", "folder"],
)
def test_any_name_that_nothing_has_is_refused_in_words(indexed: Path, name: str) -> None:
    """Whatever was typed: no note has it, and that is all that goes wrong."""
    with pytest.raises(NoteNotFound):
        found(indexed, name)


def test_a_note_outside_the_scope_is_not_found(home: Path, tmp_path: Path) -> None:
    """Another project's note does not exist here."""
    for name in ("one", "two"):
        index_vault(home, write_vault(tmp_path / name, {f"{name}.md": name}))

    with scoped(home, "one") as reader, pytest.raises(NoteNotFound):
        find_note(reader, "two.md")


# Contents


def test_a_note_is_read_back_whole(indexed: Path) -> None:
    """Every byte of the file is in one chunk or in one skip."""
    held = mapped(indexed, "cafe")
    chunks = [(entry.start, entry.end) for entries in held.chunks.values() for entry in entries]
    spans = sorted([*chunks, *((skip.start, skip.end) for skip in held.note.skips)])

    assert [0, *(end for _, end in spans)] == [*(start for start, _ in spans), len(NOTE.encode())]
    assert sum(end - start for start, end in chunks) == held.covered


def test_rows_of_every_kind_are_listed_with_their_chunks(indexed: Path) -> None:
    """The relation has none of its own: its text is embedded with the note's."""
    held = mapped(indexed, "cafe")

    assert ["entity", "observation", "relation"] == [row.id.kind for row in held.rows]
    assert [True, True, False] == [bool(held.chunks[row.id]) for row in held.rows]
    assert held.readiness.total == held.readiness.ready == sum(map(len, held.chunks.values()))


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        (f"data:image/png;base64,{'QUJD' * 50_000}", "data URI"),
        ("<!-- a remark -->", "comment"),
        ("%%\na remark\n%%", "comment"),
        ("```compressed-json\nN4K\n```", "compressed drawing"),
    ],
    ids=["data URI", "HTML comment", "percent comment", "drawing"],
)
def test_what_is_left_out_is_listed_with_its_reason(home: Path, vault: Path, left_out: str, reason: str) -> None:
    """By its bytes; no chunk has any of them."""
    text = f"Before.\n\n![]({left_out})\n" if left_out.startswith("data:") else f"Before.\n\n{left_out}\n"
    index_vault(home, write_vault(vault, {"n.md": text}), HashEmbedder())
    skips = mapped(home, "n").note.skips

    assert [left_out] == [text[skip.start : skip.end].strip() for skip in skips if skip.reason == reason]


@pytest.mark.parametrize("yaml", ["tags: [a, b", "title: a: b", "when: 2024-13-45", "a: &x [*x]"])
def test_what_is_wrong_with_the_frontmatter_of_a_note_is_said_with_it(home: Path, vault: Path, yaml: str) -> None:
    """In words that name the fault; the rest of the note is there."""
    index_vault(home, write_vault(vault, {"n.md": f"---\n{yaml}\n---\nwords"}), HashEmbedder())
    held = mapped(home, "n")

    assert str(held.note.problem).startswith("frontmatter is not valid YAML: ")
    assert len("words") == held.covered


# Freshness


def test_an_untouched_note_is_fresh(indexed: Path) -> None:
    """File, rows and vectors agree."""
    held = mapped(indexed, "cafe")

    assert ("fresh", None) == (held.freshness, held.reason)


def test_an_edited_file_is_ahead_of_its_rows(indexed: Path, vault: Path) -> None:
    """Until the next index run."""
    (vault / "sub/cafe.md").write_text("changed")
    held = mapped(indexed, "cafe")

    assert ("rows_behind_file", True) == (held.freshness, "has changed" in str(held.reason))


def test_a_deleted_file_is_ahead_of_its_rows(indexed: Path, vault: Path) -> None:
    """What the index holds is still shown."""
    (vault / "sub/cafe.md").unlink()
    held = mapped(indexed, "cafe")

    assert ("rows_behind_file", True) == (held.freshness, "cannot be read" in str(held.reason))


@pytest.mark.parametrize("state", ["pending", "failed"])
def test_chunks_without_a_vector_are_behind_their_rows(indexed: Path, state: str) -> None:
    """How many of how many is said."""
    change(indexed, f"UPDATE chunks SET state = '{state}' WHERE ordinal = 1")
    held = mapped(indexed, "cafe")

    assert ("index_behind_rows", True) == (held.freshness, f"1 of {held.readiness.total} chunks" in str(held.reason))


def test_vectors_of_another_model_are_behind_their_rows(indexed: Path) -> None:
    """Both identities are named."""
    held = mapped(indexed, "cafe", "other/64")

    assert ("index_behind_rows", "embedded as hash/32; in use is other/64") == (held.freshness, held.reason)


def test_without_a_model_in_use_vectors_are_not_judged(indexed: Path) -> None:
    """There is nothing to compare them with."""
    assert "fresh" == mapped(indexed, "cafe", None).freshness


@pytest.mark.parametrize(
    "note",
    ["", " \n\t\r\n", "\ufeff", "---\ntitle: x\n---\n", "<!-- later -->\n", "---\nembed: false\n---\nwords"],
    ids=["empty", "blank", "byte order mark", "frontmatter", "a comment", "opted out of embedding"],
)
def test_a_note_without_chunks_is_fresh(home: Path, vault: Path, note: str) -> None:
    """Nothing is missing where nothing is to be embedded."""
    index_vault(home, write_vault(vault, {"n.md": note}), HashEmbedder())
    held = mapped(home, "n")

    assert ("fresh", 0, 0) == (held.freshness, held.readiness.total, held.covered)


@pytest.mark.parametrize(
    ("content", "seen", "why"),
    [
        (b"new", False, "it is new, ignored, or no Markdown file"),
        (b"\xff\xfe broken", True, "not UTF-8 text"),
        (b"---\nindex: false\n---\n", True, "says `index: false`"),
    ],
    ids=["new", "not UTF-8", "opted out"],
)
def test_a_file_that_is_not_indexed_says_why(indexed: Path, vault: Path, content: bytes, seen: bool, why: str) -> None:
    """A file of the project is told apart from a name that means nothing."""
    write_vault(vault, {"odd.md": content})
    if seen:
        index_vault(indexed, vault, HashEmbedder())

    with pytest.raises(NoteNotFound, match=r"not_indexed: odd\.md is a file of project vault") as refusal:
        mapped(indexed, "odd.md")
    assert why in str(refusal.value)
