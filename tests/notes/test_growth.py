"""The time a note takes grows with its size and no faster, however it is written."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest

from builders import WordTokenizer
from cutaway.notes.analyzer import note_terms
from cutaway.notes.chunks import ChunkSettings, chunked
from cutaway.notes.frontmatter import read_frontmatter
from cutaway.notes.rows import parse

Text = Callable[[int], str]


def read(text: str) -> None:
    note = parse("a.md", text.encode())
    assert note.rows
    chunked(note, WordTokenizer(), ChunkSettings())


def seconds(run: Callable[[str], object], text: str, times: int) -> float:
    """The least time of several, on this processor: what else runs or lives in memory does not count."""
    taken = []
    for _ in range(times):
        gc.collect()
        gc.disable()
        try:
            start = time.process_time()
            run(text)
            taken.append(time.process_time() - start)
        finally:
            gc.enable()
    return min(taken)


def growth(run: Callable[[str], object], text: Text, size: int) -> float:
    """How many times longer four times the size takes: 4 where time grows with size, 16 with its square."""
    return seconds(run, text(4 * size), 2) / max(seconds(run, text(size), 3), 0.001)


def indented(levels: int) -> str:
    """A list in a list in a list; as many bytes as its levels squared, so levels grow with the root of the size."""
    return "".join(f"{' ' * level}- x\n" for level in range(int(levels**0.5)))


DEEP: dict[str, tuple[Text, int]] = {
    "nested lists on a line": (lambda n: "- " * n + "x\n", 2_500),
    "nested lists by indent": (indented, 62_500),
    "nested quotes": (lambda n: "> " * n + "x\n", 1_250),
    "quotes without spaces": (lambda n: ">" * n + "x\n", 1_250),
    "quoted fences": (lambda n: "> ```\n" * n, 1_250),
    "open fences": (lambda n: "```\n\n" * n + "x", 5_000),
    "items and lines that go on": (lambda n: ("- " * 100 + "x\n" + "y\n" * 100) * n, 20),
    "tables in quotes": (lambda n: "> |a|b|\n> |-|-|\n" + "> |x|y|\n" * n, 1_000),
    "callouts": (lambda n: "".join(f"{'> ' * (1 + i % 30)}[!note] x\n" for i in range(n)), 1_500),
    "fences of every length": (lambda n: "".join("`" * (3 + i % 9) + "\n\n" for i in range(n)), 1_500),
}
OPEN: dict[str, tuple[Text, int]] = {
    "brackets": (lambda n: "[" * n, 25_000),
    "closed brackets": (lambda n: "[" * n + "a" + "](b)" * n, 5_000),
    "wikilinks": (lambda n: "[[a" * n, 2_500),
    "wikilinks of nothing": (lambda n: "[[" * n, 10_000),
    "notes": (lambda n: "[^1]: " * n, 2_500),
    "embeds": (lambda n: "![[" * n, 2_500),
    "links": (lambda n: "[a](" * n, 2_500),
    "pictures with data": (lambda n: "![a](data:image/png;base64," * n, 1_500),
    "categories": (lambda n: "- [fact\n" * n, 2_500),
    "boxes": (lambda n: "- [\n" * n, 2_500),
    "emphasis": (lambda n: "**a_" * n, 2_500),
    "code": (lambda n: "`a``b" * n, 2_500),
    "formulas": (lambda n: "$a " * n, 5_000),
    "formulas of many lines": (lambda n: "$$\na {\n" * n + "$$ x\n" * n, 1_500),
    "HTML": (lambda n: "a <b " * n, 2_500),
    "HTML comments": (lambda n: "<!-- \n\n" * n, 1_500),
    "percent comments": (lambda n: "%% a\n" * n, 2_500),
    "relations": (lambda n: f"- uses [[A]] ({') ' * n}x\n", 5_000),
    "frontmatter": (lambda n: "---\n" + "a: b\n" * n, 2_000),
    "frontmatter of prose": (lambda n: "---\n" + "one --- two\n" * n, 2_000),
}
LONG: dict[str, tuple[Text, int]] = {
    "a line without spaces": (lambda n: "a" * n, 250_000),
    "a line of Han": (lambda n: "字" * n, 25_000),
    "a line of flags": (lambda n: "🇫🇷" * n, 2_000),
    "signs of no width": (lambda n: "a\u200b\u200d" * n, 25_000),
    "spaces in an item": (lambda n: f"- {' ' * n}x\n", 100),
    "spaces behind a word of an item": (lambda n: f"- word{' ' * n}x\n", 3_000),
    "spaces amid text": (lambda n: f"a{' ' * n}b", 25_000),
    "full stops": (lambda n: ". " * n, 10_000),
    "comments on a line of text": (lambda n: f"{'<!-- a -->' * n} text\n", 5),
    "observations between comments": (lambda n: "- [fact] a b\n\n<!-- c -->\n\n" * n, 600),
    "observations in observations": (lambda n: "- [fact] a\n  - [fact] b\n" * n, 250),
    "headings": (lambda n: "# a\n" * n, 1_000),
    "blank lines behind headings": (lambda n: "# a\n" * 10 + "\n" * n + "text", 10_000),
    "tags": (lambda n: " #1" * n + " #" + "1" * n, 5_000),
    "definitions": (lambda n: "".join(f"[a{i}]: b\n" for i in range(n)) + "[a1] " * n, 1_500),
    "a table": (lambda n: "|a" * n + "|\n" + "|-" * n + "|\n" + "|x|\n" * 10, 2_500),
}


def cases(tables: dict[str, tuple[Text, int]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("text", "size"), tables.values(), ids=tables.keys())


@pytest.mark.slow
@cases(DEEP | OPEN | LONG)
def test_reading_a_note_takes_time_in_proportion_to_its_size(text: Text, size: int):
    """
    Deep nesting, what is opened and never closed, long lines and long lists are read like any text.
    """
    assert growth(read, text, size) < 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "size"),
    [
        (lambda n: "a" * n, 2_000),
        (lambda n: "字" * n, 2_000),
        (lambda n: "1" * n, 2_000),
        (lambda n: "a-" * n, 4_000),
        (lambda n: "a'" * n, 4_000),
        (lambda n: "e" + "\u0301" * n, 100_000),
        (lambda n: "👨\u200d" * n, 4_000),
        (lambda n: "__" * n, 50_000),
        (lambda n: f"é {'a.' * n}", 4_000),
    ],
    ids=["letters", "Han", "digits", "joined", "apostrophes", "marks", "family", "underscores", "dotted"],
)
def test_finding_terms_takes_time_in_proportion_to_the_text(text: Text, size: int):
    """
    A word without end is still one pass.
    """
    assert growth(note_terms, text, size) < 10


@pytest.mark.parametrize("mark", ["\u0301", "\u200d👨", "🏽"], ids=["accents", "family", "skin tones"])
def test_cutting_a_sign_without_end_takes_time_in_proportion_to_it(mark: str):
    """
    A letter under thousands of marks is one sign that fits nowhere.
    """
    settings = ChunkSettings(max_chars=20)

    assert (
        growth(lambda text: chunked(parse("a.md", text.encode()), None, settings), lambda n: "👨" + mark * n, 4_000)
        < 10
    )


def bomb(levels: int) -> str:
    lines = [f"k{level}: &k{level} [{', '.join([f'*k{level - 1}'] * 10)}]" for level in range(1, levels)]
    return "\n".join(["---", "k0: &k0 [x, x, x]", *lines, "---\n"])


def merges(count: int) -> str:
    keys = "".join(f" k{number}: v\n" for number in range(count))
    return f"---\na: &a\n{keys}b:\n <<: [{', '.join(['*a'] * count)}]\n---\n"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (bomb, 8),
        (merges, 200),
        (lambda n: f"---\na: {'[' * n}{']' * n}\n---\n", 5_000),
        (lambda n: f"---\n{'# x' * n}\n[\n---\n", 10_000),
        (lambda n: f"---\na: [{'1, ' * n}]\n---\n", 1_000),
        (lambda n: f"---\na: 1{':59' * n}\n---\n", 10_000),
        (lambda n: "---\n" + "".join(f"k{i}: &a{i} v\n" for i in range(n)) + "---\n", 1_000),
        (lambda n: f"---\n{'--- x' * n}\n---\n", 10_000),
    ],
    ids=["aliases", "merges", "nesting", "remarks", "list", "sixties", "keys", "dashes"],
)
def test_reading_frontmatter_takes_time_in_proportion_to_its_size(text: Text, size: int):
    """
    References that multiply are a problem to report, not work to do.
    """
    assert growth(read_frontmatter, text, size) < 10
