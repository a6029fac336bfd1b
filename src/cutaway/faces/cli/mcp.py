"""`cutaway mcp`: the tools for an agent, over standard input and output."""

from __future__ import annotations

import argparse
import logging
import os
import sys

from cutaway.config import load_settings
from cutaway.errors import UsageError
from cutaway.faces.cli.prepare import home_of
from cutaway.faces.engine import Engine
from cutaway.faces.limits import Gate
from cutaway.faces.telemetry import recording
from cutaway.index.store import keeping_connections


def run(options: argparse.Namespace) -> int:
    """Answer until standard input ends. Nothing but the protocol is written to standard output."""
    try:
        import anyio

        from cutaway.faces.mcp.server import over_stdio
    except ImportError as missing:
        raise UsageError(f"MCP needs more packages ({missing.name}). Run: pip install 'cutaway[serve]'") from None
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    home = home_of(options)
    settings = load_settings(home)
    with recording(settings) as recorder, keeping_connections(settings):
        engine = Engine(home, settings, recorder.record if recorder else None)
        engine.warm()
        anyio.run(over_stdio, engine, Gate(os.cpu_count() or 2, waiting=64, patience=60))
    return 0
