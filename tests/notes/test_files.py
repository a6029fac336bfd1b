"""This file is about which files of a folder are notes, and what is said of those that cannot be read."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from builders import refuse_listing, write_vault
from cutaway.errors import RootMissing
from cutaway.notes import files
from cutaway.notes.files import locate, scan

NFC, NFD = "caf\u00e9", "cafe\u0301"
NOT_UTF8 = os.fsdecode(b"caf\xe9")


def problems(root: Path) -> list[tuple[str, str]]:
    """What a scan reports, as (path, kind)."""
    return [(problem.path, problem.kind) for problem in scan(root).problems]


# Which files are notes


def test_notes_are_markdown_files_at_any_depth(vault: Path) -> None:
    """The ending decides, in either case; other files are not looked at."""
    write_vault(vault, dict.fromkeys(("a.md", "B.MD", "c.markdown", "d/e/f.md", "g.txt", "h.md.bak", "md"), "x"))

    assert ["B.MD", "a.md", "c.markdown", "d/e/f.md"] == sorted(scan(vault).hashes)


@pytest.mark.parametrize("path", [".hidden.md", ".obsidian/a.md", "a/.git/b.md", ".trash/c/d.md"])
def test_hidden_paths_are_left_out(vault: Path, path: str) -> None:
    """What begins with a dot is not the user's writing, and not a problem either."""
    write_vault(vault, {path: "x", "seen.md": "x"})

    found = scan(vault)

    assert ["seen.md"] == list(found.hashes)
    assert [] == found.problems


@pytest.mark.parametrize(
    "path",
    [
        *("🐘.md", "👨‍👩‍👧‍👦.md", "a b.md", " .md", "a  b .md", "#hash.md", "100%25.md", "-rf.md", "~.md", "con.md"),
        *('it\'s "quoted".md', "[x](y).md", "*?.md", "a:b.md", "a\\b.md", "a\nb.md", "x.md/inside.md"),
        *("日本語/メモ.md", "Ünïcödé/é.md", "n" * 250 + ".md", "/".join("d" * 12) + "/deep.md"),
    ],
)
def test_odd_names_are_names(vault: Path, path: str) -> None:
    """A note is known by its path exactly, and is found on disk by that path."""
    write_vault(vault, {path: b"its text"})

    assert [path] == list(scan(vault).hashes)
    assert b"its text" == locate(vault, path).read_bytes()


def test_a_blank_and_an_underscore_are_different_names(vault: Path) -> None:
    """Names are never simplified: these are two notes."""
    write_vault(vault, {"a b.md": "one", "a_b.md": "two"})

    assert ["a b.md", "a_b.md"] == sorted(scan(vault).hashes)


def test_a_hash_tells_contents_apart_and_nothing_else(vault: Path) -> None:
    """Equal bytes have equal hashes wherever they are; one byte more has another."""
    write_vault(vault, {"a.md": "same", "b/c.md": "same", "d.md": "same\n"})

    hashes = scan(vault).hashes

    assert hashes["a.md"] == hashes["b/c.md"]
    assert hashes["a.md"] != hashes["d.md"]


# Unicode forms of names


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_path_is_in_one_unicode_form_whatever_the_disk_holds(vault: Path, form: str) -> None:
    """Folder and file names in either form give the same path, and the path leads back to the file."""
    write_vault(vault, {unicodedata.normalize(form, f"{NFC}/{NFC}.md"): "its text"})

    assert [f"{NFC}/{NFC}.md"] == list(scan(vault).hashes)
    assert "its text" == locate(vault, f"{NFC}/{NFC}.md").read_text()


def test_of_two_names_that_look_alike_one_is_indexed_and_the_other_reported(vault: Path) -> None:
    """The hash is that of the file that is read for the path."""
    write_vault(vault, {f"{NFC}.md": "composed", f"{NFD}.md": "decomposed"})

    found = scan(vault)

    assert [(f"{NFC}.md", "file name")] == problems(vault)
    assert found.hashes[f"{NFC}.md"] == files.content_hash(locate(vault, f"{NFC}.md").read_bytes())


@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")])
def test_folders_that_look_alike_both_lead_to_their_notes(vault: Path, forms: tuple[str, str]) -> None:
    """Folders whose names differ only in form hold different notes; each is located, however the disk lists them."""
    expected = {f"{folder}/{form}.md": form for folder in "éüñåçö" for form in forms}
    write_vault(vault, {unicodedata.normalize(form, path): form for path, form in expected.items()})

    assert expected == {path: locate(vault, path).read_text() for path in scan(vault).hashes}


# Links


def link_to_itself(vault: Path) -> str:
    (vault / "link").symlink_to("link")
    return "link"


def link_to_the_folder_above(vault: Path) -> str:
    (vault / "link").symlink_to(vault)
    return "link"


def link_to_a_folder_outside(vault: Path) -> str:
    write_vault(vault.parent / "outside", {"secret.md": "x"})
    (vault / "link").symlink_to(vault.parent / "outside")
    return "link"


def link_to_a_note(vault: Path) -> str:
    (vault / "link.md").symlink_to("seen.md")
    return "link.md"


