"""What a search needs first: the home and its models, loading while the rest is imported."""

from __future__ import annotations

import argparse
from pathlib import Path

from cutaway.config import default_home, load_settings
from cutaway.faces.local import running


def home_of(options: argparse.Namespace) -> Path:
    """Where the index is: --home, else CUTAWAY_HOME, else the platform's data folder."""
    home: Path = options.home or default_home()
    return home.expanduser()


def prepare(options: argparse.Namespace) -> None:
    """Let the models that a search will ask load already, unless a server has them."""
    if options.no_server or not running(home_of(options)):
        from cutaway.faces.loading import Loader  # heavy: a server has it already

        options.loader = Loader()
        options.loader.for_search(load_settings(home_of(options)), options.mode, options.rerank, options.depth)
