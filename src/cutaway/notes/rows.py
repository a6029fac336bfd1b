"""A file's bytes into a note and its rows: the note itself, its observations, its relations."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple

from cutaway.model import ENTITY, OBSERVATION, RELATION, Skip, Span
from cutaway.notes.frontmatter import Frontmatter, read_frontmatter
from cutaway.notes.markdown import Item, Outline, Wikilink, outline
from cutaway.notes.source import Source
from cutaway.notes.spans import apart, covers, remaining

# A category has letters and more than one character: `[ ]`, `[x]` and `[?]` are task boxes,
# `[00:11]` is a clock. White space must follow, so `[text](url)` is a link.
_OBSERVATION = re.compile(r"\s*(?:[-*+]|\d+[.)])[ \t]+\[([^\W\d_][^\[\]\r\n:|^]+)\][ \t]+(\S.*)", re.DOTALL)
_RELATION = re.compile(
    r"\s*[-*+][ \t]+((?:[^\[\]\s](?:[^\[\]\r\n]*[^\[\]\s])?)?)[ \t]*\[\[[^\[\]]+\]\](?:\s*\((.*)\))?\s*", re.DOTALL
)
_TAG = re.compile(r"(?:(?<=\s)|(?<=(?<!\])\()|(?<=(?<!\[)\[)|^)#([\w/-]*[^\W\d_][\w/-]*)")
# An address that holds its data: base64, wrapped or not, or long percent-encoding. The words around it stay.
_DATA_URI = re.compile(
    r"data:(?:[a-z]{1,20}/[\w.+-]{1,60})?(?:;[\w=.+-]{1,40}){0,4}"
    r"(?:;base64,[A-Za-z0-9+/=%]{40,}(?:\s[A-Za-z0-9+/=%]{40,})*(?:\s[A-Za-z0-9+/=%]{1,76}(?=[)\"'>]))?"
    r"|,[\w%.~!*+=&;/:?@-]{200,})",
    re.IGNORECASE,
)
# What stands before a link is a relation's type if it is a short phrase, not a sentence.
_RELATION_TYPE = re.compile(r"(?!\S+(?:\s+\S+){5})[^\[\].,;!?()，。；！？、]{1,40}")
_TITLE_CHARS = 80


class Fields(NamedTuple):
    """The searchable text of a row, by field."""

    title: str = ""
    aliases: str = ""
    headings: str = ""
    tags: str = ""
    body: str = ""
    path: str = ""


class Row(NamedTuple):
    """A row as parsed: ``ordinal`` counts rows of its kind in the note, from 0."""

    kind: str
    ordinal: int
    title: str
    span: Span
    fields: Fields
    category: str | None = None
    """Of an observation."""


@dataclass(frozen=True)
class Note:
    """One Markdown file, parsed."""

    path: str
    source: Source
    frontmatter: Frontmatter
    outline: Outline

    @property
    def body_start(self) -> int:
        return self.source.byte(self.frontmatter.length)

    @cached_property
    def own_title(self) -> str | None:
        """The title the note gives itself: in its frontmatter, else the level-1 heading it opens with.

        A level-1 heading further down is a section: many notes are named by their file alone.
        """
        return self.frontmatter.text("title") or next(self._opening_title(), None)

    def _opening_title(self) -> Iterator[str]:
        named = (heading for heading in self.outline.headings if heading.text)
        for heading in islice(named, 1):
            before = remaining(Span(0, heading.start), self.skips)
            if heading.level == 1 and not "".join(self.source.slice(*span) for span in before).strip():
                yield heading.text

    @property
    def title(self) -> str:
        return self.own_title or PurePosixPath(self.path).stem

    @property
    def aliases(self) -> tuple[str, ...]:
        return self.frontmatter.texts("aliases", "alias")

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """Tags of the frontmatter and of the text, without the mark."""
        declared = (tag.lstrip("#") for tag in self.frontmatter.texts("tags", "tag"))
        return tuple(dict.fromkeys((*declared, *(tag for _, tag in self.inline_tags))))

    @cached_property
    def skips(self) -> tuple[Skip, ...]:
        """What no row and no chunk may hold, in order and apart."""
        found = [Skip(*span, "comment") for span in self.outline.comments]
        found += [Skip(*span, "compressed drawing") for span in self.outline.drawings]
        if "data:" in self.source.text.lower():
            uris = _DATA_URI.finditer(self.source.text, self.frontmatter.length)
            found += [Skip(self.source.byte(uri.start()), self.source.byte(uri.end()), "data URI") for uri in uris]
        mark = 3 if self.source.text.startswith("\ufeff") else 0
        if self.body_start:
            found.append(Skip(0, self.body_start, "frontmatter"))
        elif mark:
            found.append(Skip(0, mark, "byte order mark"))
        return tuple(apart(sorted(found)))

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The note's own row, then its observations, then its relations, each in source order."""
        observations = list(_observations(self))
        relations = list(_relations(self))
        return (self._entity(), *observations, *relations)

    def skipped(self, position: int) -> bool:
        place = bisect_right(self.skips, (position, len(self.source), "\U0010ffff")) - 1
        return place >= 0 and position < self.skips[place].end

    def _entity(self) -> Row:
        kept = " ".join(self.source.slice(*span) for span in remaining(Span(0, len(self.source)), self.skips))
        path = PurePosixPath(self.path)
        names = dict.fromkeys((self.title, path.stem))
        permalink = self.frontmatter.text("permalink")
        aliases = (*self.aliases, *((permalink,) if permalink else ()))
        headings = "\n".join(heading.text for heading in self.outline.headings)
        folders = "\n".join(path.parent.parts)
        fields = Fields("\n".join(names), "\n".join(aliases), headings, "\n".join(self.tags), kept, folders)
        return Row(ENTITY, 0, self.title, Span(0, len(self.source)), fields)

    @cached_property
    def inline_tags(self) -> tuple[tuple[int, str], ...]:
        """Tags of the text and the byte each stands at; what looks like one in code is none."""
        found = _TAG.finditer(self.source.text, self.frontmatter.length)
        placed = ((self.source.byte(match.start(1)), match[1]) for match in found)
        return tuple(tag for tag in placed if not covers(self.outline.code, tag[0]) and not self.skipped(tag[0]))


