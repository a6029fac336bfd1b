"""Queries with known answers, read from and written to the formats of the field.

* BEIR: a folder of ``queries.jsonl`` and ``qrels.tsv`` (or ``qrels/test.tsv``), columns query-id, corpus-id, score.
* TREC: qrels of four columns (query, 0, document, grade); topics of two (query, text), tab-separated.
* Quepid: a CSV of query, docid, rating.
* Spans: a TSV of query-id, document, start, end and perhaps score: byte ranges that hold the answer.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from cutaway.errors import UsageError
from cutaway.model import Span

_HEADED = ("query-id", "query", "qid")
FORMATS = ("beir", "trec", "quepid")
_QUEPID = ("query", "docid", "rating")
_GRADE = re.compile(r"[+-]?[0-9]{1,9}(?:\.0*)?")
# A field of a TREC file ends at white space, so that is escaped, and the sign that escapes.
_ESCAPES = {quote(sign): sign for sign in map(chr, range(0x3001)) if sign.isspace() or sign == "%"}
_ESCAPED = re.compile("|".join(_ESCAPES), re.IGNORECASE)


class Topic(NamedTuple):
    """A query of a set."""

    id: str
    text: str
    exclude: frozenset[str] = frozenset()
    """Documents that do not count as results, such as the one a query was taken from."""


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Queries and what is known of their answers."""

    topics: tuple[Topic, ...]
    qrels: Mapping[str, Mapping[str, int]]
    """Grades of documents, by topic; above 0 is relevant."""
    spans: Mapping[str, Mapping[str, tuple[Span, ...]]] = field(default_factory=dict)
    """Byte ranges that hold the answer, by topic and document."""

    def relevant(self, topic: str) -> dict[str, int]:
        """The relevant documents of a topic, with their grades."""
        return {document: grade for document, grade in self.qrels.get(topic, {}).items() if grade > 0}

    def evaluable(self) -> tuple[Topic, ...]:
        """The topics that have at least one relevant document."""
        return tuple(topic for topic in self.topics if self.relevant(topic.id))


def read_set(queries: Path | None, qrels: Path, spans: Path | None = None) -> JudgedSet:
    """A judged set from its files; a folder for *qrels* is a BEIR folder. Raises UsageError, naming file and line."""
    if qrels.is_dir():
        folder = qrels
        queries = queries or _first(folder / "queries.jsonl", folder.parent / "queries.jsonl")
        qrels = _first(folder / "qrels.tsv", folder / "qrels" / "test.tsv")
    text = _text(qrels)
    ranges = _spans(spans) if spans else {}
    if set(_QUEPID) <= set(_header(text)):
        grades = _quepid(qrels, text)
        return JudgedSet(tuple(Topic(query, query) for query in grades), grades, ranges)
    if queries is None:
        raise UsageError(f"{qrels} has no query texts in it. Name the file of queries with --queries.")
    return JudgedSet(tuple(_topics(queries)), _grades(qrels, text), ranges)


def written(judged: JudgedSet, form: str) -> str:
    """Judgments as text in one of FORMATS (BEIR and TREC hold the qrels only)."""
    lines = [(topic, document, grade) for topic in judged.topics for document, grade in _sorted(judged, topic)]
    if form == "trec":
        return "".join(f"{spaceless(topic.id)} 0 {spaceless(document)} {grade}\n" for topic, document, grade in lines)
    if form == "beir":
        head = "query-id\tcorpus-id\tscore\n"
        return head + "".join(f"{topic.id}\t{document}\t{grade}\n" for topic, document, grade in lines)
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(("query", "docid", "rating"))
    rows.writerows((topic.text, document, grade) for topic, document, grade in lines)
    return table.getvalue()


def spaceless(document: str) -> str:
    """A document's name as a field of a TREC file: white space and ``%`` are escaped as in an address."""
    return re.sub(r"[\s%]", lambda sign: quote(sign[0]), document)


def spaced(field: str) -> str:
    """The document that a field of a TREC file names; any other ``%`` stands for itself."""
    return _ESCAPED.sub(lambda escape: _ESCAPES[escape[0].upper()], field)


def queries_jsonl(topics: Iterable[Topic]) -> str:
    """Queries as BEIR keeps them."""
    return "".join(json.dumps({"_id": topic.id, "text": topic.text}, ensure_ascii=False) + "\n" for topic in topics)


def _sorted(judged: JudgedSet, topic: Topic) -> list[tuple[str, int]]:
    return sorted(judged.qrels.get(topic.id, {}).items())


