"""Golden files: what a surface showed when a person last read it."""

from __future__ import annotations

import os
import re
from pathlib import Path

GOLDEN = Path(__file__).parent / "faces" / "golden"


def check_golden(name: str, shown: str, *hidden: object) -> None:
    """Compare with tests/faces/golden/NAME; UPDATE_GOLDEN=1 rewrites it, for a person to read."""
    for value in hidden:
        shown = shown.replace(str(value), "…")
    shown = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", shown)
    shown = re.sub(r'("ms"|"seconds"): [\d.]+', r"\1: 0.0", shown)
    shown = re.sub(r'"cursor": "[\w-]+"', '"cursor": "…"', shown)
    shown = re.sub(
        r"\d+\.\d{5,}", lambda digits: f"{float(digits[0]):.4f}", shown
    )  # processors differ in the last ones
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(shown, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == shown


def without_times(table: str) -> str:
    """A funnel with its milliseconds hidden, and the spacing that depends on how many digits they have."""
    hidden = re.sub(r"(?m)^([a-z_.]+ +[\d,—]+ +[\d,]+(?: +[\d,]+)? +)[\d.]+", lambda row: row[1].rstrip() + " t", table)
    hidden = re.sub(r" in [\d,]+ ms", " in t ms", hidden)
    return re.sub(r" {2,}", "  ", hidden)
