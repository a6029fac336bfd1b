"""This file is about bringing an index in line with a folder: what it takes over, keeps, refuses and leaves alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from indexes import SOUND, BatchEmbedder, faults, note_ids, problems, state

from builders import HashEmbedder, ask, index_vault, manifest, opened, paths, write_vault
from cutaway.config import Settings
from cutaway.errors import RootMissing
from cutaway.faces.cli.main import main
from cutaway.index.store import open_writer
from cutaway.index.sync import sync
from cutaway.index.writer import Writer
from cutaway.inspector.health import examine
from cutaway.notes import files

# Twice changes nothing

ORDINARY = {
    "bread.md": "# Bread\n\nFlour and water.\n\n- [step] Knead it well #dough\n- needs [[Flour]]\n",
    "notes/flour.md": "---\ntags: [grain]\naliases: [Meal]\n---\n# Flour\n\nGround grain.\n",
}
FOLDERS: dict[str, dict[str, str | bytes]] = {
    "no note": {},
    "ordinary notes": ORDINARY,
    "an empty note": {"empty.md": "", "blank.md": " \n"},
    "a note that opted out": {"private.md": "---\nindex: false\n---\nNot for the index.\n"},
    "a note without embedding": {"quiet.md": "---\nembed: false\n---\nWords only.\n"},
    "a file that is not text": {"bad.md": b"\xff\xfe"},
    "broken frontmatter": {"odd.md": "---\ntags: [a, b\n---\nText.\n"},
    "names that look alike": {"caf\u00e9.md": "composed", "cafe\u0301.md": "decomposed"},
    "copies": {"one.md": "The same words.", "two.md": "The same words."},
    "a spoiled vector": {"spoiled.md": "This one is spoiled."},
}


@pytest.mark.parametrize("notes", FOLDERS.values(), ids=FOLDERS)
def test_a_second_sync_changes_nothing_and_embeds_nothing(
    home: Path, vault: Path, notes: dict[str, str | bytes]
) -> None:
    """Over an unchanged folder the index stays as it was, down to the count of its changes."""
    write_vault(vault, notes)
    index_vault(home, vault, BatchEmbedder(spoiled="spoiled"))
    before, second = state(home), BatchEmbedder(spoiled="spoiled")

    index_vault(home, vault, second)

    assert before == state(home)
    assert [] == second.embedded


def test_a_second_sync_reports_that_nothing_changed(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Every note is counted as unchanged."""
    write_vault(vault, ORDINARY)
    index_vault(home, vault, embedder)

    report, embedding = index_vault(home, vault, embedder)

    assert ((), (), (), (), (), 2) == report.difference
    assert (0, 0) == embedding


# The user's files


