"""What a search needs first: the home, its settings, and the model, loading while the rest is imported."""

from __future__ import annotations

import argparse
from pathlib import Path

from cutaway.config import Settings, default_home, load_settings
from cutaway.errors import ModelUnavailable
from cutaway.models.cross_encoder import CrossEncoder, named_cross_encoder
from cutaway.models.embedder import Embedder, named_embedder

Loaded = tuple[Embedder | str, CrossEncoder | str]
"""The two models of a search; each may be the reason why there is none."""


def home_of(options: argparse.Namespace) -> Path:
    """Where the index is: --home, else CUTAWAY_HOME, else the platform's data folder."""
    home: Path = options.home or default_home()
    return home.expanduser()


def embedder_or_reason(settings: Settings, at_once: bool = False, fetch: bool = False) -> Embedder | str:
    """The configured embedder, or why there is none; *at_once* when it is about to embed, *fetch* to download it."""
    try:
        return named_embedder(settings, at_once, fetch) or "no embedder is configured (embedder = none)"
    except ModelUnavailable as reason:
        return str(reason)


def cross_encoder_or_reason(settings: Settings, at_once: bool = False) -> CrossEncoder | str:
    """The configured cross-encoder, or why there is none; *at_once* when it is about to read."""
    try:
        return named_cross_encoder(settings, at_once) or "no reranker is configured (reranker = none)"
    except ModelUnavailable as reason:
        return str(reason)


def models_for_search(options: argparse.Namespace) -> Loaded:
    """The models a search will ask, already loading; one it will not ask is not touched.

    Whether to rerank is the plan's decision; this one comes before the scope is known, so that a
    search over several projects may load a cross-encoder and not ask it.
    """
    return models_under(load_settings(home_of(options)), options)


def models_under(
    settings: Settings, options: argparse.Namespace, loaded: Loaded = ("not loaded", "not loaded")
) -> Loaded:
    """The same, under other settings than those of the home; what is *loaded* already is not loaded again."""
    embedder, reranker = loaded
    text = (options.mode or settings.mode) == "text"
    asked = options.depth is not None if options.rerank is None else options.rerank
    wanted = asked or (options.rerank is None and settings.rerank and not text)
    if isinstance(embedder, str) and not text:
        embedder = embedder_or_reason(settings, at_once=True)
    if isinstance(reranker, str) and wanted:
        reranker = cross_encoder_or_reason(settings, at_once=True)
    return (
        "text search needs no embedder" if text else embedder,
        reranker if wanted else "reranking was not asked for",
    )
