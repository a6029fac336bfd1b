"""This file is about the ignore files of a project: which notes they hide, as git would read them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from builders import write_vault
from cutaway.notes.files import IGNORE_FILES, scan

NOTES = ("a.md", "keep.md", "foo/a.md", "foo/keep.md", "foo/bar/a.md", "foo/bar/keep.md", "docs/foo/a.md", "#h.md")


def hidden(vault: Path, rules: dict[str, str | bytes]) -> set[str]:
    """Which of the notes these ignore files hide."""
    write_vault(vault, {**dict.fromkeys(NOTES, "x"), **rules})
    return set(NOTES) - set(scan(vault).hashes)


FOO = {"foo/a.md", "foo/keep.md", "foo/bar/a.md", "foo/bar/keep.md"}
EVERY_A = {"a.md", "foo/a.md", "foo/bar/a.md", "docs/foo/a.md"}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", set()),
        ("# only a comment\n\n", set()),
        ("a.md", EVERY_A),
        ("/a.md", {"a.md"}),
        ("foo", {*FOO, "docs/foo/a.md"}),
        ("foo/", {*FOO, "docs/foo/a.md"}),
        ("/foo", FOO),
        ("a.md/", set()),
        ("foo/bar", {"foo/bar/a.md", "foo/bar/keep.md"}),
        ("bar/a.md", set()),
        ("**/bar/a.md", {"foo/bar/a.md"}),
        ("foo/**/a.md", {"foo/a.md", "foo/bar/a.md"}),
        ("foo/*", FOO),
        ("foo/**", FOO),
        ("foo/*.md", {"foo/a.md", "foo/keep.md"}),
        ("?.md", EVERY_A),
        ("[a-c].md", EVERY_A),
        ("[!a-c]*.md", {"keep.md", "foo/keep.md", "foo/bar/keep.md", "#h.md"}),
        ("\\#h.md", {"#h.md"}),
        ("#h.md", set()),
        ("a.md   ", EVERY_A),
        ("foo/bar/\r\n/a.md\r\n", {"foo/bar/a.md", "foo/bar/keep.md", "a.md"}),
        ("\ufeffa.md", EVERY_A),
        ("A.md", set()),
    ],
)
def test_a_rule_hides_what_git_would_hide(vault: Path, lines: str, expected: set[str]) -> None:
    """Anchors, folders, wildcards, escapes and line ends mean what they mean to git."""
    assert expected == hidden(vault, {".gitignore": lines})


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("*.md\n!keep.md", {*EVERY_A, "#h.md"}),
        ("!keep.md\n*.md", set(NOTES)),
        ("foo/\n!foo/keep.md", {*FOO, "docs/foo/a.md"}),
        ("foo/*\n!foo/keep.md", FOO - {"foo/keep.md"}),
        ("foo/**\n!foo/keep.md", FOO - {"foo/keep.md"}),
        ("*\n!*/\n!keep.md", {*EVERY_A, "#h.md"}),
        ("**\n!**/\n!keep.md", {*EVERY_A, "#h.md"}),
        ("/*\n!/foo/\n/foo/*\n!/foo/bar/", {"a.md", "keep.md", "#h.md", "docs/foo/a.md", "foo/a.md", "foo/keep.md"}),
        ("*/\n!foo/", {"docs/foo/a.md", "foo/bar/a.md", "foo/bar/keep.md"}),
        ("a.md\n!foo/a.md", EVERY_A - {"foo/a.md"}),
        ("!*\n/foo/bar/", {"foo/bar/a.md", "foo/bar/keep.md"}),
    ],
)
def test_a_later_negation_brings_back_what_its_folder_still_shows(vault: Path, lines: str, expected: set[str]) -> None:
    """The last rule that fits decides; nothing comes back from inside a folder that is hidden itself."""
    assert expected == hidden(vault, {".gitignore": lines})


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({".gitignore": "a.md", "foo/.gitignore": "!a.md"}, {"a.md", "docs/foo/a.md"}),
        ({".gitignore": "!a.md", "foo/.gitignore": "a.md"}, {"foo/a.md", "foo/bar/a.md"}),
        ({".gitignore": "a.md", "foo/.gitignore": "!a.md", "foo/bar/.gitignore": "a.md"}, EVERY_A - {"foo/a.md"}),
        ({".gitignore": "foo/", "foo/.gitignore": "!a.md"}, {*FOO, "docs/foo/a.md"}),
        ({"foo/.gitignore": "/a.md"}, {"foo/a.md"}),
        ({"foo/.gitignore": "*"}, FOO),
    ],
)
def test_the_innermost_ignore_file_with_an_opinion_decides(
    vault: Path, rules: dict[str, str | bytes], expected: set[str]
) -> None:
    """A folder's own rules go before those of the folders above, and are relative to it."""
    assert expected == hidden(vault, rules)


@pytest.mark.parametrize(("weaker", "stronger"), [*combinations(IGNORE_FILES, 2)])
def test_the_more_particular_ignore_file_wins(vault: Path, weaker: str, stronger: str) -> None:
    """In one folder .cutawayignore goes before .ignore, and that before .gitignore, both ways."""
    rules = {weaker: "a.md\n!keep.md", stronger: "!a.md\nkeep.md"}

    assert {"keep.md", "foo/keep.md", "foo/bar/keep.md"} == hidden(vault, rules)


@pytest.mark.parametrize("name", IGNORE_FILES)
def test_every_kind_of_ignore_file_counts(vault: Path, name: str) -> None:
    """One kind alone is enough."""
    assert {"a.md"} == hidden(vault, {name: "/a.md"})


def test_a_hidden_folder_is_not_looked_into(vault: Path) -> None:
    """What lies in an ignored folder is no problem, for nobody asked."""
    write_vault(vault, {"a.md": "x", ".gitignore": "build/", "build/bad.md": b"\xff"})
    (vault / "build" / "loop").symlink_to(vault)

    assert [] == scan(vault).problems


def test_dot_folders_stay_hidden_whatever_the_rules_say(vault: Path) -> None:
    """A negation does not open the folders of other programs."""
    write_vault(vault, {"a.md": "x", ".git/b.md": "x", ".gitignore": "!.git/\n!.git/**"})

    assert ["a.md"] == list(scan(vault).hashes)


@pytest.mark.parametrize("nonsense", ["!", "/", "a.md\\", "[z", "[z-a].md", "[]", "\\", "!/", "//", "a//b"])
def test_a_line_that_is_no_rule_does_not_stop_the_others(vault: Path, nonsense: str) -> None:
    """As in git, a broken line hides nothing, and every other line is honoured."""
    assert {"foo/bar/a.md", "foo/bar/keep.md"} == hidden(vault, {".gitignore": f"{nonsense}\n/foo/bar/\n"})


@pytest.mark.parametrize("name", IGNORE_FILES)
def test_an_ignore_file_that_cannot_be_read_is_reported(vault: Path, name: str) -> None:
    """Notes may then show that should not: the user is told which file, and the others still count."""
    others = dict.fromkeys((other for other in IGNORE_FILES if other != name), "/a.md")

    assert {"a.md"} == hidden(vault, {name: b"\xff\xfe", **others})
    assert [(name, "ignore file")] == [(problem.path, problem.kind) for problem in scan(vault).problems]
