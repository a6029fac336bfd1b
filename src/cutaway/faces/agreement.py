"""Whether two processes would answer alike: the same version under the same settings."""

from __future__ import annotations

import hashlib
import json

from pydantic import SecretStr

from cutaway import __version__
from cutaway.config import Settings

AGREEMENT = "Cutaway-Agreement"
"""The header that a local client sends: it wants the answer that it would make itself, or none."""


def agreement(settings: Settings) -> str:
    """The same for two that answer alike."""
    values = {
        name: value.get_secret_value() if isinstance(value, SecretStr) else value
        for name, value in settings
        if not name.startswith("serve_")
    }
    return hashlib.sha256(json.dumps([__version__, values], sort_keys=True).encode()).hexdigest()
