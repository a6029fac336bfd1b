"""`cutaway eval gate` and `cutaway eval record`: expectations of a vault's search, checked and written."""

from __future__ import annotations

import argparse
import json

from rich.text import Text

from cutaway.config import Settings, validated
from cutaway.errors import UsageError
from cutaway.evaluation.gate import Ask, Gate, Verdict, gate_as_yaml, judged_by, read_gate, recorded
from cutaway.evaluation.judged import JudgedSet
from cutaway.faces.cli.bench import check_indexed, judged_of
from cutaway.faces.cli.eval_run import check_writable
from cutaway.faces.cli.session import messages, reading, screen
from cutaway.faces.loading import cross_encoder_or_reason, embedder_or_reason
from cutaway.faces.sessions import Session
from cutaway.index.state import ScoreCache
from cutaway.retrieval.pipeline import Answer, search
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import Request


def gate(options: argparse.Namespace) -> int:
    """Check every expectation; 1 where one is not met."""
    asked = read_gate(options.file)
    degraded: dict[str, None] = {}
    with reading(options) as session:
        base = session.settings
        settings = validated({**base.model_dump(), **asked.settings}, str(options.file))
        check_indexed(base, [settings])
        ask = _asking(session, settings)

        def asking(query: str, limit: int, page: int) -> Answer:
            answer = ask(query, limit, page)
            degraded.update(dict.fromkeys(f"{part.stage}: {part.reason}" for part in answer.degraded))
            return answer

        verdicts = list(judged_by(asked, asking, session.reader))
    for reason in degraded:  # or a gate met by half a search would look whole
        messages().print(Text.assemble(("degraded", "yellow"), f"  {reason}"), soft_wrap=True)
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if options.json:
        screen().out(json.dumps([verdict._asdict() for verdict in verdicts], indent=2, ensure_ascii=False))
    else:
        _print(verdicts, failed)
    return 1 if failed else 0


def record(options: argparse.Namespace) -> int:
    """Write today's results, of judged queries or of any, as a gate file."""
    if options.file.exists() and not options.force:
        raise UsageError(f"{options.file} is there already. Give --force to replace it.")
    if not 1 <= options.limit <= 100:
        raise UsageError(f"--limit is {options.limit}; it may be 1 to 100.")
    check_writable(options.file)
    named = options.set_folder or options.qrels or options.queries
    judged = judged_of(options) if named or not options.query else JudgedSet((), {})
    with reading(options) as session:
        ask = _asking(session, session.settings)
        queries = [(topic.text, dict(judged.qrels.get(topic.id, {}))) for topic in judged.topics]
        queries += [(query, {}) for query in options.query]
        checks = [
            recorded(text, grades, ask(text, options.limit, 1), session.reader, options.limit)
            for text, grades in queries
        ]
    written = gate_as_yaml(Gate(k=options.limit, checks=checks))
    options.file.write_text(
        f"# Made by: cutaway eval record. Checked by: cutaway eval gate\n{written}", encoding="utf-8"
    )
    messages().print(Text(f"{len(checks)} queries written to {options.file}"), soft_wrap=True)
    return 0


def _asking(session: Session, settings: Settings) -> Ask:
    embedder = embedder_or_reason(settings, at_once=True)
    reranker = cross_encoder_or_reason(settings, at_once=True) if settings.rerank else "reranking is off"
    models = Models(
        embedder, reranker, ScoreCache(session.home, settings.rerank_cache, read_only=True, settings=settings)
    )

    def ask(query: str, limit: int, page: int) -> Answer:
        return search(Request(query, limit=limit, page=page), settings, session.reader, models)

    return ask


def _print(verdicts: list[Verdict], failed: list[Verdict]) -> None:
    console = screen()
    for verdict in failed:
        console.print(Text.assemble(("failed", "red"), f"  {verdict.query}"), soft_wrap=True)
        console.print(Text(f"        {verdict.expectation}: {verdict.said}"), soft_wrap=True)
    passed = len(verdicts) - len(failed)
    style = "red" if failed else "green"
    console.print(f"[{style}]{passed} of {len(verdicts)} expectations met[/]")
