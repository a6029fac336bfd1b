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
import Stemmer

ANALYZER = "words+bigrams+snowball/v3"

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
_LATIN, _CYRILLIC = re.compile(r"[a-z']+"), re.compile(r"[а-я]+")
_english, _russian = Stemmer.Stemmer("english"), Stemmer.Stemmer("russian")


# English words that hold a sentence together. Measured on six sets, a question is answered better without them.
_FUNCTION_WORDS = frozenset(
    """
    a about above after again against all also am an and any are as at be because been before being below between
    both but by can could did do does doing don't down during each few for from further get had has have having he
    her here hers him his how i if in into is it its just like me more most my no nor not now of off on once only or
    other our out over own same she should so some such than that the their them then there these they this those
    through to too under until up very was we were what when where which while who whom why will with would you your
    """.split()
)


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

    @property
    def stem(self) -> str:
        return self.text if self.prefix else stem(self.text)

    def __str__(self) -> str:
        return f"{self.text}*" if self.prefix else self.text

    def answered_by(self, word: str) -> bool:
        """Whether a word of a note is one that this term finds."""
        return word.startswith(self.text) if self.prefix else word == self.text or stem(word) == self.stem


class QueryTerms(NamedTuple):
    """The distinct terms of a query in the order they were typed, and those that are set aside."""

    terms: tuple[Term, ...]
    set_aside: tuple[Term, ...]


def query_terms(text: str, prefixes: Collection[str] = ()) -> QueryTerms:
    """What to look for: one term of each stem, and the *prefixes*.

    Function words are set aside, unless the query has nothing else.
    """
    words = [(token.term, text[token.start : token.end].lower() in _FUNCTION_WORDS) for token in tokens(text)]
    content = _distinct(term for term, function in words if not function)
    function = _distinct(term for term, function in words if function)
    expanded = tuple(Term(prefix, prefix=True) for prefix in dict.fromkeys(prefixes))
    return QueryTerms((*content, *expanded), function) if content or expanded else QueryTerms(function, ())


def answering(terms: Iterable[Term], words: Iterable[str]) -> set[Term]:
    """Those of the terms that these words hold."""
    held = set(words)
    stems = set(map(stem, held))
    return {
        term
        for term in terms
        if term.text in held
        or (any(word.startswith(term.text) for word in held) if term.prefix else term.stem in stems)
    }


def _distinct(words: Iterable[str]) -> tuple[Term, ...]:
    by_stem: dict[str, Term] = {}
    for word in words:
        by_stem.setdefault(stem(word), Term(word))
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
def stem(term: str) -> str:
    """What the forms of a word have in common: English rules for the Latin script, Russian for the Cyrillic."""
    if _LATIN.fullmatch(term):
        return str(_english.stemWord(term))
    return str(_russian.stemWord(term)) if _CYRILLIC.fullmatch(term) else term


@lru_cache(maxsize=65_536)
def _folded(word: str) -> tuple[str, ...]:
    """Compatibility form, case and accents folded away, but no mark that makes another letter.

    A form may hold signs that no term has, ⑴ is (1): what is between them are terms.
    """
    if word.isascii():
        return (word.lower(),)
    plain = unicodedata.normalize("NFKC", word).casefold().replace("ё", "е").replace("’", "'")
    bare = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", plain))
    parts = _NO_PART_OF_A_TERM.split(unicodedata.normalize("NFC", bare))
    return tuple(part for part in parts if _SOLID.search(part))
