"""This file is about notes as people write them, from the file to the passage that a search shows."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from builders import HashEmbedder, ask, index_vault, paths, write_vault
from cutaway.model import RELATION
from cutaway.retrieval.quote import Quote, quoted

LINE_ENDS = pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
MODES = pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
FENCE = "```sh\n# install\n  pip install zebra\n```"


def index(home: Path, vault: Path, *notes: str, limit: int = 512) -> HashEmbedder:
    """An index of these notes, `0.md` and so on."""
    embedder = HashEmbedder(limit=limit)
    index_vault(home, write_vault(vault, {f"{number}.md": note for number, note in enumerate(notes)}), embedder)
    return embedder


def quotes(home: Path, query: str, **request: object) -> list[Quote]:
    """The passages of a page, best first."""
    answer = ask(home, query, HashEmbedder(), **request)
    return [quoted(hit, answer.shelf, answer.plan.terms) for hit in answer.page]


def rows(home: Path, query: str) -> list[tuple[str, str]]:
    """Kind and title of every row with a word of the query."""
    answer = ask(home, query, group="row", mode="text", limit=50)
    return [(hit.id.kind, answer.shelf.rows[hit.id].title) for hit in answer.page]


# Frontmatter


@pytest.mark.parametrize("key", ["title", "aliases", "tags", "description"])
def test_a_word_of_the_body_goes_before_the_frontmatter_that_all_notes_share(home: Path, vault: Path, key: str) -> None:
    """Thirty notes say it in their head; the one that speaks of it is first."""
    notes = [f"---\n{key}: red sun\n---\nplain words {number}\n" for number in range(30)]
    index(home, vault, *notes, f"---\n{key}: red sun\n---\nplain words of a red roof\n")

    assert "30.md" == paths(ask(home, "red", mode="text"))[0]
    assert [] == [quote for quote in quotes(home, "red", mode="text") if "sun" in quote.text or "---" in quote.text]


@LINE_ENDS
@pytest.mark.parametrize("prose", ["We met a zebra.", "Dear all: a zebra: it was good", "- a zebra\n- one more"])
def test_prose_between_two_rules_is_found_and_shown_whole(home: Path, vault: Path, prose: str, end: str) -> None:
    """It only looks like frontmatter."""
    note = f"---\n{prose}\n---\nMore.\n".replace("\n", end)
    index(home, vault, note)

    assert [note] == [quote.text for quote in quotes(home, "zebra", mode="text")]


@LINE_ENDS
@pytest.mark.parametrize("yaml", ["tags: [a, b", "title: a: b", "a: {b", "'tags': 'x", "\ttags: x", "a: @b"])
def test_the_body_below_broken_frontmatter_is_found(home: Path, vault: Path, yaml: str, end: str) -> None:
    """The problem is the frontmatter's alone."""
    index(home, vault, f"---\ntype: x\n{yaml}\n---\nA zebra.\n".replace("\n", end))

    assert ["A zebra."] == [quote.text.strip() for quote in quotes(home, "zebra")]


@pytest.mark.parametrize(
    "odd",
    [
        *("---\na: 0x" + "f" * 6_000 + "\n---\n", "---\na: 1" + ":59" * 400 + ".5\n---\n", "---\na: &x [*x]\n---\n"),
        *("---\n? [a]\n: b\n---\n", "---\n2: a\n'2': b\nnull: c\n---\n", "---\ntitle: [a]\ntags: {a: b}\n---\n"),
        *("---\nwhen: 9999-12-31T23:59:59-12:00\n---\n", '---\ntitle: "a\\0b"\n---\n', "\0", "\ufeff\ufeff", "\r\r"),
        *("%%\n", "$$\n", "```\n", "<!--\n", "- [\n", "[[", "> " * 300, "- " * 300, "|a|\n|-|\n" + "|" * 300),
    ],
    ids=lambda odd: ascii(odd)[:24],
)
def test_no_note_stops_the_others(home: Path, vault: Path, odd: str) -> None:
    """Whatever stands in a note, it is listed, its own words are found, and so are those of the next one."""
    index(home, vault, f"{odd}zebra\n\nzebra\n", "zebra\n")

    assert ["0.md", "1.md"] == sorted(paths(ask(home, "zebra", mode="text")))


# Passages


@LINE_ENDS
def test_code_under_a_heading_is_shown_byte_for_byte_and_is_no_heading(home: Path, vault: Path, end: str) -> None:
    """A remark in a shell script looks like a heading; what follows the script still stands under the real one."""
    note = f"# Setup\n\n{FENCE}\n\nBehind it a yak.\n".replace("\n", end)
    index(home, vault, note)
    ((code,), (behind,)) = quotes(home, "zebra", mode="text"), quotes(home, "yak", mode="text")

    assert FENCE.replace("\n", end) in code.text
    assert note.encode()[code.start : code.end].decode() == code.text
    assert [("Setup",)] * 2 == [code.heading_path, behind.heading_path]


