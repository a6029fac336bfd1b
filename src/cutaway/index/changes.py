"""What changes below folders, as the operating system tells it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from threading import Event
from time import monotonic

_TICK_MS, _SETTLE_MS, _PATIENCE_MS, _POLL_MS = 500, 100, 2_000, 2_000
"""Between empty batches; without a change until a batch is closed; at most until then; between looks of our own."""
_TRUST_SECONDS = 600
"""Until all is looked at anew: queues overflow, network drives tell little, polling sees only whole seconds."""
_BLIND_SECONDS = 10
"""Until all is looked at anew, where nothing can be watched in any way."""


def changes(roots: Sequence[Path], stop: Event, say: Callable[[str], None]) -> Iterator[Collection[str]]:
    """Batches of changed paths, from before the first batch on; an empty one now and then.

    Ends when *stop* is set, where a root itself is gone, where watching fails, and every few minutes.
    If the system cannot watch so much, *say* is told and the folders are looked through instead.
    """
    armed = False
    for polling in (None, True):
        try:
            for batch in _watched(roots, stop, polling):
                armed = True
                yield batch
            return
        except OSError as error:
            if armed or isinstance(error, FileNotFoundError):  # a root went away just now
                stop.wait(_TICK_MS / 1_000)
                return
            say(f"the system cannot watch these folders ({error}); they are looked through every few seconds.")
    yield set()
    stop.wait(_BLIND_SECONDS)


def _watched(roots: Sequence[Path], stop: Event, polling: bool | None) -> Iterator[Collection[str]]:
    from watchfiles import Change, watch  # only a watch needs it

    batches = watch(
        *roots,
        watch_filter=None,
        stop_event=stop,
        debounce=_PATIENCE_MS,
        step=_SETTLE_MS,
        rust_timeout=_TICK_MS,
        yield_on_timeout=True,
        force_polling=polling,
        poll_delay_ms=_POLL_MS,
        ignore_permission_denied=True,
    )
    end = monotonic() + _TRUST_SECONDS
    gone = {(Change.deleted, str(root)) for root in roots}
    try:
        for batch in batches:
            # A folder is "modified" when a file in it comes or goes, of which we are told anyway.
            yield {path for kind, path in batch if kind is not Change.modified or not Path(path).is_dir()}
            if monotonic() > end or not gone.isdisjoint(batch):
                return
    except RuntimeError as error:  # what its inner part raises, whatever the system said
        raise OSError(str(error)) from None
