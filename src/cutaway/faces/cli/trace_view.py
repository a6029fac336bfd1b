"""A trace on the terminal: the plan, the funnel, the hits with their arithmetic, the misses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.search import bar, footer, print_warnings
from cutaway.faces.rerankings import MovementOut, RerankOut
from cutaway.faces.schemas import HitOut, RowOut
from cutaway.faces.traces import CandidateOut, StageOut, StepOut, TermOut, TraceOut

_LISTED_MISSES, _LISTED_CHUNKS = 20, 6
_LEGS = ("match", "nearest", "list_rows")


def print_trace(console: Console, trace: TraceOut, explain: bool, show_misses: bool) -> None:
    """A search with its casing off."""
    print_warnings(trace, console)
    _print_head(console, trace)
    if explain:
        _print_plan(console, trace)
    _print_funnel(console, trace)
    _print_hits(console, trace)
    if explain:
        for candidate in trace.candidates:
            if candidate.fate.reason == "returned":
                print_arithmetic(console, trace, candidate)
    if show_misses:
        _print_misses(console, trace)


def _print_head(console: Console, trace: TraceOut) -> None:
    plan, ready = trace.plan, trace.plan["readiness"]
    model = (plan["embedding_identity"] or "no vectors").split("/")[0] if trace.mode != "text" else "words only"
    console.print(
        f"[bold]{trace.mode}[/] · {escape(', '.join(plan['projects']))} · {escape(model)} · "
        f"{ready['ready']:,} of {ready['total']:,} chunks ready · {trace.formula}",
        soft_wrap=True,
    )
    if trace.terms or plan["set_aside"]:
        terms = Text().append("terms  ", style="dim")
        for term in trace.terms:
            alike = f" (and {', '.join(term.words[1:])})" if term.words[1:] else ""
            terms.append(term.term, style="bold" if term.notes else "dim strike")
            terms.append(f"{alike} {term.idf:.2f}  ", style="dim")
        if plan["set_aside"]:
            terms.append(f"set aside: {' '.join(plan['set_aside'])}", style="dim")
        terms.rstrip()
        console.print(terms, soft_wrap=True)
    if trace.baseline:
        mean, vectors = trace.baseline.mean, trace.baseline.vectors
        took = "" if trace.embedding is None else f"; query embedded in {trace.embedding.ms:,.0f} ms"
        said = f"mean passage  cosine {mean:.3f} over {vectors:,} vectors: no more than that is no evidence{took}"
        console.print(said, style="dim", soft_wrap=True)
    console.print(Text().append("rerank  ", style="dim").append(_reranking(trace.rerank)), soft_wrap=True)
    console.print()


def _reranking(found: RerankOut) -> str:
    """In one line, what the cross-encoder did, or why it did nothing."""
    if found.fallback:
        return f"none: {found.fallback}"
    if not found.movements:
        return f"none ({found.why})" if found.model is None else "none (nothing to read)"
    known = f" ({found.remembered} remembered)" if found.remembered else ""
    weight = f", weight {found.weight:g}" if found.formula.startswith("blend") else ""
    model = (found.model or "").removesuffix("/sigmoid-4")
    read = f"read the first {found.prefix} of {found.prefix + found.tail}{known}"
    return f"{model} {read} in {found.ms or 0:,.0f} ms, {found.formula}{weight}"


def _print_plan(console: Console, trace: TraceOut) -> None:
    console.print("[bold]plan[/]")
    for name, value in _plan_lines(trace.plan):
        console.print(Text(f"  {name:<20} {value}"), soft_wrap=True)
    console.print()


def _plan_lines(plan: dict[str, Any]) -> Iterator[tuple[str, object]]:
    for name, value in plan.items():
        match name:
            case "readiness":
                hidden = ("total",) if value["foreign"] else ("total", "foreign")
                counts = ((state, count) for state, count in value.items() if state not in hidden)
                yield name, ", ".join(f"{count:,} {state}" for state, count in counts)
            case "foreign" if not value:
                continue
            case "weighting":
                constants = ((field, chosen) for field, chosen in value.items() if field != "fields")
                yield "bm25", ", ".join(f"{field} {chosen:g}" for field, chosen in constants)
                yield "field weights", ", ".join(f"{field} {weight:g}" for field, weight in value["fields"].items())
            case "reranking":
                yield from ((f"rerank {field}", chosen) for field, chosen in value.items())
            case _:
                yield name, ", ".join(map(str, value)) if isinstance(value, list) else value


def _print_funnel(console: Console, trace: TraceOut) -> None:
    header = ("stage", "in", "kept", "dropped", "ms", "what happened")
    rows = [_funnel_row(stage) for stage in trace.stages]
    console.print(columns(header, rows, console.width, right="1234", flex="5"))
    console.print()


def _funnel_row(stage: StageOut) -> tuple[str, ...]:
    said = [f"−{count} {reason}" for reason, count in stage.reasons.items()] + ([stage.remark] if stage.remark else [])
    received = "—" if stage.name in _LEGS else f"{stage.received:,}"
    dropped = f"{stage.dropped:,}" if stage.dropped else ""
    return stage.name, received, f"{stage.kept:,}", dropped, f"{stage.ms:.1f}", ", ".join(said)


def _print_hits(console: Console, trace: TraceOut) -> None:
    if trace.hits:
        by_row = {candidate.row: candidate for candidate in trace.candidates}
        moved = {movement.row: movement for movement in trace.rerank.movements}
        best = max(hit.scores["score"] or 0.0 for hit in trace.hits)
        rows: list[tuple[Text | str, ...]] = []
        for hit in trace.hits:
            legs = leg_scores(by_row[hit.row].journey)
            score = Text(f"{hit.scores['score']:.3f}").append(f" {hit.mark}" if hit.mark == "slid" else "", style="dim")
            share = Text(bar((hit.scores["score"] or 0.0) / best if best else 0), style="cyan")
            scores = (*_reread(moved.get(hit.row)), score) if moved else (score, share)
            rows.append((str(hit.rank), hit.title, *legs, *scores, _passage(hit)))
        between = ("fused", "rerank", "", "score") if moved else ("score", "")
        header = ("#", "note", "bm25", "cosine", *between, "best passage")
        right = "023467" if moved else "0234"
        console.print(columns(header, rows, console.width, right=right, flex=f"1{len(header) - 1}"))
    console.print(footer(trace), style="dim", soft_wrap=True)
    console.print()


def _reread(movement: MovementOut | None) -> tuple[Text, ...]:
    """What a result had before, what the cross-encoder gave it, how far it moved; a dash for the tail."""
    if movement is None:
        return Text("tail", style="dim"), Text("—", style="dim"), Text("")
    places = (movement.before, movement.rerank)
    given = [Text(f"{place.score:.3f} ").append(f"{f'({place.rank})':>4}", style="dim") for place in places]
    return *given, arrow(movement.moved)


def arrow(moved: int) -> Text:
    """How many places something rose or fell."""
    risen = f"{'↑' if moved > 0 else '↓'}{abs(moved)}" if moved else "="
    return Text(risen, style="green" if moved > 0 else "red" if moved < 0 else "dim")


def _passage(hit: HitOut) -> Text:
    words = " › ".join(hit.heading_path) or " ".join(hit.passage.split())[:60]
    return Text().append(f"L{hit.lines[0]}–{hit.lines[1]} ", style="dim").append(words)


def leg_scores(steps: tuple[StepOut, ...]) -> tuple[Text, Text]:
    """What both legs gave a row, with its ranks there."""
    return _ranked(steps, ("match", "complete_lexical")), _ranked(steps, ("collapse", "complete_similarity"))


def _ranked(steps: Iterable[StepOut], names: tuple[str, ...]) -> Text:
    """A raw score and its rank in its leg; a completed score has no rank of its own."""
    found = [step for step in steps if step.stage in names and step.rank is not None]
    if not found:
        return Text("—", style="dim")
    first = found[0]
    place = "(+)" if first.mark == "completed" else f"({first.rank})"
    return Text(f"{first.score:.3f} ").append(f"{place:>5}", style="dim")


def print_arithmetic(console: Console, trace: TraceOut, candidate: CandidateOut) -> None:
    """How a candidate came by its score, from words and vectors to the page."""
    console.print(f"[bold]{escape(candidate.title)}[/]  {candidate.row.kind}  {escape(candidate.path)}", soft_wrap=True)
    lines = [*_words(candidate), *_similarity(candidate), *_fused(candidate, trace.plan["tie_breaker"])]
    lines.append(("stages", " · ".join(_said(step) for step in candidate.journey)))
    for name, said in lines:
        for place, line in enumerate(Text(said).wrap(console, console.width - 12)):
            line.rstrip()
            console.print(Text().append(f"  {'' if place else name:<8}  ", style="dim").append(line), soft_wrap=True)
    console.print()


def _words(candidate: CandidateOut) -> Iterator[tuple[str, str]]:
    if candidate.terms:
        total = sum(part.contribution for part in candidate.terms)
        shares = " + ".join(
            by_field(term, list(parts)) for term, parts in groupby(candidate.terms, lambda part: part.term)
        )
        yield "words", f"{shares} = {total:.3f}" + _calibrated(candidate, "calibrate_lexical")


def by_field(term: str, parts: list[TermOut]) -> str:
    """What a term gave, and how much of it in which field, where that is more than the body."""
    total = sum(part.contribution for part in parts)
    fields = ", ".join(f"{part.field} {part.contribution:.3f}" for part in parts)
    if len(parts) == 1:
        fields = "" if parts[0].field == "body" else parts[0].field
    return f"{term} {total:.3f}" + (f" ({fields})" if fields else "")


def _similarity(candidate: CandidateOut) -> Iterator[tuple[str, str]]:
    cosine = next((step for step in candidate.journey if step.stage in ("collapse", "complete_similarity")), None)
    if cosine is not None and cosine.rank is not None:
        yield "cosine", f"{cosine.score:.3f}" + _calibrated(candidate, "calibrate_similarity")
    said = [
        f"#{chunk.ordinal} L{chunk.lines[0]}–{chunk.lines[1]} {chunk.journey[0].score:.3f} ({chunk.journey[0].rank})"
        for chunk in candidate.chunks
    ]
    if said:
        more = f", and {len(said) - _LISTED_CHUNKS} more" if len(said) > _LISTED_CHUNKS else ""
        yield "chunks", ", ".join(said[:_LISTED_CHUNKS]) + more


def _fused(candidate: CandidateOut, tie_breaker: float) -> Iterator[tuple[str, str]]:
    for step in candidate.journey:
        shares = " + ".join(f"{name} {given:.9f}" for name, given in step.parts.items())
        if step.parts and step.stage in ("fuse", "fuse_ranks"):
            weighed = f" (the weaker counts {tie_breaker:g})" if step.stage == "fuse" else ""
            yield "score", f"{shares} = {step.score:.9f}{weighed}"
        elif step.parts and step.stage == "weigh":
            yield "weighed", f"{shares} = {step.score:.9f} ({step.mark})"
        elif step.parts and step.stage in ("blend", "replace_scores"):
            yield "reranked", f"{shares} = {step.score:.9f}"


def _calibrated(candidate: CandidateOut, name: str) -> str:
    """What a raw score is worth after its calibration."""
    found = [step.score for step in candidate.journey if step.stage == name and step.rank is not None]
    return f" → {found[0]:.3f} calibrated" if found else ""


def _said(step: StepOut) -> str:
    place = f"({step.rank})" if step.rank is not None else f"dropped, {step.reason}"
    mark = f" {step.mark}" if step.mark else ""
    return f"{step.stage} {step.score:.3f} {place}{mark}"


def _print_misses(console: Console, trace: TraceOut) -> None:
    console.print("[bold]misses inside the window[/]  (nothing beyond it was read)")
    by_row: dict[RowOut, CandidateOut] = {candidate.row: candidate for candidate in trace.candidates}
    rows = [_missed_row(by_row[row]) for row in trace.misses[:_LISTED_MISSES]]
    if rows:
        console.print(columns(("fell at", "note", "kind", "why", "lacked"), rows, console.width, right="4", flex="13"))
    if len(trace.misses) > _LISTED_MISSES:
        console.print(f"and {len(trace.misses) - _LISTED_MISSES:,} more; --json lists them all", style="dim")
    elif not trace.misses:
        console.print("none", style="dim")
    console.print()


def _missed_row(candidate: CandidateOut) -> tuple[str, ...]:
    steps = candidate.journey or candidate.chunks[0].journey
    fate = candidate.fate
    lacked = "" if fate.margin is None else f"{fate.margin:.3f}"
    return fate.stage, candidate.title, candidate.row.kind, f"{fate.reason} ({steps[-1].score:.3f})", lacked
