"""Where a region of a note is cut: at its strongest structure first, packed again while pieces fit."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

import regex

from cutaway.model import Passage, Span
from cutaway.notes.markdown import BLOCK, CODE_LINE, Heading
from cutaway.notes.rows import Note
from cutaway.notes.tokenizer import Tokenizer

_SENTENCE, _NEWLINE = CODE_LINE + 1, CODE_LINE + 2
# Never begins a passage: it belongs to the sign before it.
_STICKS = r"\p{M}\p{Grapheme_Extend}\p{GCB=SpacingMark}\p{EMod}\u200d"
_TEXT_CUTS = {
    # A full stop ends a sentence before a capital, or behind a word too long for an abbreviation.
    _SENTENCE: regex.compile(
        rf"""[.!?…]["'”’)\]]*\s+(?![\p{{Ll}}\s{_STICKS}])"""
        rf"""|(?<=\w{{4}}|\s)[.!?]\s+(?![\s{_STICKS}])"""
        rf"""|[。！？；]["”’」』）]*(?![{_STICKS}])"""
    ),
    _NEWLINE: regex.compile(r"\r\n|\n|\r"),
}
_SPACE = regex.compile(rf"\s+(?![\n{_STICKS}])")
_GRAPHEME = regex.compile(r"\X")
_WORD = re.compile(rb"\S")
_CONTEXT_CHARS = 160
_TINY_SHARE = 4
HeadingPath = tuple[Heading, ...]


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How passages are cut: the size aimed at, and whether a context line is embedded."""

    max_chars: int = 900
    context: bool = True


class Divider:
    """Cuts one note's regions into passages."""

    def __init__(self, note: Note, tokenizer: Tokenizer | None, settings: ChunkSettings) -> None:
        self.note, self.source = note, note.source
        self.tokenizer, self.settings = tokenizer, settings
        self.texts = _first_words(note)
        self.cuts = self._cuts_by_level()
        self.paths = _heading_paths(note)
        self.starts = array("Q", _token_starts(self.source.text, tokenizer, settings))
        self.budget = self._token_budget()

    def passages(self, span: Span) -> Iterator[Passage]:
        """The region as passages, none over the model's limit."""
        yield from self._measured(self._pieces(span, 1, self.settings.max_chars), self.settings.max_chars)

    def context_at(self, position: int) -> str:
        """The context line of a passage that begins at *position* and has no heading in it."""
        return self._context(position, self._path_at(position), ())

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
        # Of a slice: among flags, a sign is told from its neighbours by counting back to the start of the text.
        ends = (position + grapheme.end() for grapheme in _GRAPHEME.finditer(text[position : furthest + 1]))
        return max(takewhile(lambda end: end <= furthest, ends), default=furthest)

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
        if (pattern := _TEXT_CUTS.get(level)) is None:
            positions = self.cuts.get(level, [])
            return positions[bisect_right(positions, span.start) : bisect_left(positions, span.end)]
        start, end = self.source.char(span.start), self.source.char(span.end)
        found = (match.end() for match in pattern.finditer(self.source.text, start, end))
        cuts = (self.source.byte(cut) for cut in found if cut < end)
        return [cut for cut in cuts if not self._behind_heading(cut)]

    def _cuts_by_level(self) -> dict[int, list[int]]:
        """Where the structure allows a cut; never right behind a heading, which stays with its text."""
        levels: dict[int, list[int]] = {}
        for position, level in sorted(self.note.outline.cuts.items()):
            if level < BLOCK or not self._behind_heading(position):
                levels.setdefault(level, []).append(position)
        return levels

    def _behind_heading(self, position: int) -> bool:
        """Whether only white space stands between a heading and this place."""
        place = bisect_left(self.note.outline.headings, (position,)) - 1
        return place >= 0 and position <= self.texts[place]

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
        context = " › ".join([title, *above] if title and title not in shown else above)[:_CONTEXT_CHARS]
        return self._shortened(context)

    def _shortened(self, context: str) -> str:
        """A context that leaves the passage most of the model's limit."""
        if self.tokenizer is None:
            return context
        while context and self.tokenizer.counts([context])[0] > self.tokenizer.limit // 4:
            context = context[: len(context) // 2].rstrip()
        return context

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


def _first_words(note: Note) -> list[int]:
    """For each heading, where the text below it begins."""
    found = (_WORD.search(note.source.raw, heading.end) for heading in note.outline.headings)
    return [word.start() if word else len(note.source) for word in found]


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
