"""The passage shown for a result: verbatim, the right one, its matched words marked."""

from __future__ import annotations

from pathlib import Path

import pytest
import regex

from builders import HashEmbedder, ask, index_vault, write_vault
from cutaway.config import Settings
from cutaway.retrieval.quote import MAX_CHARS, Quote, quoted

SMALL = Settings(chunk_chars=100)
THREE = "# One\n\nred red red red\n\n# Two\n\nred sun moon\n\n# Three\n\nsun sun sun sun\n"


def quotes(home: Path, query: str, model: bool = False, **request: object) -> list[Quote]:
    """The passages of a page, by words alone unless there is a model."""
    answer = ask(home, query, HashEmbedder() if model else "none", **request)
    return [quoted(hit, answer.shelf, answer.plan.terms) for hit in answer.page]


def quote(home: Path, vault: Path, note: str, query: str, **request: object) -> Quote:
    """The passage of the one result of a vault of one note."""
    index_vault(home, write_vault(vault, {"n.md": note}), settings=SMALL)
    (found,) = quotes(home, query, **request)
    return found


def marked(found: Quote) -> list[str]:
    """The highlighted pieces of a passage."""
    return [found.text[start:end] for start, end in found.highlights]


def test_a_passage_is_a_verbatim_range_of_the_file(home: Path, vault: Path) -> None:
    """Byte for byte, beyond ASCII and with Windows line ends."""
    note = "# Ä\r\n\r\nprélude " + "très " * 40 + "\r\n\r\n# B\r\n\r\nred sun ☀\r\n"
    found = quote(home, vault, note, "red")

    assert note.encode()[found.start : found.end].decode() == found.text
    assert "red sun ☀" in found.text


def test_a_passage_states_its_lines_and_headings(home: Path, vault: Path) -> None:
    """Lines are counted from 1; blank margins do not count."""
    found = quote(home, vault, f"# One\n\n{'sun ' * 20}\n\n# Two\n\nred\n{'moon ' * 15}\n\n", "red")

    assert ("# Two", (5, 8), ("Two",)) == (found.text[:5], found.lines, found.heading_path)


def test_where_words_lead_the_passage_has_the_most_terms(home: Path, vault: Path) -> None:
    """Two terms in one chunk go before one term many times over."""
    filler = "\n\n" + "blue " * 30 + "\n\n"
    found = quote(home, vault, THREE.replace("\n\n# T", f"{filler}# T"), "red sun moon")

    assert ("red", "sun", "moon") == found.terms


def test_passages_of_equal_weight_give_the_first(home: Path, vault: Path) -> None:
    """In source order."""
    note = "\n\n".join(f"# Part {number}\n\nred {'blue ' * 25}" for number in (1, 2, 3))

    assert quote(home, vault, note, "red").text.startswith("# Part 1")


def test_where_similarity_leads_the_passage_is_the_closest_chunk(home: Path, vault: Path) -> None:
    """The chunk that the row stood by all the way."""
    far, close = "red " + "blue green " * 12, "sun moon " * 12
    index_vault(home, write_vault(vault, {"n.md": f"{far}\n\n{close}"}), HashEmbedder(), SMALL)
    (found,) = quotes(home, "sun moon", model=True, mode="vector")

    assert "sun moon" in found.text
    assert "blue" not in found.text


@pytest.mark.parametrize(
    ("note", "query", "expected"),
    [
        ("The suns rise over a RED sun.", "sun red", ["suns", "RED", "sun"]),
        ("un café noir", "cafe", ["café"]),
        ("我喜欢成语接龙", "成语接龙", ["成语接龙"]),
        ("release 2026.4.10 is out", "2026.4.10", ["2026.4.10"]),
        ("written in C++, not in C", "C++", ["C++"]),
        ("🐘 walks", "🐘", ["🐘"]),
    ],
    ids=["stems and case", "an accent", "bigrams join", "parts and whole join", "a sign in a name", "an emoji"],
)
def test_matched_words_are_marked(home: Path, vault: Path, note: str, query: str, expected: list[str]) -> None:
    """Each where it stands, as it is written; ranges that touch are one."""
    assert expected == marked(quote(home, vault, note, query))


def test_one_character_of_an_unspaced_script_is_marked(home: Path, vault: Path) -> None:
    """A query that the index answers by a single character shows that character."""
    found = quote(home, vault, "我喜欢成语接龙", "语")

    assert (("语",), ["语"]) == (found.terms, marked(found))


def test_terms_are_listed_as_typed(home: Path, vault: Path) -> None:
    """Those in the passage, once each, in the order of the query."""
    assert ("sun", "red") == quote(home, vault, "red sun red", "sun violet red").terms


def test_a_result_of_an_alias_shows_the_head_of_the_note(home: Path, vault: Path) -> None:
    """No word of the query is in the text: nothing is marked, the first passage is shown."""
    note = "---\naliases: [K8s]\n---\n" + "\n\n".join(f"# {part}\n\n{'words ' * 20}" for part in ("First", "Second"))
    found = quote(home, vault, note, "K8s")

    assert ("# First", (), ()) == (found.text[:7], found.terms, found.highlights)


def test_a_long_passage_is_cut_and_says_so(home: Path, vault: Path) -> None:
    """Text, range and lines end where it was cut."""
    note = "é red " * 1_000
    index_vault(home, write_vault(vault, {"n.md": note}), settings=Settings(chunk_chars=8_000))
    (found,) = quotes(home, "red")

    assert (MAX_CHARS, True) == (len(found.text), found.truncated)
    assert note.encode()[found.start : found.end].decode() == found.text
    assert max(end for _, end in found.highlights) <= MAX_CHARS


def test_a_long_passage_is_cut_between_characters_as_readers_see_them(home: Path, vault: Path) -> None:
    """No family is torn apart."""
    family = "👩‍👩‍👧‍👦"
    index_vault(home, write_vault(vault, {"n.md": "red " + family * 600}), settings=Settings(chunk_chars=8_000))
    (found,) = quotes(home, "red")

    assert family == regex.findall(r"\X", found.text)[-1]


def test_a_short_passage_is_shown_whole(home: Path, vault: Path) -> None:
    """Nothing was cut, so nothing says so."""
    found = quote(home, vault, "red sun", "red")

    assert ("red sun", False) == (found.text, found.truncated)


def test_a_relation_shows_its_own_line(home: Path, vault: Path) -> None:
    """It has no chunk of its own."""
    index_vault(home, write_vault(vault, {"n.md": "Before.\n\n- depends on [[Red Sun]]\n\nAfter."}))
    answer = ask(home, "depends", group="row")
    found = {hit.id.kind: quoted(hit, answer.shelf, answer.plan.terms) for hit in answer.page}["relation"]

    assert (None, "- depends on [[Red Sun]]", ["depends"]) == (found.chunk, found.text.strip(), marked(found))


def test_a_note_found_by_the_words_of_its_observation_shows_them(home: Path, vault: Path) -> None:
    """Both rows hold the word; neither result hides it."""
    index_vault(home, write_vault(vault, {"n.md": "An introduction.\n\n- [fact] red sun\n"}))

    assert [["red"], ["red"]] == [marked(found) for found in quotes(home, "red", group="row")]


@pytest.mark.parametrize("note", ["---\nembed: false\ntitle: Red\n---\nsun\n", "---\ntitle: Red\n---\n"])
def test_frontmatter_is_never_the_passage(home: Path, vault: Path, note: str) -> None:
    """Nor where the note has no chunk that could be shown instead."""
    found = quote(home, vault, note, "red")

    assert "---" not in found.text
    assert "title:" not in found.text
