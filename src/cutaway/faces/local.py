"""Where a home's server listens for its owner, and whether one may be there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_LONGEST_NAME = 100
"""A socket's name has room for little more on any system."""


def socket_file(home: Path) -> Path | None:
    """Where a home's server listens for its owner; None where it cannot."""
    file = home / "serve.sock"
    return file if len(os.fsencode(file)) <= _LONGEST_NAME else None


def running(home: Path) -> bool:
    """Whether a server of ours may be listening: nobody else's is ever asked."""
    try:
        found = (socket_file(home) or Path(os.devnull)).stat()
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.getuid()
