"""A note's passages by example: where they are cut, what is kept together, what they say of themselves."""

from __future__ import annotations

import pytest
import regex

from builders import WordTokenizer
from cutaway.model import OBSERVATION, Passage
from cutaway.notes.chunks import Chunking, ChunkSettings, Tokenizer, chunked
from cutaway.notes.rows import parse

LINE_ENDS = pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
WORDS = "some words that are there to fill the line. "


def divided(text: str, max_chars: int = 900, tokenizer: Tokenizer | None = None, context: bool = True) -> Chunking:
    return chunked(parse("name.md", text.encode()), tokenizer, ChunkSettings(max_chars, context))


def passages(text: str, max_chars: int = 900, tokenizer: Tokenizer | None = None) -> list[Passage]:
    return [chunk.passage for chunk in divided(text, max_chars, tokenizer).chunks]


def texts(text: str, max_chars: int = 900) -> list[str]:
    return [passage.text for passage in passages(text, max_chars)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n \t\n",
        "\ufeff",
        "---\ntitle: x\n---\n",
        "---\ntitle: x\n---\n\n \n",
        "<!-- only -->\n",
        "%%\nonly\n%%\n",
    ],
    ids=["empty", "spaces", "mark", "frontmatter", "frontmatter, blank", "comment", "percent comment"],
)
def test_a_note_without_text_has_no_passage(text: str):
    """
    Nothing to read is nothing to embed.
    """
    assert () == divided(text).chunks


@pytest.mark.parametrize("gap", ["\n" * 2000, " " * 2000, "\n \t" * 700, "\u3000" * 2000, "\r\n" * 1000])
def test_a_wide_gap_makes_no_blank_passage(gap: str):
    """
    Blank stretches longer than a passage are not passages of their own.
    """
    assert [] == [passage for passage in passages(f"Before.{gap}Behind.\n") if not passage.text.strip()]


def test_prose_between_rules_is_a_passage():
    """
    What only looks like frontmatter is indexed whole as text.
    """
    text = "---\nWe met and talked.\n---\nMore.\n"

    assert [text] == texts(text)


@pytest.mark.parametrize("yaml", ["title: x\ntags: [a, b]", "tags: [a, b"], ids=["sound", "broken"])
def test_frontmatter_is_never_in_a_passage(yaml: str):
    """
    Not even where it is broken; the body is there all the same.
    """
    assert ["Body.\n"] == texts(f"---\n{yaml}\n---\nBody.\n")


@pytest.mark.parametrize(("yaml", "chunks"), [("embed: false", 0), ("embed: true", 1), ("other: x", 1)])
def test_a_note_may_opt_out_of_embedding(yaml: str, chunks: int):
    """
    Then all its bytes are listed as left out, with that reason.
    """
    division = divided(f"---\n{yaml}\n---\nBody.\n")

    assert chunks == len(division.chunks)
    assert (not chunks) == any(skip.reason == "embed: false" for skip in division.skips)


@LINE_ENDS
def test_sections_come_apart_at_their_headings(end: str):
    """
    Byte ranges are exact for every kind of line end.
    """
    parts = [f"# Öne{end}{end}{WORDS}{end}{end}", f"## Two{end}{end}{WORDS}{end}{end}", f"# Three{end}{WORDS}{end}"]
    found = passages("".join(parts), 60)

    assert parts == [passage.text for passage in found]
    assert [("Öne",), ("Öne", "Two"), ("Three",)] == [passage.heading_path for passage in found]


@LINE_ENDS
@pytest.mark.parametrize(
    "block", ["```sh\n# install\n```", "> # install", "- # install", "    # install", "%%\n# install\n%%"]
)
def test_a_heading_that_is_none_changes_no_path(block: str, end: str):
    """
    What stands in code, quotes, items and comments does not take over the text below it.
    """
    text = f"# Real\n\n{WORDS}\n\n{block}\n\n{WORDS}\n".replace("\n", end)

    assert {("Real",)} == {passage.heading_path for passage in passages(text, 60)}


def test_a_fence_that_fits_is_not_cut():
    """
    Blocks break before lines do, whatever the code looks like.
    """
    fence = "```\nfirst. Second\n\n# third\n\n- fourth\n```\n\n"

    assert [f"{WORDS}\n\n", fence, f"{WORDS}\n"] == texts(f"{WORDS}\n\n{fence}{WORDS}\n", 50)


def test_a_fence_too_large_is_cut_between_its_lines():
    """
    Only where the fence alone is larger than a passage.
    """
    lines = ["```\n", *[f"line_{number} = {number}\n" for number in range(10)], "```\n"]
    found = texts("".join(lines), 40)

    assert len(found) > 2
    assert all(text.endswith("\n") for text in found)


@pytest.mark.parametrize(
    "lines",
    [
        ["| name | value |\n|---|---|\n", *[f"| row {number} | {number} |\n" for number in range(9)]],
        [f"- point {number}\n  and more\n" for number in range(9)],
        [f"{number}. point {number}\n   - nested\n" for number in range(9)],
        [f"Sentence number {number} is here. " for number in range(9)],
        [f"第{number}句话说完了。" for number in range(9)],
    ],
    ids=["table rows", "items", "numbered items", "sentences", "sentences without spaces"],
)
def test_what_is_too_large_comes_apart_between_its_parts(lines: list[str]):
    """
    A passage begins where a row, an item or a sentence begins.
    """
    starts = {"".join(lines[:place]) for place in range(len(lines))}
    text = "".join(lines)

    assert [] == [passage for passage in passages(text, 45) if text.encode()[: passage.start].decode() not in starts]


