"""Laws of passages, over text of every kind: nothing lost, nothing twice, nothing too large, nothing torn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders import WordTokenizer
from cutaway.model import OBSERVATION
from cutaway.notes.chunks import Chunking, ChunkSettings, Tokenizer, chunked
from cutaway.notes.rows import Note, parse

PIECES = [
    *("# A\n", "## B c\n", "###### D\n", "Setext\n===\n", "```\n", "~~~\n", "> ", "- ", "  - ", "1. ", "    ", "---\n"),
    *("- [fact] one #t (c)\n", "  and more\n", "- uses [[T|a]]\n", "![[p.png]]", "- [ ] task\n", "> [!note] N\n"),
    *("| a | b |\n|---|---|\n| 1 | 2 |\n", "<!-- c -->\n", "<!--", "-->", "%% c %%\n", "%%", "<div>\n", "[^1]: f\n"),
    *(f"![a](data:image/png;base64,{'QUJD' * 30})\n", "title: x\n", "tags: [a\n", "embed: false\n", "\ufeff", "\0"),
    *("One sentence here. ", "Another! ", "中文字。", "word ", "a" * 50, "e\u0301\u0301", "👨‍👩‍👧‍👦", "🏽", "\u200d"),
    *("🇫🇷" * 9, "🇫", "a. \u0e33", "\u0600a", "\u1100\u1161", "क्ष", "x\ufe0f\u20e3"),
    *("1. ", "\t- ", "-\t", ">", "````\n"),
    *("$$\n", "$$", "[[T\nU]]", "key:: v\n", "<details>\n\n", "| a", "*a_", "[^1]", "```dataview\n"),
    *("\n", "\n\n", "\r\n", "\r", "\t", "\x0c", "\u2028", "\xa0"),
]


def inside(container: tuple[str, str], text: str) -> str:
    """A text in a quote, an item or something indented: how its first line begins, and how the others."""
    first, other = container
    return first + text.replace("\n", f"\n{other}")


CONTAINERS = [("> ", "> "), (">", ">"), ("- ", "  "), ("1. ", "   "), ("-\t", "\t"), ("\t", "\t"), ("> - ", ">\t")]
plain = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=20).map("".join)
nested = st.recursive(plain, lambda text: st.builds(inside, st.sampled_from(CONTAINERS), text), max_leaves=4)
markdown = st.builds("{}{}".format, plain, nested) | st.lists(nested, max_size=3).map("\n".join)


class CharTokenizer:
    """One token per character, and two special ones."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def starts(self, text: str) -> Sequence[int]:
        return range(len(text))

    def counts(self, texts: Sequence[str]) -> Sequence[int]:
        return [len(text) + 2 for text in texts]


class VocabularyTokenizer(CharTokenizer):
    """One token for each word of even length; any other text is spelled. A word that is cut may cost more."""

    def starts(self, text: str) -> Sequence[int]:
        return [start for match in re.finditer(r"\w+|\W", text) for start in self._pieces(*match.span())]

    def counts(self, texts: Sequence[str]) -> Sequence[int]:
        return [len(self.starts(text)) + 2 for text in texts]

    def _pieces(self, start: int, end: int) -> Sequence[int]:
        return [start] if (end - start) % 2 == 0 else range(start, end)


tokenizers = st.builds(
    lambda make, limit: make(limit),
    st.sampled_from([WordTokenizer, CharTokenizer, VocabularyTokenizer]),
    st.sampled_from([16, 40, 512]),
)
sizes = st.builds(ChunkSettings, st.sampled_from([10, 40, 200, 900]), st.booleans())


def divided(text: str, tokenizer: Tokenizer | None, size: ChunkSettings) -> tuple[Note, Chunking]:
    note = parse("a.md", text.encode())
    return note, chunked(note, tokenizer, size)


@given(markdown, st.none() | tokenizers, sizes)
def test_every_byte_is_in_exactly_one_passage_or_skip(text: str, tokenizer: Tokenizer | None, size: ChunkSettings):
    """
    Laid side by side in order, passages and skips are the note, from its first byte to its last.
    """
    note, (chunks, skips) = divided(text, tokenizer, size)
    spans = sorted([(c.passage.start, c.passage.end) for c in chunks] + [(skip.start, skip.end) for skip in skips])
    bounds = [0, *(end for _, end in spans)]

    assert bounds == [*(start for start, _ in spans), len(note.source)]
    assert all(start < end for start, end in spans)


@given(markdown, st.none() | tokenizers, sizes)
def test_a_passage_is_its_bytes_verbatim(text: str, tokenizer: Tokenizer | None, size: ChunkSettings):
    """
    The text shown is the text of the file, cut at whole characters, in source order.
    """
    note, (chunks, _) = divided(text, tokenizer, size)

    assert [c.passage.text.encode() for c in chunks] == [
        note.source.raw[c.passage.start : c.passage.end] for c in chunks
    ]
    assert sorted(c.passage.start for c in chunks) == [c.passage.start for c in chunks]


@given(markdown, st.none() | tokenizers, sizes)
@example(f"a{' ' * 60}b", None, ChunkSettings(10))
def test_no_passage_is_blank(text: str, tokenizer: Tokenizer | None, size: ChunkSettings):
    """
    White space alone is listed as skipped; it would be embedded as nothing but its context.
    """
    _, (chunks, _) = divided(text, tokenizer, size)

    assert [] == [c.passage for c in chunks if not c.passage.text.strip()]