def link_to_a_note_outside(vault: Path) -> str:
    write_vault(vault.parent / "outside", {"secret.md": "x"})
    (vault / "link.md").symlink_to(vault.parent / "outside" / "secret.md")
    return "link.md"


def link_to_nothing(vault: Path) -> str:
    (vault / "link.md").symlink_to("nowhere.md")
    return "link.md"


@pytest.mark.parametrize(
    "make",
    [
        *(link_to_itself, link_to_the_folder_above, link_to_a_folder_outside),
        *(link_to_a_note, link_to_a_note_outside, link_to_nothing),
    ],
)
def test_links_are_reported_and_never_followed(vault: Path, make: Callable[[Path], str]) -> None:
    """A walk ends and stays inside the folder; the user learns what was left out."""
    write_vault(vault, {"seen.md": "x"})
    link = make(vault)

    assert ["seen.md"] == list(scan(vault).hashes)
    assert [(link, "link")] == problems(vault)


def test_a_link_to_a_picture_is_no_problem(vault: Path) -> None:
    """Only what could have been a note is worth a line."""
    write_vault(vault, {"picture.png": b"\x89PNG"})
    (vault / "same.png").symlink_to("picture.png")

    assert [] == problems(vault)


def test_the_folder_itself_may_be_a_link(vault: Path) -> None:
    """Which folder to index is the user's choice; a link to it will do."""
    write_vault(vault, {"a.md": "x"})
    (vault.parent / "shortcut").symlink_to(vault)

    assert ["a.md"] == list(scan(vault.parent / "shortcut").hashes)


# What cannot be read


@pytest.mark.parametrize("raw", [b"caf\xe9", "text".encode("utf-16"), b"\xed\xa0\x80", b"fine\xff"])
def test_text_that_is_not_utf8_is_named_and_the_rest_goes_on(vault: Path, raw: bytes) -> None:
    """A file in another encoding is a problem of that file alone."""
    write_vault(vault, {"bad.md": raw, "good.md": "x"})

    assert ["good.md"] == list(scan(vault).hashes)
    assert [("bad.md", "unreadable")] == problems(vault)


def test_a_file_too_large_to_be_a_note_is_named_unread(vault: Path) -> None:
    """A file of gigabytes is not taken into memory to find out what it is."""
    with (vault / "huge.md").open("wb") as file:
        file.truncate(2**33)

    assert [("huge.md", "unreadable")] == problems(vault)


def test_a_file_that_may_not_be_opened_is_named(vault: Path) -> None:
    """Opening a socket fails for every user, as a file without permissions does for most."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(vault / "socket.md"))

    assert [("socket.md", "unreadable")] == problems(vault)


def test_a_pipe_is_not_waited_for(vault: Path) -> None:
    """Reading a named pipe would wait for ever; it is reported like any file that cannot be read."""
    os.mkfifo(vault / "pipe.md")
    program = (
        f"from pathlib import Path; from cutaway.notes.files import scan; print(scan(Path({str(vault)!r})).problems)"
    )

    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=True)

    assert "pipe.md" in finished.stdout


def test_a_folder_that_cannot_be_listed_is_named_and_its_notes_are_not_called_gone(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scan knows which paths it could not see, and does not take like-named folders for them."""
    write_vault(vault, {"open/a.md": "x", "shut/b.md": "x"})
    refuse_listing(vault / "shut", monkeypatch)

    found = scan(vault)

    assert [("shut", "folder")] == problems(vault)
    assert [True, False, False] == [found.unseen(path) for path in ("shut/b.md", "shutter/b.md", "open/c.md")]


def note_of_that_name(vault: Path) -> None:
    write_vault(vault, {f"{NOT_UTF8}.md": "x"})


def folder_of_that_name(vault: Path) -> None:
    write_vault(vault, {f"{NOT_UTF8}/inside.md": "x"})


def link_of_that_name(vault: Path) -> None:
    (vault / f"{NOT_UTF8}.md").symlink_to("seen.md")


def ignore_file_in_a_folder_of_that_name(vault: Path) -> None:
    write_vault(vault, {f"{NOT_UTF8}/.gitignore": b"\xff"})


@pytest.mark.parametrize(
    "make", [note_of_that_name, folder_of_that_name, link_of_that_name, ignore_file_in_a_folder_of_that_name]
)
def test_a_name_that_is_not_utf8_is_reported_in_a_form_that_can_be_printed(
    vault: Path, make: Callable[[Path], None]
) -> None:
    """Whatever has such a name, the rest goes on, and the report can be stored and shown."""
    write_vault(vault, {"seen.md": "x"})
    make(vault)

    found = scan(vault)

    assert ["seen.md"] == list(found.hashes)
    assert [True] == [all(text.isprintable() for text in problem) for problem in found.problems]


@pytest.mark.parametrize("path", ["gone", "a file"])
def test_a_folder_that_is_not_there_is_an_error(vault: Path, path: str) -> None:
    """A missing root is never an empty one."""
    write_vault(vault, {"a file": "x"})

    with pytest.raises(RootMissing, match=path):
        scan(vault / path)
