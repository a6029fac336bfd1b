"""The outline of a Markdown text: headings, list items, links, and where it may be cut.

The one place that knows the parser (pyromark, which binds pulldown-cmark: CommonMark, GFM and
wikilinks, every event with its byte range).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyromark

from cutaway.model import Span
from cutaway.notes.source import Source, with_line_feeds
from cutaway.notes.spans import covers

# How strongly the structure breaks at a cut: 1-6 are headings, larger numbers break less.
BLOCK, ITEM, NESTED, CODE_LINE = 7, 8, 9, 10

_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_GFM
    | pyromark.Options.ENABLE_WIKILINKS
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_MATH
)
_CONTAINERS = frozenset({"BlockQuote", "List", "FootnoteDefinition", "Table"})
_BLOCKS = {"Paragraph", "CodeBlock", "HtmlBlock", "Heading", "BlockQuote", "List", "Table", "FootnoteDefinition"}
_HTML_COMMENTS = re.compile(r"(?:\s*<!--(?:(?!-->).)*-->)+\s*", re.DOTALL)
_PERCENT_COMMENT = re.compile(r"(?:^|(?<=\n))[ \t]*(%%)(?:(?!%%)[\s\S])*%%[ \t]*(?=\r?\n|\Z)")
_FORMULA = re.compile(r"(?:^|(?<=\n))[ \t]*(\$\$)(?:(?!\$\$|\n\s*\n)[\s\S])*\$\$[ \t]*(?=\r?\n|\Z)")
_HEADING_CHARS = 200  # A rule makes a heading of any paragraph above it, and each passage below carries that.
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BEFORE_MARKER = re.compile(rb"[\s>]*")
_WRAPPED = re.compile(r"\s*[\r\n][\s>]*|\s+")


class Heading(NamedTuple):
    start: int
    end: int
    level: int
    text: str


class Item(NamedTuple):
    """A list item. Its own words end at ``own_end``, where a nested list may begin."""

    start: int
    own_end: int
    end: int
    task: bool


class Wikilink(NamedTuple):
    """``[[target#section|alias]]``; an embed is written with a leading ``!``."""

    start: int
    end: int
    target: str
    section: str | None
    alias: str | None
    embed: bool


@dataclass
class Outline:
    """What the parser saw, in byte ranges of the whole note."""

    headings: list[Heading] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    links: list[Wikilink] = field(default_factory=list)
    code: list[Span] = field(default_factory=list)
    link_starts: set[int] = field(default_factory=set)
    drawings: list[Span] = field(default_factory=list)
    comments: list[Span] = field(default_factory=list)
    cuts: dict[int, int] = field(default_factory=dict)

    def cut(self, position: int, level: int) -> None:
        """Allow a cut at *position*; the strongest reason to cut there counts."""
        self.cuts[position] = min(level, self.cuts.get(position, level))


def outline(source: Source, start: int) -> Outline:
    """Parse the body that begins at byte *start*."""
    walk = _Walk(source, start)
    lead = source.char(start)
    body = with_line_feeds(source.text[lead:])
    for event, where in pyromark.events_with_range(body, options=_OPTIONS):
        walk.step(event, start + where["start"], start + where["end"])
    seen = walk.outline

    def written(pattern: re.Pattern[str]) -> Iterator[Span]:
        for match in pattern.finditer(body):
            first, start, end = (source.byte(lead + place) for place in (match.start(1), match.start(), match.end()))
            if not covers(seen.code, first):
                yield Span(start, end)

    seen.comments = sorted((*seen.comments, *written(_PERCENT_COMMENT)))
    formulas = list(written(_FORMULA))
    seen.headings = [
        heading
        for heading in seen.headings
        if not covers(seen.comments, heading.start) and not covers(formulas, heading.start)
    ]
    return seen


class _Walk:
    """One pass over the parser's events, knowing what it stands in."""

    def __init__(self, source: Source, start: int) -> None:
        self.source = source
        self.start = start
        self.outline = Outline()
        self.containers = 0
        self.quotes = 0
        self.open_items: list[dict[str, Any]] = []
        self.heading_words: list[str] | None = None
        self.link_words: list[str] | None = None

    def step(self, event: Any, start: int, end: int) -> None:
        if isinstance(event, str):
            if event == "Rule":
                self._cut(start)
            if event in ("SoftBreak", "HardBreak"):
                self._say(" ")
            return
        ((kind, payload),) = event.items()
        match kind:
            case "Start":
                name, detail = _tag(payload)
                start = self._marker(name, start)
                self._open(name, detail, start, end)
                self.containers += name in _CONTAINERS
                self.quotes += name == "BlockQuote"
            case "End":
                name, _ = _tag(payload)
                self.containers -= name in _CONTAINERS
                self.quotes -= name == "BlockQuote"
                self._close(name, self._marker(name, start), end)
            case "Text" | "Code" | "InlineMath" | "DisplayMath":
                self._words(kind, payload, start, end)
            case "InlineHtml":
                self.outline.code.append(Span(start, end))
            case "TaskListMarker" if self.open_items:
                self.open_items[-1]["task"] = True

    def _open(self, name: str, detail: Any, start: int, end: int) -> None:
        if name in _BLOCKS and name != "Heading":
            self._cut(start)
        match name:
            case "Heading":
                self.heading_words = []
                level = NESTED if self.containers else int(detail["level"][1])
                self.outline.cut(self._line_start(start), level)
            case "List" if self.open_items and "own_end" not in self.open_items[-1]:
                self.open_items[-1]["own_end"] = self._line_start(start)
            case "Item":
                self.outline.cut(self._line_start(start), NESTED if self.open_items or self.quotes else ITEM)
                self.open_items.append({"task": False, "quoted": self.quotes > 0})
            case "TableHead" | "TableRow":
                self.outline.cut(self._line_start(start), ITEM)
            case "CodeBlock" | "HtmlBlock":
                self._raw_block(name, detail, start, end)
            case "Link" | "Image":
                self.outline.link_starts.add(start)
                if isinstance(detail["link_type"], dict) and "WikiLink" in detail["link_type"]:
                    self.link_words = []
                    self._link(detail, start, end, embed=name == "Image")

    def _close(self, name: str, start: int, end: int) -> None:
        match name:
            case "Heading":
                self._heading(start, end)
            case "Item":
                item = self.open_items.pop()
                if not item["quoted"]:
                    own_end = item.get("own_end", end)
                    self.outline.items.append(Item(start, own_end, end, item["task"]))
            case "Link" | "Image" if self.link_words is not None:
                link = self.outline.links[-1]
                alias = " ".join("".join(self.link_words).split())
                self.outline.links[-1] = link._replace(alias=alias) if link.alias is not None else link
                self.link_words = None

    def _heading(self, start: int, end: int) -> None:
        text = " ".join("".join(self.heading_words or ()).split())
        if len(text) > _HEADING_CHARS:
            text = f"{text[: _HEADING_CHARS - 1].rstrip()}…"
        self.heading_words = None
        if not self.containers:
            start = self._line_start(start)
            self.outline.headings.append(Heading(start, end, self.outline.cuts[start], text))

    def _words(self, kind: str, payload: str, start: int, end: int) -> None:
        if kind == "Code":
            self.outline.code.append(Span(start, end))
        self._say(payload)

    def _say(self, words: str) -> None:
        for heard in (self.heading_words, self.link_words):
            if heard is not None:
                heard.append(words)

    def _link(self, detail: Any, start: int, end: int, embed: bool) -> None:
        # In a table the bar is written `\|`; the parser leaves the backslash with the target.
        address = _WRAPPED.sub(" ", str(detail["dest_url"]).rstrip("\\"))
        target, _, section = address.partition("#")
        alias = "" if detail["link_type"]["WikiLink"]["has_pothole"] else None
        self.outline.links.append(Wikilink(start, end, target.strip(), section.strip() or None, alias, embed))

    def _raw_block(self, name: str, detail: Any, start: int, end: int) -> None:
        raw = self.source.raw[start:end]
        if name == "HtmlBlock" and _HTML_COMMENTS.fullmatch(raw.decode("utf-8")):
            self.outline.comments.append(Span(start, start + len(raw.rstrip())))
        if name == "CodeBlock":
            self.outline.code.append(Span(start, end))
            if isinstance(detail, dict) and detail.get("Fenced", "").strip() == "compressed-json":
                self.outline.drawings.append(Span(start, end))
        for line in _LINE_END.finditer(raw):
            if line.end() < len(raw):
                self.outline.cut(start + line.end(), CODE_LINE)

    def _cut(self, start: int) -> None:
        self.outline.cut(self._line_start(start), NESTED if self.containers else BLOCK)

    def _marker(self, name: str, start: int) -> int:
        """Where a list or an item begins: behind a tab, the parser may place it on the line before."""
        if name not in ("List", "Item"):
            return start
        match = _BEFORE_MARKER.match(self.source.raw, start)
        return match.end() if match else start

    def _line_start(self, position: int) -> int:
        return max(self.start, self.source.line_start(position))


def _tag(payload: Any) -> tuple[str, Any]:
    """A tag's name and its detail: the parser gives a bare name where there is no detail."""
    if isinstance(payload, str):
        return payload, None
    ((name, detail),) = payload.items()
    return name, detail
