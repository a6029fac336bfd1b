"""`cutaway inspect stale` as a person or a script meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import Cutaway
from cutaway.index.sqlite import index_file
from golden import check_golden


def unsettle(folder: Path) -> None:
    """One note of each kind that files can make stale."""
    (folder / "dough" / "Salt myths.md").write_text("all new")
    (folder / "dough" / "Rye.md").write_text("# Rye\n")
    (folder / "dough" / "Autolyse.md").rename(folder / "dough" / "Resting flour.md")
    (folder / "baking" / "Steam.md").unlink()
    (folder / "baking" / "Scoring.md").write_bytes(b"caf\xe9")


def test_what_lags(bread: Cutaway, tmp_path: Path) -> None:
    unsettle(tmp_path / "bread")

    check_golden("inspect_stale.txt", bread("inspect", "stale").out, tmp_path)
    check_golden("inspect_stale.json", bread("inspect", "stale", "--json").out, tmp_path)


def test_the_same_reason_is_told_once(bread: Cutaway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTAWAY_CHUNK_CHARS", "600")

    check_golden("inspect_stale_form.txt", bread("inspect", "stale").out)


@pytest.mark.parametrize(
    ("stale", "check", "code"), [(False, False, 0), (False, True, 0), (True, False, 0), (True, True, 1)]
)
def test_only_a_check_fails_where_something_lags(
    bread: Cutaway, tmp_path: Path, stale: bool, check: bool, code: int
) -> None:
    if stale:
        unsettle(tmp_path / "bread")

    ran = bread("inspect", "stale", "--json", *(["--check"] if check else []))

    assert (code, stale) == (ran.code, json.loads(ran.out)["stale"])


def test_nothing_stale_is_said(bread: Cutaway) -> None:
    assert "fresh  all of 27 notes are up to date: nothing lags behind\n" == bread("inspect", "stale").out


def test_a_long_list_is_cut_and_json_has_it_all(bread: Cutaway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTAWAY_CHUNK_CHARS", "600")

    assert "and 15 more; --json lists them all" in bread("inspect", "stale").out
    (lag,) = json.loads(bread("inspect", "stale", "--json").out)["lags"]
    assert 27 == lag["notes"] == len(lag["lagging"])


def test_looking_for_what_lags_changes_no_byte(bread: Cutaway, home: Path, tmp_path: Path) -> None:
    unsettle(tmp_path / "bread")
    before = index_file(home).read_bytes()

    bread("inspect", "stale")

    assert before == index_file(home).read_bytes()
