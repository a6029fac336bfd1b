"""`cutaway migrate`: what it says, what it refuses, and that it never shows a password."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from builders import Cutaway
from cutaway.index import migrate as migrating


def with_password(database: str) -> str:
    """The same address with a password in it, which this server does not ask for."""
    return re.sub(r"://([^:/@]*)(:[^@]*)?@", r"://\1:s3cr3t@", database)


def test_a_copy_is_used_as_it_says(bread: Cutaway, home: Path, database: str) -> None:
    """The lines it prints, with the password filled in, are the settings of the copy; going back is the same."""
    address = with_password(database)
    before = bread("search", "salt", "--json")
    moved = bread("migrate", "--to", address)
    (home / "config.toml").write_text(moved.out.split("\n", 1)[1].replace("PASSWORD", "s3cr3t"))
    (home / "index.sqlite").rename(home / "old")
    after = bread("search", "salt", "--json")
    (summary,) = json.loads(bread("index", "--json").out)["projects"]
    back = bread("migrate", "--to", "file", "--json")

    assert 0 == moved.code, moved.err
    assert "s3cr3t" not in moved.out + moved.err
    assert _hits(before.out) == _hits(after.out)
    assert [0, 0, 0, 0] == [summary[name] for name in ("added", "changed", "removed", "reread")]
    assert summary["unchanged"]
    assert ['vectors = "exact"'] == json.loads(back.out)["config"]
    (home / "config.toml").unlink()
    assert before.out == bread("search", "salt", "--json").out


def _hits(out: str) -> object:
    return json.loads(out)["hits"]


@pytest.mark.parametrize("form", ["user:s3cr3t@", "user:s3cr3t@with/signs@", "user@?password="])
def test_no_password_is_shown(bread: Cutaway, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it stands in the address."""
    address = f"postgresql://{form}host/db" if "?" not in form else "postgresql://user@host/db?password=s3cr3t&x=1"
    monkeypatch.setattr("cutaway.faces.cli.migrate.migrate", lambda *_: migrating.Copied(1, 1, 1, 1, 1, "there"))
    for ran in (bread("migrate", "--to", address), bread("migrate", "--to", address, "--json")):
        assert 0 == ran.code
        assert "s3cr3t" not in ran.out + ran.err
        assert "PASSWORD" in ran.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--to", "file"), "the store in use"),
        (("--to", "mysql://user:s3cr3t@host/db"), "--to takes"),
        (("--to", "file", "--schema", "x"), "--schema"),
        (("--to", "postgresql://user:s3cr3t@host/db", "--schema", "No Schema"), "store_schema"),
        (("--to", "postgresql://user:s3cr3t@127.0.0.1:1/db"), "did not answer"),
    ],
)
def test_what_cannot_be_done_is_said(bread: Cutaway, options: tuple[str, ...], said: str) -> None:
    """With the exit code of a usage error, and no password."""
    ran = bread("migrate", *options)

    assert 2 == ran.code
    assert said in ran.err
    assert "s3cr3t" not in ran.err


def test_nothing_indexed_is_nothing_to_copy(cutaway: Cutaway, database: str) -> None:
    """And nothing is made there."""
    ran = cutaway("migrate", "--to", database)

    assert (2, True) == (ran.code, "nothing is indexed" in ran.err)


@pytest.mark.parametrize("command", [("status",), ("search", "salt"), ("index",), ("doctor",), ("project", "list")])
def test_a_copy_that_was_stopped_is_said_by_every_command(
    bread: Cutaway, home: Path, database: str, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """And the way out of it."""

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(migrating._Copy, "_notes", stopped)
        ran = bread("migrate", "--to", database)
    (home / "config.toml").write_text(f'store = "{database}"\nvectors = "pgvector"\n')
    said = bread(*command)

    assert (130, 2) == (ran.code, said.code)
    assert "was not finished" in said.err
    assert "cutaway migrate again" in said.err
