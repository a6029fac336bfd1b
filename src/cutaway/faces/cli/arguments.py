"""What can be typed: commands and options. Each command's work is imported when it runs."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from cutaway import __version__
from cutaway.faces.cli.eval_arguments import add_evaluation

_Parsers = Any


class _Parser(argparse.ArgumentParser):
    """A parser that knows what a stray minus may have been meant for."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: -"):
            message += " (in a query, a minus leaves notes out: write it in quotes, as in 'bread -rye')"
        super().error(message)


def parser() -> argparse.ArgumentParser:
    """The parser of every command."""
    top = _Parser(
        prog="cutaway",
        description="Hybrid search for Markdown notes that shows its work.",
        epilog="Start with: cutaway index FOLDER, then: cutaway search WORDS",
        allow_abbrev=False,
    )
    top.add_argument("-V", "--version", action="version", version=f"cutaway {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _index(commands)
    _watch(commands)
    _worker(commands)
    _serve(commands)
    _command(commands, "mcp", "mcp:run", "answer an agent: the Model Context Protocol over standard input and output")
    _search(commands)
    inspect = commands.add_parser("inspect", help="look inside: notes as indexed, searches as executed")
    views = inspect.add_subparsers(title="views", metavar="VIEW", required=True)
    _inspect_chunks(views)
    _inspect_query(views)
    _inspect_why(views)
    _inspect_neighbors(views)
    _inspect_stale(views)
    add_evaluation(commands, _command, _scope)
    _upkeep(commands)
    _migrate(commands)
    _projects(commands)
    return top


def _index(commands: _Parsers) -> None:
    command = _command(commands, "index", "index:run", "bring the index in line with your notes")
    command.add_argument("folder", nargs="?", type=Path, help="a folder of notes; without it, every project")
    _chosen(command)
    command.add_argument("--name", help="what to call the project (default: the folder's name)")
    command.add_argument("--no-embed", action="store_true", help="index words only; vectors can follow later")
    command.add_argument("--allow-empty", action="store_true", help="accept that a folder lost all its notes")


def _watch(commands: _Parsers) -> None:
    command = _command(commands, "watch", "watch:run", "keep the index in line with your notes, until Ctrl-C")
    _chosen(command)
    command.add_argument("--no-embed", action="store_true", help="index words only; vectors can follow later")


def _worker(commands: _Parsers) -> None:
    command = _command(commands, "worker", "worker:run", "embed what waits in an index in Postgres, beside others")
    _chosen(command)
    command.add_argument("--once", action="store_true", help="end when nothing waits any more")


def _serve(commands: _Parsers) -> None:
    command = _command(commands, "serve", "serve:run", "answer programs on this machine over HTTP, until Ctrl-C")
    command.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="beyond this machine, with a token")
    command.add_argument("--port", type=int, default=8765, metavar="N", help="(default: 8765; 0: any that is free)")
    said = "another name that this server is called by; may be repeated"
    command.add_argument("--allow-host", action="append", default=[], metavar="NAME", help=said)
    command.add_argument("--read-only", action="store_true", help="start no index runs")
    command.add_argument("--workers", type=int, metavar="N", help="requests at work at once (default: one a core)")
    command.add_argument("--log-format", choices=("text", "json"), default="text", help="of the log on standard error")


def _search(commands: _Parsers) -> None:
    command = _command(commands, "search", "search:run", "search your notes")
    _query(command)
    _search_options(command)


def _inspect_query(views: _Parsers) -> None:
    command = _command(views, "query", "inspect_query:run", "a search with its casing off: every stage it ran")
    _query(command)
    _search_options(command)
    command.add_argument("--save", type=Path, metavar="FILE", help="keep the whole record, to show or compare it later")
    command.add_argument("--redact", action="store_true", help="save it without the texts of notes")
    show = _command(views, "show", "inspect_query:show", "a saved search, as it was")
    show.add_argument("file", type=Path, nargs="?", help="what --save wrote")
    show.add_argument("--schema", action="store_true", help="print the JSON schema of what --save and --json write")
    for view in (command, show):
        view.add_argument("--explain", action="store_true", help="add the plan, the terms and each score's arithmetic")
        view.add_argument("--show-misses", action="store_true", help="add what fell inside the windows, where and why")


