"""Small random vaults with frontmatter, and conditions with a plain check of each, for the laws of conditions."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from builders import HashEmbedder, index_vault, opened, write_vault
from cutaway.config import Settings
from cutaway.index.reader import Reader
from cutaway.model import RowId

WIDE = Settings(chunk_chars=100, window=1_000)
"""Both legs are read to their end, so that every row has the score it has by itself."""
WORDS = ("red", "green", "sun", "moon", "run", "running", "sunset")
STEMS = {"running": "run"}


@dataclass(frozen=True, slots=True)
class Page:
    """A note as it was made up."""

    path: str
    title: list[str]
    tags: list[str]
    values: dict[str, str]
    body: list[str]
    facts: list[tuple[str, str]]

    @property
    def markdown(self) -> str:
        head = [f"title: {' '.join(self.title)}"] if self.title else []
        head += [f"tags: [{', '.join(self.tags)}]"] if self.tags else []
        head += [f"{key}: {value}" for key, value in self.values.items()]
        front = "\n".join(["---", *head, "---", ""]) if head else ""
        return front + f"{' '.join(self.body)}\n\n" + "".join(f"- [{name}] {word}\n" for name, word in self.facts)

    @property
    def stem(self) -> str:
        return self.path.rsplit("/", 1)[-1].removesuffix(".md")

    @property
    def fields(self) -> tuple[list[str], ...]:
        """Title, tags and text as words."""
        text = [*self.body, *(word for fact in self.facts for word in fact)]
        title = self.title or [self.stem]
        return [*title, *([self.stem] if self.title else [])], "/".join(self.tags).split("/"), text

    def holds(self, *phrase: str, fields: Sequence[int] = (0, 1, 2)) -> bool:
        """Whether a field has these words, one after the other."""
        return any(
            phrase == tuple(self.fields[place][start : start + len(phrase)])
            for place in fields
            for start in range(len(self.fields[place]))
        )

    def says(self, word: str, fields: Sequence[int] = (0, 1, 2)) -> bool:
        """Whether a field has the word or another of its stem."""
        return any(STEMS.get(word, word) == STEMS.get(held, held) for place in fields for held in self.fields[place])

    def begins(self, prefix: str, fields: Sequence[int] = (0, 1, 2)) -> bool:
        return any(held.startswith(prefix) for place in fields for held in self.fields[place])

    def tagged(self, *tags: str) -> bool:
        return any(held == tag or held.startswith(f"{tag}/") for held in self.tags for tag in tags)

    def number(self, check: Callable[[float], bool]) -> bool:
        held = self.values.get("rating", "")
        return held.replace(".", "").isdigit() and check(float(held))

    def date(self, key: str, check: Callable[[str], bool]) -> bool:
        return key in self.values and check(self.values[key])


class Found(NamedTuple):
    """A row, and what a check may ask of it."""

    id: RowId
    page: Page
    category: str | None


class Checked(NamedTuple):
    """A condition as it is given, and a plain check of it."""

    text: str
    check: Callable[[Found], bool]


def of_note(text: str, check: Callable[[Page], bool]) -> Checked:
    return Checked(text, lambda row: check(row.page))


WHERE = (
    of_note("tag=a", lambda page: page.tagged("a")),
    of_note("tag=a/b,c", lambda page: page.tagged("a/b", "c")),
    of_note("tags!=A", lambda page: not page.tagged("a")),
    of_note("!tag", lambda page: not page.tags),
    of_note("status=active", lambda page: page.values.get("status") == "Active"),
    of_note("status=ACTIVE,done", lambda page: page.values.get("status") in ("Active", "done")),
    of_note("status!=done", lambda page: page.values.get("status") != "done"),
    of_note("status", lambda page: "status" in page.values),
    of_note("!status", lambda page: "status" not in page.values),
    of_note("rating>=3", lambda page: page.number(lambda held: held >= 3)),
    of_note("rating<3", lambda page: page.number(lambda held: held < 3)),
    of_note("rating!=3.0", lambda page: not page.number(lambda held: held == 3)),
    of_note("due<2024-06", lambda page: page.date("due", lambda held: held[:7] < "2024-06")),
    of_note("due=2024-05", lambda page: page.date("due", lambda held: held[:7] == "2024-05")),
    of_note("created>=2024", lambda page: page.date("created", lambda held: held >= "2024")),
    of_note("created=2023..2024-05", lambda page: page.date("created", lambda held: "2023" <= held[:7] <= "2024-05")),
    of_note("type=guide", lambda page: page.values.get("type") == "guide"),
    of_note("path=Work/*", lambda page: page.path.startswith("work/")),
    of_note("path=home/[!x]*", lambda page: page.path.startswith("Home/")),
    of_note("path=HOME", lambda page: page.path.startswith("Home/")),
    of_note("path=n1", lambda page: "n1" in page.path),
    of_note("title=red", lambda page: page.says("red", (0,))),
    of_note("title=sun*", lambda page: page.begins("sun", (0,))),
    of_note("title!=run", lambda page: not page.says("run", (0,))),
    of_note("path=*", lambda _: True),
    of_note("status=never", lambda _: False),
    Checked("is=note", lambda row: row.id.kind == "entity"),
    Checked("is!=note", lambda row: row.id.kind != "entity"),
    Checked("is=observation", lambda row: row.id.kind == "observation"),
    Checked("is=relation", lambda row: row.id.kind == "relation"),
    Checked("category=FACT", lambda row: row.category == "fact"),
    Checked("category=fact,idea", lambda row: row.category in ("fact", "idea")),
    Checked("category!=fact", lambda row: row.category != "fact"),
)


class Typed(NamedTuple):
    """A query with operators, the words it ranks by, and a plain check of its conditions."""

    text: str
    sought: str
    check: Callable[[Found], bool]


TYPED = (
    Typed('"red sun"', "red sun", lambda row: row.page.holds("red", "sun")),
    Typed('"running" moon', "running moon", lambda row: row.page.holds("running")),
    Typed("red -sun", "red", lambda row: not row.page.says("sun")),
    Typed("red -run", "red", lambda row: not row.page.says("run")),
    Typed('red -"green moon"', "red", lambda row: not row.page.holds("green", "moon")),
    Typed("moon -sun*", "moon", lambda row: not row.page.begins("sun")),
    Typed("moon -fact", "moon", lambda row: not row.page.says("fact")),
    Typed("red OR moon", "red moon", lambda row: row.page.says("red") or row.page.says("moon")),
    Typed('run OR "green sun"', "run green sun", lambda row: row.page.says("run") or row.page.holds("green", "sun")),
    Typed("title:red sun", "red sun", lambda row: row.page.says("red", (0,))),
    Typed('title:"red sun"', "red sun", lambda row: row.page.holds("red", "sun", fields=(0,))),
    Typed("red -title:red", "red", lambda row: not row.page.says("red", (0,))),
    Typed("tag:a sun", "sun", lambda row: row.page.tagged("a")),
    Typed("tag:a OR is:observation sun", "sun", lambda row: row.page.tagged("a") or row.id.kind == "observation"),
    Typed("sun -tag:a/b path:work", "sun", lambda row: not row.page.tagged("a/b") and "work" in row.page.path),
    Typed("sun -is:note", "sun", lambda row: row.id.kind != "entity"),
    Typed("moon category:idea -type:guide", "moon",
          lambda row: row.category == "idea" and row.page.values.get("type") != "guide"),
)  # fmt: skip


def made(seed: int) -> list[Page]:
    """From 3 to 25 notes; a number names each vault."""
    chance = random.Random(seed)
    words = lambda most: chance.choices(WORDS, k=chance.randint(0, most))  # noqa: E731
    pages = []
    for number in range(3 + 2 * (seed % 12)):
        offered = {
            "status": chance.choice(["Active", "done"]),
            "rating": chance.choice(["1", "3", "3.0", "4.5", "many"]),
            "due": chance.choice(["2023-01-01", "2024-05-31", "2024-06-01"]),
            "created": chance.choice(["2022-12-31", "2023-07-01", "2024-05-31", "2024-06-01"]),
            "type": chance.choice(["guide", "log"]),
        }
        pages.append(
            Page(
                path=chance.choice(["", "work/", "work/old/", "Home/"]) + f"n{number}.md",
                title=words(3),
                tags=chance.sample(["a", "a/b", "a/b/d", "c", "ab"], k=chance.choice([0, 0, 1, 2])),
                values={key: value for key, value in offered.items() if chance.random() < 0.5},
                body=words(8),
                facts=[(chance.choice(["fact", "idea"]), word) for word in words(3)],
            )
        )
    return pages


@dataclass(slots=True)
class Shelf:
    """An indexed vault, and the note behind each of its rows."""

    reader: Reader
    pages: dict[str, Page]
    rows: dict[RowId, Found] = field(default_factory=dict)

    def found(self, row: RowId) -> Found:
        if not self.rows:
            for note in self.reader.catalog:
                for card in self.reader.rows_of_note(note.note):
                    category = card.title[1:].split("]")[0] if card.id.kind == "observation" else None
                    self.rows[card.id] = Found(card.id, self.pages[note.path], category)
        return self.rows[row]


class Shelves:
    """Vaults by number, each indexed when first asked for and kept open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open = ExitStack()
        self._held: dict[int, Shelf] = {}

    def __getitem__(self, seed: int) -> Shelf:
        if seed not in self._held:
            home, pages = self._folder / str(seed), made(seed)
            vault = write_vault(home / "vault", {page.path: page.markdown for page in pages})
            index_vault(home, vault, HashEmbedder(), WIDE)
            self._held[seed] = Shelf(self._open.enter_context(opened(home)), {page.path: page for page in pages})
        return self._held[seed]

    def close(self) -> None:
        self._open.close()


@contextmanager
def shelves_in(folder: Path) -> Iterator[Shelves]:
    """Vaults under *folder*, closed at the end."""
    shelves = Shelves(folder)
    try:
        yield shelves
    finally:
        shelves.close()
