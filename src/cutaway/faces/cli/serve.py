"""`cutaway serve`: the API, for programs on this machine, or with a token for those on others."""

from __future__ import annotations

import argparse
from contextlib import suppress
from threading import Event

from rich.markup import escape

from cutaway.config import load_settings
from cutaway.errors import UsageError
from cutaway.faces.cli.prepare import home_of
from cutaway.faces.cli.running import stopped_by_signals
from cutaway.faces.cli.session import messages


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM; requests that are at work are finished."""
    try:
        from cutaway.faces.http.server import Serving, served
    except ImportError as missing:
        raise UsageError(f"serving needs more packages ({missing.name}). Run: pip install 'cutaway[serve]'") from None
    home = home_of(options)
    serving = Serving(
        host=options.host,
        port=options.port,
        hosts=tuple(options.allow_host),
        workers=options.workers,
        read_only=options.read_only,
        log_format=options.log_format,
    )
    with served(home, load_settings(home), serving) as server:
        for line in server.told:
            messages().print(f"[dim]serving[/]  {escape(line)}", soft_wrap=True)
        with suppress(KeyboardInterrupt), stopped_by_signals(Event()):  # both end it in good order
            server.run()
    return 0