def _inspect_chunks(views: _Parsers) -> None:
    command = _command(views, "chunks", "inspect_chunks:run", "a note as the index sees it: rows, chunks, skips")
    command.add_argument("note", help="a path, file name, title, permalink or alias")
    command.add_argument("--text", action="store_true", help="show each chunk whole")
    command.add_argument("--query", metavar="WORDS", help="add each chunk's similarity to these words")
    _look(command)


def _inspect_neighbors(views: _Parsers) -> None:
    summary = "the passages closest to one, by the vectors that are stored"
    command = _command(views, "neighbors", "inspect_neighbors:run", summary)
    command.add_argument("target", nargs="?", help="a chunk (NOTE#3, or its id), a line (NOTE:12), or a whole NOTE")
    command.add_argument("--text", metavar="WORDS", help="instead of a target: what is closest to these words")
    command.add_argument("--limit", "-n", type=int, default=10, metavar="N", help="neighbours shown (default: 10)")
    command.add_argument("--all", action="store_true", help="list near-duplicates one by one, not under the best")
    command.add_argument("--by-text", action="store_true", help="embed the target's text now, whatever is stored")
    _look(command)


def _inspect_stale(views: _Parsers) -> None:
    command = _command(views, "stale", "inspect_stale:run", "what lags behind the files or the settings, and the cure")
    command.add_argument("--check", action="store_true", help="exit with 1 where anything lags, for scripts")
    _look(command)


def _upkeep(commands: _Parsers) -> None:
    status = _command(commands, "status", "upkeep:status", "what is indexed, how much of it is ready, and where")
    doctor = _command(commands, "doctor", "upkeep:doctor", "check files and index, and say how to mend what is wrong")
    for command in (status, doctor):
        _scope(command)


def _migrate(commands: _Parsers) -> None:
    command = _command(commands, "migrate", "migrate:run", "copy the index to another store; nothing is embedded")
    command.add_argument("--to", required=True, metavar="STORE", help="a postgresql:// address, or `file`")
    command.add_argument("--schema", metavar="NAME", help="the schema there (default: cutaway)")
    said = "the vector home there (default: the one in use where it can be, else the store's own)"
    command.add_argument("--vectors", metavar="NAME", help=said)
    command.add_argument("--replace", action="store_true", help="replace an index that is there already")


def _inspect_why(views: _Parsers) -> None:
    why = _command(views, "why", "inspect_why:run", "why a note is where it is for a query, or nowhere")
    versus = _command(views, "compare", "inspect_why:compare", "why one note beats another for a query")
    difference = _command(views, "diff", "inspect_diff:run", "what changed between two searches")
    for command in (why, versus):
        command.add_argument("text", metavar="query", help="the query, in quotes")
    why.add_argument("note", help="a path, title, permalink or alias; with :LINE or #N, a passage of it")
    for name in ("a", "b"):
        versus.add_argument(name, help="a path, title, permalink or alias; with :LINE or #N, a passage of it")
    difference.add_argument("what", nargs="+", help="two files that --save wrote, or a query to ask under --set")
    difference.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting to change")
    for command in (why, versus, difference):
        _search_options(command)


def _query(command: argparse.ArgumentParser) -> None:
    command.add_argument("query", nargs="*", help="what to search for; see docs/searching.md for its language")


def _projects(commands: _Parsers) -> None:
    project = commands.add_parser(
        "project", help="the folders of notes in this index: list, add, rename, remove, default, settings"
    )
    actions = project.add_subparsers(title="actions", metavar="ACTION", required=True)
    _command(actions, "list", "projects:listing", "every project, where it is, and how much of it is indexed")
    add = _command(actions, "add", "projects:add", "add a folder without indexing it yet")
    add.add_argument("name")
    add.add_argument("folder", type=Path)
    remove = _command(actions, "remove", "projects:remove", "forget a project; its files are never touched")
    rename = _command(actions, "rename", "projects:rename", "give a project another name")
    for command in (remove, rename):
        command.add_argument("name")
    rename.add_argument("new", help="its new name")
    for program, target, what in (
        ("obsidian", "imports:obsidian", "the vaults in Obsidian's own list"),
        ("basic-memory", "imports:basic_memory", "the projects in Basic Memory's configuration"),
    ):
        command = _command(actions, f"import-{program}", target, f"list {what}; with --yes, add them")
        command.add_argument("--yes", action="store_true", help="add what can be added")
        command.add_argument("--config", type=Path, metavar="FILE", help="the configuration to read")
    default = _command(actions, "default", "projects:default", "which project is meant where none is named")
    default.add_argument("name", nargs="?", help="without a name, say which it is")
    default.add_argument("--none", action="store_true", help="let none be")
    _project_settings(actions)


