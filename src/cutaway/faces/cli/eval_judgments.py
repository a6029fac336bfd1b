"""`cutaway eval judge` and `cutaway eval judgments`: what people said of results."""

from __future__ import annotations

import argparse
import json

from rich.text import Text

from cutaway.errors import AmbiguousNote, NoteNotFound, UsageError
from cutaway.evaluation.judged import JudgedSet, Topic, queries_jsonl, read_set, written
from cutaway.faces.cli.eval_run import check_writable
from cutaway.faces.cli.layout import columns
from cutaway.faces.cli.session import messages, reading, screen
from cutaway.index.cards import NoteNames
from cutaway.index.reader import Reader
from cutaway.index.state import Judgment, Judgments

_GRADES = range(4)


def judge(options: argparse.Namespace) -> int:
    """Store one judgment, or take it back."""
    with reading(options) as session:
        project, path = _place(options.note, session.reader)
    store = Judgments(session.home, session.base)
    query = options.query.encode("utf-8", "replace").decode().strip()  # as a search reads it
    if not query:
        raise UsageError("the query is empty. Give the words that were searched for.")
    if options.grade == "none":
        found = store.forget(Judgment(project, query, path, 0))
        messages().print("taken back" if found else "there was no such judgment")
        return 0 if found else 1
    if options.grade not in map(str, _GRADES):
        raise UsageError(f"grade {options.grade!r} is not known; it may be 0, 1, 2, 3 or none.")
    store.keep([Judgment(project, query, path, int(options.grade))])
    messages().print(Text(f"{path} answers “{query}”: {options.grade}"), soft_wrap=True)
    return 0


def judgments(options: argparse.Namespace) -> int:
    """List, import or export judgments; 1 where there are none."""
    if options.source:
        return _imported(options)
    with reading(options) as session:
        held = Judgments(session.home, session.base).of([project.name for project in session.reader.scope])
    if options.export:
        _export(held, options)
    elif options.json:
        screen().out(json.dumps([judgment._asdict() for judgment in held], indent=2, ensure_ascii=False))
    else:
        console = screen()
        rows = [(str(judgment.grade), judgment.query, f"{judgment.project}:{judgment.path}") for judgment in held]
        console.print(
            columns(("grade", "query", "note"), rows, console.width, flex="12") if rows else "nothing judged yet"
        )
    return 0 if held else 1


def _imported(options: argparse.Namespace) -> int:
    """Add a file's judgments: all of them, or none where a note is not known."""
    judged = read_set(options.queries, options.source)
    with reading(options) as session:
        found = [
            Judgment(project, topic.text, path, grade)
            for topic in judged.topics
            for document, grade in judged.qrels.get(topic.id, {}).items()
            for project, path in [_place(document, session.reader)]
        ]
    for judgment in found:
        if judgment.grade not in _GRADES:
            raise UsageError(f"grade {judgment.grade} of {judgment.path} is not 0, 1, 2 or 3. Nothing was stored.")
    Judgments(session.home, session.base).keep(found)
    messages().print(f"{len(found)} judgments imported", highlight=False)
    return 0


def _export(held: list[Judgment], options: argparse.Namespace) -> None:
    """Write judgments; BEIR and TREC know queries by id only, so their texts go to a file of their own."""
    if options.format != "quepid" and options.queries is None:
        raise UsageError(f"{options.format} judgments hold no query texts. Name a file for them with --queries.")
    for file in filter(None, (options.export, options.queries)):
        check_writable(file)
    grades: dict[str, dict[str, int]] = {}
    for judgment in held:
        grades.setdefault(judgment.query, {})[judgment.path] = judgment.grade
    topics = tuple(Topic(f"q{number}", query) for number, query in enumerate(grades, start=1))
    judged = JudgedSet(topics, {topic.id: grades[topic.text] for topic in topics})
    options.export.write_text(written(judged, options.format), encoding="utf-8")
    if options.queries:
        options.queries.write_text(queries_jsonl(topics), encoding="utf-8")
    messages().print(Text(f"{len(held)} judgments written to {options.export}"), soft_wrap=True)


def _place(name: str, reader: Reader) -> tuple[str, str]:
    """Project and path of the one note of that name. Raises NoteNotFound, AmbiguousNote."""
    cards: dict[int, NoteNames] = {card.note: card for card in reader.catalog}
    notes = reader.named(name)
    if not notes:
        raise NoteNotFound(f"no note answers to {name!r}. Nothing was stored.")
    if len(notes) > 1:
        raise AmbiguousNote(name, tuple(cards[note].path for note in notes))
    card = cards[notes[0]]
    return next(project.name for project in reader.scope if project.id == card.project), card.path
