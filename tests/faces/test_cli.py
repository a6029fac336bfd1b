"""The command line as a person or a script meets it: exit codes, messages, streams."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from builders import Cutaway, manifest, write_vault
from cutaway.index.sqlite import index_file


def test_a_first_run_indexes_searches_and_exits_with_nought(bread: Cutaway) -> None:
    ran = bread("search", "salt")

    assert 0 == ran.code
    assert "Salt and fermentation" in ran.out
    assert "" == ran.err


def test_a_second_index_run_changes_nothing(bread: Cutaway, home: Path) -> None:
    before = manifest(home)

    ran = bread("index")

    assert before == manifest(home)
    assert "27 unchanged" in ran.out
    assert "embedded," not in ran.out.replace("everything is embedded,", "")


def test_nothing_found_exits_with_one_and_says_why(bread: Cutaway) -> None:
    ran = bread("search", "zxqv flumph", "--mode", "text")

    assert 1 == ran.code
    assert "no term matched" in ran.out
    assert "nothing found" in ran.out


def test_a_page_past_the_end_says_how_many_there_are(bread: Cutaway) -> None:
    ran = bread("search", "salt", "--mode", "text", "--page", "50")

    assert 1 == ran.code
    assert "no such page" in ran.out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["search", "salt", "--limt", "3"], "--limt"),
        (["search", "salt", "--limit", "0"], "limit is 0"),
        (["search", "salt", "--limit", "100000"], "1 to 1,000"),
        (["search", "salt", "--limit", "many"], "many"),
        (["search", "salt", "--page", "-1"], "page is -1"),
        (["search", "salt", "--page", "0"], "page is 0"),
        (["search", "salt", "--mode", "psychic"], "psychic"),
        (["search", "salt", "--fusion", "cold"], "cold"),
        (["search", "salt", "--min-similarity", "5"], "min_similarity"),
        (["search", "salt", "--min-similarity", "-1"], "min_similarity"),
        (["search", "   "], "query is empty"),
        (["search", "a\0b"], "NUL"),
        (["search"], "query"),
        (["search", "salt", "--project", "nowhere"], "nowhere"),
        (["serch", "salt"], "serch"),
        (["inspect", "salt"], "salt"),
        (["index", "/no/such/folder"], "/no/such/folder"),
    ],
)
def test_bad_input_is_named_and_exits_with_two(bread: Cutaway, arguments: list[str], named: str) -> None:
    ran = bread(*arguments)

    assert 2 == ran.code
    assert named in ran.err
    assert "" == ran.out


def test_an_unknown_setting_in_the_file_is_named(bread: Cutaway, home: Path) -> None:
    (home / "config.toml").write_text("limt = 3\n")

    ran = bread("search", "salt")

    assert 2 == ran.code
    assert "limt" in ran.err
    assert "config.toml" in ran.err


def test_a_setting_in_the_file_is_used(bread: Cutaway, home: Path) -> None:
    (home / "config.toml").write_text('limit = 2\nmode = "text"\n')

    found = json.loads(bread("search", "salt", "--json").out)

    assert 2 == len(found["hits"])
    assert "text" == found["mode"]


def test_an_empty_home_says_how_to_begin(cutaway: Cutaway) -> None:
    ran = cutaway("search", "salt")

    assert 2 == ran.code
    assert "cutaway index FOLDER" in ran.err


def test_an_empty_folder_gives_an_empty_answer(cutaway: Cutaway, vault: Path) -> None:
    cutaway("index", str(vault))

    found = json.loads(cutaway("search", "salt", "--json").out)

    assert ([], 0, True, False) == (found["hits"], found["total"], found["total_is_exact"], found["has_more"])


def test_a_missing_root_is_refused_and_the_index_kept(cutaway: Cutaway, vault: Path, home: Path) -> None:
    write_vault(vault, {"a.md": "salt"})
    cutaway("index", str(vault))
    before = manifest(home)
    shutil.rmtree(vault)

    ran = cutaway("index")

    assert 2 == ran.code
    assert "cannot be read" in ran.err
    assert before == manifest(home)


def test_one_failing_project_does_not_stop_the_others(cutaway: Cutaway, tmp_path: Path) -> None:
    for name in ("gone", "kept"):
        cutaway("index", str(write_vault(tmp_path / name, {"a.md": f"{name} salt"})))
    shutil.rmtree(tmp_path / "gone")
    (tmp_path / "kept" / "b.md").write_text("more salt")

    ran = cutaway("index")

    assert 2 == ran.code
    assert "1 added" in ran.out


def test_several_projects_ask_for_a_choice(cutaway: Cutaway, tmp_path: Path) -> None:
    for name in ("one", "two"):
        cutaway("index", str(write_vault(tmp_path / name, {"a.md": f"{name} salt"})))

    asked, chosen = cutaway("search", "salt"), cutaway("search", "salt", "-p", "two", "--json")

    assert 2 == asked.code
    assert "--all-projects" in asked.err
    assert ["two"] == [hit["project"] for hit in json.loads(chosen.out)["hits"]]


def test_the_project_around_the_current_folder_is_meant(
    cutaway: Cutaway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        cutaway("index", str(write_vault(tmp_path / name, {"sub/a.md": f"{name} salt"})))
    monkeypatch.chdir(tmp_path / "one" / "sub")

    assert ["one"] == [hit["project"] for hit in json.loads(cutaway("search", "salt", "--json").out)["hits"]]


def test_a_note_that_is_not_there_exits_with_one(bread: Cutaway) -> None:
    ran = bread("inspect", "chunks", "Nowhere")

    assert 1 == ran.code
    assert "Nowhere" in ran.err


def test_an_edited_note_is_said_to_be_behind_its_file(bread: Cutaway, tmp_path: Path) -> None:
    (tmp_path / "bread" / "dough" / "Salt myths.md").write_text("all new")

    found = json.loads(bread("inspect", "chunks", "Salt myths", "--json").out)

    assert "rows_behind_file" == found["freshness"]


def test_an_edited_note_shows_both_its_versions(bread: Cutaway, tmp_path: Path) -> None:
    """What the index holds, what the file is now, and what differs; nothing that the terminal would act on."""
    note = tmp_path / "bread" / "dough" / "Salt myths.md"
    note.write_text(note.read_text().replace("He also", "\x1b[31mShe also") + "more\n" * 20)

    said = bread("inspect", "chunks", "Salt myths").out

    assert re.search(r"^  index  560 bytes, 16 lines, [0-9a-f]{8}, of \d", said, re.MULTILINE)
    assert re.search(r"^  file   \d+ bytes, 36 lines, [0-9a-f]{8}, of \d", said, re.MULTILINE)
    assert re.search(r"^  -He also swore", said, re.MULTILINE)
    assert "and more; --json has them" in said
    assert "\x1b" not in said


def test_a_file_that_is_not_indexed_is_said_to_be_that(bread: Cutaway, tmp_path: Path) -> None:
    (tmp_path / "bread" / "New.md").write_text("just written")

    ran = bread("inspect", "chunks", "New.md", "--json")

    assert 1 == ran.code
    assert "not_indexed" == json.loads(ran.out)["freshness"]
    assert "Run: cutaway index" in ran.err


def test_searching_and_inspecting_change_no_byte_of_the_index(bread: Cutaway, home: Path) -> None:
    before = index_file(home).read_bytes()

    for command in (["search", "salt"], ["inspect", "query", "salt"], ["inspect", "chunks", "Salt myths"], ["status"]):
        assert 0 == bread(*command).code

    assert before == index_file(home).read_bytes()


def test_text_only_indexing_says_what_waits_and_search_says_it_is_degraded(cutaway: Cutaway, vault: Path) -> None:
    write_vault(vault, {"a.md": "salt"})

    ran = cutaway("index", str(vault), "--no-embed")
    found = json.loads(cutaway("search", "salt", "--json").out)

    assert "1 passages wait" in ran.out
    assert [("nearest", "partial_vectors: 0 of 1 chunks are embedded. Run: cutaway index")] == [
        (part["stage"], part["reason"]) for part in found["degraded"]
    ]
    assert ["a.md"] == [hit["path"] for hit in found["hits"]]


def test_colour_appears_on_terminals_only(bread: Cutaway) -> None:
    assert "\x1b" not in bread("search", "salt").out


@pytest.mark.usefixtures("bread")
def test_a_closed_pipe_is_no_error(home: Path) -> None:
    script = "import sys; from cutaway.faces.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "search", "salt", "--mode", "text", "--json", "--limit", "100"]
    environment = {**os.environ, "CUTAWAY_HOME": str(home)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()

    assert b"" == complaint
    assert 0 == process.returncode


def test_the_version_needs_no_other_module() -> None:
    """
    Start-up is a feature: asking for the version imports neither the engine nor its libraries.
    """
    script = (
        "import sys; from cutaway.faces.cli.main import main; main(['--version']);"
        "print(sorted({'numpy', 'apsw', 'pydantic', 'rich', 'onnxruntime', 'yaml'} & sys.modules.keys()))"
    )

    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert ["[]"] == shown.splitlines()[1:]
