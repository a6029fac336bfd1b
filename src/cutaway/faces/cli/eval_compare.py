"""`cutaway eval compare`: two runs, or two settings, on the same queries."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from cutaway.errors import UsageError
from cutaway.evaluation.compare import Comparison, Moved, Mover, compared
from cutaway.evaluation.judged import JudgedSet
from cutaway.evaluation.run_files import holds_judgments, read_run
from cutaway.evaluation.runs import Run
from cutaway.faces.cli.bench import judged_of, ran_all, settings_of
from cutaway.faces.cli.eval_run import measures_of, print_degraded
from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.session import screen

_AS_SET = "as-set"
_SET = ("set_folder", "queries", "qrels", "spans", "corpus", "topics")


def run(options: argparse.Namespace) -> int:
    """B against A."""
    measures = measures_of(options)
    if options.movers < 0:
        raise UsageError(f"--movers is {options.movers}; it may be 0 or more.")
    a, b = _runs(options)
    found = compared(a, b, measures, options.movers)
    if options.json:
        screen().out(json.dumps(_values(a, b, found), indent=2, ensure_ascii=False))
    else:
        _print(a, b, found)
    return 0


def _runs(options: argparse.Namespace) -> tuple[Run, Run]:
    """Both sides: saved ones are read, the others run together, over the same evidence."""
    sides = (options.a, options.b)
    if options.a == options.b:
        raise UsageError(f"both sides are {options.a}; there is nothing to compare.")
    to_run = {side: settings_of(options, [] if side == _AS_SET else [side]) for side in sides if _is_settings(side)}
    named = next((name for name in _SET if getattr(options, name) is not None), None)
    if named and not to_run and all(holds_judgments(Path(side)) for side in sides):
        said = f"--{named.replace('_', '-')} would change nothing: both runs hold the judgments they were made with."
        raise UsageError(f"{said} Leave it out.")
    judged = judged_of(options) if named or to_run else None
    ran = {run.label: run for run in ran_all(options, judged, to_run)} if judged and to_run else {}
    a, b = (ran.get(side) or _saved(side, judged) for side in sides)
    return a, b


def _is_settings(side: str) -> bool:
    return side == _AS_SET or ("=" in side and not Path(side).exists())


def _saved(side: str, judged: JudgedSet | None) -> Run:
    return read_run(Path(side), judged)


def _values(a: Run, b: Run, found: Comparison) -> dict[str, Any]:
    return {
        "a": {"label": a.label, "formula": a.formula},
        "b": {"label": b.label, "formula": b.formula},
        "topics": found.topics,
        "measures": {of.measure.name: {"a": of.a, "b": of.b, **of.difference._asdict()} for of in found.measures},
        "movers": [{**mover._asdict(), "moved": [moved._asdict() for moved in mover.moved]} for mover in found.movers],
    }


def _print(a: Run, b: Run, found: Comparison) -> None:
    console = screen()
    for side, run in (("A", a), ("B", b)):
        print_degraded(console, run)
        console.print(Text(f"{side}  ", style="bold").append(f"{run.label}  {run.formula}", style=""), soft_wrap=True)
    console.print(f"{found.topics:,} queries\n", style="dim")
    header = ("measure", "A", "B", "B − A", "p", "better", "same", "worse")
    rows: list[tuple[Text | str, ...]] = [
        (
            *(of.measure.name, f"{of.a:.4f}", f"{of.b:.4f}", _signed(of.difference.mean), f"{of.difference.p:.3f}"),
            *(str(count) for count in (of.difference.wins, of.difference.ties, of.difference.losses)),
        )
        for of in found.measures
    ]
    console.print(columns(header, rows, console.width, right="1234567"))
    said = "p: how often chance alone makes as large a difference (paired randomisation test, 10,000 draws)"
    console.print(f"\n{said}", style="dim", soft_wrap=True)
    for mover in found.movers:
        _print_mover(console, mover, found.measures[0].measure.name)


def _signed(value: float) -> Text:
    return Text(f"{value:+.4f}", style="green" if value > 0 else "red" if value < 0 else "dim")


def _print_mover(console: Console, mover: Mover, measure: str) -> None:
    head = Text(f"\n{mover.topic}  ", style="bold").append(f"{measure} {mover.a:.3f} → {mover.b:.3f}  ", style="cyan")
    console.print(head.append(" ".join(mover.text.split())[:90], style=""), soft_wrap=True)
    rows = [_moved(moved) for moved in mover.moved]
    if rows:
        console.print(
            columns(("  document", "grade", "A", "B", "first moved at"), rows, console.width, right="123", flex="0")
        )
    if any(mover.unjudged):
        console.print(
            f"  unjudged among the first results: {mover.unjudged[0]} in A, {mover.unjudged[1]} in B", style="dim"
        )


def _moved(moved: Moved) -> tuple[str, ...]:
    grade = "—" if moved.grade is None else str(moved.grade)
    ranks = (str(rank) if rank is not None else "—" for rank in (moved.before, moved.after))
    return f"  {moved.document}", grade, *ranks, moved.stage or "not recorded"