@given(markdown, tokenizers, sizes)
@example("# A heading of many words\n\n- [fact] text\n", CharTokenizer(16), ChunkSettings(40))
def test_no_passage_is_over_what_the_model_reads(text: str, tokenizer: Tokenizer, size: ChunkSettings):
    """
    Counted with the model's own tokenizer, context and special tokens included; the count is recorded.
    """
    _, (chunks, _) = divided(text, tokenizer, size)
    counts = tokenizer.counts([c.passage.embedded for c in chunks])

    assert [] == [count for count in counts if count > tokenizer.limit]
    assert list(counts) == [c.passage.tokens for c in chunks]


@given(markdown, st.none() | tokenizers, sizes)
def test_no_passage_is_much_larger_than_the_size_aimed_at(text: str, tokenizer: Tokenizer | None, size: ChunkSettings):
    """
    At most by half, so that a paragraph is not torn to save a few words: not a fence, not a table, not a word.
    """
    _, (chunks, _) = divided(text, tokenizer, size)

    assert [] == [c.passage for c in chunks if len(c.passage.text) > size.max_chars * 3 // 2]


@given(markdown, st.none() | st.builds(CharTokenizer, st.just(600)), st.sampled_from([20, 60]))
def test_no_cut_falls_inside_a_sign_that_fits(text: str, tokenizer: Tokenizer | None, max_chars: int):
    """
    Letters and their marks, a family drawn as one, a carriage return and its line feed stay together.
    """
    note, (chunks, _) = divided(text, tokenizer, ChunkSettings(max_chars))
    signs = [match.span() for match in regex.finditer(r"\X", text)]
    inside = {place for start, end in signs if end - start <= max_chars // 2 for place in range(start + 1, end)}
    cuts = [second.passage.start for first, second in pairwise(chunks) if first.passage.end == second.passage.start]

    assert [] == [cut for cut in cuts if note.source.char(cut) in inside]


@given(markdown, st.none() | tokenizers, sizes)
def test_an_observation_is_embedded_for_itself_alone(text: str, tokenizer: Tokenizer | None, size: ChunkSettings):
    """
    A passage lies inside its observation, and no passage of another row touches one.
    """
    note, (chunks, _) = divided(text, tokenizer, size)
    observed = {place for row in note.rows if row.kind == OBSERVATION for place in range(*row.span)}
    mine = {place for c in chunks if c.row.kind == OBSERVATION for place in range(c.passage.start, c.passage.end)}
    others = {place for c in chunks if c.row.kind != OBSERVATION for place in range(c.passage.start, c.passage.end)}

    assert mine <= observed
    assert not others & observed


@given(markdown, tokenizers, sizes)
@settings(max_examples=30)
def test_the_same_note_is_divided_the_same_way(text: str, tokenizer: Tokenizer, size: ChunkSettings):
    """
    Indexing again gives the same passages, so nothing is embedded twice.
    """
    assert divided(text, tokenizer, size)[1] == divided(text, tokenizer, size)[1]


class Section(NamedTuple):
    level: int
    blocks: list[str]


BLOCKS = [
    "Some words, a few sentences. Another one! And more.",
    "```sh\n# install\n## again\n```",
    "> # quoted\n> ## heading",
    "- # in an item\n- more",
    "<!--\n# hidden\n-->",
    "| # a | b |\n|---|---|\n| c | d |",
    "- [fact] pages repeat\n  and more",
    "    # indented code",
    "word " * 30,
]
sections = st.lists(st.builds(Section, st.integers(1, 6), st.lists(st.sampled_from(BLOCKS), max_size=3)), max_size=8)
Path = tuple[str, ...]


def written(note: list[Section]) -> tuple[str, list[Path]]:
    """The text of some sections, and for each line the headings it stands under."""
    lines, paths, path = ["Intro.", ""], [(), ()], dict[int, str]()
    for number, section in enumerate(note):
        path = {level: title for level, title in path.items() if level < section.level}
        path[section.level] = f"Title {number}"
        parts = [f"{'#' * section.level} Title {number}", *(f"{block}\n\nBetween." for block in section.blocks)]
        found = [*"\n\n".join(parts).split("\n"), ""]
        lines += found
        paths += [tuple(path.values())] * len(found)
    return "\n".join(lines), paths


def common(paths: list[Path]) -> Path:
    """The longest beginning that all of these share."""
    shared = paths[0]
    while any(path[: len(shared)] != shared for path in paths):
        shared = shared[:-1]
    return shared


@given(
    sections, st.none() | st.builds(WordTokenizer, st.sampled_from([40, 512])), sizes, st.sampled_from(["\n", "\r\n"])
)
def test_the_heading_path_is_what_all_lines_of_a_passage_stand_under(
    note: list[Section], tokenizer: Tokenizer | None, size: ChunkSettings, end: str
):
    """
    Whatever looks like a heading in code, quotes, items, tables and comments is not one of them.
    """
    text, paths = written(note)
    parsed, (chunks, _) = divided(text.replace("\n", end), tokenizer, size)

    for chunk in chunks:
        first, last = parsed.source.lines(chunk.passage.start, chunk.passage.end)
        assert common(paths[first - 1 : last]) == chunk.passage.heading_path
