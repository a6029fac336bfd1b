"""This file is about projects and scopes: which folders an index holds, and what one request may see of it."""

from __future__ import annotations

from pathlib import Path
from typing import get_type_hints
from unicodedata import normalize

import apsw
import pytest

from builders import HashEmbedder, index_vault, manifest, opened, paths, write_vault
from cutaway.config import Settings
from cutaway.errors import UnknownProject, UsageError
from cutaway.index.projects import as_scope, projects_of, scope_of
from cutaway.index.reader import Reader
from cutaway.index.store import open_reader, open_writer
from cutaway.index.writer import Writer
from cutaway.model import ChunkId, Scope
from cutaway.retrieval.pipeline import search
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import Request

# Projects


def test_a_folder_is_added_once(home: Path, vault: Path) -> None:
    """The same root is the same project, whatever name is offered the second time."""
    writer = Writer(open_writer(home))

    assert writer.add_project("first", vault) == writer.add_project("second", vault)


@pytest.mark.parametrize(
    ("name", "root", "said"),
    [("vault", "elsewhere", "already"), ("inner", "vault/inner", "overlaps"), ("outer", ".", "overlaps")],
)
def test_a_note_belongs_to_one_project(home: Path, vault: Path, name: str, root: str, said: str) -> None:
    """A name that is taken, a folder inside another project's and one around it are refused."""
    writer = Writer(open_writer(home))
    writer.add_project("vault", vault)

    with pytest.raises(UsageError, match=said):
        writer.add_project(name, (vault.parent / root).resolve())


def test_folders_whose_names_begin_alike_do_not_overlap(home: Path, vault: Path) -> None:
    """Only a folder inside another overlaps it."""
    writer = Writer(open_writer(home))
    writer.add_project("vault", vault)
    writer.add_project("vault-2", vault.with_name("vault-2"))

    assert ["vault", "vault-2"] == [project.name for project in writer.projects()]


@pytest.fixture
def two(home: Path, tmp_path: Path, embedder: HashEmbedder) -> tuple[Path, Path]:
    """Three hundred notes in project A, one in project B, all about the same."""
    many, one = tmp_path / "A", tmp_path / "B"
    write_vault(many, {f"{number}.md": f"Rivers, number {number}." for number in range(300)})
    write_vault(one, {"lone.md": "Rivers, and what else flows."})
    index_vault(home, many, embedder)
    index_vault(home, one, embedder)
    return many, one


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
def test_a_small_project_is_found_beside_a_large_one(home: Path, two: tuple[Path, Path], mode: str) -> None:
    """The scope is applied before any leg is cut to its window, and nothing of the rest is counted."""
    connection = open_reader(home)
    reader = Reader(connection, scope_of(connection, ["B"], two[1]))
    answer = search(Request("rivers", mode=mode, limit=1), Settings(window=10), reader, Models(HashEmbedder()))
    connection.close()

    assert (["lone.md"], 1) == (paths(answer), answer.total)


def test_a_scope_sees_nothing_of_other_projects(home: Path, tmp_path: Path, embedder: HashEmbedder) -> None:
    """Chunks, rows and notes of another project do not exist for a reader, even when asked for by id."""
    for name in ("A", "B"):
        index_vault(home, write_vault(tmp_path / name, {f"{name}.md": f"Only {name} says so."}), embedder)
    connection = open_reader(home)
    a, b = projects_of(connection)
    everything, only_b = Reader(connection, (a, b)), Reader(connection, (b,))
    notes = everything.named("A") + everything.named("B")
    rows = [row.id for note in notes for row in everything.rows_of_note(note)]
    chunks = [entry.id for note in notes for entry in everything.entries_of_note(note)]

    assert (2, 1) == (len(everything.notes(notes)), len(only_b.notes(notes)))
    assert (2, 1) == (len(everything.rows(rows)), len(only_b.rows(rows)))
    assert (2, 1) == (len(everything.entries(chunks)), len(only_b.entries(chunks)))
    assert (2, 1) == (len(everything.entries_of_rows(rows)), len(only_b.entries_of_rows(rows)))
    assert ([], []) == (only_b.named("A"), only_b.entries_of_note(notes[0]))
    assert (2, 1) == (everything.readiness(None).ready, only_b.readiness(None).ready)
    connection.close()


