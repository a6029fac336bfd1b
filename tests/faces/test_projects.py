"""`cutaway project`: folders of notes are listed, added, renamed, removed; one may be meant where none is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import Cutaway, write_vault


@pytest.fixture
def two(cutaway: Cutaway, tmp_path: Path) -> Cutaway:
    """Two projects of one note each, about the same."""
    for name in ("garden", "kitchen"):
        assert 0 == cutaway("index", str(write_vault(tmp_path / name, {f"{name}.md": f"Basil in the {name}."}))).code
    return cutaway


def listed(cutaway: Cutaway) -> list[str]:
    return [project["name"] for project in json.loads(cutaway("project", "list", "--json").out)]


def found(cutaway: Cutaway, *options: str) -> list[str]:
    return [hit["path"] for hit in json.loads(cutaway("search", "basil", "--json", *options).out)["hits"]]


def test_projects_are_listed_with_what_is_indexed(two: Cutaway, tmp_path: Path) -> None:
    """Name, folder, notes, and how much of them is ready."""
    projects = json.loads(two("project", "list", "--json").out)

    assert [("garden", str(tmp_path / "garden"), 1, False), ("kitchen", str(tmp_path / "kitchen"), 1, False)] == [
        (project["name"], project["root"], project["notes"], project["default"]) for project in projects
    ]
    assert "kitchen" in two("project", "list").out


def test_a_folder_can_be_added_before_it_is_indexed(two: Cutaway, tmp_path: Path) -> None:
    """`cutaway index` without a folder then takes it along."""
    write_vault(tmp_path / "attic", {"box.md": "Basil seeds."})
    assert 0 == two("project", "add", "loft", str(tmp_path / "attic")).code
    assert 1 == two("search", "basil", "-p", "loft").code
    two("index")

    assert ["box.md"] == found(two, "-p", "loft")


def test_a_removed_project_is_out_of_the_index_and_its_files_are_not(two: Cutaway, tmp_path: Path) -> None:
    """Nothing of it is found, and every byte of the folder is as it was."""
    assert 0 == two("project", "remove", "kitchen").code

    assert ["garden"] == listed(two)
    assert ["garden.md"] == found(two)
    assert "Basil in the kitchen." == (tmp_path / "kitchen" / "kitchen.md").read_text(encoding="utf-8")


def test_a_removed_project_comes_back_without_embedding_anything(two: Cutaway, tmp_path: Path) -> None:
    """What was embedded once is remembered."""
    two("project", "remove", "kitchen")
    report = json.loads(two("index", str(tmp_path / "kitchen"), "--json").out)

    assert (0, 0) == (report["embedded"], report["pending"])
    assert ["kitchen.md"] == found(two, "-p", "kitchen")


def test_a_renamed_project_keeps_its_notes_and_its_judgments(two: Cutaway) -> None:
    """It answers to its new name only."""
    two("eval", "judge", "basil", "kitchen.md", "3", "-p", "kitchen")
    assert 0 == two("project", "rename", "kitchen", "pantry").code

    assert (["garden", "pantry"], ["kitchen.md"]) == (listed(two), found(two, "-p", "pantry"))
    assert 2 == two("search", "basil", "-p", "kitchen").code
    assert ["pantry"] == [
        held["project"] for held in json.loads(two("eval", "judgments", "-p", "pantry", "--json").out)
    ]


def test_the_default_is_meant_where_no_project_is_named(two: Cutaway) -> None:
    """Until it is taken back, or the project is gone."""
    assert 2 == two("search", "basil").code
    assert (0, 1) == (two("project", "default", "kitchen").code, len(found(two)))
    assert ("kitchen\n", ["kitchen.md"]) == (two("project", "default").out, found(two))
    assert ["garden.md"] == found(two, "-p", "garden")

    two("project", "default", "--none")
    assert (2, 1) == (two("search", "basil").code, two("project", "default").code)


def test_a_default_that_is_removed_is_no_default(two: Cutaway) -> None:
    """The only one left is meant then."""
    two("project", "default", "kitchen")
    two("project", "remove", "kitchen")

    assert (1, ["garden.md"]) == (two("project", "default").code, found(two))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "herbs", "no/such/folder"), "is not a folder"),
        (("add", "kitchen", "."), "is already"),
        (("add", "a b", "."), "cannot be called"),
        (("add", "a:b", "."), "cannot be called"),
        (("rename", "kitchen", "garden"), "is already"),
        (("rename", "kitchen", "x#1"), "cannot be called"),
        (("rename", "nobody", "x"), "no project is called 'nobody'"),
        (("remove", "nobody"), "no project is called 'nobody'"),
        (("default", "nobody"), "no project is called 'nobody'"),
        (("default", "kitchen", "--none"), "Give one of them"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(
    two: Cutaway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    """Exit code 2, the reason, and the same projects as before."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ran = two("project", *arguments)

    assert (2, True) == (ran.code, said in ran.err)
    assert ["garden", "kitchen"] == listed(two)


def test_no_project_is_nothing_found(cutaway: Cutaway, tmp_path: Path) -> None:
    """Exit code 1, and what to do."""
    write_vault(tmp_path / "v", {"a.md": "x"})
    cutaway("index", str(tmp_path / "v"))
    cutaway("project", "remove", "v")

    assert 1 == cutaway("project", "list").code


@pytest.mark.parametrize("command", ["status", "doctor"])
def test_upkeep_is_of_all_projects_unless_some_are_named(two: Cutaway, command: str) -> None:
    """No project has to be chosen to see how all are."""
    every, one = two(command), two(command, "-p", "garden")

    assert (True, True) == ("garden" in every.out, "kitchen" in every.out)
    assert (True, False) == ("garden" in one.out, "kitchen" in one.out)
