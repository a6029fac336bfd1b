"""`cutaway migrate`: copy the index to another store, and say how to use it there."""

from __future__ import annotations

import argparse
import json
import re

from rich.markup import escape

from cutaway.config import Settings, load_settings, validated
from cutaway.errors import UsageError
from cutaway.faces.cli.index import progress_bar
from cutaway.faces.cli.prepare import home_of
from cutaway.faces.cli.session import messages, screen
from cutaway.index.migrate import migrate

_OF_A_STORE = {"exact": "pgvector", "pgvector": "exact"}
"""Vector homes that belong to one kind of store, and the other's."""


def run(options: argparse.Namespace) -> int:
    """Copy; config.toml is the user's to change."""
    home = home_of(options)
    settings = load_settings(home)
    target = _target(options, settings)
    with progress_bar(options.json) as progress:
        copied = migrate(home, settings, target, progress, options.replace)
    lines = _lines(target)
    if options.json:
        screen().out(json.dumps({**copied._asdict(), "config": lines}, indent=2, ensure_ascii=False))
        return 0
    said = f"copied {copied.projects:,} projects, {copied.notes:,} notes and {copied.chunks:,} passages "
    said += f"({copied.ready:,} with a vector) to {copied.place}. Nothing was embedded."
    screen().print(escape(said), soft_wrap=True)
    where = "" if target.store else ", and take `store` and `store_schema` out"
    messages().print(escape(f"To use the copy, put this into {home / 'config.toml'}{where}:"), soft_wrap=True)
    for line in lines:
        screen().out(line)
    return 0


def _target(options: argparse.Namespace, settings: Settings) -> Settings:
    """The settings in use, but for another store."""
    to_file = options.to == "file"
    if not to_file and not re.match(r"postgres(ql)?://", options.to):
        raise UsageError("--to takes `file` or an address that begins with postgresql://")
    if to_file and options.schema:
        raise UsageError("--schema is for a copy in Postgres; a file has none.")
    usual = settings.vectors
    if usual == ("pgvector" if to_file else "exact"):
        usual = _OF_A_STORE[usual]
    chosen = {
        "store": None if to_file else options.to,
        "store_schema": options.schema or Settings.model_fields["store_schema"].default,
        "vectors": options.vectors or usual,
    }
    return settings.model_copy(update={name: getattr(validated(chosen, "the options"), name) for name in chosen})


def _lines(target: Settings) -> list[str]:
    """What config.toml is to say of the copy. A password is never shown."""
    said = {"vectors": target.vectors}
    if target.store is not None:
        address = re.sub(r"://([^:/?@]*):.*@", r"://\1:PASSWORD@", target.store.get_secret_value())
        address = re.sub(r"([?&](?:ssl)?password=)[^&]*", r"\1PASSWORD", address)
        said = {"store": address, "store_schema": target.store_schema, **said}
    return [f"{name} = {json.dumps(value)}" for name, value in said.items()]