def test_not_one_byte_of_a_note_changes(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Indexing, a change, a rename and a search leave names, bytes and times as the user made them."""
    write_vault(
        vault, {**ORDINARY, "private.md": "---\nindex: false\n---\n", "crlf.md": b"a\r\nb\r\n", "x.png": b"\x89"}
    )
    before = fingerprints(vault)

    for _ in range(2):
        index_vault(home, vault, embedder)
        ask(home, "flour", embedder)

    assert before == fingerprints(vault)


def fingerprints(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every path below a folder with its time and its bytes."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in (folder, *folder.rglob("*"))
    }


def test_one_folder_is_one_project_however_it_is_spelled(
    home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current folder, its absolute path and a link to it are the same project with the same notes."""
    write_vault(vault, ORDINARY)
    (vault.parent / "shortcut").symlink_to(vault)
    monkeypatch.setenv("CUTAWAY_EMBEDDER", "none")
    monkeypatch.chdir(vault)

    for spelling in (".", str(vault), f"{vault}/notes/..", str(vault.parent / "shortcut")):
        assert 0 == main(["index", spelling, "--home", str(home)])

    with opened(home) as reader:
        assert [("vault", vault)] == [(project.name, project.root) for project in reader.scope]
        assert {"bread.md", "notes/flour.md"} == reader.known(reader.scope[0]).keys()


# What a folder gains and loses


@pytest.mark.parametrize("path", ["🐘.md", "a b.md", "a_b.md", "日本語/メモ.md", 'it\'s "x".md', "x.md/y.md"])
def test_a_note_of_any_name_is_indexed_and_can_be_fetched(home: Path, vault: Path, path: str) -> None:
    """An odd name is found by its path, and its text by its words."""
    write_vault(vault, {path: "the elephant in the room", "a.b.md": "another"})
    index_vault(home, vault)

    with opened(home) as reader:
        assert [note_ids(home)[path]] == reader.named(path)
    assert [path] == paths(ask(home, "elephant"))


def test_deleted_notes_leave_nothing_behind(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """No vector without its chunk, no word in the lexical index, and the file is sound."""
    write_vault(
        vault, {f"{name}.md": f"{name} is a note about {name}." for name in ("ant", "bee", "cat", "dog", "eel")}
    )
    index_vault(home, vault, embedder)
    for name in ("bee", "dog"):
        (vault / f"{name}.md").unlink()

    report, _ = index_vault(home, vault, embedder)

    assert ("bee.md", "dog.md") == tuple(sorted(report.difference.removed))
    assert SOUND == faults(home)
    assert [] == paths(ask(home, "bee", mode="text"))


def test_an_edit_keeps_every_vector_of_the_note(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Only a new passage is embedded; each one taken over has its own vector afterwards."""
    sections = [f"# Part {number}\n\n{f'word{number} ' * 150}\n" for number in range(12)]
    write_vault(vault, {"long.md": "\n".join(sections)})
    index_vault(home, vault, embedder)
    embedder.embedded.clear()
    write_vault(vault, {"long.md": "\n".join([*sections, "# Part 12\n\nAltogether new.\n"])})

    index_vault(home, vault, embedder)

    assert ["Altogether new."] == [text.splitlines()[-1] for text in embedder.embedded]
    assert SOUND == faults(home)


@pytest.mark.parametrize("notes", [{}, {"bad.md": b"\xff"}, {"x.txt": "x"}], ids=["empty", "unreadable", "no Markdown"])
def test_a_folder_that_lost_every_note_is_not_believed(home: Path, vault: Path, notes: dict[str, str | bytes]) -> None:
    """An unmounted disk looks like this: nothing is removed until the user says so."""
    write_vault(vault, ORDINARY)
    index_vault(home, vault)
    before = manifest(home), note_ids(home)
    for path in ORDINARY:
        (vault / path).unlink()
    write_vault(vault, notes)

    with pytest.raises(RootMissing, match="--allow-empty"):
        index_vault(home, vault)
    assert before == (manifest(home), note_ids(home))


def test_a_folder_may_lose_every_note_if_the_user_says_so(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """With that word, the index is emptied."""
    write_vault(vault, ORDINARY)
    index_vault(home, vault, embedder)
    for path in ORDINARY:
        (vault / path).unlink()

    index_vault(home, vault, embedder, allow_empty=True)

    assert ({}, SOUND) == (note_ids(home), faults(home))


@pytest.mark.parametrize("allow_empty", [False, True])
def test_a_folder_that_is_gone_keeps_its_index(home: Path, vault: Path, allow_empty: bool) -> None:
    """A renamed root is an error, whatever was allowed, and searches go on answering."""
    write_vault(vault, ORDINARY)
    index_vault(home, vault)
    vault.rename(vault.parent / "elsewhere")

    with pytest.raises(RootMissing):
        index_vault(home, vault, allow_empty=allow_empty)
    assert "notes/flour.md" in paths(ask(home, "grain"))


def test_a_folder_that_cannot_be_listed_keeps_its_notes(
    home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its notes stay searchable, the problem is reported, and the rest of the vault goes on."""
    write_vault(vault, ORDINARY)
    index_vault(home, vault)
    scandir = os.scandir

    def refusing(place: Path) -> object:
        if Path(place).name == "notes":
            raise PermissionError(13, "Permission denied")
        return scandir(place)

    monkeypatch.setattr(files.os, "scandir", refusing)
    write_vault(vault, {"new.md": "x"})
    index_vault(home, vault)

    assert {*ORDINARY, "new.md"} == note_ids(home).keys()
    assert [("notes", "folder")] == problems(home)


def test_a_note_that_can_no_longer_be_read_stays_as_it_was(home: Path, vault: Path) -> None:
    """An indexed note that turns unreadable keeps its last good state, with the problem beside it."""
    write_vault(vault, ORDINARY)
    index_vault(home, vault)
    before = manifest(home)
    write_vault(vault, {"bread.md": b"\xff\xff"})

    index_vault(home, vault)

    assert before == manifest(home)
    assert [("bread.md", "unreadable")] == problems(home)


def test_a_file_that_vanishes_while_it_is_indexed_stops_nothing(home: Path, vault: Path) -> None:
    """Seen by the scan and gone when it is read: reported now, forgotten by the next sync."""
    write_vault(vault, {f"{number:03}.md": f"note {number}" for number in range(120)})
    connection = open_writer(home)
    project = Writer(connection).add_project("vault", vault)

    def vanish(step: str, done: int, _: int) -> None:
        if (step, done) == ("index", 100):
            (vault / "119.md").unlink()

    report = sync(project, connection, None, Settings(), vanish)
    connection.close()
    index_vault(home, vault)

    assert ["119.md"] == [problem.path for problem in report.problems]
    assert (119, []) == (len(note_ids(home)), problems(home))


@pytest.mark.parametrize("flag", ["false", "False", "no", "off"])
def test_a_note_may_leave_the_index_and_come_back(home: Path, vault: Path, embedder: HashEmbedder, flag: str) -> None:
    """`index: false` removes it entirely and says so; without the word it is indexed again."""
    write_vault(vault, ORDINARY)
    index_vault(home, vault, embedder)
    write_vault(vault, {"bread.md": f"---\nindex: {flag}\n---\n{ORDINARY['bread.md']}"})
    index_vault(home, vault, embedder)

    assert ({"notes/flour.md"}, SOUND) == (set(note_ids(home)), faults(home))
    assert [("bread.md", "opted out")] == problems(home)

    write_vault(vault, ORDINARY)
    index_vault(home, vault, embedder)
    assert (set(ORDINARY), []) == (set(note_ids(home)), problems(home))


def test_problems_are_named_by_the_health_check(home: Path, vault: Path) -> None:
    """Each file that could not be indexed is a finding with its path; the rest is indexed."""
    write_vault(vault, {**ORDINARY, "bad.md": b"\xff", "odd.md": "---\ntags: [a, b\n---\nText.\n"})
    (vault / "link.md").symlink_to("bread.md")
    index_vault(home, vault)

    with opened(home) as reader:
        named = {finding.path for finding in examine(reader, "no model") if finding.path}

    assert {"bad.md", "odd.md", "link.md"} == named


def test_a_name_that_is_not_utf8_does_not_stop_a_sync(home: Path, vault: Path) -> None:
    """A link whose name cannot be stored as text is reported in a form that can."""
    write_vault(vault, ORDINARY)
    (vault / os.fsdecode(b"caf\xe9.md")).symlink_to("bread.md")

    index_vault(home, vault)

    assert (set(ORDINARY), ["link"]) == (set(note_ids(home)), [kind for _, kind in problems(home)])
