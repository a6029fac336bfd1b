"""`cutaway inspect query`: a search with its casing off."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.search import answered, bar, footer, print_warnings
from cutaway.faces.cli.session import reading, screen
from cutaway.faces.schemas import SearchOut
from cutaway.faces.traces import TraceOut
from cutaway.index.cards import NoteCard, Readiness
from cutaway.index.schema import FIELD_COLUMNS
from cutaway.inspector.journeys import RETURNED, Candidate, Step, candidates, misses
from cutaway.inspector.reranking import Movement, reranked
from cutaway.model import NoteId, RowId
from cutaway.retrieval.bm25 import Weighting
from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.plan import Plan, Reranking
from cutaway.retrieval.quote import quoted
from cutaway.retrieval.tracing import InField, Scored, Stage

_LISTED_MISSES, _LISTED_CHUNKS = 20, 6


def run(options: argparse.Namespace) -> int:
    with reading(options) as session:
        answer = answered(options, session, inspecting=True)
        notes = session.reader.notes({candidate.note for candidate in candidates(answer)})
    if options.json:
        screen().out(TraceOut.of(answer, notes).as_json())
    else:
        _print(answer, notes, options)
    return 0 if answer.page else 1


def _print(answer: Answer, notes: dict[NoteId, NoteCard], options: argparse.Namespace) -> None:
    console = screen()
    print_warnings(SearchOut.of(answer), console)
    _print_head(console, answer)
    if options.explain:
        _print_plan(console, answer)
    _print_funnel(console, answer)
    _print_hits(console, answer, notes)
    if options.explain:
        for candidate in candidates(answer):
            if candidate.fate.reason == RETURNED:
                _print_arithmetic(console, answer, candidate, notes[candidate.note])
    if options.show_misses:
        _print_misses(console, misses(answer), notes)


def _print_head(console: Console, answer: Answer) -> None:
    plan, ready = answer.plan, answer.plan.readiness
    model = (plan.embedding_identity or "no vectors").split("/")[0] if plan.mode != "text" else "words only"
    console.print(
        f"[bold]{plan.mode}[/] · {escape(', '.join(plan.projects))} · {escape(model)} · "
        f"{ready.ready:,} of {ready.total:,} chunks ready · {answer.formula}",
        soft_wrap=True,
    )
    bm25 = answer.evidence.bm25
    if bm25 is not None:
        terms = Text().append("terms  ", style="dim")
        for term in plan.terms:
            style = "bold" if term in bm25.found else "dim strike"
            others = bm25.words(term)[1:]
            alike = f" (and {', '.join(others)})" if others else ""
            terms.append(f"{term}", style=style).append(f"{alike} {bm25.idf[term]:.2f}  ", style="dim")
        if plan.set_aside:
            terms.append(f"set aside: {' '.join(map(str, plan.set_aside))}", style="dim")
        terms.rstrip()
        console.print(terms, soft_wrap=True)
    if plan.vector:
        base = answer.evidence.baseline
        console.print(
            f"mean passage  cosine {base.mean:.3f} over {base.vectors:,} vectors: no more than that is no evidence",
            style="dim",
            soft_wrap=True,
        )
    console.print(Text().append("rerank  ", style="dim").append(_reranking(answer)), soft_wrap=True)
    console.print()


def _reranking(answer: Answer) -> str:
    """In one line, what the cross-encoder did, or why it did nothing."""
    plan, found = answer.plan.reranking, reranked(answer)
    if found.fallback:
        return f"none: {found.fallback}"
    if not found.movements:
        return f"none ({plan.why})" if plan.model is None else "none (nothing to read)"
    remembered = sum(movement.remembered for movement in found.movements)
    known = f" ({remembered} remembered)" if remembered else ""
    weight = f", weight {plan.weight:g}" if plan.formula.startswith("blend") else ""
    model = (plan.model or "").removesuffix("/sigmoid-4")
    read = f"read the first {len(found.movements)} of {len(found.movements) + found.tail}{known}"
    return f"{model} {read} in {(found.seconds or 0) * 1000:,.0f} ms, {plan.formula}{weight}"


def _print_plan(console: Console, answer: Answer) -> None:
    console.print("[bold]plan[/]")
    for name, value in _plan_lines(answer.plan):
        console.print(Text(f"  {name:<20} {value}"), soft_wrap=True)
    console.print()


def _plan_lines(plan: Plan) -> Iterator[tuple[str, object]]:
    for name in plan.__slots__:
        value = getattr(plan, name)
        if isinstance(value, Readiness):
            yield name, ", ".join(f"{count:,} {state}" for state, count in value._asdict().items())
        elif isinstance(value, Weighting):
            yield "bm25", ", ".join(f"{field} {chosen:g}" for field, chosen in list(value._asdict().items())[:3])
            weights = zip(FIELD_COLUMNS, value.fields, strict=True)
            yield "field weights", ", ".join(f"{field} {weight:g}" for field, weight in weights)
        elif name == "conditions":
            yield name, ", ".join(condition.said for condition in plan.conditions)
        elif isinstance(value, Reranking):
            yield from ((f"rerank {field}", chosen) for field, chosen in value._asdict().items())
        else:
            yield name, ", ".join(map(str, value)) if isinstance(value, tuple) else value


def _print_funnel(console: Console, answer: Answer) -> None:
    header = ("stage", "in", "kept", "dropped", "ms", "what happened")
    rows = [_funnel_row(stage) for stage in answer.stages]
    console.print(columns(header, rows, console.width, right="1234", flex="5"))
    console.print()


def _funnel_row(stage: Stage[Any]) -> tuple[str, ...]:
    reasons = Counter(out.reason for out in stage.dropped)
    said = [f"−{count} {reason}" for reason, count in reasons.items()] + ([stage.remark] if stage.remark else [])
    received = "—" if stage.name in ("match", "nearest", "list_rows") else f"{stage.received:,}"
    dropped = f"{len(stage.dropped):,}" if stage.dropped else ""
    return stage.name, received, f"{len(stage.kept):,}", dropped, f"{stage.seconds * 1000:.1f}", ", ".join(said)


def _print_hits(console: Console, answer: Answer, notes: dict[NoteId, NoteCard]) -> None:
    if answer.page:
        by_row = {candidate.row: candidate for candidate in candidates(answer)}
        moved = {movement.row: movement for movement in reranked(answer).movements}
        best = max(hit.score for hit in answer.page)
        rows: list[tuple[Text | str, ...]] = []
        for place, hit in enumerate(answer.page, start=answer.plan.offset + 1):
            legs = _leg_scores(by_row[hit.id].steps)
            score = Text(f"{hit.score:.3f}").append(f" {hit.mark}" if hit.mark == "slid" else "", style="dim")
            share = Text(bar(hit.score / best if best else 0), style="cyan")
            scores = (*_reread(moved.get(hit.id)), score) if moved else (score, share)
            rows.append((str(place), notes[by_row[hit.id].note].title, *legs, *scores, _passage(answer, hit)))
        between = ("fused", "rerank", "", "score") if moved else ("score", "")
        header = ("#", "note", "bm25", "cosine", *between, "best passage")
        right = "023467" if moved else "0234"
        console.print(columns(header, rows, console.width, right=right, flex=f"1{len(header) - 1}"))
    console.print(footer(SearchOut.of(answer)), style="dim", soft_wrap=True)
    console.print()


def _reread(movement: Movement | None) -> tuple[Text, ...]:
    """What a result had before, what the cross-encoder gave it, how far it moved; a dash for the tail."""
    if movement is None:
        return Text("tail", style="dim"), Text("—", style="dim"), Text("")
    risen = f"{'↑' if movement.moved > 0 else '↓'}{abs(movement.moved)}" if movement.moved else "="
    style = "green" if movement.moved > 0 else "red" if movement.moved < 0 else "dim"
    given = [Text(f"{place.score:.3f} ").append(f"{f'({place.rank})':>4}", style="dim") for place in movement[1:3]]
    return *given, Text(risen, style=style)


def _passage(answer: Answer, hit: Scored[RowId]) -> Text:
    quote = quoted(hit, answer.shelf, answer.plan.terms)
    words = " › ".join(quote.heading_path) or " ".join(quote.text.split())[:60]
    return Text().append(f"L{quote.lines[0]}–{quote.lines[1]} ", style="dim").append(words)


def _leg_scores(steps: tuple[Step, ...]) -> tuple[Text, Text]:
    return _ranked(steps, ("match", "complete_lexical")), _ranked(steps, ("collapse", "complete_similarity"))


def _ranked(steps: Iterable[Step], names: tuple[str, ...]) -> Text:
    """A raw score and its rank in its leg; a completed score has no rank of its own."""
    found = [step for step in steps if step.stage in names and step.rank is not None]
    if not found:
        return Text("—", style="dim")
    first = found[0]
    place = "(+)" if first.mark == "completed" else f"({first.rank})"
    return Text(f"{first.score:.3f} ").append(f"{place:>5}", style="dim")


def _print_arithmetic(console: Console, answer: Answer, candidate: Candidate, note: NoteCard) -> None:
    console.print(f"[bold]{escape(note.title)}[/]  {candidate.row.kind}  {escape(note.path)}", soft_wrap=True)
    lines = [*_words(candidate), *_similarity(answer, candidate), *_fused(candidate, answer.plan.tie_breaker)]
    lines.append(("stages", " · ".join(_said(step) for step in candidate.steps)))
    for name, said in lines:
        for place, line in enumerate(Text(said).wrap(console, console.width - 12)):
            line.rstrip()
            console.print(Text().append(f"  {'' if place else name:<8}  ", style="dim").append(line), soft_wrap=True)
    console.print()


def _words(candidate: Candidate) -> Iterator[tuple[str, str]]:
    if candidate.terms:
        total = sum(given for _, given in candidate.terms)
        shares = " + ".join(_by_field(term, list(given)) for term, given in groupby(candidate.terms, _term))
        yield "words", f"{shares} = {total:.3f}" + _calibrated(candidate, "calibrate_lexical")


def _term(part: tuple[InField, float]) -> str:
    return part[0].term


def _by_field(term: str, parts: list[tuple[InField, float]]) -> str:
    """What a term gave, and how much of it in which field, where that is more than the body."""
    total = sum(given for _, given in parts)
    fields = ", ".join(f"{where.field} {given:.3f}" for where, given in parts)
    if len(parts) == 1:
        fields = "" if parts[0][0].field == "body" else parts[0][0].field
    return f"{term} {total:.3f}" + (f" ({fields})" if fields else "")


def _similarity(answer: Answer, candidate: Candidate) -> Iterator[tuple[str, str]]:
    cosine = next((step for step in candidate.steps if step.stage in ("collapse", "complete_similarity")), None)
    if cosine is not None and cosine.rank is not None:
        yield "cosine", f"{cosine.score:.3f}" + _calibrated(candidate, "calibrate_similarity")
    found = [(answer.evidence.entries[trail.id], trail.steps[0]) for trail in candidate.chunks]
    said = [
        f"#{entry.ordinal} L{entry.lines[0]}–{entry.lines[1]} {step.score:.3f} ({step.rank})" for entry, step in found
    ]
    if said:
        more = f", and {len(said) - _LISTED_CHUNKS} more" if len(said) > _LISTED_CHUNKS else ""
        yield "chunks", ", ".join(said[:_LISTED_CHUNKS]) + more


def _fused(candidate: Candidate, tie_breaker: float) -> Iterator[tuple[str, str]]:
    for step in candidate.steps:
        shares = " + ".join(f"{name} {given:.9f}" for name, given in step.parts)
        if step.parts and step.stage in ("fuse", "fuse_ranks"):
            weighed = f" (the weaker counts {tie_breaker:g})" if step.stage == "fuse" else ""
            yield "score", f"{shares} = {step.score:.9f}{weighed}"
        elif step.parts and step.stage in ("blend", "replace_scores"):
            yield "reranked", f"{shares} = {step.score:.9f}"


def _calibrated(candidate: Candidate, name: str) -> str:
    """What a raw score is worth after its calibration."""
    found = [step.score for step in candidate.steps if step.stage == name and step.rank is not None]
    return f" → {found[0]:.3f} calibrated" if found else ""


def _said(step: Step) -> str:
    place = f"({step.rank})" if step.rank is not None else f"dropped, {step.reason}"
    mark = f" {step.mark}" if step.mark else ""
    return f"{step.stage} {step.score:.3f} {place}{mark}"


def _print_misses(console: Console, missed: list[Candidate], notes: dict[NoteId, NoteCard]) -> None:
    console.print("[bold]misses inside the window[/]  (nothing beyond it was read)")
    rows = [_missed_row(candidate, notes[candidate.note].title) for candidate in missed[:_LISTED_MISSES]]
    if rows:
        console.print(columns(("fell at", "note", "kind", "why", "lacked"), rows, console.width, right="4", flex="13"))
    if len(missed) > _LISTED_MISSES:
        console.print(f"and {len(missed) - _LISTED_MISSES:,} more; --json lists them all", style="dim")
    elif not missed:
        console.print("none", style="dim")
    console.print()


def _missed_row(candidate: Candidate, title: str) -> tuple[str, ...]:
    steps = candidate.steps or candidate.chunks[0].steps
    margin = candidate.fate.margin
    lacked = "" if margin is None else f"{margin:.3f}"
    return candidate.fate.stage, title, candidate.row.kind, f"{candidate.fate.reason} ({steps[-1].score:.3f})", lacked