def test_a_scope_is_never_empty() -> None:
    """No scope is not every project; a reader takes nothing but what this gives."""
    with pytest.raises(UnknownProject, match="cutaway index"):
        as_scope([])

    assert str(Scope) == str(get_type_hints(Reader.__init__)["scope"])


def test_a_filter_of_forty_thousand_ids_works(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """No number of ids is too many for one question."""
    write_vault(vault, {"a.md": "One.", "b.md": "Two."})
    index_vault(home, vault, embedder)
    known = {ChunkId(int(str(chunk))) for _, chunk, *_ in manifest(home)}

    with opened(home) as reader:
        assert known == reader.entries([*range(40_000), *known]).keys()  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("names", "here", "expected"),
    [(["A"], "elsewhere", ["A"]), (["B", "A"], "elsewhere", ["A", "B"]), ([], "B", ["B"]), ([], "B/deep/er", ["B"])],
)
def test_a_scope_is_what_was_named_or_where_one_stands(
    home: Path, tmp_path: Path, names: list[str], here: str, expected: list[str]
) -> None:
    """Names decide; without any, the project around the current folder."""
    connection = two_empty_projects(home, tmp_path)

    assert expected == [project.name for project in scope_of(connection, names, tmp_path / here)]


@pytest.mark.parametrize(("names", "error"), [(["C"], UnknownProject), (["A", "C"], UnknownProject), ([], UsageError)])
def test_a_scope_that_cannot_be_told_is_refused(
    home: Path, tmp_path: Path, names: list[str], error: type[UsageError]
) -> None:
    """An unknown name, or several projects and none meant: the error lists what there is."""
    connection = two_empty_projects(home, tmp_path)

    with pytest.raises(error, match=r"Projects here: A, B\."):
        scope_of(connection, names, tmp_path / "elsewhere")


def two_empty_projects(home: Path, folder: Path) -> apsw.Connection:
    connection = open_writer(home)
    for name in ("A", "B"):
        Writer(connection).add_project(name, folder / name)
    return connection


NAMED = """---
title: Kubernetes
aliases: [K8s]
permalink: ops/clusters
---
Text.
"""


@pytest.mark.parametrize(
    "name",
    [
        *("deep/Cluster notes.md", "deep/cluster NOTES.md", "deep/Cluster notes", "Cluster notes", "Cluster notes.md"),
        *("Kubernetes", "kubernetes", "K8s", "ops/clusters"),
    ],
)
def test_a_note_answers_to_its_names(home: Path, vault: Path, name: str) -> None:
    """Path, file name, title, alias and permalink all lead to it, in any case."""
    index_vault(home, write_vault(vault, {"deep/Cluster notes.md": NAMED, "other.md": "Text."}))

    with opened(home) as reader:
        found = reader.notes(reader.named(name)).values()

    assert ["deep/Cluster notes.md"] == [note.path for note in found]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_note_answers_to_its_name_in_either_unicode_form(home: Path, vault: Path, form: str) -> None:
    """A terminal may type what it completes from the disk in the decomposed form."""
    index_vault(home, write_vault(vault, {"caf\u00e9.md": "Text."}))

    with opened(home) as reader:
        assert 1 == len(reader.named(normalize(form, "caf\u00e9.md")))


def test_a_path_goes_before_a_title(home: Path, vault: Path) -> None:
    """A note that calls itself by another's path does not stand in its way."""
    index_vault(home, write_vault(vault, {"a.md": "Text.", "b.md": "---\ntitle: a.md\n---\nText."}))

    with opened(home) as reader:
        assert ["a.md"] == [note.path for note in reader.notes(reader.named("a.md")).values()]


def test_a_project_is_counted(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Notes and their bytes, observations, relations, and chunks by state."""
    notes = {"a.md": "# A\n\nText.\n\n- [fact] It is so\n- part_of [[B]]\n", "b.md": "Ä"}
    index_vault(home, write_vault(vault, notes), embedder)

    with opened(home) as reader:
        found = reader.counts(reader.scope[0])

    size = sum(len(text.encode()) for text in notes.values())
    assert {
        "notes": 2,
        "bytes": size,
        "observations": 1,
        "relations": 1,
        "pending": 0,
        "failed": 0,
    }.items() <= found.items()
    assert found["chunks"] == found["ready"] > 2
