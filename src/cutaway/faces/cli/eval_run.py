"""`cutaway eval run`: judged queries put to the search, measured."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from cutaway.errors import UsageError
from cutaway.evaluation.measures import DEFAULT, Measure, parsed
from cutaway.evaluation.run_files import run_as_json, run_as_trec
from cutaway.evaluation.runs import Run
from cutaway.faces.cli.bench import judged_of, ran_all, settings_of
from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.session import messages, screen

_NUMBER = re.compile(r"(?<![^\s(])\d+(?:[.,]\d+)*(?=%?[.,:;)]*(?:\s|$))")
"""A number that stands alone: not in a name, a version or a path."""


def run(options: argparse.Namespace) -> int:
    """One setting over every judged query."""
    measures = measures_of(options)
    for file in filter(None, (options.save, options.trec)):
        check_writable(file)
    judged = judged_of(options)
    (found,) = ran_all(options, judged, {options.label: settings_of(options, options.set)})
    if options.save:
        options.save.write_text(run_as_json(found), encoding="utf-8")
    if options.trec:
        options.trec.write_text(run_as_trec(found), encoding="utf-8")
    if options.json:
        screen().out(json.dumps(as_values(found, measures, options.per_query), indent=2, ensure_ascii=False))
    else:
        _print(found, measures, options)
    return 0


def check_writable(file: Path) -> None:
    """Say before the work that its result has nowhere to go. Raises UsageError."""
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent} to write {file.name} to.")
    if file.is_dir():
        raise UsageError(f"{file} is a folder; name a file to write to.")


def measures_of(options: argparse.Namespace) -> tuple[Measure, ...]:
    """The measures asked for. Raises UsageError."""
    return parsed(options.measures.split(",") if options.measures else DEFAULT)


def as_values(found: Run, measures: tuple[Measure, ...], per_query: bool) -> dict[str, Any]:
    """A run's figures as plain values."""
    values: dict[str, Any] = {
        "label": found.label,
        "formula": found.formula,
        "topics": len(found.topics),
        "measures": {name: mean._asdict() for name, mean in found.means(measures).items()},
        "ms": {name: round(ms, 3) for name, ms in found.latency().items()},
        "degraded": degraded(found),
        "settings": dict(found.settings),
        "identities": dict(found.identities),
    }
    if per_query:
        values["queries"] = [
            {"id": topic.id, "text": topic.text, **{m.name: m.of(topic.ranked, topic.grades) for m in measures}}
            for topic in found.topics
        ]
    return values


def degraded(found: Run) -> dict[str, int]:
    """What was degraded, and in how many topics; numbers in a reason are left out, so that alike ones add up."""
    return dict(Counter(_NUMBER.sub("…", reason) for topic in found.topics for reason in topic.degraded))


def print_degraded(console: Console, found: Run) -> None:
    """A warning where a figure is not what it seems."""
    for reason, count in degraded(found).items():
        line = Text("degraded", style="yellow").append(f"  {count} of {len(found.topics)} queries: {reason}", style="")
        console.print(line, soft_wrap=True)


def _print(found: Run, measures: tuple[Measure, ...], options: argparse.Namespace) -> None:
    console = screen()
    print_degraded(console, found)
    console.print(f"[bold]{len(found.topics):,} queries[/] · {found.formula}\n", soft_wrap=True)
    rows = [
        (name, f"{mean.value:.4f}", f"{mean.low:.3f} – {mean.high:.3f}") for name, mean in found.means(measures).items()
    ]
    console.print(columns(("measure", "mean", "95 % interval"), rows, console.width, right="1"))
    slowest = sorted(found.latency().items(), key=lambda stage: -stage[1])
    said = " · ".join(f"{name} {ms:.1f}" for name, ms in slowest[:6])
    console.print(f"\n[dim]ms a query[/]  {said}", soft_wrap=True)
    if options.per_query:
        header = ("query", *(measure.name for measure in measures), "text")
        table = [
            (topic.id, *(f"{measure.of(topic.ranked, topic.grades):.3f}" for measure in measures), topic.text)
            for topic in found.topics
        ]
        last = len(header) - 1
        right = "".join(str(column) for column in range(1, last))
        console.print()
        console.print(columns(header, table, console.width, right=right, flex=str(last)))
    for file in filter(None, (options.save, options.trec)):
        messages().print(Text(f"written to {file}"), soft_wrap=True)
