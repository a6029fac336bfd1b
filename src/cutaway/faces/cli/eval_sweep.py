"""`cutaway eval sweep`: a grid of settings, chosen on one half of the queries, confirmed on the other."""

from __future__ import annotations

import argparse
import json

from rich.text import Text

from cutaway.errors import UsageError
from cutaway.evaluation.sweep import Swept, chosen, grid, split
from cutaway.faces.cli.bench import judged_of, ran_all, settings_of
from cutaway.faces.cli.eval_run import measures_of
from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.session import screen

_LISTED = 20


def run(options: argparse.Namespace) -> int:
    """Every combination, and the winner's figure on queries it was not chosen by."""
    measure = measures_of(options)[0]
    judged = judged_of(options)
    points = grid(settings_of(options, options.set), _axes(options.axis))
    train, _ = split(judged, options.train)
    found = chosen(ran_all(options, judged, points), measure, train)
    if options.json:
        values = {
            "measure": measure.name,
            "train": len(train),
            "test": len(judged.evaluable()) - len(train),
            "points": [{"settings": point.label, **point.train._asdict()} for point in found.points],
            "winner": found.winner,
            "baseline": found.baseline,
            "on_test": {label: mean._asdict() for label, mean in found.test.items()},
            "gain": found.gain._asdict(),
        }
        screen().out(json.dumps(values, indent=2))
    else:
        _print(found, measure.name, len(train), len(judged.evaluable()) - len(train))
    return 0


def _axes(texts: list[str]) -> dict[str, list[str]]:
    axes: dict[str, list[str]] = {}
    for name, values in map(_axis, texts):
        if name in axes:
            raise UsageError(f"--axis {name} was given twice. Name all its values in one.")
        axes[name] = values
    return axes


def _axis(text: str) -> tuple[str, list[str]]:
    name, sign, values = text.partition("=")
    if not sign or not all(value.strip() for value in values.split(",")):
        raise UsageError(f"--axis {text!r} is not NAME=VALUE,VALUE,….")
    return name.strip(), [value.strip() for value in values.split(",")]


def _print(found: Swept, measure: str, train: int, test: int) -> None:
    console = screen()
    rows = [
        (point.label, f"{point.train.value:.4f}", f"{point.train.low:.3f} – {point.train.high:.3f}")
        for point in found.points[:_LISTED]
    ]
    header = (f"{measure} on {train} queries to choose by", "mean", "95 % interval")
    console.print(columns(header, rows, console.width, right="1", flex="0"))
    if len(found.points) > _LISTED:
        console.print(f"and {len(found.points) - _LISTED} more; --json lists them all", style="dim")
    console.print(f"\n[bold]on {test} queries nothing was chosen by[/]")
    for label, mean in found.test.items():
        mark = "winner" if label == found.winner else "as set"
        line = f"  {mark}  {mean.value:.4f}  ({mean.low:.3f} – {mean.high:.3f})  {label}"
        console.print(Text(line), soft_wrap=True)
    gain = found.gain
    if found.winner == found.baseline:
        console.print("the settings as they are won")
    else:
        said = f"{gain.mean:+.4f}, p {gain.p:.3f}, better in {gain.wins}, same in {gain.ties}, worse in {gain.losses}"
        console.print(f"winner against as set: {said}", soft_wrap=True)
