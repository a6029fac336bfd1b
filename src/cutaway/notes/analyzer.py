"""Text into search terms: one analyzer for notes and queries alike.

A term is folded: compatibility form, case, Latin and Greek accents. Scripts written without spaces
become pairs of neighbouring characters. Joined words such as ``my-app``, ``read_file`` or ``2026.4.10``
give their parts and, besides, the whole. Notes are indexed by their words as they are; a query's word
also finds the other words of its stem, which count a little less.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

import regex

from cutaway.notes.languages import DEFAULT, is_function_word, stems

ANALYZER = "words+bigrams+snowball/v4"

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc\u3005"
_VOICING = r"\uff9e\uff9f"  # the half-width marks that turn カ into ガ; they are letters to Unicode
_RUN = regex.compile(rf"[{_UNSPACED}][{_UNSPACED}\p{{M}}{_VOICING}]*")
_CHARACTER = regex.compile(rf"\X[{_VOICING}]?")
_WORD = regex.compile(
    rf"{_RUN.pattern}"
    rf"|[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}{_VOICING}]]+(?:['’]\p{{L}}+)?(?:\+\+|\#(?!\w))?"
    r"|\p{Extended_Pictographic}",
    regex.V1,
)
_JOINED = regex.compile(r"(?<![\p{L}\p{N}])[\p{L}\p{N}]++(?:[-._][\p{L}\p{N}]++){1,5}+(?![-._]?[\p{L}\p{N}])")
# The same for plain ASCII, which most texts are: several times faster.
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z]+)?(?:\+\+|#(?![A-Za-z0-9_]))?")
_ASCII_JOINED = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[-._][A-Za-z0-9]++){1,5}+(?![-._]?[A-Za-z0-9])")

_NO_PART_OF_A_TERM = regex.compile(r"[^\w\p{M}\p{Extended_Pictographic}\u2044+#.'-]+")
_SOLID = regex.compile(r"[\w\p{Extended_Pictographic}]")
_ACCENTED = regex.compile(r"([\p{Latin}\p{Greek}])\p{M}+")
# Signs of vowels that Arabic and Hebrew may write or leave out, and the stroke that stretches a word.
_OPTIONAL = re.compile("[\u064b-\u0652\u0670\u0640\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]")


class Token(NamedTuple):
    """A term and the characters it stands at."""

    term: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """Every term of *text* in reading order, with its place; a joined word before its parts."""
    return sorted(_found(text), key=lambda token: token.start)


class Term(NamedTuple):
    """A word that is looked for: it finds the words of its stem, or, with ``prefix``, all that begin with it."""

    text: str
    prefix: bool = False
    spoken: tuple[str, ...] = DEFAULT
    """The languages whose stems count, where the script does not say."""

    @property
    def stems(self) -> frozenset[str]:
        return frozenset() if self.prefix else stems(self.text, self.spoken)

    def __str__(self) -> str:
        return f"{self.text}*" if self.prefix else self.text

    def answered_by(self, word: str) -> bool:
        """Whether a word of a note is one that this term finds."""
        if self.prefix:
            return word.startswith(self.text)
        return word == self.text or bool(self.stems & stems(word, self.spoken))


class QueryTerms(NamedTuple):
    """The distinct terms of a query in the order they were typed, and those that are set aside."""

    terms: tuple[Term, ...]
    set_aside: tuple[Term, ...]


def query_terms(text: str, prefixes: Collection[str] = (), spoken: tuple[str, ...] = DEFAULT) -> QueryTerms:
    """What to look for: one term of each stem, and the *prefixes*.

    Function words of the languages *spoken* are set aside, unless the query has nothing else.
    """
    words = [(token.term, is_function_word(token.term, spoken)) for token in tokens(text)]
    content = _distinct((term for term, function in words if not function), spoken)
    function = _distinct((term for term, function in words if function), spoken)
    expanded = tuple(Term(prefix, True, spoken) for prefix in dict.fromkeys(prefixes))
    return QueryTerms((*content, *expanded), function) if content or expanded else QueryTerms(function, ())


def answering(terms: Iterable[Term], words: Iterable[str]) -> set[Term]:
    """Those of the terms that these words hold."""
    held = frozenset(words)
    found = {term for term in terms if term.text in held}
    for term in set(terms) - found:
        if term.prefix:
            answered = any(word.startswith(term.text) for word in held)
        else:
            answered = bool(term.stems) and not term.stems.isdisjoint(_stems_of(held, term.spoken))
        found |= {term} if answered else set()
    return found


def _stems_of(words: Iterable[str], spoken: tuple[str, ...]) -> set[str]:
    return set(chain.from_iterable(stems(word, spoken) for word in words))


def _distinct(words: Iterable[str], spoken: tuple[str, ...]) -> tuple[Term, ...]:
    by_stem: dict[object, Term] = {}
    for word in words:
        by_stem.setdefault(stems(word, spoken) or word, Term(word, False, spoken))
    return tuple(by_stem.values())


def phrase(text: str) -> tuple[str, ...]:
    """The words of an exact phrase, one after the other as notes are indexed; a lone joined word is one."""
    words, joined = (_ASCII_WORD, _ASCII_JOINED) if text.isascii() else (_WORD, _JOINED)
    if whole := joined.fullmatch(text.strip()):
        return _folded(whole[0])
    return tuple(token.term for match in words.finditer(text) for token in _placed(match[0], match.start()))


def note_tokens(text: str) -> list[Token]:
    """The terms that a note's text answers to: with single characters too where a script has no spaces.

    A query of one such character has no pair; it is answered by these.
    """
    return [*tokens(text), *_singles(text)]


def note_terms(text: str) -> list[str]:
    """The terms of ``note_tokens``, without the cost of keeping their places."""
    if text.isascii():
        joined = map(str.lower, _ASCII_JOINED.findall(text))
        return [*map(str.lower, _ASCII_WORD.findall(text)), *joined]
    return [token.term for token in chain(_found(text), _singles(text))]


def _found(text: str) -> Iterator[Token]:
    words, joined = (_ASCII_WORD, _ASCII_JOINED) if text.isascii() else (_WORD, _JOINED)
    for match in joined.finditer(text):
        yield from (Token(term, *match.span()) for term in _folded(match[0]))
    for match in words.finditer(text):
        yield from _placed(match[0], match.start())


def _placed(word: str, start: int) -> Iterator[Token]:
    """The terms of a word, or of a run of characters without spaces, that stands at *start*."""
    if _RUN.match(word):
        yield from _pairs(word, start)
    else:
        yield from (Token(term, start, start + len(word)) for term in _folded(word))


def _singles(text: str) -> Iterator[Token]:
    for run in () if text.isascii() else _RUN.finditer(text):
        for character in _CHARACTER.finditer(run[0]):
            place = (run.start() + character.start(), run.start() + character.end())
            yield from (Token(term, *place) for term in _folded(character[0]))


def _pairs(run: str, start: int) -> Iterator[Token]:
    """Neighbouring characters of a run, as a reader sees them: a base with its marks is one."""
    single = _CHARACTER.fullmatch(run)
    spans = (character.span() for character in _CHARACTER.finditer(run))
    pairs = [single.span()] if single else ((first[0], second[1]) for first, second in pairwise(spans))
    for first, last in pairs:
        yield from (Token(term, start + first, start + last) for term in _folded(run[first:last]))


@lru_cache(maxsize=65_536)
def _folded(word: str) -> tuple[str, ...]:
    """Compatibility form, case and accents folded away, but no mark that makes another letter.

    A form may hold signs that no term has, ⑴ is (1): what is between them are terms.
    """
    if word.isascii():
        return (word.lower(),)
    plain = unicodedata.normalize("NFKC", word).casefold().replace("ё", "е").replace("’", "'")
    plain = _OPTIONAL.sub("", plain)
    bare = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", plain))
    parts = _NO_PART_OF_A_TERM.split(unicodedata.normalize("NFC", bare))
    return tuple(part for part in parts if _SOLID.search(part))