def parse(path: str, raw: bytes) -> Note:
    """Parse a note. Raises UnicodeDecodeError where the bytes are not UTF-8."""
    source = Source(raw)
    frontmatter = read_frontmatter(source.text)
    start = source.byte(frontmatter.length) or (3 if source.text.startswith("\ufeff") else 0)
    return Note(path, source, frontmatter, outline(source, start))


def _observations(note: Note) -> Iterator[Row]:
    items = sorted(item for item in note.outline.items if not note.skipped(item.start))
    texts = {item: note.source.slice(item.start, item.own_end) for item in items}
    found = {item: match for item in items if (match := _observation(note, item, texts[item]))}
    related = {item for item in items if _typed_relation(note, item, texts[item])}
    starts = [note.source.line_start(item.start) for item in items if item in found or item in related]
    for ordinal, (item, match) in enumerate(found.items()):
        start = note.source.line_start(item.start)
        following = bisect_right(starts, start)
        end = min(item.end, starts[following]) if following < len(starts) else item.end
        category, content = match[1].strip(), " ".join(match[2].split())
        first, last = (bisect_left(note.inline_tags, (place,)) for place in (start, item.own_end))
        tags = "\n".join((category, *(tag for _, tag in note.inline_tags[first:last])))
        fields = Fields(tags=tags, body=note.source.slice(start, end))
        yield Row(OBSERVATION, ordinal, _shortened(f"[{category}] {content}"), Span(start, end), fields, category)


def _observation(note: Note, item: Item, text: str) -> re.Match[str] | None:
    """A list item that opens with a category; one that opens with a link, code or a task box has none."""
    match = None if item.task else _OBSERVATION.fullmatch(text)
    if match is None:
        return None
    bracket = item.start + len(text[: match.start(1) - 1].encode())
    return None if bracket in note.outline.link_starts or covers(note.outline.code, bracket) else match


def _relations(note: Note) -> Iterator[Row]:
    typed = {
        relation[0].start: relation
        for item in sorted(note.outline.items)
        if (relation := _typed_relation(note, item, note.source.slice(item.start, item.own_end)))
    }
    seen: set[tuple[str, str, str | None]] = set()
    ordinal = 0
    for link in note.outline.links:
        _, relation_type, context, span = typed.get(link.start, (link, "links_to", "", Span(link.start, link.end)))
        key = (relation_type, link.target, link.section)
        if link.embed or not link.target or key in seen or note.skipped(link.start):
            continue
        seen.add(key)
        address = link.target + (f"#{link.section}" if link.section else "")
        words = " ".join(part for part in (relation_type, address, link.alias, context) if part)
        yield Row(RELATION, ordinal, f"{relation_type} → {address}", span, Fields(body=words))
        ordinal += 1


def _typed_relation(note: Note, item: Item, text: str) -> tuple[Wikilink, str, str, Span] | None:
    """A list item that says ``type [[Target]] (context)`` and nothing else."""
    match = None if item.task else _RELATION.fullmatch(text)
    words = match[1].strip(" *_:`") if match else ""
    if match is None or text[match.end(1) :].lstrip().startswith("!") or not _RELATION_TYPE.fullmatch(words):
        return None
    links = note.outline.links
    place = bisect_left(links, (item.start,))
    if place == len(links) or links[place].start >= item.own_end or links[place].embed:
        return None
    return links[place], words, " ".join((match[2] or "").split()), Span(item.start, item.own_end)


def _shortened(text: str) -> str:
    return text if len(text) <= _TITLE_CHARS else text[: _TITLE_CHARS - 1].rstrip() + "…"
