"""`cutaway inspect chunks`: a note as the index sees it."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from cutaway.errors import NotIndexed
from cutaway.faces.asked import ChunksIn
from cutaway.faces.chunk_maps import ChunkMapOut, ChunkOut, MapRowOut, NotIndexedOut, VersionsOut, mapped
from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.session import scope_asked, screen, shown

_STATE_STYLE = {"ready": "green", "pending": "yellow", "failed": "red"}
_CHANGE_STYLE = {"+": "green", "-": "red"}
_PREVIEW_CHARS, _LISTED = 100, 12


def run(options: argparse.Namespace) -> int:
    asked = ChunksIn.model_construct(**scope_asked(options), note=options.note, query=options.query)
    try:
        found = shown(options, "inspect/chunks", asked, ChunkMapOut, mapped, reads=True)
    except NotIndexed as missing:
        if options.json:
            screen().out(NotIndexedOut.of(missing).as_json())
        raise
    if options.json:
        screen().out(found.as_json())
    else:
        _print(found, whole=options.text)
    return 0


def _print(found: ChunkMapOut, whole: bool) -> None:
    console = screen()
    _print_head(console, found)
    chunks = sorted(((chunk, row) for row in found.rows for chunk in row.chunks), key=lambda pair: pair[0].ordinal)
    if whole:
        for chunk, row in chunks:
            _print_whole(console, chunk, row)
    elif chunks:
        header: tuple[str, ...] = ("#", "row", "lines", "bytes", "tokens", "state", "hash", "under", "text")
        rows = [_cells(chunk, row) for chunk, row in chunks]
        if any(chunk.similarity is not None for chunk, _ in chunks):
            header = (*header[:7], "cosine", *header[7:])
            rows = [(*cells[:7], _cosine(chunk), *cells[7:]) for cells, (chunk, _) in zip(rows, chunks, strict=True)]
        flex = f"{len(header) - 2}{len(header) - 1}"
        console.print(columns(header, rows, console.width, right="0234", flex=flex))
        console.print()
    bare = [row for row in found.rows if not row.chunks]
    if bare:
        console.print("[bold]rows without a chunk of their own[/]  found by words; shown as part of the note")
        for row in bare[:_LISTED]:
            console.print(f"  {row.kind:<11} {row.title}", style="dim", markup=False, soft_wrap=True)
        if len(bare) > _LISTED:
            console.print(f"  and {len(bare) - _LISTED:,} more; --json lists them all", style="dim")
        console.print()
    for skip in found.skipped:
        size = skip.end - skip.start
        console.print(
            f"skipped  bytes {skip.start:,}–{skip.end:,} ({size:,})  {skip.reason}", style="dim", soft_wrap=True
        )


def _print_head(console: Console, found: ChunkMapOut) -> None:
    note, ready = found.note, found.readiness
    console.print(f"[bold]{escape(note.title)}[/]  {escape(note.project)}:{escape(note.path)}", soft_wrap=True)
    style = "green" if found.freshness == "fresh" else "yellow"
    console.print(
        f"[{style}]{found.freshness}[/]" + (f"  {escape(found.reason)}" if found.reason else ""), soft_wrap=True
    )
    if found.versions:
        _print_versions(console, found.versions)
    share = f"{found.covered / note.bytes:.0%}" if note.bytes else "none"
    rows = {kind: sum(row.kind == kind for row in found.rows) for kind in ("observation", "relation")}
    console.print(
        f"{note.bytes:,} bytes, {share} in chunks · {ready.ready} of {ready.total} chunks ready"
        f" · {rows['observation']} observations · {rows['relation']} relations",
    )
    for name in ("type", "permalink", "aliases", "tags", "problem"):
        value = getattr(note, name)
        if value:
            said = value if isinstance(value, str) else ", ".join(value)
            console.print(f"{name}  {escape(said)}", style="red" if name == "problem" else None, soft_wrap=True)
    if found.remark:
        console.print(f"[yellow]remark[/]  {escape(found.remark)}", soft_wrap=True)
    identities = {(chunk.embedding_identity, chunk.index_identity) for row in found.rows for chunk in row.chunks}
    for embedding, index in sorted(identities, key=str):
        if embedding:
            console.print(f"embedded as {embedding} in {index}", style="dim", soft_wrap=True)
    console.print()


def _print_versions(console: Console, found: VersionsOut) -> None:
    """What the index holds and what the file is now, and the first lines that differ."""
    for name, one in (("index", found.indexed), ("file", found.file)):
        said = f"  {name:<5}  {one.bytes:,} bytes, {one.lines:,} lines, {one.hash[:8]}, of {one.at}"
        console.print(said, style="dim", soft_wrap=True)
    for line in found.changes[:_LISTED]:
        console.print(f"  {line}", style=_CHANGE_STYLE.get(line[:1], "dim"), markup=False, soft_wrap=True)
    if found.truncated or len(found.changes) > _LISTED:
        console.print("  and more; --json has them", style="dim")


def _cells(chunk: ChunkOut, row: MapRowOut) -> tuple[str | Text, ...]:
    first, last = chunk.lines
    tokens = "—" if chunk.tokens is None else str(chunk.tokens)
    place = (str(chunk.ordinal), row.kind, f"{first}–{last}", f"{chunk.start:,}–{chunk.end:,}", tokens)
    text = " ".join(chunk.text.split())[:_PREVIEW_CHARS]
    return *place, _state(chunk), chunk.text_hash[:8], chunk.heading_path[-1] if chunk.heading_path else "", text


def _print_whole(console: Console, chunk: ChunkOut, row: MapRowOut) -> None:
    tokens = "" if chunk.tokens is None else f" · {chunk.tokens} tokens"
    place = f"lines {chunk.lines[0]}–{chunk.lines[1]} · bytes {chunk.start:,}–{chunk.end:,}"
    head = f"#{chunk.ordinal} {row.kind} {place}{tokens} · "
    console.print(
        Text.assemble((head, "dim"), _state(chunk), (f" · {chunk.text_hash[:8]} · {chunk.updated_at}", "dim"))
    )
    if chunk.error:
        console.print(f"   {chunk.error}", style="red", markup=False)
    if chunk.context:
        console.print(Text(f"   context: {chunk.context}", style="cyan"), soft_wrap=True)
    for line in chunk.text.strip("\r\n").splitlines():
        console.print(Text(f"   │ {line}"), soft_wrap=True)
    console.print()


def _cosine(chunk: ChunkOut) -> Text:
    return Text("—" if chunk.similarity is None else f"{chunk.similarity:.3f}", style="cyan")


def _state(chunk: ChunkOut) -> Text:
    return Text(chunk.state, style=_STATE_STYLE[chunk.state])
