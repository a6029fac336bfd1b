"""`cutaway project import-…`: what other programs know is listed, and added only when told to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import Cutaway, write_vault


@pytest.fixture
def vaults(tmp_path: Path) -> list[Path]:
    """Three folders of one note each, one of them inside another."""
    return [write_vault(tmp_path / name, {"a.md": "Basil."}) for name in ("My Notes", "work", "work/inner")]


def obsidian(folders: list[Path]) -> dict[str, Any]:
    return {"vaults": {f"id{number}": {"path": str(folder), "ts": 1} for number, folder in enumerate(folders)}}


def memories(folders: list[Path]) -> dict[str, Any]:
    return {"projects": {folder.name: str(folder) for folder in folders}, "default_project": "work"}


def later_memories(folders: list[Path]) -> dict[str, Any]:
    return {"projects": {folder.name: {"path": str(folder), "mode": "local"} for folder in folders}}


WAYS = [("import-obsidian", obsidian), ("import-basic-memory", memories), ("import-basic-memory", later_memories)]


@pytest.mark.parametrize(("action", "written"), WAYS)
def test_folders_are_listed_and_nothing_is_added(
    cutaway: Cutaway, vaults: list[Path], tmp_path: Path, home: Path, action: str, written: Any
) -> None:
    """Each with what would become of it; not even an index is made."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(written([*vaults, tmp_path / "gone"])), encoding="utf-8")
    ran = cutaway("project", action, "--config", str(config), "--json")

    assert [("My-Notes", "add"), ("work", "add"), ("inner", "overlaps work"), ("gone", "no such folder")] == [
        (found["name"], found["verdict"]) for found in json.loads(ran.out)
    ]
    assert (0, True, False) == (ran.code, "--yes adds these 2" in ran.err, home.exists())


@pytest.mark.parametrize(("action", "written"), WAYS)
def test_with_yes_they_are_added_once(
    cutaway: Cutaway, vaults: list[Path], tmp_path: Path, action: str, written: Any
) -> None:
    """A second time there is nothing to add, and neither time was the configuration touched."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(written(vaults)), encoding="utf-8")
    before = config.read_bytes()
    cutaway("project", action, "--config", str(config), "--yes")
    again = json.loads(cutaway("project", action, "--config", str(config), "--yes", "--json").out)

    assert ["My-Notes", "work"] == [held["name"] for held in json.loads(cutaway("project", "list", "--json").out)]
    assert ["is project My-Notes", "is project work", "overlaps work"] == [found["verdict"] for found in again]
    assert before == config.read_bytes()


def test_folders_of_one_name_get_names_of_their_own(cutaway: Cutaway, tmp_path: Path) -> None:
    """The second is numbered."""
    folders = [write_vault(tmp_path / parent / "notes", {"a.md": "x"}) for parent in ("a", "b")]
    config = tmp_path / "obsidian.json"
    config.write_text(json.dumps(obsidian(folders)), encoding="utf-8")
    cutaway("project", "import-obsidian", "--config", str(config), "--yes")

    assert ["notes", "notes-2"] == [held["name"] for held in json.loads(cutaway("project", "list", "--json").out)]


@pytest.mark.parametrize("action", ["import-obsidian", "import-basic-memory"])
def test_the_usual_place_is_read(
    cutaway: Cutaway, vaults: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    """Where each program keeps its configuration."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("BASIC_MEMORY_CONFIG_DIR", str(tmp_path / "memory"))
    for file, values in (("config/obsidian/obsidian.json", obsidian), ("memory/config.json", memories)):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(json.dumps(values(vaults[:1])), encoding="utf-8")

    assert "My-Notes" in cutaway("project", action).out


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (None, 2, "cannot be read"),
        ("{", 2, "is not JSON"),
        ("[]", 2, "is not such a configuration"),
        ("{}", 1, ""),
        ('{"vaults": [], "projects": 3}', 1, ""),
        ('{"vaults": {"x": {"path": 3}, "y": null}, "projects": {"a": null, "b": {"path": ""}}}', 1, ""),
    ],
)
@pytest.mark.parametrize("action", ["import-obsidian", "import-basic-memory"])
def test_a_configuration_without_folders_is_said(
    cutaway: Cutaway, tmp_path: Path, action: str, text: str | None, code: int, said: str
) -> None:
    """Unreadable is an input error; empty is nothing found."""
    config = tmp_path / "config.json"
    if text is not None:
        config.write_text(text, encoding="utf-8")
    ran = cutaway("project", action, "--config", str(config))

    assert (code, True) == (ran.code, said in ran.err)
