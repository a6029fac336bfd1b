"""The same in words: a few lines that an agent can read at little cost.

What is ours comes first and in fixed places; text of notes is quoted, and what could pass for something else in it
(control characters, marks that turn the direction of writing) is made visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutaway.faces.mcp.inspected import CandidateTold, ChunksTold, NeighboursTold, QueryTold, WhyTold
from cutaway.faces.mcp.told import ProjectsTold, SearchTold
from cutaway.faces.note_texts import NoteTextOut
from cutaway.faces.statuses import StatusOut

_UNSEEN = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def visible(text: str) -> str:
    """The text with what nobody sees written out."""
    return _UNSEEN.sub(lambda sign: f"\\u{ord(sign.group()):04x}", text.replace("\r\n", "\n"))


def search_text(found: SearchTold) -> str:
    """Results, a few lines each."""
    lines = [*_warnings(found.degraded, found.remarks)]
    lines += [f"only: {condition}" for condition in found.conditions]
    if found.weak:
        lines.append("weak: even the best score is low; perhaps no note answers this")
    if not found.hits:
        lines.append("nothing found")
    for hit in found.hits:
        kind = "" if hit.kind == "entity" else f" [{hit.kind}]"
        score = "" if hit.score is None else f" ({hit.score:.3f})"
        heading = f" › {_one(hit.heading)}" if hit.heading else ""
        lines.append(
            f"{hit.rank}. {_one(hit.title)}{kind}{score} {_one(hit.at)}:{hit.lines[0]}-{hit.lines[1]}{heading}"
        )
        lines += _quoted(hit.text)
    if found.hits:
        lines.append(f"{len(found.hits)} of {found.total:,}{'' if found.total_is_exact else ' or more'}")
    if found.cursor:
        lines.append(f"next page: cursor={found.cursor}")
    return "\n".join(lines)


def note_text(found: NoteTextOut) -> str:
    """A head that says what follows and how to go on, then the note's own text and nothing else."""
    head = f"{_one(found.project)}:{_one(found.path)} lines {found.first_line}-{found.last_line} of {found.lines}"
    stale = "" if found.freshness == "fresh" else f"; {found.freshness}: {found.reason}"
    more = "" if found.next is None else f"; it goes on: start={found.next}"
    return f"{head}{stale}{more}; the text of the note follows\n\n{visible(found.text)}"


def projects_text(found: ProjectsTold) -> str:
    """A line for each project."""
    lines = [
        f"{one.name}{' (default)' if one.default else ''}: {one.notes:,} notes, {one.ready:,} of {one.chunks:,} chunks "
        f"ready, {_one(one.root)}"
        for one in found.projects
    ]
    return "\n".join(lines) or "no project yet. The user adds one with: cutaway index FOLDER"


def status_text(found: StatusOut) -> str:
    """The index, and a line for each project."""
    lines = [f"index {_one(found.index)}, {found.bytes:,} bytes; model {_one(found.in_use)}"]
    for one in found.projects:
        waits = f", {one.pending:,} pending" if one.pending else ""
        failed = f", {one.failed:,} failed" if one.failed else ""
        problems = f", {one.problems:,} problems" if one.problems else ""
        lines.append(
            f"{one.name}: {one.notes:,} notes, {one.ready:,} of {one.chunks:,} chunks ready{waits}{failed}{problems}"
        )
    return "\n".join(lines)


def query_text(found: QueryTold) -> str:
    """The funnel, what was returned, what nearly was."""
    funnel = " → ".join(f"{one.name} {one.received}→{one.kept}" for one in found.stages)
    lines = [
        f"{found.mode}, {found.formula}; terms: {' '.join(map(_one, found.terms)) or 'none'}",
        *_warnings(found.degraded, found.remarks),
        funnel,
        f"returned, of {found.candidates:,} candidates:",
        *(_candidate(one) for one in found.hits),
    ]
    if found.misses:
        lines += ["nearest misses:", *(f"{_candidate(one)} {_fell(one)}" for one in found.misses)]
    return "\n".join(lines)


def why_text(found: WhyTold) -> str:
    """The verdict, and what it rests on."""
    lines = [f"{_one(found.title)} {_one(found.at)}", _one(found.verdict), *_warnings(found.degraded, ())]
    lines.append(f"index: {found.freshness}, {found.ready} of {found.chunks} chunks ready")
    for name, values in (("fails", found.unmet), ("words", found.words), ("legs", found.legs)):
        if values:
            lines.append(f"{name}: {'; '.join(map(_one, values))}")
    return "\n".join(lines)


def chunks_text(found: ChunksTold) -> str:
    """A line for each chunk, and how it begins."""
    stale = f": {found.reason}" if found.reason else ""
    lines = [f"{_one(found.title)} {_one(found.at)}", f"{found.freshness}{stale}; {found.ready} of {found.total} ready"]
    for one in found.chunks:
        tokens = "" if one.tokens is None else f" {one.tokens} tokens"
        heading = f" › {_one(one.heading)}" if one.heading else ""
        lines.append(f"{_one(one.locator)} {one.row} lines {one.lines[0]}-{one.lines[1]}{tokens} {one.state}{heading}")
        lines += _quoted(one.text)
    lines += [f"skipped bytes {_one(skip)}" for skip in found.skipped]
    return "\n".join(lines)


def neighbours_text(found: NeighboursTold) -> str:
    """A line for each neighbour, and how it begins."""
    lines = [f"closest to {_one(found.target)}, of {found.among:,} passages", *_warnings((), found.remarks)]
    for one in found.neighbours:
        marks = [name for name, held in (("same note", one.same_note), ("near-duplicate", one.near_duplicate)) if held]
        mark = f" [{', '.join(marks)}]" if marks else ""
        lines.append(
            f"{one.cosine:.3f} {_one(one.title)}{mark} {_one(one.locator)} lines {one.lines[0]}-{one.lines[1]}"
        )
        lines += _quoted(one.text)
    return "\n".join(lines)


def _warnings(degraded: Iterable[str], remarks: Iterable[str]) -> list[str]:
    return [*(f"degraded: {_one(said)}" for said in degraded), *(f"remark: {_one(said)}" for said in remarks)]


def _candidate(one: CandidateTold) -> str:
    scores = " ".join(f"{name} {value:.3f}" for name, value in one.scores.items())
    rank = "—" if one.rank is None else str(one.rank)
    kind = "" if one.kind == "entity" else f" [{one.kind}]"
    return f"{rank}. {_one(one.title)}{kind} {_one(one.at)} {scores}"


def _fell(one: CandidateTold) -> str:
    lacked = "" if one.margin is None else f", lacking {one.margin:.3f}"
    return f"fell at {one.fate}: {_one(one.reason)}{lacked}"


def _one(text: str) -> str:
    """A name or title on one line."""
    return visible(" ".join(text.split()))


def _quoted(text: str) -> list[str]:
    return [f"> {line}" for line in visible(text.strip("\r\n")).split("\n")]
