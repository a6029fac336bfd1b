"""A note into passages: verbatim byte ranges that follow its structure and fit the embedder.

The note is first told apart into regions (skipped spans, observations, the rest), then each
region is divided at its strongest structural cuts, and neighbouring pieces are packed while
they fit. Every byte ends up in exactly one passage or one skip.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import NamedTuple

import regex

from cutaway.model import OBSERVATION, Passage, Skip, Span
from cutaway.notes.markdown import BLOCK, CODE_LINE, Heading
from cutaway.notes.rows import Note, Row, remaining
from cutaway.notes.tokenizer import Tokenizer

CHUNK_FORMAT = "structure/v1"

_SENTENCE, _NEWLINE = CODE_LINE + 1, CODE_LINE + 2
_TEXT_CUTS = {
    # A full stop ends a sentence before a capital, or behind a word too long for an abbreviation.
    _SENTENCE: regex.compile(
        r"""[.!?…]["'”’)\]]*\s+(?![\p{Ll}\p{M}\s])|(?<=\w{4}|\s)[.!?]\s+(?![\p{M}\s])|[。！？；]["”’」』）]*(?!\p{M})"""
    ),
    _NEWLINE: regex.compile(r"\r\n|\n|\r"),
}
_SPACE = regex.compile(r"\s+(?![\p{M}\u200d\n])")
_GRAPHEME = regex.compile(r"\X")
HeadingPath = tuple[Heading, ...]

_CONTEXT_CHARS = 160
_TINY_SHARE = 4


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How passages are cut: the size aimed at, and whether a context line is embedded."""

    max_chars: int = 900
    context: bool = True


class Chunk(NamedTuple):
    """A passage and the row it speaks for."""

    row: Row
    passage: Passage


class Chunking(NamedTuple):
    """A note's chunks in source order, and every byte that is in none of them."""

    chunks: tuple[Chunk, ...]
    skips: tuple[Skip, ...]


def chunked(note: Note, tokenizer: Tokenizer | None, settings: ChunkSettings) -> Chunking:
    """Divide a note into chunks. Without a tokenizer, sizes are judged by characters alone."""
    if not note.frontmatter.flag("embed"):
        rest = remaining(Span(0, len(note.source)), note.skips)
        return Chunking((), tuple(sorted((*note.skips, *(Skip(*span, "embed: false") for span in rest)))))
    divider = _Divider(note, tokenizer, settings)
    chunks: list[Chunk] = []
    skips = list(note.skips)
    regions = list(_regions(note))
    for place, (span, row) in enumerate(regions):
        following = regions[place + 1][1] if place + 1 < len(regions) else None
        reason = _why_not_embedded(note, span, row, following)
        if reason:
            skips.append(Skip(*span, reason))
        else:
            chunks += (Chunk(row, passage) for passage in divider.passages(span))
    return Chunking(tuple(chunks), tuple(sorted(skips)))


def _regions(note: Note) -> Iterator[tuple[Span, Row]]:
    """The note without its skips, each observation apart from the text around it."""
    entity = note.rows[0]
    observed = [row for row in note.rows if row.kind == OBSERVATION]
    for span in remaining(Span(0, len(note.source)), note.skips):
        inside = [row for row in observed if row.span.start < span.end and row.span.end > span.start]
        parts = [(Span(max(row.span.start, span.start), min(row.span.end, span.end)), row) for row in inside]
        rest = [(part, entity) for part in remaining(span, tuple(part for part, _ in parts))]
        yield from sorted(parts + rest)


def _why_not_embedded(note: Note, span: Span, row: Row, following: Row | None) -> str | None:
    text = note.source.slice(*span)
    if not text.strip():
        return "blank"
    if following is not None and following.kind == OBSERVATION and row.kind != OBSERVATION:
        every = note.outline.headings
        headings = every[bisect_left(every, (span.start,)) : bisect_left(every, (span.end,))]
        between = remaining(span, tuple(Span(heading.start, heading.end) for heading in headings))
        if headings and not "".join(note.source.slice(*part) for part in between).strip():
            return "heading, kept as context"
    return None


