"""What can be typed after `cutaway eval`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

_Add = Callable[[Any, str, str, str], argparse.ArgumentParser]


def add_evaluation(commands: Any, command: _Add, scope: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the evaluation commands; *command* makes one of them, *scope* adds the project options."""
    group = commands.add_parser("eval", help="measure: queries with known answers, comparisons, a regression gate")
    views = group.add_subparsers(title="evaluations", metavar="WHAT", required=True)
    run = command(views, "run", "eval_run:run", "put judged queries to the search and measure its results")
    compare = command(views, "compare", "eval_compare:run", "two runs, or two settings, on the same queries")
    sweep = command(
        views, "sweep", "eval_sweep:run", "try a grid of settings; choose on one half, confirm on the other"
    )
    gate = command(views, "gate", "eval_gate:gate", "check a file of expectations; exit code 1 on a regression")
    record = command(views, "record", "eval_gate:record", "write today's results as such a file")
    judge = command(views, "judge", "eval_judgments:judge", "say how well a note answers a query")
    judgments = command(views, "judgments", "eval_judgments:judgments", "list, import or export what has been judged")
    for each in (run, compare, sweep, record):
        _judged(each, folder=each in (run, sweep))
    for each in (run, compare, sweep):
        _answered(each)
    record.set_defaults(spans=None)
    for each in (run, compare, sweep):
        _measured(each)
    for each in (run, compare, sweep, gate, record, judge, judgments):
        scope(each)
    _run(run)
    _compare(compare)
    _sweep(sweep)
    _gate(gate, record)
    _judgments(judge, judgments)


def _judged(command: argparse.ArgumentParser, folder: bool) -> None:
    if folder:
        command.add_argument("set_folder", nargs="?", type=Path, metavar="FOLDER", help="a set in the BEIR layout")
    else:
        command.add_argument("--set-folder", type=Path, metavar="FOLDER", help="a set in the BEIR layout")
    command.add_argument("--queries", type=Path, metavar="FILE", help="queries: JSON lines, or id and text by tab")
    command.add_argument("--qrels", type=Path, metavar="FILE", help="judgments: BEIR, TREC or Quepid CSV")
    command.add_argument("--topics", type=int, metavar="N", help="at most so many queries, evenly spread")


def _answered(command: argparse.ArgumentParser) -> None:
    """What a gate cannot hold: it is checked against notes, as wholes."""
    command.add_argument("--spans", type=Path, metavar="FILE", help="byte ranges that hold the answers, as TSV")
    command.add_argument("--corpus", type=Path, metavar="FILE", help="index these documents instead of your notes")


def _measured(command: argparse.ArgumentParser) -> None:
    command.add_argument("--measures", metavar="LIST", help="nDCG@10,R@10,… (kinds: nDCG R P RR AP hit judged)")


def _run(command: argparse.ArgumentParser) -> None:
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting; may be repeated")
    command.add_argument("--label", default="run", help="what to call this run")
    command.add_argument("--per-query", action="store_true", help="add each query's own measures")
    command.add_argument("--save", type=Path, metavar="FILE", help="keep the run with its stages, for `eval compare`")
    command.add_argument("--trec", type=Path, metavar="FILE", help="write the ranking as a TREC run file")


def _compare(command: argparse.ArgumentParser) -> None:
    said = "a saved run, a TREC run, or settings as NAME=VALUE[,NAME=VALUE]; `as-set` for the settings as they are"
    command.add_argument("a", metavar="A", help=said)
    command.add_argument("b", metavar="B", help="the same")
    command.add_argument("--movers", type=int, default=5, metavar="N", help="how many changed queries to show")


def _sweep(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--axis",
        action="append",
        default=[],
        required=True,
        metavar="NAME=V,V,…",
        help="values to try; may be repeated",
    )
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting for all of them")
    command.add_argument("--train", type=float, default=0.5, metavar="SHARE", help="of the queries, to choose by")


def _gate(gate: argparse.ArgumentParser, record: argparse.ArgumentParser) -> None:
    gate.add_argument("file", type=Path, help="the gate file")
    record.add_argument("file", type=Path, help="where to write it")
    record.add_argument("--query", action="append", default=[], metavar="TEXT", help="a query without judgments")
    record.add_argument("--limit", "-k", type=int, default=10, metavar="K", help="how many first results are looked at")
    record.add_argument("--force", action="store_true", help="replace a file that is there")


def _judgments(judge: argparse.ArgumentParser, judgments: argparse.ArgumentParser) -> None:
    judge.add_argument("query", help="the query's text")
    judge.add_argument("note", help="the note's path, title, permalink or alias")
    judge.add_argument("grade", help="0 not relevant, 1 related, 2 answers, 3 the answer itself; `none` takes it back")
    judgments.add_argument("--import", dest="source", type=Path, metavar="FILE", help="add the judgments of a file")
    judgments.add_argument("--queries", type=Path, metavar="FILE", help="the queries' texts, beside BEIR or TREC")
    judgments.add_argument("--export", type=Path, metavar="FILE", help="write them to a file")
    judgments.add_argument("--format", choices=("beir", "trec", "quepid"), default="quepid", help="of the export")
