"""A note and its file, once they differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import index_vault, opened, write_vault
from cutaway.inspector.chunk_map import find_note
from cutaway.inspector.versions import MOST_CHARS, MOST_LINES, Versions, _changes, versions


def held(folder: Path, before: str, after: bytes | None) -> Versions | None:
    """The versions of a note that was indexed with one text and has another."""
    vault = write_vault(folder / "vault", {"a.md": before})
    index_vault(folder / "home", vault)
    if after is None:
        (vault / "a.md").unlink()
    else:
        (vault / "a.md").write_bytes(after)
    with opened(folder / "home") as reader:
        return versions(find_note(reader, "a.md"))


def test_both_versions_are_told_and_what_differs(tmp_path: Path) -> None:
    found = held(tmp_path, "# Salt\n\none\ntwo\n", b"# Salt\n\none\n2\nthree\n")

    assert found
    assert (16, 5) == (found.indexed.bytes, found.indexed.lines)
    assert (20, 6) == (found.file.bytes, found.file.lines)
    assert found.indexed.hash != found.file.hash
    assert ("@@ -2,4 +2,5 @@", " ", " one", "-two", "+2", "+three", " ") == found.changes
    assert not found.truncated


@pytest.mark.parametrize("after", [b"# Salt\n", None])
def test_a_file_that_is_as_it_was_or_gone_has_no_other_version(after: bytes | None, tmp_path: Path) -> None:
    assert held(tmp_path, "# Salt\n", after) is None


def test_what_is_told_of_a_long_change_is_bounded(tmp_path: Path) -> None:
    """Nothing common, a hundred thousand lines, long ones: neither time nor the answer grows with them."""
    found = held(tmp_path, "old\n" * 100_000, b"new, " * 1_000 + b"\n" + b"new\n" * 100_000)

    assert found
    assert (MOST_LINES, True) == (len(found.changes), found.truncated)
    assert max(map(len, found.changes)) <= MOST_CHARS


LINES = st.lists(st.sampled_from(["a", "b", "", "@@ -1 +1 @@", "-x", "+y"]), max_size=12)


@given(LINES, LINES, st.integers(0, 40))
def test_the_changes_lead_from_one_version_to_the_other(before: list[str], after: list[str], same: int) -> None:
    """Also behind a long beginning that both have; the line numbers are those of the whole."""
    before, after = ["same"] * same + before, ["same"] * same + after
    changes, truncated = _changes(before, after)
    made, at = list[str](), 0
    for line in changes:
        if line.startswith("@@"):
            start, _, length = line.split(" ")[1][1:].partition(",")
            first = int(start) - (length != "0")
            made += before[at:first]
            at = first
        else:
            assert line[0] == "+" or before[at] == line[1:]
            made += [line[1:]] if line[0] in "+ " else []
            at += line[0] in "- "
    assert (after, False) == (made + before[at:], truncated)
