"""What a search needs first: the home, its settings, and the model, loading while the rest is imported."""

from __future__ import annotations

import argparse
from pathlib import Path

from cutaway.config import Settings, default_home, load_settings
from cutaway.errors import ModelUnavailable
from cutaway.models.embedder import Embedder, named_embedder


def home_of(options: argparse.Namespace) -> Path:
    """Where the index is: --home, else CUTAWAY_HOME, else the platform's data folder."""
    home: Path = options.home or default_home()
    return home.expanduser()


def embedder_or_reason(settings: Settings, at_once: bool = False) -> Embedder | str:
    """The configured embedder, or why there is none; *at_once* when it is about to embed."""
    try:
        return named_embedder(settings.embedder, at_once) or "no embedder is configured (embedder = none)"
    except ModelUnavailable as reason:
        return str(reason)


def embedder_for_search(options: argparse.Namespace) -> Embedder | str:
    """The embedder of a search, already loading; a text search needs none."""
    settings = load_settings(home_of(options))
    if (options.mode or settings.mode) == "text":
        return "text search needs no embedder"
    return embedder_or_reason(settings, at_once=True)
