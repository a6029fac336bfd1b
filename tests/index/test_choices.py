"""Settings of one project while indexing: how notes are read, which are left out, and that all views agree on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from builders import HashEmbedder, ask, choose, index_vault, manifest, opened, paths, write_vault
from cutaway.config import Settings
from cutaway.errors import IndexMismatch
from cutaway.index.choices import store_trust
from cutaway.index.projects import named_project
from cutaway.index.sqlite import index_file
from cutaway.index.store import open_reader, open_writer
from cutaway.inspector.health import examine
from cutaway.inspector.stale import behind
from cutaway.notes.vault import OWN_FILE, digest_of, understood

LONG = "# Salt\n\n" + "\n\n".join(f"Salt of the {number}th kind is a kind of salt. " * 4 for number in range(12))
NOTES = {"a.md": LONG, "drafts/b.md": "Salt in a draft."}
FORMS: dict[str, dict[str, Any]] = {"chunk_chars": {"chunk_chars": 200}, "context_line": {"context_line": False}}


def lags(home: Path, embedder: HashEmbedder) -> list[tuple[str, str | None]]:
    with opened(home) as reader:
        return [(lag.kind, lag.path) for lag in behind(reader, Settings(), embedder).lags]


def findings(home: Path) -> list[tuple[str, str | None]]:
    """What the doctor says of files, but for their number."""
    with opened(home) as reader:
        found = examine(reader, "hash/32")
    return [(held.check, held.path) for held in found if held.path is not None]


def trust(home: Path, name: str, text: str) -> None:
    connection = open_writer(home)
    try:
        with connection.transaction():
            project = named_project(connection, name)
            store_trust(connection, understood(project._replace(trusted=digest_of(text)), text))
    finally:
        connection.close()


@pytest.mark.parametrize("chosen", FORMS.values(), ids=FORMS)
def test_a_project_is_read_by_its_own_settings_as_by_the_homes(
    home: Path, vault: Path, tmp_path: Path, embedder: HashEmbedder, chosen: dict[str, Any]
) -> None:
    """The same rows and chunks; then nothing lags, and nothing is read twice."""
    write_vault(vault, NOTES)
    index_vault(tmp_path / "other", vault, embedder, Settings(**chosen))
    index_vault(home, vault, embedder)
    before = manifest(home)
    choose(home, "vault", **chosen)

    assert [("another form", "a.md"), ("another form", "drafts/b.md")] == lags(home, embedder)
    index_vault(home, vault, embedder)
    assert before != manifest(home) == manifest(tmp_path / "other")
    assert [] == lags(home, embedder)
    assert 2 == index_vault(home, vault, embedder)[0].difference.unchanged


def test_only_the_project_itself_is_read_again(home: Path, tmp_path: Path, embedder: HashEmbedder) -> None:
    """The other stays as it was."""
    for name in ("one", "two"):
        index_vault(home, write_vault(tmp_path / name, NOTES), embedder)
    choose(home, "one", chunk_chars=200)

    assert [2, 0] == [len(index_vault(home, tmp_path / name, embedder)[0].difference.stale) for name in ("one", "two")]


@pytest.mark.parametrize("whose", ["user", "file"])
def test_what_is_left_out_leaves_the_index_and_comes_back(
    home: Path, vault: Path, embedder: HashEmbedder, whose: str
) -> None:
    """By the next run; until then every view says what will happen, and after it none says anything."""
    write_vault(vault, NOTES)
    index_vault(home, vault, embedder)
    if whose == "user":
        choose(home, "vault", ["drafts/"])
    else:
        write_vault(vault, {OWN_FILE: 'ignore = ["drafts/"]'})

    assert ([("gone", "drafts/b.md")], [("files", "drafts/b.md")]) == (lags(home, embedder), findings(home))
    index_vault(home, vault, embedder)
    assert ([], [], ["a.md"]) == (lags(home, embedder), findings(home), paths(ask(home, "salt")))

    choose(home, "vault")
    write_vault(vault, {OWN_FILE: ""})
    assert [("new", "drafts/b.md")] == lags(home, embedder)
    index_vault(home, vault, embedder)
    assert {"a.md", "drafts/b.md"} == {*paths(ask(home, "salt"))}


def test_what_an_untrusted_file_asks_for_is_said_everywhere_and_changes_nothing(
    home: Path, vault: Path, embedder: HashEmbedder
) -> None:
    """By the run, by the doctor and by each search; passages are cut as without it."""
    write_vault(vault, NOTES)
    index_vault(home, vault, embedder)
    before = manifest(home)
    write_vault(vault, {OWN_FILE: "chunk_chars = 200\nk1 = 2.0\n"})
    report, _ = index_vault(home, vault, embedder)

    assert [(OWN_FILE, "config")] == [(problem.path, problem.kind) for problem in report.problems]
    assert [("config", OWN_FILE)] == findings(home)
    ((stage, remark),) = ask(home, "salt").remarks
    assert ("settings", True) == (stage, remark.startswith(f"vault:{OWN_FILE}: chunk_chars, k1: not used"))
    assert (before, []) == (manifest(home), lags(home, embedder))


def test_the_doctor_reads_the_file_as_it_is_now(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """What the last run reported of it may be mended, or be another thing now."""
    index_vault(home, write_vault(vault, {**NOTES, OWN_FILE: "k1 = 2.0"}), embedder)
    found = []
    for text in ("b = 0.1", ""):
        write_vault(vault, {OWN_FILE: text})
        found.append(findings(home))

    assert [[("config", OWN_FILE)], []] == found


def test_a_search_reads_no_file(home: Path, vault: Path) -> None:
    """It goes by what the last run found."""
    write_vault(vault, {**NOTES, OWN_FILE: "k1 = 2.0"})
    index_vault(home, vault)
    remarks = ask(home, "salt").remarks
    (vault / OWN_FILE).unlink()

    assert remarks == ask(home, "salt").remarks
    index_vault(home, vault)
    assert "settings" not in dict(ask(home, "salt").remarks)


def test_a_trusted_file_is_used_until_it_is_changed(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Then the next run reads notes by the home's settings again, and says why."""
    text = "chunk_chars = 200\nk1 = 2.0\n"
    write_vault(vault, {**NOTES, OWN_FILE: text})
    trust_nothing = index_vault(home, vault, embedder)[0]
    before = manifest(home)
    trust(home, "vault", text)
    trusted = index_vault(home, vault, embedder)[0]
    assert (1, 0) == (len(trust_nothing.problems), len(trusted.problems))
    assert before != manifest(home)

    write_vault(vault, {OWN_FILE: text + "b = 0.1\n"})
    assert "another form" in dict(lags(home, embedder))
    changed = index_vault(home, vault, embedder)[0]
    assert (before, []) == (manifest(home), lags(home, embedder))
    assert "was changed" in changed.problems[0].message


