"""`cutaway index` over many projects: those named or all, and whatever one folder does, the others are done."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest import MonkeyPatch

from builders import Cutaway, HashEmbedder, manifest, refuse_listing, write_vault
from cutaway.errors import BadVector, ModelUnavailable
from cutaway.faces import indexing


@pytest.fixture
def three(cutaway: Cutaway, tmp_path: Path) -> Cutaway:
    """Projects `ant`, `bee` and `cat` of two notes each."""
    for name in ("ant", "bee", "cat"):
        notes = {"a.md": f"basil {name}", "b.md": f"thyme {name}"}
        assert 0 == cutaway("index", str(write_vault(tmp_path / name, notes))).code
    return cutaway


def added(ran: str) -> dict[str, int | None]:
    """How many notes each project gained; None where it failed."""
    return {project["project"]: project.get("added") for project in json.loads(ran)["projects"]}


@pytest.mark.parametrize(
    ("names", "done"),
    [
        ((), {"ant": 1, "bee": 1, "cat": 1}),
        (("--project", "bee"), {"bee": 1}),
        (("-p", "cat", "--project", "ant"), {"ant": 1, "cat": 1}),
    ],
)
def test_every_project_or_those_named_are_indexed(
    three: Cutaway, tmp_path: Path, names: tuple[str, ...], done: dict[str, int]
) -> None:
    """The others stay as they are."""
    for name in ("ant", "bee", "cat"):
        write_vault(tmp_path / name, {"new.md": "mint"})

    assert done == added(three("index", "--json", *names).out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--project", "nobody"), "no project is called 'nobody'"), ((".", "--project", "ant"), "Give one of them")],
)
def test_a_choice_that_means_nothing_is_refused(
    three: Cutaway, tmp_path: Path, home: Path, arguments: tuple[str, ...], said: str
) -> None:
    """Exit code 2, and nothing is indexed."""
    write_vault(tmp_path / "ant", {"new.md": "mint"})
    before = manifest(home)
    ran = three("index", *arguments)

    assert (2, True, before) == (ran.code, said in ran.err, manifest(home))


def missing(root: Path, _: MonkeyPatch) -> None:
    shutil.rmtree(root)


def a_file(root: Path, _: MonkeyPatch) -> None:
    shutil.rmtree(root)
    root.write_text("not a folder", encoding="utf-8")


def a_dead_link(root: Path, _: MonkeyPatch) -> None:
    shutil.rmtree(root)
    root.symlink_to(root)


def emptied(root: Path, _: MonkeyPatch) -> None:
    shutil.rmtree(root)
    root.mkdir()


WAYS = pytest.mark.parametrize("fail", [missing, a_file, a_dead_link, emptied, refuse_listing])
Way = Callable[[Path, MonkeyPatch], None]


@WAYS
def test_a_folder_that_fails_stops_no_other(
    three: Cutaway, tmp_path: Path, home: Path, monkeypatch: MonkeyPatch, fail: Way
) -> None:
    """Its own index is kept, the others are indexed and embedded, and the exit code says that one failed."""
    before = [row for row in manifest(home) if row[0] in ("a.md", "b.md")]
    fail(tmp_path / "bee", monkeypatch)
    for name in ("ant", "cat"):
        write_vault(tmp_path / name, {"new.md": f"mint {name}"})
    ran = three("index", "--json")

    assert (2, {"ant": 1, "bee": None, "cat": 1}) == (ran.code, added(ran.out))
    assert (2, 0) == (json.loads(ran.out)["embedded"], json.loads(ran.out)["pending"])
    assert before == [row for row in manifest(home) if row[0] in ("a.md", "b.md")]


@WAYS
def test_a_folder_that_fails_is_one_line_among_the_others(
    three: Cutaway, tmp_path: Path, monkeypatch: MonkeyPatch, fail: Way
) -> None:
    """Named on standard error, with the folder."""
    fail(tmp_path / "bee", monkeypatch)
    ran = three("index")

    assert ["bee"] == [line.split(":")[0] for line in ran.err.splitlines()]
    assert str(tmp_path / "bee") in ran.err
    assert ["ant  2 unchanged", "cat  2 unchanged"] == ran.out.splitlines()[:2]


@WAYS
def test_the_health_check_names_the_folder_and_checks_the_others(
    three: Cutaway, tmp_path: Path, monkeypatch: MonkeyPatch, fail: Way
) -> None:
    """One error for the folder, no line for each of its notes, and a count for each other project."""
    fail(tmp_path / "bee", monkeypatch)
    ran = three("doctor", "--all-projects", "--json")
    findings = json.loads(ran.out)

    assert 1 == ran.code
    assert [("error", "folder")] == [(f["severity"], f["check"]) for f in findings if f["project"] == "bee"]
    assert {"ant", "cat"} == {f["project"] for f in findings if f["check"] == "files"}


@WAYS
def test_status_and_stale_tell_of_the_others_too(
    three: Cutaway, tmp_path: Path, monkeypatch: MonkeyPatch, fail: Way
) -> None:
    """The status counts what is indexed; the list of what lags has the others' changes."""
    fail(tmp_path / "bee", monkeypatch)
    write_vault(tmp_path / "cat", {"a.md": "changed"})
    status = json.loads(three("status", "--all-projects", "--json").out)
    stale = three("inspect", "stale", "--all-projects", "--json")

    assert [2, 2, 2] == [project["notes"] for project in status["projects"]]
    assert {"bee", "cat"} == {note["project"] for lag in json.loads(stale.out)["lags"] for note in lag["lagging"]}


@pytest.mark.parametrize("error", [BadVector("the vectors are wrong"), ModelUnavailable("the model is broken")])
def test_a_model_that_fails_leaves_the_words_indexed(
    three: Cutaway, tmp_path: Path, monkeypatch: MonkeyPatch, error: Exception
) -> None:
    """Every project is reported, what failed is said, and the passages wait."""

    class Failing(HashEmbedder):
        def embed(self, *_: object) -> object:
            raise error

    monkeypatch.setattr(indexing, "named_embedder", lambda *_, **__: Failing())
    write_vault(tmp_path / "ant", {"new.md": "mint"})
    ran = three("index", "--json")
    report = json.loads(ran.out)

    assert (2, {"ant": 1, "bee": 0, "cat": 0}) == (ran.code, added(ran.out))
    assert (str(error), 1) == (report["error"], report["pending"])
    assert str(error) in three("index").err


def test_a_model_without_its_tokenizer_is_a_missing_model(
    three: Cutaway, tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    """Words are indexed until it is there."""

    class Half(HashEmbedder):
        def __getattribute__(self, name: str) -> object:
            if name == "tokenizer":
                raise ModelUnavailable("the package tokenizers is missing.")
            return super().__getattribute__(name)

    half = Half()
    monkeypatch.setattr(indexing, "named_embedder", lambda *_, **__: half)
    write_vault(tmp_path / "ant", {"new.md": "mint"})
    ran = three("index", "--json")

    assert (0, 1) == (ran.code, added(ran.out)["ant"])
    assert "tokenizers is missing" in json.loads(ran.out)["notice"]


def test_a_note_that_opts_out_is_counted_once(three: Cutaway, tmp_path: Path) -> None:
    """It was indexed, so it is removed; one that never was is only opted out."""
    write_vault(tmp_path / "ant", {"a.md": "---\nindex: false\n---\n", "never.md": "---\nindex: false\n---\n"})
    (report,) = json.loads(three("index", "-p", "ant", "--json").out)["projects"]

    counts = ("added", "changed", "removed", "unchanged", "opted_out")
    assert [0, 0, 1, 1, 2] == [report[name] for name in counts]