def test_a_heading_stays_with_its_text():
    """
    A heading alone says little, even where its text must be cut.
    """
    first = texts(f"# Topic\n\n{'word ' * 400}\n")[0]

    assert first.startswith("# Topic\n\nword word")


def test_tiny_sections_are_packed_with_their_neighbours():
    """
    A passage of three words is found by nothing; sections of some size stay apart.
    """
    tiny, large = "## T\n\nx\n\n", f"## L\n\n{WORDS * 3}\n\n"

    assert [tiny * 3, large, large] == texts(tiny * 3 + large * 2, 150)


def test_the_path_of_packed_sections_is_what_they_share():
    """
    A passage stands under a heading only when all of it does.
    """
    (passage,) = passages("# A\n\n## B\n\nx\n\n### C\n\ny\n\n## D\n\nz\n")

    assert ("A",) == passage.heading_path


def test_an_observation_is_a_passage_of_its_own_row_alone():
    """
    A fact is embedded once, for the observation, and not again with the text around it.
    """
    chunks = divided("Before.\n\n- [fact] pages repeat\n\nBehind.\n").chunks

    assert ["Before.\n\n", "- [fact] pages repeat\n\n", "Behind.\n"] == [chunk.passage.text for chunk in chunks]
    assert [False, True, False] == [chunk.row.kind == OBSERVATION for chunk in chunks]


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("---\ntitle: T\n---\nText.\n", "T"),
        ("# H\n\n- [fact] x y\n", "H"),
        ("---\ntitle: T\n---\n# H\n\n## I\n\n- [fact] x y\n", "T › H › I"),
        ("# H\n\nText.\n", ""),
        ("Text.\n", ""),
        (f"# {'long ' * 50}\n\n- [fact] x y\n", ("long " * 32).strip()),
    ],
)
def test_the_context_is_what_the_passage_cannot_say_itself(text: str, context: str):
    """
    The note's own title and the headings above; never a file name, nothing twice, and not at length.
    """
    assert context == passages(text)[-1].context.strip()


@pytest.mark.parametrize("context", [True, False])
@pytest.mark.parametrize("headings", ["# Alone\n\n", "## Before\n\n## Alone\n\n"], ids=["one", "two"])
def test_no_heading_is_lost_before_an_observation(headings: str, context: bool):
    """
    A heading that is no passage is in the context of one; otherwise it is a passage.
    """
    embedded = "\n".join(chunk.passage.embedded for chunk in divided(f"{headings}- [fact] x\n", context=context).chunks)

    assert [] == [word for word in ("Before", "Alone") if word in headings and word not in embedded]


def test_a_data_uri_is_in_no_passage():
    """
    Two hundred kilobytes of a picture are two hundred kilobytes of noise.
    """
    division = divided(
        f"Before.\n\n![pump](data:image/png;base64,{'QUJD' * 50_000})\n\nBehind.\n", 900, WordTokenizer()
    )

    assert [] == [chunk for chunk in division.chunks if "QUJD" in chunk.passage.text]
    assert ["data URI"] == [skip.reason for skip in division.skips if skip.end - skip.start > 200_000]


@pytest.mark.parametrize("limit", [16, 40, 512])
def test_the_last_word_of_a_very_long_paragraph_is_in_a_passage(limit: int):
    """
    No passage is over the model's limit, special tokens and context included, so that nothing is cut off unseen.
    """
    found = passages(f"# Topic\n\n{'word ' * 3000}zebra\n", 900, WordTokenizer(limit))

    assert found[-1].text.endswith("zebra\n")
    assert [] == [passage for passage in found if WordTokenizer().counts([passage.embedded])[0] > limit]


def test_a_long_heading_leaves_room_for_the_text():
    """
    Where context alone would fill what the model reads, it is the context that gives way.
    """
    found = passages(f"# {'long ' * 30}\n\n- [fact] {'word ' * 20}\n", 900, WordTokenizer(16))

    assert [] == [passage for passage in found if WordTokenizer().counts([passage.embedded])[0] > 16]
    assert len(found) < 20


@pytest.mark.parametrize(
    "sign",
    [
        *("👨‍👩‍👧‍👦", "🇫🇷", "1\ufe0f\u20e3", "👋🏽", "e\u0301\u0302", "\r\n"),
        *("각", "\u1112\u1161\u11ab", "क्षि", "กำ", "\u0600a"),
    ],
    ids=ascii,
)
@pytest.mark.parametrize("around", ["", "x ", ". "], ids=["alone", "word", "sentence"])
def test_thousands_of_signs_are_not_torn_apart(sign: str, around: str):
    """
    What is drawn as one stays in one passage: families, flags, keycaps, letters and their marks, syllables.
    """
    whole = regex.findall(r"\X", (sign + around) * 4)[: len(regex.findall(r"\X", sign + around))]
    found = texts("x" + (sign + around) * 4000)

    assert [] == [text for text in found if not (text.startswith(("x", *whole)) and text.endswith(tuple(whole)))]


@pytest.mark.parametrize("lead", ["word ", "The end. ", "A sentence. ", "终。", "a", "字"])
@pytest.mark.parametrize(
    "mark", ["\u0301", "\u200d", "\u200c", "\ufe0f", "🏽", "\uff9e", "\u0e33", "\U000e0067"], ids=ascii
)
def test_no_cut_comes_between_a_sign_and_its_mark(mark: str, lead: str):
    """
    Marks, joiners, skin tones and voicing signs belong to what they follow, spaces and full stops included.
    """
    signs = set(regex.findall(r"\X", (lead + mark) * 40))

    assert [] == [text for text in texts((lead + mark) * 40, 20) if regex.match(r"\X", text)[0] not in signs]
