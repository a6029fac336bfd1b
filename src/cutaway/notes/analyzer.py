"""Text into search terms: one analyzer for notes and queries alike.

A term is folded (compatibility form, case, Latin and Greek accents) and stemmed by script.
Scripts written without spaces become character bigrams. Joined words such as ``my-app`` or
``2026.4.10`` give their parts and, besides, the whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import regex
import Stemmer

ANALYZER = "words+bigrams+snowball/v1"

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc\u3005"
_ASCII_TOKEN = re.compile(r"[A-Za-z0-9_]+(?:'[A-Za-z]+)?(?:\+\+|#(?![A-Za-z0-9_]))?")
_TOKEN = regex.compile(
    rf"[{_UNSPACED}][{_UNSPACED}\p{{M}}]*"
    rf"|[[\p{{L}}\p{{N}}\p{{M}}_]--[{_UNSPACED}]]+(?:['’][\p{{L}}]+)?(?:\+\+|\#(?!\w))?"
    r"|\p{Extended_Pictographic}",
    regex.V1,
)
_UNSPACED_RUN = regex.compile(rf"[{_UNSPACED}]")
_ASCII_JOINED = re.compile(r"[A-Za-z0-9]+(?:[-._][A-Za-z0-9]+){1,5}(?![-._]?[A-Za-z0-9])")
_JOINED = regex.compile(r"[\p{L}\p{N}]+(?:[-._][\p{L}\p{N}]+){1,5}(?![-._]?[\p{L}\p{N}])")
_LATIN, _CYRILLIC = re.compile(r"[a-z']+"), re.compile(r"[а-я]+")
_english, _russian = Stemmer.Stemmer("english"), Stemmer.Stemmer("russian")


class Token(NamedTuple):
    """A term and the characters it stands at."""

    term: str
    start: int
    end: int


def tokens(text: str) -> Iterator[Token]:
    """Every term of *text* in reading order, with its place."""
    pattern = _ASCII_TOKEN if text.isascii() else _TOKEN
    for match in pattern.finditer(text):
        word, start = match[0], match.start()
        if not word.isascii() and _UNSPACED_RUN.match(word):
            yield from _bigrams(word, start)
        else:
            yield Token(_term(word), start, match.end())
    for match in (_ASCII_JOINED if text.isascii() else _JOINED).finditer(text):
        yield Token(_folded(match[0]), match.start(), match.end())


def query_terms(text: str) -> tuple[str, ...]:
    """The distinct terms of a query, in the order they were typed."""
    return tuple(dict.fromkeys(token.term for token in tokens(text)))


def note_terms(text: str) -> list[str]:
    """The terms of a note's text, with single characters too where a script has no spaces.

    A query of one such character has no bigram; it is answered by these.
    """
    if text.isascii():  # the same terms, without their places
        return [*map(_term, _ASCII_TOKEN.findall(text)), *map(str.lower, _ASCII_JOINED.findall(text))]
    return [*(token.term for token in tokens(text)), *map(_folded, _UNSPACED_RUN.findall(text))]


def _bigrams(run: str, start: int) -> Iterator[Token]:
    if len(run) == 1:
        yield Token(_folded(run), start, start + 1)
    for place in range(len(run) - 1):
        yield Token(_folded(run[place : place + 2]), start + place, start + place + 2)


@lru_cache(maxsize=65_536)
def _term(word: str) -> str:
    folded = _folded(word)
    if _LATIN.fullmatch(folded):
        return str(_english.stemWord(folded))
    if _CYRILLIC.fullmatch(folded):
        return str(_russian.stemWord(folded))
    return folded


def _folded(word: str) -> str:
    """Compatibility form and case folded away; accents too, where they do not make another letter."""
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKC", word).casefold().replace("ё", "е").replace("’", "'")
    if plain.isascii():
        return plain
    return unicodedata.normalize("NFC", "".join(_bare(character) for character in plain))


@lru_cache(maxsize=4_096)
def _bare(character: str) -> str:
    parts = unicodedata.normalize("NFD", character)
    base = parts[0]
    if len(parts) > 1 and unicodedata.name(base, "").startswith(("LATIN", "GREEK")):
        return base
    return character