class _Divider:
    """Cuts one note's regions into passages."""

    def __init__(self, note: Note, tokenizer: Tokenizer | None, settings: ChunkSettings) -> None:
        self.note, self.source = note, note.source
        self.tokenizer, self.settings = tokenizer, settings
        self.cuts = _cuts_by_level(note)
        self.paths = _heading_paths(note)
        self.starts = array("Q", _token_starts(self.source.text, tokenizer, settings))
        self.budget = self._token_budget()

    def passages(self, span: Span) -> Iterator[Passage]:
        """The region as passages, none over the model's limit."""
        yield from self._measured(self._pieces(span, 1, self.settings.max_chars), self.settings.max_chars)

    def _measured(self, pieces: list[Span], max_chars: int) -> Iterator[Passage]:
        passages = [self._passage(piece) for piece in pieces]
        if self.tokenizer is None:
            yield from passages
            return
        counts = self.tokenizer.counts([passage.embedded for passage in passages])
        for passage, tokens in zip(passages, counts, strict=True):
            if tokens <= self.tokenizer.limit or max_chars <= 1:
                yield passage._replace(tokens=tokens)
            else:  # dense in signs, or a word that counts as one token whole and as many when cut
                half = max_chars // 2
                yield from self._measured(self._pieces(Span(passage.start, passage.end), 1, half), half)

    def _pieces(self, span: Span, level: int, max_chars: int) -> list[Span]:
        """Divide at the strongest level that offers a cut, pieces again where too large; then pack."""
        if self._fits(span, max_chars):
            return [span]
        cuts: Sequence[int] = ()
        while level <= _NEWLINE and not (cuts := self._cuts(span, level)):
            level += 1
            if level == _SENTENCE and self._fits(span, max_chars * 3 // 2):
                return [span]  # a paragraph is not torn to save a few words
        if level >= _SENTENCE:
            max_chars = self._even(span, max_chars)
        if level > _NEWLINE:
            return list(self._stepped(span, max_chars))
        parts = [Span(*pair) for pair in pairwise((span.start, *cuts, span.end))]
        pieces = [piece for part in parts for piece in self._pieces(part, level + 1, max_chars)]
        return self._packed(pieces, level, max_chars)

    def _even(self, span: Span, max_chars: int) -> int:
        """A smaller size that divides the text into as many parts, but about equal ones."""
        size = self.source.char(span.end) - self.source.char(span.start)
        share = size // -(-size // max_chars)
        return min(max_chars, share + share // 8)

    def _packed(self, pieces: list[Span], level: int, max_chars: int) -> list[Span]:
        """Join neighbours that fit together; sections only where one of the two is tiny."""
        packed = pieces[:1]
        for piece in pieces[1:]:
            joined = Span(packed[-1].start, piece.end)
            close = level >= BLOCK or self._tiny(packed[-1], max_chars) or self._tiny(piece, max_chars)
            if close and self._fits(joined, max_chars):
                packed[-1] = joined
            else:
                packed.append(piece)
        return packed

    def _stepped(self, span: Span, max_chars: int) -> Iterator[Span]:
        """Cut text that has no structure left: at spaces, else between graphemes."""
        position, end = self.source.char(span.start), self.source.char(span.end)
        while position < end:
            furthest = min(self._furthest(position, max_chars), end)
            following = furthest if furthest == end else self._soft_cut(position, furthest)
            yield Span(self.source.byte(position), self.source.byte(following))
            position = following

    def _soft_cut(self, position: int, furthest: int) -> int:
        text = self.source.text
        spaces = [match.end() for match in _SPACE.finditer(text, position, furthest) if match.end() < furthest]
        if spaces:
            return int(spaces[-1])
        cut = position
        for grapheme in _GRAPHEME.finditer(text, position):
            if grapheme.end() > furthest:
                break
            cut = grapheme.end()
        return cut if cut > position else furthest

    def _furthest(self, position: int, max_chars: int) -> int:
        """The last character a passage from *position* may reach, by characters and by tokens."""
        beyond = bisect_left(self.starts, position) + self.budget
        by_tokens = self.starts[beyond] if beyond < len(self.starts) else position + max_chars
        return max(position + 1, min(position + max_chars, by_tokens))

    def _fits(self, span: Span, max_chars: int) -> bool:
        start, end = self.source.char(span.start), self.source.char(span.end)
        tokens = bisect_left(self.starts, end) - bisect_left(self.starts, start)
        return end - start <= max_chars and tokens <= self.budget

    def _tiny(self, span: Span, max_chars: int) -> bool:
        return self.source.char(span.end) - self.source.char(span.start) <= max_chars // _TINY_SHARE

    def _cuts(self, span: Span, level: int) -> Sequence[int]:
        positions = self.cuts.get(level, [])
        structural = positions[bisect_right(positions, span.start) : bisect_left(positions, span.end)]
        if (pattern := _TEXT_CUTS.get(level)) is None:
            return structural
        start, end = self.source.char(span.start), self.source.char(span.end)
        found = (match.end() for match in pattern.finditer(self.source.text, start, end))
        return sorted({*structural, *(self.source.byte(cut) for cut in found if cut < end)})

    def _passage(self, span: Span) -> Passage:
        text = self.source.slice(*span)
        first = span.end - len(text.lstrip().encode())
        inside = self._headings_inside(first, span.end)
        path = _common([self._path_at(first), *(self._path_at(heading.start) for heading in inside)])
        return Passage(*span, tuple(h.text for h in path), self._context(first, path, inside), text, None)

    def _headings_inside(self, start: int, end: int) -> Sequence[Heading]:
        headings = self.note.outline.headings
        return headings[bisect_left(headings, (start,)) : bisect_left(headings, (end,))]

    def _path_at(self, position: int) -> HeadingPath:
        place = bisect_right(self.paths, position, key=lambda path: path[-1].start) - 1
        return self.paths[place] if place >= 0 else ()

    def _context(self, first: int, path: HeadingPath, inside: Sequence[Heading]) -> str:
        """What the passage cannot say itself: the note's own title, the headings it stands under.

        A file name is not a title here: it may change without the text changing, and measured
        on notes with meaningless names it costs more than it gives.
        """
        if not self.settings.context:
            return ""
        above = [heading.text for heading in path if heading.start < first]
        title = self.note.own_title
        shown = {*above, *(heading.text for heading in inside)}
        return " › ".join([title, *above] if title and title not in shown else above)[:_CONTEXT_CHARS]

    def _token_budget(self) -> int:
        """Tokens a passage may have, with room kept for the model's own and the longest context."""
        if self.tokenizer is None:
            return self.settings.max_chars
        contexts = {self._context(len(self.source), path, ()) for path in ((), *self.paths)}
        longest = max(contexts, key=len)
        return max(1, self.tokenizer.limit - max(self.tokenizer.counts([longest, ""])))


def _token_starts(text: str, tokenizer: Tokenizer | None, settings: ChunkSettings) -> Sequence[int]:
    """Where tokens begin, if characters alone could mislead.

    Plain ASCII seldom has two tokens in three characters; the final count catches where it does.
    """
    if tokenizer is None or (text.isascii() and settings.max_chars <= 2 * tokenizer.limit):
        return ()
    return tokenizer.starts(text)


def _cuts_by_level(note: Note) -> dict[int, list[int]]:
    """Where the structure allows a cut; never right behind a heading, which stays with its text."""
    outline, levels = note.outline, dict[int, list[int]]()
    headings = outline.headings
    for position, level in sorted(outline.cuts.items()):
        place = bisect_left(headings, (position,)) - 1
        behind = place >= 0 and not note.source.raw[headings[place].end : position].strip()
        levels.setdefault(_SENTENCE if behind else level, []).append(position)
    return levels


def _heading_paths(note: Note) -> list[HeadingPath]:
    """For each heading in order, the headings it stands under and itself."""
    paths: list[HeadingPath] = []
    stack: HeadingPath = ()
    for heading in note.outline.headings:
        if heading.text:
            stack = (*(above for above in stack if above.level < heading.level), heading)
            paths.append(stack)
    return paths


def _common(paths: Sequence[HeadingPath]) -> HeadingPath:
    """The longest path that begins all of them."""
    shared = zip(*paths, strict=False)
    return tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, shared))