def _project_settings(actions: _Parsers) -> None:
    choose = _command(actions, "set", "project_settings:choose", "set what is used for one project alone")
    show = _command(actions, "show", "project_settings:show", "what is set for a project, and by whom")
    trust = _command(actions, "trust", "project_settings:trust", "what a folder's own .cutaway.toml asks for; trust it")
    for command in (choose, show, trust):
        command.add_argument("name")
    said = "a setting of ranking or of passages (docs/projects.md), or ignore=PATTERN: one more pattern to leave out"
    choose.add_argument("pairs", nargs="*", metavar="KEY=VALUE", help=said)
    said = "use the home's value again; `ignore` forgets all patterns, `ignore=PATTERN` one; may be repeated"
    choose.add_argument("--unset", action="append", default=[], metavar="KEY", help=said)
    trust.add_argument("--yes", action="store_true", help="trust the file as it is now; a change ends that")
    trust.add_argument("--revoke", action="store_true", help="trust it no longer")


def _search_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COND",
        help="status=active, due<2025, tag=a,b …; may be repeated",
    )
    command.add_argument(
        "--literal", action=argparse.BooleanOptionalAction, help="read the query as plain words, without operators"
    )
    command.add_argument("--mode", choices=("text", "vector", "hybrid"), help="which legs to use (default: hybrid)")
    command.add_argument("--by", choices=("note", "row"), dest="group", help="what a result is (default: note)")
    command.add_argument("--limit", "-n", type=int, metavar="N", help="results on a page (default: 10)")
    command.add_argument("--page", type=int, default=1, metavar="N", help="which page (default: 1)")
    command.add_argument("--fusion", choices=("calibrated-dismax", "dismax-0.3", "rrf"), help="how the legs are joined")
    command.add_argument("--min-similarity", type=float, metavar="X", help="cosine below which similarity is silent")
    command.add_argument("--cursor", metavar="TEXT", help="go on where an answer ended (its `cursor` in JSON)")
    rerank = argparse.BooleanOptionalAction
    command.add_argument("--rerank", action=rerank, help="let a cross-encoder reorder the best results, or not")
    command.add_argument("--depth", type=int, metavar="N", help="how many it reads (default: 20); turns it on")
    _look(command)


def _scope(command: argparse.ArgumentParser) -> None:
    _chosen(command)
    command.add_argument("--all-projects", action="store_true", help="every project of this index")


def _look(command: argparse.ArgumentParser) -> None:
    _scope(command)
    said = "look here, even where `cutaway serve` runs for this home and could answer sooner"
    command.add_argument("--no-server", action="store_true", help=said)


def _chosen(command: argparse.ArgumentParser) -> None:
    command.add_argument("--project", "-p", action="append", default=[], metavar="NAME", help="may be repeated")


def _command(parsers: _Parsers, name: str, target: str, summary: str) -> argparse.ArgumentParser:
    """A command whose function is imported only when it is called."""
    command: argparse.ArgumentParser = parsers.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + ".", allow_abbrev=False
    )
    module, function = target.split(":")

    def run(options: argparse.Namespace) -> int:
        if "mode" in options:  # models load in the background while the rest is imported
            import_module("cutaway.faces.cli.prepare").prepare(options)
        code: int = getattr(import_module(f"cutaway.faces.cli.{module}"), function)(options)
        return code

    command.set_defaults(run=run)
    command.add_argument("--home", type=Path, help="where the index is kept (default: $CUTAWAY_HOME)")
    command.add_argument("--json", action="store_true", help="print JSON")
    return command