def _topics(file: Path) -> Iterator[Topic]:
    seen: set[str] = set()
    for number, line in _lines(file, _text(file)):
        topic = _json_topic(file, number, line) if line.lstrip().startswith("{") else _tsv_topic(file, number, line)
        if topic.id in seen:
            raise UsageError(f"{file}:{number}: query {topic.id!r} stands there twice.")
        seen.add(topic.id)
        yield topic


def _json_topic(file: Path, number: int, line: str) -> Topic:
    try:
        query = json.loads(line)
        name, text = named(query["_id"]), query["text"]
        exclude = (query.get("metadata") or {}).get("exclude") or []
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{file}:{number}: expected an object with `_id` and `text`.") from None
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"{file}:{number}: query {name!r} has no words to search for: {json.dumps(text)[:60]}")
    try:
        return Topic(name, sound(text), frozenset(map(named, exclude if isinstance(exclude, list) else [exclude])))
    except TypeError:
        raise UsageError(f"{file}:{number}: `exclude` of query {name!r} is not a list of document names.") from None


def named(value: Any) -> str:
    """The id of a query or document, which may be a number in JSON. Raises TypeError."""
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise TypeError
    return sound(str(value))


def sound(text: str) -> str:
    """A text that can be written: JSON can spell half a character, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _tsv_topic(file: Path, number: int, line: str) -> Topic:
    name, tab, text = line.partition("\t")
    if not tab or not name.strip() or not text.strip():
        raise UsageError(f"{file}:{number}: expected a query's id and its text, separated by a tab.")
    return Topic(name.strip(), text.strip())


def _grades(file: Path, text: str) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for number, line in _lines(file, text):
        fields = line.split("\t") if "\t" in line else line.split()
        if number == 1 and fields[0].lower() in _HEADED:
            continue
        if len(fields) == 4:
            fields = [
                spaced(fields[0]),
                spaced(fields[2]),
                fields[3],
            ]  # the second is the iteration, which TREC never used
        if len(fields) != 3 or not all(field.strip() for field in fields):
            raise UsageError(f"{file}:{number}: expected a query, a document and a grade; found {line!r}.")
        topic, document, grade = fields
        grades.setdefault(topic, {})[document] = _grade(grade, f"{file}:{number}: the grade")
    return grades


def _grade(text: str, where: str) -> int:
    if not _GRADE.fullmatch(text.strip()):
        raise UsageError(f"{where} {text!r} is not a whole number.")
    return int(float(text))


def _spans(file: Path) -> dict[str, dict[str, tuple[Span, ...]]]:
    found: dict[str, dict[str, tuple[Span, ...]]] = {}
    for number, line in _lines(file, _text(file)):
        fields = line.split("\t")
        if number == 1 and fields[0].lower() in _HEADED:
            continue
        try:
            topic, document, start, end = fields[:4]
            span = Span(int(start), int(end))
        except ValueError:
            raise UsageError(f"{file}:{number}: expected a query, a document, a start and an end.") from None
        if not 0 <= span.start < span.end:
            raise UsageError(f"{file}:{number}: {start} to {end} is not a range of bytes.")
        held = found.setdefault(topic, {})
        held[document] = (*held.get(document, ()), span)
    return found


def _quepid(file: Path, text: str) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    rows = csv.reader(io.StringIO(text))
    header = _names(next(rows))
    columns = [header.index(name) for name in _QUEPID]
    try:
        for row in filter(any, rows):
            where = f"{file}:{rows.line_num}"
            if len(row) != len(header):
                raise UsageError(f"{where}: expected {len(header)} fields as in the header; found {len(row)}.")
            query, document, rating = (row[column] for column in columns)
            if not query.strip() or not document.strip():
                raise UsageError(f"{where}: expected a query and a docid; found {row!r}.")
            if rating.strip():  # else a result nobody has rated yet
                grades.setdefault(query, {})[document] = _grade(rating, f"{where}: the rating")
    except csv.Error as error:
        raise UsageError(f"{file}:{rows.line_num} cannot be read as CSV: {error}.") from None
    return grades


def _header(text: str) -> list[str]:
    """The columns that a file's first line names, if it is a CSV."""
    try:
        return _names(next(csv.reader(text.split("\n", 1)[:1]), []))
    except csv.Error:
        return []


def _names(header: list[str]) -> list[str]:
    return [name.strip().strip('"').strip().lower() for name in header]


def _lines(file: Path, text: str) -> Iterator[tuple[int, str]]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        raise UsageError(f"{file} is empty.")
    yield from lines


def _first(*files: Path) -> Path:
    for file in files:
        if file.is_file():
            return file
    raise UsageError(f"no file {files[0]}, and no {files[-1]}. A judged set needs its queries and its qrels.")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
