"""A note's source text, addressed by byte, by character and by line."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from functools import cached_property

import numpy as np

_NEWLINE = re.compile(rb"\r\n|\n|\r")


def with_line_feeds(text: str) -> str:
    """The same text, as long, with lone carriage returns as line feeds."""
    return re.sub(r"\r(?!\n)", "\n", text)


class Source:
    """One file's bytes and their text, exactly as on disk (line ends included).

    Ranges everywhere in Cutaway are byte offsets into ``raw``; ``text`` is the same content
    decoded, and ``char``/``byte`` translate between the two.
    """

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.text = raw.decode("utf-8")
        self._ascii = len(raw) == len(self.text)

    def __len__(self) -> int:
        return len(self.raw)

    def slice(self, start: int, end: int) -> str:
        """The text of a byte range that cuts no character."""
        return self.raw[start:end].decode("utf-8")

    def char(self, byte: int) -> int:
        """The character that starts at *byte* (or the first one after it)."""
        return byte if self._ascii else bisect_left(self._starts, byte)

    def byte(self, char: int) -> int:
        """Where a character starts, in bytes."""
        return char if self._ascii else self._starts[char]

    def line(self, byte: int) -> int:
        """The 1-based line that holds *byte*."""
        return bisect_right(self._lines, byte)

    def line_start(self, byte: int) -> int:
        """Where the line that holds *byte* begins."""
        return self._lines[self.line(byte) - 1]

    def range_of_line(self, line: int) -> tuple[int, int]:
        """The bytes of a 1-based line, its line end included."""
        ends = (*self._lines[line : line + 1], len(self))
        return self._lines[line - 1], ends[0]

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """First and last line of a byte range, not counting the blank lines at its margins."""
        text = self.raw[start:end]
        first = start + len(text) - len(text.lstrip())
        last = start + len(text.rstrip())
        return (self.line(first), self.line(last - 1)) if first < last else (self.line(start),) * 2

    @cached_property
    def _starts(self) -> array[int]:
        codes = np.frombuffer(self.text.encode("utf-32-le"), np.uint32)
        sizes = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
        starts = array("Q", (0,))
        starts.frombytes(np.cumsum(sizes, dtype=np.uint64).tobytes())
        return starts

    @cached_property
    def _lines(self) -> array[int]:
        return array("Q", (0, *(match.end() for match in _NEWLINE.finditer(self.raw))))
