"""`cutaway inspect diff`: two saved searches, or one query under two settings."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from cutaway.errors import UsageError
from cutaway.faces.asked import DiffIn
from cutaway.faces.cli.bench import with_pairs
from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.session import screen, search_asked, shown
from cutaway.faces.cli.trace_view import arrow
from cutaway.faces.diffs import DiffOut, ShiftOut, differing
from cutaway.faces.saved import load
from cutaway.faces.sessions import Session


def run(options: argparse.Namespace) -> int:
    """What entered, left and moved; 0 where anything did, 1 where nothing changed."""
    if options.set:
        values = search_asked(options, " ".join(options.what))
        asked = DiffIn.model_construct(**values, changes=tuple(options.set))
        found = shown(options, "inspect/diff", asked, DiffOut, _differing)
    elif len(options.what) == 2:
        first, second = (load(Path(file)) for file in options.what)
        found = DiffOut.of(first, second, (options.what[0], options.what[1]))
    else:
        raise UsageError("name two saved traces, or one query and what to change about it with --set NAME=VALUE.")
    if options.json:
        screen().out(found.as_json())
    else:
        _print(screen(), found)
    return 0 if found.entered or found.left or found.moved else 1


def _differing(session: Session, asked: DiffIn) -> DiffOut:
    """Here any setting may be changed."""
    return differing(session, asked, with_pairs(session.settings, asked.changes))


def _print(console: Console, shown: DiffOut) -> None:
    console.print(
        f"[dim]A[/]  {escape(shown.a)}  [dim]{escape(shown.queries[0])} · {shown.formulas[0]}[/]", soft_wrap=True
    )
    console.print(
        f"[dim]B[/]  {escape(shown.b)}  [dim]{escape(shown.queries[1])} · {shown.formulas[1]}[/]", soft_wrap=True
    )
    for name, (before, after) in shown.changed.items():
        console.print(f"   {name}: {escape(before)} → {escape(after)}", style="dim", soft_wrap=True)
    stayed = f"{shown.stayed} in place" if shown.stayed else "none in place"
    console.print(
        f"\n{len(shown.entered)} entered · {len(shown.left)} left · {len(shown.moved)} moved · {stayed}"
        f" · Jaccard {shown.jaccard:.2f} · RBO {shown.rbo:.2f}\n"
    )
    rows = [
        _row(mark, style, shift)
        for mark, style, shifts in (
            ("entered", "green", shown.entered),
            ("left", "red", shown.left),
            ("moved", "", shown.moved),
        )
        for shift in shifts
    ]
    if rows:
        header = ("", "A", "B", "", "note", "first stage to differ")
        console.print(columns(header, rows, console.width, right="12", flex="45"))


def _row(mark: str, style: str, shift: ShiftOut) -> tuple[Text | str, ...]:
    ranks = ["—" if rank is None else str(rank) for rank in (shift.before, shift.after)]
    moved = Text("")
    if shift.before is not None and shift.after is not None:
        moved = arrow(shift.before - shift.after)
    return Text(mark, style=style), *ranks, moved, shift.title or shift.name, shift.stage or "—"
