"""This file is about what changed between an index and a folder: pure listings in, paths by fate out."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.index.cards import Known
from cutaway.index.difference import Difference, difference
from cutaway.model import NoteId, Problem
from cutaway.notes.files import Scan


def compared(before: Mapping[str, str], after: Mapping[str, str], *problems: Problem, form: str = "now") -> Difference:
    """The difference between two folders, given as contents by path."""
    known = {
        path: Known(NoteId(number), text.encode(), "now") for number, (path, text) in enumerate(before.items(), start=1)
    }
    return difference(known, Scan({path: text.encode() for path, text in after.items()}, list(problems)), form)


NOTHING = Difference(added=(), changed=(), renamed=(), removed=(), stale=(), unchanged=0)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {}, {}),
        ({"a.md": "x"}, {"a.md": "x"}, {"unchanged": 1}),
        ({}, {"a.md": "x"}, {"added": ("a.md",)}),
        ({"a.md": "x"}, {}, {"removed": ("a.md",)}),
        ({"a.md": "x"}, {"a.md": "y"}, {"changed": ("a.md",)}),
        ({"a.md": "x"}, {"b.md": "x"}, {"renamed": (("a.md", "b.md"),)}),
        ({"a.md": "x"}, {"A.md": "x"}, {"renamed": (("a.md", "A.md"),)}),
        ({"a.md": "x"}, {"b.md": "y"}, {"added": ("b.md",), "removed": ("a.md",)}),
        ({"a.md": "x"}, {"a.md": "x", "b.md": "x"}, {"added": ("b.md",), "unchanged": 1}),
        ({"a.md": "x", "b.md": "y"}, {"a.md": "y", "b.md": "x"}, {"changed": ("a.md", "b.md")}),
        ({"a.md": "x", "b.md": "y"}, {"b.md": "x"}, {"changed": ("b.md",), "removed": ("a.md",)}),
    ],
)
def test_every_path_is_told_apart_by_what_happened_to_it(
    before: dict[str, str], after: dict[str, str], expected: dict[str, object]
) -> None:
    """A rename is a path gone and a new path with its very bytes; a copy or an exchange is none."""
    assert NOTHING._replace(**expected) == compared(before, after)


def test_an_unchanged_note_that_was_read_in_another_way_is_stale() -> None:
    """What is read again for its form is told apart from what is read for its bytes."""
    found = compared({"a.md": "x", "b.md": "y"}, {"a.md": "x", "b.md": "z"}, form="another")

    assert NOTHING._replace(stale=("a.md",), changed=("b.md",)) == found


def test_a_moved_note_keeps_its_name_where_contents_are_equal() -> None:
    """Of several gone notes with the same bytes, the one of the same file name is the one that moved."""
    found = compared({"a/x.md": "same", "a/y.md": "same"}, {"b/y.md": "same", "b/x.md": "same"})

    assert {("a/x.md", "b/x.md"), ("a/y.md", "b/y.md")} == set(found.renamed)


def test_a_note_moved_to_two_places_is_renamed_once() -> None:
    """One of the copies carries the identity on; the other is a new note."""
    found = compared({"a.md": "same"}, {"b.md": "same", "c.md": "same"})

    assert NOTHING._replace(renamed=(("a.md", "b.md"),), added=("c.md",)) == found


def test_two_notes_merged_into_one_name_leave_one_removed() -> None:
    """Two gone notes with the same bytes and one new path: one rename, one removal."""
    found = compared({"a.md": "same", "b.md": "same"}, {"c.md": "same"})

    assert NOTHING._replace(renamed=(("a.md", "c.md"),), removed=("b.md",)) == found


@pytest.mark.parametrize(
    "problem",
    [Problem("a/b.md", "unreadable", "not UTF-8 text"), Problem("a", "folder", "cannot be listed")],
    ids=["file", "folder"],
)
@pytest.mark.parametrize("after", [{}, {"new.md": "x"}], ids=["alone", "beside a copy"])
def test_a_note_that_could_not_be_seen_is_left_alone(problem: Problem, after: dict[str, str]) -> None:
    """It is not removed, and a new note with its bytes is not taken for it."""
    found = compared({"a/b.md": "x"}, after, problem)

    assert NOTHING._replace(added=tuple(after)) == found


@pytest.mark.parametrize("kind", ["link", "file name", "ignore file"])
def test_other_problems_do_not_keep_a_gone_note(kind: str) -> None:
    """Only a path that could not be looked at may still be there."""
    assert NOTHING._replace(removed=("a.md",)) == compared({"a.md": "x"}, {}, Problem("a.md", kind, "reported"))


folders = st.dictionaries(
    st.sampled_from([f"{d}{n}.md" for d in ("", "d/", "e/") for n in "abc"]), st.sampled_from("xyz")
)


@settings(max_examples=100)
@given(before=folders, after=folders, unseen=st.sampled_from((None, "d", "a.md")))
def test_every_path_has_exactly_one_fate(before: dict[str, str], after: dict[str, str], unseen: str | None) -> None:
    """Old paths are removed, renamed, kept or unseen; new ones are added or renamed: none twice, none lost."""
    after = {path: text for path, text in after.items() if unseen is None or not path.startswith(unseen)}
    problems = [] if unseen is None else [Problem(unseen, "folder", "cannot be listed")]
    hidden = {path for path in before if unseen is not None and path.startswith(unseen)}

    found = compared(before, after, *problems)

    left = [*found.removed, *(old for old, _ in found.renamed)]
    came = [*found.added, *(new for _, new in found.renamed)]
    assert sorted(before.keys() - after.keys() - hidden) == sorted(left)
    assert sorted(after.keys() - before.keys()) == sorted(came)
    assert len(before.keys() & after.keys()) == len(found.changed) + len(found.stale) + found.unchanged


@settings(max_examples=50)
@given(before=folders, after=folders, shuffle=st.randoms(use_true_random=False))
def test_a_rename_does_not_depend_on_the_order_of_listings(
    before: dict[str, str], after: dict[str, str], shuffle: Random
) -> None:
    """The same two folders, listed in another order, have the same renames."""
    first = compared(before, after)
    old, new = list(before.items()), list(after.items())
    shuffle.shuffle(old)
    shuffle.shuffle(new)

    assert first.renamed == compared(dict(old), dict(new)).renamed


@given(before=folders, after=folders)
def test_a_rename_joins_equal_bytes(before: dict[str, str], after: dict[str, str]) -> None:
    """No note takes the identity of one that said something else."""
    for old, new in compared(before, after).renamed:
        assert before[old] == after[new]
