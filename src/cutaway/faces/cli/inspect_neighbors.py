"""`cutaway inspect neighbors`: the passages closest to one, and how close everything else is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from cutaway.faces.asked import NeighboursIn
from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.session import scope_asked, screen, shown
from cutaway.faces.neighbours import HistogramOut, NeighbourOut, NeighboursOut, PlaceOut, nearby

_INDENT, _ALIKE_LISTED, _BAR_CELLS = "    ", 3, 24
_LEGEND = (
    "percentile: the share of all passages that are no closer · "
    "back: the target's place among that passage's own nearest"
)
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def run(options: argparse.Namespace) -> int:
    names = {"target": options.target, "text": options.text, "limit": options.limit}
    values = {**scope_asked(options), **names, "singly": options.all, "by_text": options.by_text}
    found = shown(options, "inspect/neighbors", NeighboursIn.model_construct(**values), NeighboursOut, nearby)
    if options.json:
        screen().out(found.as_json())
    else:
        _print(found)
    return 0 if found.neighbours else 1


def _print(found: NeighboursOut) -> None:
    console = screen()
    _print_head(console, found)
    if not found.neighbours:
        console.print("nothing found: there is no other passage to compare with", style="dim")
        return
    _print_neighbours(console, found)
    if found.histogram:
        _print_histogram(console, found.histogram, found)


def _print_head(console: Console, found: NeighboursOut) -> None:
    target = found.target
    if target is None:
        console.print(Text("words  ", style="bold") + Text(_flat(found.words or "")), soft_wrap=True)
    else:
        place = f"{escape(target.project)}:{escape(target.path)}"
        console.print(f"[bold]{escape(target.title)}[/]  {place}", soft_wrap=True)
        if target.kind == "chunk" or len(target.passages) == 1:
            _print_line(console, _INDENT, _place(target.passages[0]), "dim")
            _print_line(console, _INDENT, target.passages[0].passage)
        else:
            console.print(f"{_INDENT}{len(target.passages)} passages; a neighbour is close to one of them", style="dim")
        if target.freshness != "fresh":
            console.print(f"[yellow]{target.freshness}[/]  {escape(target.reason or '')}", soft_wrap=True)
    for remark in found.remarks:
        console.print(f"[yellow]remark[/]  {escape(remark)}", soft_wrap=True)
    how = "its text, embedded now" if found.reembedded else "stored vectors" if target else "the words, embedded now"
    console.print(f"by {how} · {found.embedding_identity}", style="dim", soft_wrap=True)
    console.print()


def _print_neighbours(console: Console, found: NeighboursOut) -> None:
    marks = [_mark(neighbour) for neighbour in found.neighbours]
    header = ("#", "cosine", "percentile", "back", "note", "under", "lines", *([""] if any(marks) else []))
    rows = [
        (*_numbers(place, neighbour), *([mark] if any(marks) else []))
        for place, (neighbour, mark) in enumerate(zip(found.neighbours, marks, strict=True), start=1)
    ]
    head, *lines = columns(header, rows, console.width, right="0123", flex="45").split("\n")
    console.print(head)
    for line, neighbour in zip(lines, found.neighbours, strict=True):
        console.print(line)
        _print_line(console, _INDENT, _origin(neighbour, found), "dim")
        _print_line(console, _INDENT, neighbour.at.passage)
        if neighbour.alike:
            _print_alike(console, neighbour)
    console.print(Text(_LEGEND, style="dim"))


def _numbers(place: int, neighbour: NeighbourOut) -> tuple[str | Text, ...]:
    path = neighbour.at.heading_path
    under = path[1:] if path[:1] == (neighbour.title,) else path
    return (
        *(str(place), Text(f"{neighbour.similarity:.3f}", style="cyan"), _percent(neighbour.percentile)),
        str(neighbour.mutual_rank or "—"),
        *(Text(neighbour.title, style="bold"), " › ".join(under), _lines(neighbour.at)),
    )


def _mark(neighbour: NeighbourOut) -> Text | str:
    if neighbour.near_duplicate:
        return Text("near-duplicate", style="yellow")
    return Text("same note", style="magenta") if neighbour.same_note else ""


def _percent(share: float) -> str:
    """Never rounded up to a hundred."""
    return "100" if share == 100 else f"{min(share, 99.99):.2f}"


def _origin(neighbour: NeighbourOut, found: NeighboursOut) -> str:
    several = found.target is not None and len(found.target.passages) > 1
    close = f" · closest to #{neighbour.nearest_to.rsplit('#', 1)[1]}" if several and neighbour.nearest_to else ""
    also = " · same note" if neighbour.near_duplicate and neighbour.same_note else ""
    return f"{neighbour.at.locator}{close}{also}"


def _print_alike(console: Console, neighbour: NeighbourOut) -> None:
    count = len(neighbour.alike)
    listed = ", ".join(neighbour.alike[:_ALIKE_LISTED]) + (" …" if count > _ALIKE_LISTED else "")
    whose = "alike to the target" if neighbour.near_duplicate else "alike"
    _print_line(console, f"{_INDENT}+ {count:,} {whose}: ", listed, "dim")


def _print_histogram(console: Console, histogram: HistogramOut, found: NeighboursOut) -> None:
    console.print()
    console.print(f"[bold]all {found.among:,} passages[/] by their similarity")
    filled = [place for place, count in enumerate(histogram.counts) if count]
    most = max(histogram.counts)
    rows = []
    for place in range(filled[0], filled[-1] + 1):
        low, high = histogram.edges[place], histogram.edges[place + 1]
        count = histogram.counts[place]
        rows.append((f"{low:.2f}–{high:.2f}", f"{count:,}", _bar(count / most), _inside(place, histogram, found)))
    console.print(columns(("cosine", "count", "", "listed"), rows, console.width, right="1", flex="3"))


def _inside(place: int, histogram: HistogramOut, found: NeighboursOut) -> str:
    """Which of the listed neighbours fall in a range: they are ranked, so a stretch."""
    low, high = histogram.edges[place], histogram.edges[place + 1]
    last = place == len(histogram.counts) - 1
    similarities = [neighbour.similarity for neighbour in found.neighbours]
    numbers = [rank for rank, held in enumerate(similarities, 1) if low <= held < high or (last and held == high)]
    return _stretch(numbers)


def _stretch(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    return f"#{numbers[0]}" if len(numbers) == 1 else f"#{numbers[0]}–{numbers[-1]}"


def _bar(share: float) -> str:
    """A share of the largest count; what is not nothing is seen."""
    eighths = max(round(share * _BAR_CELLS * 8), 1 if share else 0)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _place(place: PlaceOut) -> str:
    return " · ".join(
        filter(
            None,
            (
                place.locator,
                f"{'lines' if place.lines[0] < place.lines[1] else 'line'} {_lines(place)}",
                " › ".join(place.heading_path),
            ),
        )
    )


def _lines(place: PlaceOut) -> str:
    first, last = place.lines
    return f"{first}–{last}" if first < last else str(first)


def _print_line(console: Console, lead: str, text: str, style: str = "") -> None:
    """One line that fits, counted in cells."""
    room, flat = console.width - cell_len(lead), _flat(text)
    if cell_len(flat) > room:
        flat = set_cell_size(flat, room - 1).rstrip() + "…"
    console.print(Text(lead + flat, style=style), soft_wrap=True)


def _flat(text: str) -> str:
    return " ".join(text.split())
