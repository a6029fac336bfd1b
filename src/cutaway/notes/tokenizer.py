"""How chunk sizes are counted: whatever cuts texts into tokens for the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

# A model has nothing to say of a text with a larger share of tokens it does not know.
# English queries have none, queries in Chinese half and more: measured on questions in five languages.
MOST_UNKNOWN = 0.25


class Tokenizer(Protocol):
    """The embedder's own tokenizer."""

    limit: int
    """The most tokens one text may have, special tokens included."""

    def starts(self, text: str) -> Sequence[int]:
        """Where each token of *text* begins, in characters; special tokens left out."""

    def unknown(self, text: str) -> float:
        """The share of a text's tokens that the model has never seen, 0 to 1."""

    def counts(self, texts: Sequence[str]) -> Sequence[int]:
        """How many tokens each text has, special tokens included."""
