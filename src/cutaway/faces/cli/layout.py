"""Columns on a terminal: aligned by display cells, so wide characters line up, and never wider than asked."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

_GAP = 2
Cell = Text | str


def columns(header: Sequence[str], rows: Sequence[Sequence[Cell]], width: int, right: str = "", flex: str = "") -> Text:
    """Rows as aligned lines under a header.

    *right* and *flex* name columns by position, as digits: aligned right; given what width is left.
    """
    cells = [[_text(cell) for cell in row] for row in rows]
    widths = _widths([[Text(name) for name in header], *cells], width, [int(column) for column in flex])
    aligned = [_line([Text(name, style="dim") for name in header], widths, right)] if any(header) else []
    return Text("\n").join([*aligned, *(_line(row, widths, right) for row in cells)])


def _widths(rows: list[list[Text]], width: int, flex: list[int]) -> list[int]:
    natural = [max(cell_len(row[column].plain) for row in rows) for column in range(len(rows[0]))]
    room = width - _GAP * (len(natural) - 1) - sum(size for column, size in enumerate(natural) if column not in flex)
    for place, column in enumerate(sorted(flex, key=lambda column: natural[column])):
        share = max(4, room // (len(flex) - place))
        natural[column] = min(natural[column], share)
        room -= natural[column]
    return natural


def _line(cells: Sequence[Text], widths: Sequence[int], right: str) -> Text:
    line = Text()
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        fitted = _fitted(cell, width)
        padding = " " * (width - cell_len(fitted.plain))
        last = column == len(widths) - 1
        line.append_text(Text(padding) + fitted if str(column) in right else fitted + Text("" if last else padding))
        line.append("" if last else " " * _GAP)
    line.rstrip()
    return line


def _fitted(cell: Text, width: int) -> Text:
    if cell_len(cell.plain) <= width:
        return cell
    kept = len(set_cell_size(cell.plain, max(width - 1, 0)).rstrip())
    return cell[:kept] + Text("…", style="dim")


def _text(cell: Cell) -> Text:
    flat = cell if isinstance(cell, Text) else Text(cell)
    return flat if "\n" not in flat.plain else Text(" ".join(flat.plain.split()), style=flat.style)
