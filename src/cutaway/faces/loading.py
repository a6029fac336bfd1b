"""The models of a home: each is loaded when it is first asked for, and kept."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import TypeVar

from cutaway.config import Settings
from cutaway.errors import ModelUnavailable
from cutaway.models.cross_encoder import CrossEncoder, named_cross_encoder
from cutaway.models.embedder import Embedder, named_embedder

M = TypeVar("M")
_Names = tuple[tuple[str, object], ...]


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


class Loader:
    """Models by the settings that name them, for all threads. One that cannot be had is looked for anew next time."""

    def __init__(self) -> None:
        self._embedders: dict[_Names, Embedder] = {}
        self._cross_encoders: dict[_Names, CrossEncoder] = {}
        self._guard = RLock()

    def embedder(self, settings: Settings, at_once: bool = False) -> Embedder | str:
        """The configured embedder, or why there is none."""
        return self._once(self._embedders, _naming(settings, "embedder"), lambda: embedder_or_reason(settings, at_once))

    def keep(self, settings: Settings, embedder: Embedder) -> Embedder:
        """An embedder that was named elsewhere, for all; the one held already, where there is one."""
        found = self._once(self._embedders, _naming(settings, "embedder"), lambda: embedder)
        assert not isinstance(found, str)
        return found

    def cross_encoder(self, settings: Settings, at_once: bool = False) -> CrossEncoder | str:
        """The configured cross-encoder, or why there is none."""
        names = _naming(settings, "rerank")
        return self._once(self._cross_encoders, names, lambda: cross_encoder_or_reason(settings, at_once))

    def for_search(
        self, settings: Settings, mode: str | None, rerank: bool | None, depth: int | None
    ) -> tuple[Embedder | str, CrossEncoder | str]:
        """The models a search will ask, already loading; one it will not ask is not touched.

        Whether to rerank is the plan's decision: a search over several projects may load a
        cross-encoder and not ask it.
        """
        text = (mode or settings.mode) == "text"
        asked = depth is not None if rerank is None else rerank
        wanted = asked or (rerank is None and settings.rerank and not text)
        return (
            "text search needs no embedder" if text else self.embedder(settings, at_once=True),
            self.cross_encoder(settings, at_once=True) if wanted else "reranking was not asked for",
        )

    def _once(self, models: dict[_Names, M], names: _Names, load: Callable[[], M | str]) -> M | str:
        with self._guard:
            held = models.get(names)
            if held is not None:
                return held
            found = load()
            if not isinstance(found, str):
                models[names] = found
            return found


def _naming(settings: Settings, prefix: str) -> _Names:
    """What names a model: two with the same are one."""
    return tuple((name, value) for name, value in settings if name.startswith(prefix))
