"""`cutaway inspect stale`: every note whose index lags, and what mends it."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from cutaway.faces.asked import ScopeIn
from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.session import scope_asked, screen, shown
from cutaway.faces.stale import LaggingOut, LagOut, StaleOut, lagging

_LISTED = 12


def run(options: argparse.Namespace) -> int:
    asked = ScopeIn.model_construct(**scope_asked(options))
    found = shown(options, "inspect/stale", asked, StaleOut, lagging, reads=True)
    if options.json:
        screen().out(found.as_json())
    else:
        _print(found)
    return 1 if options.check and found.stale else 0


def _print(found: StaleOut) -> None:
    console, several = screen(), len(found.projects) > 1
    notes = "note is" if found.notes == 1 else "notes are"
    if found.stale:
        console.print(f"[yellow]stale[/]  {found.fresh:,} of {found.notes:,} {notes} up to date", soft_wrap=True)
    else:
        console.print(f"[green]fresh[/]  all of {found.notes:,} {notes} up to date: nothing lags behind")
    for remark in found.remarks:
        console.print(f"[yellow]remark[/] {escape(remark)}", soft_wrap=True)
    for lag in found.lags:
        _print_lag(console, lag, several)


def _print_lag(console: Console, lag: LagOut, several: bool) -> None:
    chunks = f", {lag.chunks:,} {'passage' if lag.chunks == 1 else 'passages'}" if lag.chunks else ""
    console.print()
    console.print(f"[bold]{lag.kind}[/]  {lag.notes:,}{chunks}")
    console.print(f"  {lag.meaning}", style="dim")
    reasons = {note.reason for note in lag.lagging}
    shared = len(reasons) == 1 < len(lag.lagging)
    if shared and None not in reasons:
        console.print(f"  {escape(str(*reasons))}", soft_wrap=True)
    rows = [_cells(note, several, reason=not shared) for note in lag.lagging[:_LISTED]]
    console.print(columns(("", "", "", ""), rows, console.width, right="2", flex="13"))
    if len(lag.lagging) > _LISTED:
        console.print(f"  and {len(lag.lagging) - _LISTED:,} more; --json lists them all", style="dim")
    console.print(Text("  → ", style="green") + Text(lag.mend), soft_wrap=True)


def _cells(note: LaggingOut, several: bool, reason: bool) -> tuple[str | Text, ...]:
    path = note.path or ""
    place = (f"{note.project}:{path}" if path else note.project) if several or not path else path
    return "", place, str(note.chunks) if note.chunks else "", Text((note.reason or "") if reason else "", style="dim")
