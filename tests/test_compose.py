"""compose.yaml holds what it promises: commands that exist, notes that are only read, no secret in clear."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cutaway.config import Settings
from cutaway.faces.cli.arguments import parser

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "compose.yaml").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}


def variables() -> list[tuple[str, str]]:
    return [pair for service in SERVICES.values() for pair in service.get("environment", {}).items()]


@pytest.mark.parametrize("service", OURS.values(), ids=OURS)
def test_every_command_is_one_of_ours(service: dict[str, Any]) -> None:
    """With options that it takes."""
    assert parser().parse_args(service["command"]).run


def test_there_is_a_database_an_indexer_and_workers() -> None:
    """And the database is ready before anybody asks it."""
    assert ["index", "serve", "watch", "worker"] == sorted(service["command"][0] for service in OURS.values())
    assert SERVICES["postgres"]["image"].startswith("pgvector/pgvector:")
    assert SERVICES["postgres"]["healthcheck"]["test"]
    assert {"service_healthy"} == {found["depends_on"]["postgres"]["condition"] for found in OURS.values()}
    assert SERVICES["worker"]["deploy"]["replicas"] > 1


def test_the_server_is_reached_from_this_machine_and_with_a_token() -> None:
    """It starts no index runs: it has no notes."""
    api = SERVICES["api"]

    assert {"--read-only", "--host"} <= set(api["command"])
    assert all(port.startswith("127.0.0.1:") for port in api["ports"])
    assert "CUTAWAY_SERVE_TOKEN" in api["environment"]
    assert api["healthcheck"]["test"]


def test_notes_are_only_read() -> None:
    """Wherever they are mounted."""
    mounts = [mount for service in SERVICES.values() for mount in service.get("volumes", []) if "/notes" in mount]

    assert mounts
    assert all(mount.endswith(":/notes:ro") for mount in mounts)


def test_no_secret_is_in_clear_and_none_has_a_default() -> None:
    """The password comes from outside, or nothing starts."""
    for name, value in variables():
        if re.search("PASSWORD|KEY|SECRET|TOKEN", name):
            assert name.endswith("_FILE") or re.fullmatch(rf"\$\{{{name}:\?[^}}]*\}}", value), name
        assert re.fullmatch(r"[^:]*|postgresql://\w+:\$\{\w+:\?[^}]*\}@.*|\$\{\w+:\?[^}]*\}", value), name
    assert not re.search(r"PASSWORD:?-", TEXT)


def test_every_variable_is_a_setting() -> None:
    """A misspelled one would be ignored."""
    ours = [name.removeprefix("CUTAWAY_").lower() for name, _ in variables() if name.startswith("CUTAWAY_")]

    assert {"store", "vectors", "serve_token"} == set(ours)
    assert set(ours) <= set(Settings.model_fields)


def test_the_image_is_built_from_this_checkout_and_runs_as_nobody_special() -> None:
    """What it copies is there."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [name for line in lines if line.startswith("COPY") for name in line.split()[1:-1]]

    assert all((ROOT / name).exists() for name in copied)
    assert "USER cutaway" in lines
