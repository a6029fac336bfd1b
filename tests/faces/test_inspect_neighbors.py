"""`cutaway inspect neighbors` as a person or a script meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from builders import Cutaway, write_vault
from cutaway.faces.cli import inspect_neighbors
from cutaway.faces.cli.session import Screen
from cutaway.faces.neighbours import NeighboursOut
from cutaway.index.sqlite import index_file
from golden import check_golden

TEMPLATE = "今日の記録 天気 気分 食事 睡眠 仕事 感謝 " * 6
WIDE = {
    **{
        f"日記/{day}.md": f"# 日記 {day}日\n\n{TEMPLATE}\n\n## とても長い見出しがここにあります\n\n{day}"
        for day in range(9)
    },
    "料理/パン.md": "# パンの作り方\n\n小麦粉 天気 気分 睡眠 " * 3 + "塩と水",
    "Bread [bold].md": "# Bread [bold]\n\nflour, water, salt",
}


def test_the_neighbours_of_a_chunk(bread: Cutaway) -> None:
    check_golden("inspect_neighbors.txt", bread("inspect", "neighbors", "Salt and fermentation#1", "--limit", "4").out)


def test_the_neighbours_of_a_note(bread: Cutaway) -> None:
    check_golden(
        "inspect_neighbors_note.txt", bread("inspect", "neighbors", "Salt and fermentation", "-n", "3", "--all").out
    )


def test_the_neighbours_of_words_as_json(bread: Cutaway) -> None:
    check_golden(
        "inspect_neighbors.json", bread("inspect", "neighbors", "--text", "more salt", "-n", "2", "--json").out
    )


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("target", ["日記/3.md#1", "日記/3.md", "Bread [bold]#1"])
def test_the_view_fits_the_terminal_and_wide_characters_line_up(
    cutaway: Cutaway, vault: Path, monkeypatch: pytest.MonkeyPatch, width: int, target: str
) -> None:
    """No row is wider than the terminal, and the columns of the table begin at the same cell in each row."""
    cutaway("index", str(write_vault(vault, WIDE)))
    monkeypatch.setattr(inspect_neighbors, "screen", lambda: Screen(highlight=False, width=width))

    lines = cutaway("inspect", "neighbors", target, "-n", "4").out.splitlines()
    table = lines[lines.index("") + 1 :]

    assert max(map(cell_len, table)) <= width
    rows = [found for line in table if (found := re.match(r"(\d +\d\.\d{3} .*  )\d+(–\d+)?(  [a-z -]+)?$", line))]
    assert 2 <= len(rows)
    assert {cell_len(table[0].split("lines")[0])} == {cell_len(found[1]) for found in rows}


def test_a_group_says_how_many_it_stands_for(cutaway: Cutaway, vault: Path) -> None:
    cutaway("index", str(write_vault(vault, WIDE)))

    shown = cutaway("inspect", "neighbors", "日記/3.md#1", "-n", "3").out

    assert "near-duplicate" in shown
    assert "+ 7 alike to the target: " in shown


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["Salt myths"], 0, ""),
        (["--text", "salt"], 0, ""),
        (["Salt myths", "--by-text", "--all"], 0, ""),
        (["Nowhere"], 1, "no note in bread"),
        (["Salt myths#7"], 2, "has no chunk #7"),
        (["Salt myths:1"], 2, "left out as: frontmatter"),
        (["Salt myths", "--limit", "0"], 2, "limit is 0"),
        (["Salt myths", "--text", "salt"], 2, "one of the two"),
        ([], 2, "one of the two"),
    ],
)
def test_exit_codes_tell_found_from_not_found_from_refused(
    bread: Cutaway, arguments: list[str], code: int, said: str
) -> None:
    ran = bread("inspect", "neighbors", *arguments)

    assert (code, True) == (ran.code, said in ran.err)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_lone_passage_exits_with_one(cutaway: Cutaway, vault: Path, form: list[str]) -> None:
    cutaway("index", str(write_vault(vault, {"a.md": "salt"})))

    ran = cutaway("inspect", "neighbors", "a.md", *form)

    assert (1, "") == (ran.code, ran.err)
    assert "nothing found" in ran.out or [] == json.loads(ran.out)["neighbours"]


def test_an_edited_note_is_said_to_be_behind_its_file(bread: Cutaway, tmp_path: Path) -> None:
    (tmp_path / "bread" / "dough" / "Salt myths.md").write_text("all new")

    assert "rows_behind_file" in bread("inspect", "neighbors", "Salt myths").out


def test_a_locator_of_the_answer_can_be_asked_for_next(bread: Cutaway) -> None:
    first = json.loads(bread("inspect", "neighbors", "Salt myths", "-n", "1", "--json").out)["neighbours"][0]["at"]
    back = json.loads(bread("inspect", "neighbors", first["locator"], "--json").out)["target"]["passages"][0]

    assert first == back


@pytest.mark.parametrize(("share", "shown"), [(100.0, "100"), (99.999, "99.99"), (98.9583, "98.96"), (0.0, "0.00")])
def test_a_share_is_never_rounded_up_to_all(share: float, shown: str) -> None:
    assert shown == inspect_neighbors._percent(share)


def test_every_field_whose_name_does_not_say_it_all_is_described() -> None:
    schema = NeighboursOut.model_json_schema()["$defs"]["NeighbourOut"]["properties"]

    assert all("description" in schema[name] for name in schema.keys() - {"project", "path", "title", "at"})


def test_looking_at_neighbours_changes_no_byte(bread: Cutaway, home: Path) -> None:
    before = index_file(home).read_bytes()

    for asked in (["Salt myths"], ["Salt myths#1", "--by-text"], ["--text", "salt"]):
        assert 0 == bread("inspect", "neighbors", *asked).code

    assert before == index_file(home).read_bytes()
