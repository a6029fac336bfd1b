"""`cutaway search`: the last stage of a search, for a person or as JSON."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from cutaway.faces.cli.session import screen, shown, typed
from cutaway.faces.schemas import HitOut, SaidOut, SearchOut, searched
from cutaway.faces.snippets import densest, first_word, flat

if TYPE_CHECKING:
    from cutaway.faces.traces import TraceOut

_SNIPPET_CHARS, _LINE_CELLS, _INDENT = 260, 100, "    "
_BAR_CELLS = 10
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def run(options: argparse.Namespace) -> int:
    found = shown(options, "search", typed(options), SearchOut, searched)
    if options.json:
        screen().out(found.as_json())
    else:
        _print(found)
    return 0 if found.hits else 1


def _print(answer: SearchOut) -> None:
    console = screen()
    print_warnings(answer, console)
    best = max((hit.scores["score"] or 0.0 for hit in answer.hits), default=1.0)
    for hit in answer.hits:
        _print_hit(console, hit, best)
    console.print(footer(answer), style="dim", soft_wrap=True)


def _print_hit(console: Console, hit: HitOut, best: float) -> None:
    score = hit.scores["score"] or 0.0
    title = Text().append(f"{hit.rank:>2}  ", style="dim").append(hit.title, style="bold")
    if hit.row.kind != "entity":
        title.append(f"  {hit.row.kind}", style="magenta")
    title.append(f"  {score:.3f} ", style="cyan")
    title.append(bar(score / best if best else 0.0), style="cyan")
    title.append(f"  {hit.mark}" if hit.mark else "", style="dim")
    console.print(title, soft_wrap=True)
    place = " › ".join(hit.heading_path)
    where = f"{_INDENT}{hit.project}:{hit.path}:{hit.lines[0]}-{hit.lines[1]}" + (f"  {place}" if place else "")
    console.print(where, style="dim", markup=False, soft_wrap=True)
    for line in snippet(hit).wrap(console, min(console.width, _LINE_CELLS) - len(_INDENT)):
        line.rstrip()
        console.print(Text(_INDENT) + line, soft_wrap=True)
    console.print()


def print_warnings(answer: SearchOut | TraceOut | SaidOut, console: Console) -> None:
    """What the reader must know before believing the answer."""
    for part in answer.degraded:
        console.print(f"[yellow]degraded[/]  {escape(part.stage)}: {escape(part.reason)}", soft_wrap=True)
    said = (part for remark in answer.remarks for part in remark.split("; "))
    for remark in (part for part in said if not part.startswith("relaxed: no row")):  # true of most; in the funnel
        console.print(f"[yellow]remark[/]    {escape(remark)}", soft_wrap=True)
    if any(not condition.relaxed for condition in answer.conditions):
        asked = " · ".join(
            f"{condition.said} ({condition.notes:,})" for condition in answer.conditions if not condition.relaxed
        )
        count = f"{answer.admitted:,} {'note' if answer.admitted == 1 else 'notes'}"
        console.print(f"[dim]only[/]      {escape(asked)} → {count}", soft_wrap=True)
    if answer.weak:
        console.print("[yellow]weak[/]      even the best score is low: perhaps no note answers this", soft_wrap=True)


def footer(answer: SearchOut | TraceOut) -> str:
    """How many there are, and how to see more."""
    if not answer.hits:
        return "nothing found" if answer.total == 0 else f"no such page; there are {answer.total} results"
    first, last = answer.hits[0].rank, answer.hits[-1].rank
    total = f"{answer.total:,}" if answer.total_is_exact else f"{answer.total:,} or more"
    more = "; --page shows the next" if answer.has_more else ""
    return f"{first}–{last} of {total}, {answer.mode}, {answer.formula}{more}"


def snippet(hit: HitOut) -> Text:
    """The densest part of a passage on a few lines, its matched terms marked."""
    start, end = densest(hit, _SNIPPET_CHARS)
    text = Text("…" if start > first_word(hit) else "")
    position = start
    for first, last in hit.highlights:
        if start <= first and last <= end:
            text.append(flat(hit.passage[position:first]))
            text.append(flat(hit.passage[first:last]), style="bold yellow")
            position = last
    text.append(flat(hit.passage[position:end]) + ("…" if end < len(hit.passage.rstrip()) else ""))
    return text


def bar(share: float) -> str:
    """A share of one as a bar of eighths of a cell."""
    eighths = round(max(0.0, min(share, 1.0)) * _BAR_CELLS * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
