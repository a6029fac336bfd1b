"""`cutaway inspect why` and `compare`: one note's standing for a query, and one result against another."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from cutaway.faces.asked import CompareIn, WhyIn
from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.search import bar, print_warnings
from cutaway.faces.cli.session import screen, search_asked, shown
from cutaway.faces.traces import CandidateOut
from cutaway.faces.whys import PartOut, SideOut, StandingOut, VersusOut, WhyOut, compared, explained


def run(options: argparse.Namespace) -> int:
    """Why a note is where it is, or nowhere: 0 where it is a result of the search, on whatever page, else 1."""
    asked = WhyIn.model_construct(**search_asked(options, options.text), note=options.note)
    found = shown(options, "inspect/why", asked, WhyOut, explained)
    if options.json:
        screen().out(found.as_json())
    else:
        print_warnings(found, screen())
        _print(screen(), found)
    return 0 if found.page is not None else 1


def compare(options: argparse.Namespace) -> int:
    """One result against another."""
    asked = CompareIn.model_construct(**search_asked(options, options.text), a=options.a, b=options.b)
    found = shown(options, "inspect/compare", asked, VersusOut, compared)
    if options.json:
        screen().out(found.as_json())
    else:
        print_warnings(found, screen())
        _print_versus(screen(), found)
    return 0


def _print(console: Console, shown: WhyOut) -> None:
    console.print(
        f"[bold]{escape(shown.title)}[/]  {shown.row.kind}  {escape(shown.passage or shown.path)}", soft_wrap=True
    )
    style = "green" if shown.page == 1 else "yellow"
    console.print(f"[{style}]{escape(shown.verdict)}[/]\n", soft_wrap=True)
    state = shown.freshness + (f": {shown.lag}" if shown.lag else "")
    _line(console, "index", f"{state} · {shown.ready} of {shown.chunks} passages ready")
    if shown.met:
        _line(console, "meets", " · ".join(shown.met))
    if shown.unmet:
        _line(console, "fails", " · ".join(shown.unmet), "red")
    if shown.terms:
        _line(console, "words", _terms(shown))
    for standing in shown.standings:
        _line(console, standing.leg, _standing(standing))
    for label, candidate in (("stages", shown.recorded), ("if open", shown.beyond)):
        if candidate and candidate.journey:
            _line(console, label, " · ".join(_steps(candidate)))
    if shown.beyond:
        said = (
            f"with every window open it would be at rank {shown.rank}" if shown.rank else "not even with open windows"
        )
        console.print(f"  [dim]{said}; this was asked beside the search, which it does not change[/]", soft_wrap=True)


def _line(console: Console, name: str, said: str | Text, style: str = "") -> None:
    text = said if isinstance(said, Text) else Text(said, style=style)
    for place, line in enumerate(text.wrap(console, console.width - 11)):
        line.rstrip()
        console.print(Text(f"  {'' if place else name:<7}  ", style="dim") + line, soft_wrap=True)


def _terms(shown: WhyOut) -> Text:
    """The query's terms: what each gives, those the row lacks struck out."""
    said = Text()
    for term in shown.terms:
        said.append(term.term, style="bold" if term.share else "strike dim")
        said.append(f" {term.share:.3f}  " if term.share else f" missing ({term.idf:.2f})  ", style="dim")
    said.rstrip()
    return said


def _standing(standing: StandingOut) -> str:
    inside = (
        "" if standing.needed is None else f"; outside the window of {standing.window}, lacking {standing.needed:.3f}"
    )
    return f"{standing.score:.3f}, rank {standing.rank:,} of {standing.of:,}{inside}"


def _steps(candidate: CandidateOut) -> Iterator[str]:
    for step in candidate.journey:
        place = f"({step.rank})" if step.rank is not None else f"dropped, {step.reason}"
        yield f"{step.stage} {step.score:.3f} {place}"


def _print_versus(console: Console, shown: VersusOut) -> None:
    console.print(f"[bold]A[/]  {escape(shown.a)}\n[bold]B[/]  {escape(shown.b)}\n", soft_wrap=True)
    if shown.beyond:
        console.print("one was outside the windows: both are shown with the windows wide open\n", style="yellow")
    widest = max([abs(part.difference) for part in (*shown.parts, shown.score)] or [0.0])
    header = ("", "A", "B", "A − B", "")
    rows = [_difference(part, widest) for part in (*shown.parts, shown.score)]
    console.print(columns(("score", *header[1:]), rows, console.width, right="123"))
    if shown.terms:
        console.print()
        widest = max(abs(part.difference) for part in (*shown.terms, shown.bm25))
        rows = [_difference(part, widest) for part in (*shown.terms, shown.bm25)]
        console.print(columns(("words", *header[1:]), rows, console.width, right="123", flex="0"))
    console.print()
    at = [(at.stage, _at(at.a), _at(at.b)) for at in shown.stages]
    console.print(columns(("stage", "A", "B"), at, console.width, flex="12"))
    leader = shown.a if shown.score.difference > 0 else shown.b
    if shown.decided:
        console.print(f"\n{escape(leader)} is ahead from {shown.decided} on", soft_wrap=True)


def _difference(part: PartOut, widest: float) -> tuple[Text | str, ...]:
    style = "green" if part.difference > 0 else "red" if part.difference < 0 else "dim"
    share = Text(bar(abs(part.difference) / widest if widest else 0.0), style=style)
    return part.name, f"{part.a:.6f}", f"{part.b:.6f}", Text(f"{part.difference:+.6f}", style=style), share


def _at(side: SideOut | None) -> str:
    if side is None:
        return "—"
    return f"{side.score:.3f} ({side.rank})" if side.rank is not None else f"{side.score:.3f} {side.reason}"
