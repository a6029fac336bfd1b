"""Notes are found by the forms of their words in the language they are written in."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import ask, index_vault, opened, paths, write_vault
from notes.test_languages import SENTENCES

GERMAN = SENTENCES["german"] + " Das Haus ist alt und die Küche ist klein."
ENGLISH = SENTENCES["english"]


@pytest.mark.parametrize(
    ("query", "found"), [("Häuser", ["de.md"]), ("Küchen", ["de.md"]), ("rising", ["en.md"]), ("kitchens", ["en.md"])]
)
def test_words_are_found_by_the_forms_of_their_language(home: Path, vault: Path, query: str, found: list[str]) -> None:
    """In a folder of two languages, each by its own rules."""
    index_vault(home, write_vault(vault, {"de.md": GERMAN, "en.md": ENGLISH}))

    assert found == paths(ask(home, query, mode="text"))


def test_the_languages_of_a_scope_are_those_of_its_notes(home: Path, vault: Path) -> None:
    """Of at least one note in twenty; notes that do not say count for none."""
    notes = {f"{number}.md": ENGLISH for number in range(40)} | {"de.md": GERMAN, "short.md": "Brot"}
    index_vault(home, write_vault(vault, notes))
    with opened(home) as reader:
        assert ("english",) == reader.spoken

    index_vault(home, write_vault(vault, {"de2.md": GERMAN, "de3.md": GERMAN}))
    with opened(home) as reader:
        assert ("english", "german") == reader.spoken


def test_a_folder_that_does_not_say_is_taken_for_english(home: Path, vault: Path) -> None:
    """Short notes are found by the rules of any language that the scope is read by."""
    index_vault(home, write_vault(vault, {"a.md": "bread loaves"}))
    with opened(home) as reader:
        assert ("english",) == reader.spoken

    assert ["a.md"] == paths(ask(home, "breads loaf", mode="text"))


def test_a_short_note_among_long_ones_is_found_by_their_language(home: Path, vault: Path) -> None:
    """It does not say what it is written in, so it may be any."""
    index_vault(home, write_vault(vault, {"long.md": GERMAN, "short.md": "Brote backen"}))

    assert ["short.md"] == paths(ask(home, "Brot", mode="text"))


def test_a_language_that_is_gone_no_longer_counts(home: Path, vault: Path) -> None:
    """The rules are those of the notes there are."""
    index_vault(home, write_vault(vault, {"de.md": GERMAN, "en.md": ENGLISH}))
    (vault / "de.md").unlink()
    index_vault(home, vault)

    with opened(home) as reader:
        assert ("english",) == reader.spoken


def test_a_stem_that_is_another_word_is_not_found(home: Path, vault: Path) -> None:
    """What `computerized` is cut down to looks like `computer`, whose own stem is shorter still."""
    index_vault(home, write_vault(vault, {"a.md": "computer", "b.md": "computerized"}))

    assert ["b.md"] == paths(ask(home, "computerize", mode="text"))
