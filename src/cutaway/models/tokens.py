"""Tokenizers: a model's own, from its file, and an estimate for a model that is behind an address."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    import tokenizers

Tokens = tuple[list[int], list[int]]
"""Token ids and segment ids."""
_UNKNOWN = ("[UNK]", "<unk>")
_SURROGATE = re.compile("[\ud800-\udfff]")
_GRAPHEME = regex.compile(r"\X")
_SPECIAL_TOKENS, _BYTES_A_TOKEN = 2, 3


class FileTokenizer:
    """A model's own tokenizer, without the truncation and padding its file may carry; loaded when it first counts.

    Where the model reads every passage behind a *prefix*, counts include it.
    """

    def __init__(self, limit: int, load: Callable[[], tokenizers.Tokenizer], prefix: str = "") -> None:
        self.limit = limit
        self._load, self._prefix = load, prefix

    def starts(self, text: str) -> Sequence[int]:
        """Where each token begins, in characters; long texts are read in slices, so memory stays flat."""
        starts: list[int] = []
        position = 0
        while position < len(text):
            end = _slice_end(text, position)
            encoding = self._loaded.encode(clean(text[position:end]), add_special_tokens=False)
            starts += (position + start for start, _ in encoding.offsets)
            position = end
        return starts

    def unknown(self, text: str) -> float:
        """The share of a text's tokens that are the model's token for whatever it does not know."""
        ids = self._loaded.encode(clean(text), add_special_tokens=False).ids
        unknown = {self._loaded.token_to_id(token) for token in _UNKNOWN}
        return sum(token in unknown for token in ids) / max(len(ids), 1)

    def counts(self, texts: Sequence[str]) -> Sequence[int]:
        return [len(self._loaded.encode(clean(self._prefix + text))) for text in texts]

    def truncated(self, text: str, after: str | None = None) -> Tokens:
        """A text's tokens, cut at the limit; where it stands *after* another, as that one's pair."""
        pair = (clean(text),) if after is None else (clean(after), clean(text))
        encoding = self._loaded.encode(*pair)
        ids: list[int] = encoding.ids
        if len(ids) > self.limit:
            ids = [*ids[: self.limit - 1], ids[-1]]  # the closing token stays last
        return ids, encoding.type_ids[: len(ids)]

    def head(self, text: str, tokens: int) -> str:
        """A text up to so many tokens."""
        starts = self.starts(text)
        return text if len(starts) <= tokens else text[: starts[tokens]]

    @cached_property
    def _loaded(self) -> tokenizers.Tokenizer:
        tokenizer = self._load()
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer


class EstimatedTokenizer:
    """Tokens of a model that cannot be asked: one for every three bytes of UTF-8, begun and ended between graphemes.

    That is more than models make of prose: of English a third more, and a token for each Chinese
    character. Code and long numbers may have more. No text is called unknown.
    """

    def __init__(self, limit: int, prefix: str = "") -> None:
        self.limit = limit
        self._extra = _SPECIAL_TOKENS + len(self.starts(prefix))

    def starts(self, text: str) -> Sequence[int]:
        if text.isascii() and "\r" not in text:
            return range(0, len(text), _BYTES_A_TOKEN)
        starts: list[int] = []
        read = 0
        for found in _GRAPHEME.finditer(clean(text)):
            read += len(found[0].encode())
            starts += [found.start()] * (-(-read // _BYTES_A_TOKEN) - len(starts))
        return starts

    def unknown(self, text: str) -> float:  # noqa: ARG002
        return 0.0

    def counts(self, texts: Sequence[str]) -> Sequence[int]:
        return [self._extra + len(self.starts(text)) for text in texts]


def clean(text: str) -> str:
    """A text without lone surrogates, which a command line may hold and tokenizers refuse."""
    return _SURROGATE.sub("\ufffd", text)


def _slice_end(text: str, position: int, size: int = 20_000) -> int:
    """The end of a slice of at most *size* characters, at a line end or a space where there is one."""
    end = position + size
    if end >= len(text):
        return len(text)
    space = max(text.rfind("\n", position, end), text.rfind(" ", position, end))
    return end if space < 0 else space + 1
