"""A project's own file, `.cutaway.toml`: harmless until it is trusted, and never a reason to stop."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from builders import OTHER_VALUES, write_vault
from cutaway.config import PER_PROJECT, Settings, for_project
from cutaway.model import Problem, Project
from cutaway.notes.vault import OWN_FILE, digest_of, refreshed, surveyed, understood

NOTES = {f"{path}.md": "x" for path in ("a", "drafts/b", "drafts/keep", "old/c")}
HOMES = sorted(set(Settings.model_fields) - set(PER_PROJECT))


def project(root: Path, trusted: str | None = None, ignore: tuple[str, ...] = ()) -> Project:
    return Project(1, "v", root, ignore=ignore, trusted=trusted)


def toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool | int | float) else repr(str(value))


def asking(name: str) -> str:
    """A file that asks for one setting, and for another value than the default where a project may have one."""
    return f"{name} = {toml(OTHER_VALUES.get(name, getattr(Settings(), name)))}\n"


def left_out(vault: Path, text: str, *ignore: str) -> set[str]:
    """The notes that are not indexed under a file and the user's own rules."""
    write_vault(vault, {**NOTES, OWN_FILE: text})
    return set(NOTES) - set(surveyed(project(vault, ignore=ignore))[1].hashes)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_an_untrusted_file_changes_no_setting_and_that_is_said(name: str) -> None:
    """Whatever field of the settings it names."""
    found = understood(project(Path("/v")), asking(name))

    assert Settings() == for_project(Settings(), found.settings)
    assert [name] == [said.split(":")[0] for said in found.asked.unused]


@pytest.mark.parametrize("name", HOMES)
def test_not_even_a_trusted_file_sets_what_is_the_homes(name: str) -> None:
    """Models, endpoints, keys, caches: the file does nothing, and the message says where to set it."""
    text = asking(name)
    found = understood(project(Path("/v"), digest_of(text)), text)

    assert Settings() == for_project(Settings(), found.settings)
    assert [True] == ["config.toml" in said and name in said for said in found.asked.unused]


@pytest.mark.parametrize("name", PER_PROJECT)
def test_a_trusted_file_sets_what_a_project_may(name: str) -> None:
    """As if the user had set it."""
    text = asking(name)
    found = understood(project(Path("/v"), digest_of(text)), text)

    assert ({name: OTHER_VALUES[name]}, ()) == (found.settings, found.asked.unused)


def test_another_text_than_the_trusted_one_is_not_trusted() -> None:
    """Not even where only a blank line was added; the user is told that it was changed."""
    text = asking("k1")
    found = understood(project(Path("/v"), digest_of(text)), f"{text}\n")

    assert ({}, True) == (found.settings, "was changed" in found.asked.unused[0])


def test_the_users_choice_comes_before_the_file() -> None:
    """Even a trusted one."""
    text = "k1 = 2.0\nb = 0.1\n"
    found = understood(project(Path("/v"), digest_of(text))._replace(chosen=(("k1", 1.5),)), text)

    assert {"k1": 1.5, "b": 0.1} == found.settings


# What is left out


@pytest.mark.parametrize(
    ("asked", "chosen", "expected"),
    [
        ((), (), ""),
        (("drafts/",), (), "drafts/b drafts/keep"),
        ((), ("drafts/",), "drafts/b drafts/keep"),
        (("old/",), ("drafts/",), "drafts/b drafts/keep old/c"),
        (("drafts/*", "!drafts/keep.md"), (), "drafts/b"),
        (("!drafts/", "!*.md"), ("drafts/",), "drafts/b drafts/keep"),
        (("!b.md",), ("b.md",), "drafts/b"),
        (("b.md",), ("!b.md",), ""),
    ],
)
def test_the_users_ignore_rules_come_after_the_files(
    vault: Path, asked: tuple[str, ...], chosen: tuple[str, ...], expected: str
) -> None:
    """So a vault can hide notes, and can never bring back what its user left out."""
    assert {f"{path}.md" for path in expected.split()} == left_out(vault, f"ignore = {list(asked)}", *chosen)


@pytest.mark.parametrize("where", [".gitignore", "drafts/.cutawayignore"])
def test_no_ignore_file_brings_back_what_the_user_left_out(vault: Path, where: str) -> None:
    """Wherever in the folder it stands."""
    write_vault(vault, {where: "!*.md\n!drafts/\n"})

    assert {"drafts/b.md", "drafts/keep.md"} == left_out(vault, "", "drafts/*")


