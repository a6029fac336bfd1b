"""Cursors: where a page ended, sealed with the order it ended in.

A page number says only how far to skip; if the index has changed meanwhile, results repeat or go
missing unseen. A cursor carries what the order depended on, so the next page either continues it
or says why it cannot.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import struct
from typing import NamedTuple

from cutaway.errors import StaleCursor, UsageError

_VERSION = 1
_LAYOUT = struct.Struct(">BQ8s8sQB8s")
_SEAL_BYTES = 8
VECTORS, RERANKED = 1, 2
"""What can turn out differently from one page to the next: whether the vector leg answered, and the reranker."""

_AGAIN = "Start again from the first page, without the cursor."


class Cursor(NamedTuple):
    """Where the next page starts, and what must still be so for it to continue the last one."""

    offset: int
    request: bytes
    """Digest of the query and its scope."""
    ranking: bytes
    """Digest of the formulas, settings and model identities that decide the order."""
    generation: int
    """Of the index."""
    outcome: int = 0
    """VECTORS and RERANKED, as it turned out."""
    head: bytes = bytes(8)
    """Digest of the order of the results that no deeper page can change."""


def sealed(cursor: Cursor, key: str) -> str:
    """A cursor as text, signed for one index."""
    body = _LAYOUT.pack(_VERSION, *cursor)
    return base64.urlsafe_b64encode(body + _seal(body, key)).decode().rstrip("=")


def unsealed(text: str, key: str) -> Cursor:
    """What ``sealed`` wrote. Raises UsageError for anything else, and for a cursor of another index."""
    try:
        content = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (binascii.Error, UnicodeEncodeError):
        content = b""
    body, seal = content[: _LAYOUT.size], content[_LAYOUT.size :]
    if hmac.compare_digest(seal, _seal(body, key)):
        version, *values = _LAYOUT.unpack(body)
        if version == _VERSION and sealed(Cursor(*values), key) == text:  # base64 forgives; a cursor is these signs
            return Cursor(*values)
    raise UsageError(f"the cursor was not made by this index, or is not whole. {_AGAIN}")


def digest(*values: object) -> bytes:
    """Eight bytes that stand for some values."""
    return hashlib.blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def check_unchanged(there: Cursor, here: Cursor) -> None:
    """Whether the index and the request are those the cursor was made for. Raises StaleCursor."""
    if there.request != here.request:
        raise StaleCursor(f"the cursor belongs to another query, mode, grouping or scope. {_AGAIN}")
    if there.ranking != here.ranking:
        raise StaleCursor(f"settings or models that decide the order have changed since the page before. {_AGAIN}")
    if there.generation != here.generation:
        raise StaleCursor(f"the index has changed since the page before. {_AGAIN}")


def check_outcome(there: Cursor, here: Cursor, reasons: str) -> None:
    """Whether this search turned out as the page before did. Raises StaleCursor; *reasons* say what failed now."""
    failed = f" ({reasons})" if reasons else ""
    for flag, name in ((VECTORS, "answered by meaning too"), (RERANKED, "reranked")):
        if there.outcome & flag and not here.outcome & flag:
            raise StaleCursor(f"the page before was {name}, this one could not be{failed}. Try again, or: {_AGAIN}")
        if here.outcome & flag and not there.outcome & flag:
            raise StaleCursor(f"this page is {name}, the page before could not be. {_AGAIN}")
    if there.head != here.head:
        raise StaleCursor(f"the reranker no longer gives the order that the page before had. {_AGAIN}")


def _seal(body: bytes, key: str) -> bytes:
    return hashlib.blake2b(body, key=key.encode()[:64], digest_size=_SEAL_BYTES).digest()