@pytest.mark.parametrize("limit", [32, 512])
def test_the_last_word_of_a_very_long_paragraph_is_found(home: Path, vault: Path, limit: int) -> None:
    """By words in the passage that is shown, and by meaning because the model was handed it."""
    embedder = index(home, vault, f"# Topic\n\n{'word ' * 3_000}zebra\n", limit=limit)

    assert quotes(home, "zebra", mode="text")[0].text.endswith("zebra\n")
    assert 1 == sum("zebra" in text for text in embedder.embedded)


@pytest.mark.parametrize("limit", [32, 512])
@pytest.mark.parametrize(
    "text", ["word " * 3_000, "字" * 3_000, "a,b;" * 2_000, "👨‍👩‍👧‍👦" * 500], ids=["words", "Han", "signs", "families"]
)
def test_a_model_is_handed_nothing_longer_than_it_reads(home: Path, vault: Path, text: str, limit: int) -> None:
    """Counted by its own tokenizer, with the title above the text and the tokens it adds itself."""
    embedder = index(home, vault, f"---\ntitle: A title of several words\n---\n# Topic\n\n{text}\n", limit=limit)

    assert [] == [text for text in embedder.embedded if embedder.tokenizer.counts([text])[0] > limit]


# Observations and relations


@LINE_ENDS
@pytest.mark.parametrize("indent", ["  ", "\t", ""], ids=["indented", "by a tab", "lazy"])
@pytest.mark.parametrize("word", ["first", "second", "zebra"])
def test_an_observation_is_found_by_each_of_its_lines(
    home: Path, vault: Path, word: str, indent: str, end: str
) -> None:
    """Lines that go on with it belong to it."""
    index(home, vault, f"Intro.{end}{end}- [fact] the first{end}{indent}the second{end}{indent}a zebra{end}")

    assert ("observation", "[fact] the first the second a zebra") in rows(home, word)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("- uses [[Target|Alias]]", ["uses → Target"]),
        ("- uses [[Target#Section]]", ["uses → Target#Section"]),
        ("- item\n\t- uses [[Target]]", ["uses → Target"]),
        ("- uses ![[Target.png]]", []),
        ("![[Target]]", []),
        ("```\n- uses [[Target]]\n```", []),
    ],
)
def test_a_relation_is_found_by_its_target(home: Path, vault: Path, written: str, expected: list[str]) -> None:
    """Under the type it was given; an embed and an example are none."""
    index(home, vault, f"Intro.\n\n{written}\n")

    assert expected == [title for kind, title in rows(home, "target") if kind == RELATION]


def test_a_fact_is_embedded_once(home: Path, vault: Path) -> None:
    """For its observation, and not again with the note around it."""
    embedder = index(home, vault, "# Animals\n\nBefore.\n\n- [fact] a zebra has stripes\n\nBehind.\n")

    assert 1 == sum("zebra" in text for text in embedder.embedded)


@MODES
def test_a_fact_and_its_note_are_one_result(home: Path, vault: Path, mode: str) -> None:
    """Grouped by note, a page shows the note once, whichever row of it was found."""
    index(home, vault, "# Zebra\n\nA zebra.\n\n- [fact] a zebra has stripes\n- [fact] a zebra runs\n", "a horse\n")

    assert 1 == paths(ask(home, "zebra stripes", HashEmbedder(), mode=mode)).count("0.md")


# Names


@pytest.mark.parametrize("query", ["NFC", "NFD"])
@pytest.mark.parametrize("body", ["NFC", "NFD"])
@pytest.mark.parametrize("name", ["NFC", "NFD"])
def test_a_note_is_found_in_whatever_unicode_form_it_was_written(
    home: Path, vault: Path, name: str, body: str, query: str
) -> None:
    """Name and text; on disk it is one file, and in the index one note."""
    write_vault(vault, {f"{unicodedata.normalize(name, 'Crème')}.md": unicodedata.normalize(body, "un café")})
    index_vault(home, vault)

    for word in ("café", "crème"):
        assert ["Crème.md"] == paths(ask(home, unicodedata.normalize(query, word), mode="text"))


@pytest.mark.parametrize("names", [("a b.md", "a_b.md"), ("a-b.md", "a b.md"), ("A.md", "a.md"), ("a.md", "a.md.md")])
def test_names_that_look_alike_are_two_notes(home: Path, vault: Path, names: tuple[str, str]) -> None:
    """Both are found, each with its own text."""
    write_vault(vault, {name: f"zebra {number}" for number, name in enumerate(names)})
    if len(list(vault.iterdir())) < 2:
        pytest.skip("this file system does not tell such names apart")
    index_vault(home, vault)

    assert [[names[0]], [names[1]]] == [paths(ask(home, f"zebra {n}", mode="text"))[:1] for n in (0, 1)]
