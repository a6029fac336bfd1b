"""The token of a server: how what is given is compared with it, and what a browser that gave it is handed instead."""

from __future__ import annotations

import hashlib
import hmac

from cutaway.config import Settings

COOKIE = "cutaway"


class Token:
    """What is asked of everyone. Comparing takes as long whether or not it is the right one."""

    def __init__(self, secret: str) -> None:
        self._digest = _digest(secret.encode())
        self.proof = hmac.new(secret.encode(), b"a browser that gave the token", hashlib.sha256).hexdigest()
        """What a browser keeps: made from the token, which cannot be made from it."""

    def __repr__(self) -> str:
        return "Token(…)"

    def is_given(self, given: bytes) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest(_digest(given), self._digest)

    def is_proved(self, cookie: str | None) -> bool:
        """Whether this is what a browser that gave the token was handed."""
        given = (cookie or "").encode("utf-8", "replace")
        return hmac.compare_digest(_digest(given), _digest(self.proof.encode()))


def token_of(settings: Settings) -> Token | None:
    """The token that the settings ask for."""
    return Token(settings.serve_token.get_secret_value()) if settings.serve_token else None


def _digest(token: bytes) -> bytes:
    """What is compared instead of a token: as long as any other."""
    return hashlib.sha256(token).digest()
