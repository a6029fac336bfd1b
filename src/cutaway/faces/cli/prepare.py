"""What a search needs first: the home and its models, loading while the rest is imported."""

from __future__ import annotations

import argparse
from pathlib import Path

from cutaway.config import default_home, load_settings
from cutaway.faces.loading import Loader


def home_of(options: argparse.Namespace) -> Path:
    """Where the index is: --home, else CUTAWAY_HOME, else the platform's data folder."""
    home: Path = options.home or default_home()
    return home.expanduser()


def loading(options: argparse.Namespace) -> Loader:
    """The models that the search which was typed will ask, already loading."""
    loader = Loader()
    loader.for_search(load_settings(home_of(options)), options.mode, options.rerank, options.depth)
    return loader
