"""Text of notes on a terminal: what a terminal would act on is shown as a sign for it instead."""

from __future__ import annotations

import re

_ACTED_ON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and newline, and those that turn the direction of what follows."""
_PICTURES, _OTHER = 0x2400, "�"


def inert(text: str) -> str:
    """The same text, so that no terminal obeys it: ESC becomes ␛, and so on."""
    return _ACTED_ON.sub(_sign, text)


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(_PICTURES + code) if code < 0x20 else "\u2421" if code == 0x7F else _OTHER