@pytest.mark.parametrize("ignore", [(), ("!.hidden/", "!*.md")])
def test_hidden_files_stay_out_whatever_is_asked(vault: Path, ignore: tuple[str, ...]) -> None:
    """By the file or by the user."""
    write_vault(vault, {".hidden/d.md": "x", ".e.md": "x"})
    left_out(vault, 'ignore = ["!.hidden/", "!.e.md", "!.*"]', *ignore)

    assert set(NOTES) == set(surveyed(project(vault, ignore=ignore))[1].hashes)


# Files that cannot be understood

BROKEN = {
    "not TOML": b"ignore = [",
    "deeply nested": b"ignore = " + b"[" * 20_000,
    "an endless number": b"k1 = " + b"9" * 10_000,
    "not UTF-8": b"title = '\xff'",
    "a list that is a text": b"ignore = 'drafts/'",
    "a list of numbers": b"ignore = [1]",
    "a table": b"[ignore]\ndrafts = true",
    "a rule that says nothing": b"ignore = ['# nothing']",
    "a title that is no text": b"title = 2020-01-01",
    "a title of several lines": b'title = "a\\nb"',
    "a title that commands a terminal": b'title = "\\u001b[2J"',
    "a title that is empty": b"title = ' '",
    "a title that is long": b"title = '" + b"x" * 101 + b"'",
    "an unknown key": b"ignored = ['drafts/']",
    "a key that commands a terminal": b'"\\u001b[2J" = 1',
    "thousands of keys": b"\n".join(b"key%d = 1" % number for number in range(4_000)),
    "larger than any": b"#" * 100_000,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_file_that_cannot_be_used_is_one_printable_problem(vault: Path, content: bytes) -> None:
    """It names the file; every note is still found."""
    write_vault(vault, {**NOTES, OWN_FILE: content})
    found, files = surveyed(project(vault))

    assert set(NOTES) == set(files.hashes)
    assert [(OWN_FILE, "config", True)] == [(path, kind, said.isprintable()) for path, kind, said in files.problems]
    assert len(files.problems[0].message) < 600
    assert (None, {}) == (found.asked.title, found.settings)


@pytest.mark.parametrize("value", ["'two'", "-1", "nan", "inf", "[]", "{}"])
def test_a_trusted_value_out_of_range_is_a_problem_and_the_rest_is_used(vault: Path, value: str) -> None:
    """The problem names the key."""
    text = f"k1 = {value}\nb = 0.5\n"
    write_vault(vault, {OWN_FILE: text})
    found, files = surveyed(project(vault, digest_of(text)))

    assert {"b": 0.5} == found.settings
    assert ["k1"] == [problem.message.split(": ")[1] for problem in files.problems]


def test_a_sound_file_is_no_problem(vault: Path) -> None:
    """With what nobody needs to trust, or none at all."""
    write_vault(vault, {OWN_FILE: "\ufefftitle = 'Herbs'\r\nignore = []\r\n"})
    found, files = surveyed(project(vault))

    assert ("Herbs", []) == (found.asked.title, files.problems)


def make_link(vault: Path) -> None:
    write_vault(vault.parent, {"elsewhere.toml": "title = 'Elsewhere'"})
    (vault / OWN_FILE).symlink_to(vault.parent / "elsewhere.toml")


@pytest.mark.parametrize(
    "make",
    [make_link, lambda vault: (vault / OWN_FILE).mkdir(), lambda vault: os.mkfifo(vault / OWN_FILE)],
    ids=["a link", "a folder", "a pipe"],
)
def test_what_is_no_plain_file_is_not_read(vault: Path, make: Any) -> None:
    """It is reported, and nothing waits for it."""
    make(vault)
    found = refreshed(project(vault))

    assert (None, 1) == (found.asked.title, len(found.asked.unused))


def test_a_file_that_may_not_be_read_is_a_problem(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the system's reason."""

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    write_vault(vault, {OWN_FILE: "title = 'x'"})
    monkeypatch.setattr(Path, "read_bytes", refuse)

    assert [Problem(OWN_FILE, "config", "cannot be read (Permission denied); nothing of it is used")] == [
        *surveyed(project(vault))[1].problems
    ]
