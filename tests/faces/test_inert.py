"""What notes hold is text on a terminal too: none of it is obeyed."""

from __future__ import annotations

from pathlib import Path
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Cutaway, write_vault
from cutaway.faces.cli.inert import inert

HOSTILE = "salt \x1b[31mred\x1b]0;owned\x07 \x9b2J \u202egnp.exe \x7f"
NOTES = {
    "a.md": f"# {HOSTILE}\n\n## {HOSTILE}\n\n- [x\x1b[1m] {HOSTILE} #t\n- links [[\x1b[32mb]]\n\n{HOSTILE}\n",
    "b.md": f'---\ntitle: "salt \\e[31m"\ntags: ["\\e[32m"]\nstatus: "\\e[33m"\n---\n{HOSTILE}\n',
    "broken.md": "---\na: \x1b[31m: [\n---\nsalt\n",
}
COMMANDS = {
    "search": ("search", "salt", "red"),
    "search by rows": ("search", "salt", "--by", "row", "--explain"),
    "a query that is hostile": ("search", "\x1b[31m", "tag:\x1b[31m", "--where", "x\x1b[31m=1"),
    "query": ("inspect", "query", "salt", "--explain", "--show-misses"),
    "chunks": ("inspect", "chunks", "a.md"),
    "chunks, whole": ("inspect", "chunks", "a.md", "--text"),
    "no such note": ("inspect", "chunks", "\x1b[31m"),
    "why": ("inspect", "why", "salt", "b.md"),
    "stale": ("inspect", "stale"),
    "status": ("status",),
    "doctor": ("doctor",),
}


@pytest.fixture
def hostile(cutaway: Cutaway, tmp_path: Path) -> Cutaway:
    vault = write_vault(tmp_path / "vault", NOTES)
    cutaway("index", str(vault))
    (vault / "a.md").write_text(NOTES["a.md"] + HOSTILE)
    return cutaway


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_passes_on_what_a_terminal_would_act_on(name: str, hostile: Cutaway) -> None:
    ran = hostile(*COMMANDS[name])

    assert ran.out + ran.err
    assert not [sign for sign in ran.out + ran.err if category(sign) == "Cc" and sign not in "\n\t"]
    assert "\u202e" not in ran.out + ran.err


def test_indexing_such_notes_says_what_is_wrong_and_no_more(cutaway: Cutaway, tmp_path: Path) -> None:
    ran = cutaway("index", str(write_vault(tmp_path / "vault", NOTES)))

    assert "\x1b" not in ran.out + ran.err


@given(st.text())
def test_all_else_stays_as_it_is(text: str) -> None:
    """Sign for sign: so nothing moves, and doing it twice changes nothing."""
    shown = inert(text)

    assert len(text) == len(shown)
    assert shown == inert(shown)
    assert all(a == b or category(a) in ("Cc", "Cf") for a, b in zip(text, shown, strict=True))