def test_trust_survives_a_moment_without_the_file(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """The same content is the same content."""
    text = "k1 = 2.0\n"
    index_vault(home, write_vault(vault, {**NOTES, OWN_FILE: text}), embedder)
    trust(home, "vault", text)
    held = []
    for content in (text, "", text):
        write_vault(vault, {OWN_FILE: content})
        index_vault(home, vault, embedder)
        with opened(home) as reader:
            held.append(reader.scope[0].settings)

    assert [{"k1": 2.0}, {}, {"k1": 2.0}] == held


def test_an_index_from_before_gets_what_it_lacks(home: Path, vault: Path) -> None:
    """A reader says what to run; a writer adds the columns, and the projects stay."""
    index_vault(home, write_vault(vault, NOTES))
    connection = apsw.Connection(str(index_file(home)))
    for column in ("settings", "own_file", "trusted"):
        connection.execute(f"ALTER TABLE projects DROP COLUMN {column}")
    connection.execute("PRAGMA user_version = 3")
    connection.close()
    with pytest.raises(IndexMismatch, match="Run: cutaway index"):
        open_reader(home)
    index_vault(home, vault)

    choose(home, "vault", k1=2.0)
    with opened(home) as reader:
        assert [("vault", {"k1": 2.0})] == [(project.name, project.settings) for project in reader.scope]


def test_a_setting_that_a_later_version_knew_is_left_alone(home: Path, vault: Path) -> None:
    """It is no reason not to search."""
    index_vault(home, write_vault(vault, NOTES))
    choose(home, "vault", k1=2.0, sharpness=3)

    with opened(home) as reader:
        assert {"k1": 2.0} == reader.scope[0].settings
