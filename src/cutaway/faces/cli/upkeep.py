"""`cutaway status` and `cutaway doctor`: what is there, and what is wrong with it."""

from __future__ import annotations

import argparse
import json

from rich.markup import escape

from cutaway.faces.cli.session import reading, screen
from cutaway.faces.loading import cross_encoder_or_reason
from cutaway.faces.statuses import StatusOut
from cutaway.faces.statuses import status as stand
from cutaway.inspector.health import Finding, examine, examine_endpoint, examine_reranker


def status(options: argparse.Namespace) -> int:
    """Every project, unless some are named."""
    options.all_projects = options.all_projects or not options.project
    with reading(options) as session:
        found = stand(session)
    if options.json:
        screen().out(found.as_json())
    else:
        _print_status(found)
    return 0


def doctor(options: argparse.Namespace) -> int:
    """Every project, unless some are named."""
    options.all_projects = options.all_projects or not options.project
    with reading(options) as session:
        embedder, url = session.embedder(), session.settings.embedder_url
        findings = examine(session.reader, embedder)
        if url is not None and not isinstance(embedder, str):
            findings.append(examine_endpoint(embedder, url))
        reranker = cross_encoder_or_reason(session.settings)
        known, missing = (None, reranker) if isinstance(reranker, str) else (reranker.identity, None)
        findings.append(examine_reranker(known, missing, session.settings.rerank))
    if options.json:
        screen().out(json.dumps([finding._asdict() for finding in findings], indent=2))
    else:
        _print_findings(findings)
    return 1 if any(finding.severity == "error" for finding in findings) else 0


def _print_status(found: StatusOut) -> None:
    console = screen()
    console.print(f"[bold]index[/]     {escape(found.index)}  {found.bytes / 1e6:,.1f} MB", soft_wrap=True)
    console.print(f"[bold]model[/]     {escape(found.in_use)}", soft_wrap=True)
    if found.sent_to:
        console.print(f"[bold]sent to[/]   {escape(found.sent_to)}", soft_wrap=True)
    for project in found.projects:
        title = f"  {escape(project.title)}" if project.title else ""
        console.print(f"\n[bold]{escape(project.name)}[/]{title}  {escape(project.root)}", soft_wrap=True)
        kinds = " · ".join(f"{getattr(project, kind):,} {kind}" for kind in ("notes", "observations", "relations"))
        console.print(f"  {kinds} · {project.bytes / 1e6:,.2f} MB of notes")
        ready = f"{project.ready:,} of {project.chunks:,} chunks ready"
        waiting = f", {project.pending:,} pending" if project.pending else ""
        failed = f", {project.failed:,} failed" if project.failed else ""
        console.print(f"  {ready}{waiting}{failed}", style="yellow" if waiting or failed else "green")
        held = " and ".join(project.embedded_as)
        if held and held != found.in_use:
            console.print(f"  embedded as {escape(held)}; run cutaway index to search it by meaning", style="yellow")
        if project.problems:
            console.print(f"  {project.problems} problems; see cutaway doctor", style="yellow")


def _print_findings(findings: list[Finding]) -> None:
    console = screen()
    styles = {"ok": "green", "note": "cyan", "warning": "yellow", "error": "red"}
    for finding in findings:
        place = ":".join(filter(None, (finding.project, finding.path))) + "  " if finding.project else ""
        words = f"{escape(place)}{escape(finding.message)}"
        console.print(
            f"[{styles[finding.severity]}]{finding.severity:<8}[/] {finding.check:<12} {words}", soft_wrap=True
        )
