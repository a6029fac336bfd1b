"""A scope is all there is: every command says of it what it would say of an index that holds nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path

import pytest

from builders import Cutaway, Ran, opened
from lookalikes import MARKER, Homes, built, timeless
from postgres import made_database

World = tuple[Homes, list[str]]
WORLDS = {"ids side by side": ("mine",), "the middle one": ("other",), "two": ("mine", "third")}


@pytest.fixture(scope="module", params=WORLDS)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Both homes, and the scope as options."""
    scope = WORLDS[request.param]
    with timeless(side_by_side="side" in request.param):
        yield built(tmp_path_factory.mktemp("w"), scope), [part for name in scope for part in ("-p", name)]


SEARCHES = [
    *("bread", "rye bread", "flour water salt", "bands", "form", "plan", "le pain", "das brot", "nothing of it"),
    *('"rye bread"', "bread -rye", "bre*", "bread -sal*", "title:bread", "tag:food bread", "is:observation bread"),
    *("category:fact", "category:secretxyz bread", "path:kitchen bread", f"bread {MARKER}", f"-{MARKER} bread"),
    *(f'"bread {MARKER}"', f"{MARKER}", f"{MARKER[:5]}*", "rye OR flour", f"title:{MARKER} bread", f"tag:{MARKER}"),
]
WHERE = [
    *("status=active", f"status={MARKER}", "status", "rating>=3", "rating!=3", f"{MARKER}=3", f"!{MARKER}", "!tag"),
    *("tag=food", f"tag={MARKER}", f"type={MARKER}", "path=kitchen/*", f"path={MARKER}", f"permalink=food/{MARKER}"),
    *("created>=1970", f"category={MARKER}", f"title={MARKER}", "aliases=Loaf", "is=relation"),
]
OPTIONS = [
    *((), ("--mode", "text"), ("--mode", "vector"), ("--by", "row"), ("--fusion", "dismax-0.3"), ("--fusion", "rrf")),
    *(("--page", "2", "-n", "2"), ("--limit", "3"), ("--min-similarity", "0.1"), ("--rerank",), ("--depth", "3")),
    *(("--by", "row", "-n", "4", "--page", "3", "--mode", "vector"), ("--literal",)),
]
TARGETS = [
    *("Bread", "Rye", "rye copy", "food/bread", "Loaf", "kitchen/bread.md", "kitchen/bread.md#2", "english.md:3"),
    *("broken.md", "private.md", "unreadable.md", "failed.md", "changed.md", "gone.md", "empty", "nowhere", "12345"),
    *("plain", "plain.md#9", "plain.md:999", "mine:plain", "other:plain", "third:english.md", "other:english.md#1"),
    *(f"{MARKER}", f"{MARKER} loaf", f"food/{MARKER}", f"Bread {MARKER}", f"kitchen/{MARKER}.md", "forms", "many/3.md"),
    *(f"kitchen/{MARKER}.md#1", f"kitchen/{MARKER}.md:3", f"other:kitchen/{MARKER}.md", f"mine:kitchen/{MARKER}.md"),
    *(f"third:{MARKER}/{MARKER}.md#1", "forms.md#1", "forms.md:1", f"broken {MARKER}", f"private {MARKER}.md"),
]
VIEWS = [
    *(("status",), ("doctor",), ("inspect", "stale"), ("inspect", "stale", "--check")),
    *(("inspect", "neighbors", "--text", words) for words in ("rye bread", MARKER)),
    *(("inspect", "neighbors", "kitchen/rye.md", *more) for more in (("--all",), ("--by-text",), ("-n", "50"))),
    *(("inspect", "compare", "bread", "english.md", b) for b in ("failed.md", "forms.md", f"food/{MARKER}", "nowhere")),
    *(("inspect", "diff", query, "--set", "mode=text") for query in ("bread", f"bread {MARKER}", "bands")),
    *(("eval", "judgments"), ("eval", "run"), ("eval", "run", "--per-query"), ("eval", "judge", "x", MARKER, "3")),
    *(("eval", "compare", "as-set", "mode=text"), ("eval", "sweep", "--axis", "mode=text,vector")),
]
COMMANDS = [
    *(("search", query) for query in SEARCHES),
    *(("search", query, *options) for query in ("rye bread", "bands") for options in OPTIONS),
    *(("search", "bread", "--where", condition) for condition in WHERE),
    *(("search", "--by", "row", "--where", condition) for condition in WHERE),
    *(("inspect", "query", query, "--explain", "--show-misses") for query in SEARCHES),
    *(("inspect", "query", "bread", "--explain", "--show-misses", *options) for options in OPTIONS),
    *(("inspect", "query", "bread", "--explain", "--where", condition) for condition in WHERE[::3]),
    *(("inspect", view, target) for view in ("chunks", "neighbors") for target in TARGETS),
    *(("inspect", "why", "bread", target) for target in TARGETS),
    *VIEWS,
]


def both(cutaway: Cutaway, homes: Homes, *command: str) -> tuple[Ran, Ran]:
    """What a command does in either home, without what rightly differs: see ``told``."""
    first, second = (cutaway(*command, "--home", str(home)) for home in (homes.all, homes.alone))
    return told(first, homes), told(second, homes)


def told(ran: Ran, homes: Homes) -> Ran:
    """Where the index lies and how large its file is are of the whole index; a cursor is signed and so never equal."""

    def same(text: str) -> str:
        text = text.replace(str(homes.alone), str(homes.all)).replace(homes.alone.name, homes.all.name)
        text = re.sub(r"(?m)(?<=  )[0-9.]+ MB$|(?<=\"bytes\": )\d+(?=,\n  \"in_use\")", "…", text)
        return re.sub(r'(?<="cursor": )"[^"]+"', "…", text)

    return Ran(ran.code, same(ran.out), same(ran.err))


@pytest.mark.parametrize("as_json", [(), pytest.param(("--json",), marks=pytest.mark.slow)], ids=["text", "json"])
def test_a_scope_is_all_there_is(cutaway: Cutaway, world: World, as_json: tuple[str, ...]) -> None:
    """Byte for byte, errors and exit codes too, what an index says that holds these projects only."""
    homes, scope = world
    leaks = [leak for command in COMMANDS if (leak := leaked(cutaway, homes, *command, *scope, *as_json))]

    assert not leaks, "\n".join(map(str, leaks))


PLACES = {
    "sqlite-vec": 'vectors = "sqlite-vec"',
    "Postgres, pgvector": 'store = "STORE"\nstore_schema = "SCHEMA"\nvectors = "pgvector"',
    "Postgres, HNSW": 'store = "STORE"\nstore_schema = "SCHEMA"\nvectors = "pgvector"\npgvector_exact_below = 0',
    "milvus": 'vectors = "milvus"\nmilvus_timeout = 300',
}
"""Where else an index and its vectors can be, as config.toml has it."""


@pytest.fixture(scope="module", params=PLACES)
def elsewhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The same two homes, kept in another place."""
    config = PLACES[request.param]
    with timeless(side_by_side=False), ExitStack() as stack:
        if "STORE" in config:
            config = config.replace("STORE", stack.enter_context(made_database(request.getfixturevalue("postgres"))))
        yield built(tmp_path_factory.mktemp("w"), ("mine",), config), ["-p", "mine"]


@pytest.mark.slow
def test_a_scope_is_all_there_is_wherever_it_is_kept(cutaway: Cutaway, elsewhere: World) -> None:
    """Whatever asks the vectors, the words or the tables: byte for byte what an index says that holds nothing else."""
    homes, scope = elsewhere
    leaks = [leak for command in COMMANDS if (leak := leaked(cutaway, homes, *command, *scope))]

    assert not leaks, "\n".join(map(str, leaks))


def leaked(cutaway: Cutaway, homes: Homes, *command: str) -> tuple[object, ...]:
    """What a command told of what is out of scope: the first lines that differ, or that hold the marker unasked."""
    within, alone = both(cutaway, homes, *command)
    pairs = zip_longest(*([ran.code, *ran.out.splitlines(), *ran.err.splitlines()] for ran in (within, alone)))
    unasked = not any(MARKER[:5].lower() in part.lower() for part in command)
    found = [pair for pair in pairs if pair[0] != pair[1] or (unasked and MARKER.lower() in str(pair[0]).lower())]
    return (command, *found[:1])[: 2 * bool(found)]


@pytest.mark.parametrize(
    "command",
    [
        *(("inspect", "query", "bread", "--save"), ("eval", "record", "--query", "bread")),
        *(("eval", "run", "--save"), ("eval", "run", "--trec"), ("eval", "judgments", "--export")),
    ],
    ids=lambda command: " ".join(command),
)
def test_a_file_that_is_written_tells_no_more_than_the_screen(
    cutaway: Cutaway, world: World, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Saved searches, runs, judgments and gates of a scope are those of an index that holds nothing else."""
    homes, scope = world
    within, alone = (tmp_path / home.name for home in (homes.all, homes.alone))
    for file, home in ((within, homes.all), (alone, homes.alone)):
        ran = cutaway(*command, str(file), *scope, "--home", str(home))
        file.write_text(
            told(Ran(0, file.read_text(encoding="utf-8") if file.exists() else ran.err, ""), homes).out,
            encoding="utf-8",
        )

    assert alone.read_text(encoding="utf-8") == within.read_text(encoding="utf-8")
    assert MARKER not in within.read_text(encoding="utf-8")


def test_a_gate_is_checked_within_its_scope(cutaway: Cutaway, world: World, tmp_path: Path) -> None:
    """What it demands of a note out of scope is not met, as of a note that is not there."""
    homes, scope = world
    gate, file = tmp_path / "gate.yaml", tmp_path / "recorded.yaml"
    cutaway("eval", "record", str(file), "--query", "bread", "-p", "third", "--home", str(homes.all))
    gate.write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    within, alone = both(cutaway, homes, "eval", "gate", str(gate), *scope)

    assert alone == within


def test_a_cursor_goes_on_within_its_scope(cutaway: Cutaway, world: World) -> None:
    """Page by page, what an index says that holds these projects only; and it is refused for any other scope."""
    homes, scope = world
    pages: list[list[Ran]] = []
    for home in (homes.all, homes.alone):
        options = ("search", "bread", "-n", "2", "--json", "--home", str(home))
        pages.append([cutaway(*options, *scope)])
        while cursor := re.search(r'"cursor": "([^"]+)"', pages[-1][-1].out):
            pages[-1].append(cutaway(*options, *scope, "--cursor", cursor[1]))
            last = cursor[1]
        assert 2 == cutaway(*options, "--all-projects" if home == homes.all else "-p=x", "--cursor", last).code

    assert len(pages[0]) > 2
    assert [told(page, homes) for page in pages[0]] == [told(page, homes) for page in pages[1]]


# Naming what is out of scope

NOBODY = {MARKER: "NOTHINGab", "forms": "smrof", "many/": "ynam/"}
"""What only other projects have, and what no project has."""
NAMED = [
    *(MARKER, f"kitchen/{MARKER}.md", f"kitchen/{MARKER}.md#1", f"kitchen/{MARKER}.md:3", f"food/{MARKER}"),
    *(f"other:kitchen/{MARKER}.md", f"third:kitchen/{MARKER}.md#1", "forms", "forms.md#1", "forms.md:1", "many/3"),
    *(f"broken {MARKER}.md", f"private {MARKER}.md", f"unreadable {MARKER}.md", f"new {MARKER}.md", f"late {MARKER}"),
    *(f"../other/kitchen/{MARKER}.md", f"../third/private {MARKER}.md", f"/V/other/kitchen/{MARKER}.md"),
    *("kitchen/../../third/forms.md", f"/V/other/{MARKER}/{MARKER}.md#1", f"mine:../other/kitchen/{MARKER}.md"),
]
ASKS = [
    *(("inspect", "chunks"), ("inspect", "neighbors"), ("inspect", "why", "bread")),
    *(("inspect", "compare", "bread", "english.md"), ("eval", "judge", "bread")),
]


@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: " ".join(ask))
def test_what_is_out_of_scope_and_what_is_nowhere_are_told_apart_by_nothing(
    cutaway: Cutaway, world: World, monkeypatch: pytest.MonkeyPatch, ask: tuple[str, ...]
) -> None:
    """By path, title, alias, permalink, file, passage or line: the same words and exit code but for the name typed."""
    homes, scope = world
    last = ("2",) if "judge" in ask else ()
    monkeypatch.chdir(homes.vaults / scope[1])
    for name in NAMED:
        if (scope[1] == "other" and "other" in name) or ("third" in scope and "third" in name):
            continue
        named = name.replace("/V", str(homes.vaults))
        there = cutaway(*ask, named, *last, *scope, "--home", str(homes.all))
        nowhere = cutaway(*ask, unknown(named), *last, *scope, "--home", str(homes.all))

        assert nowhere == Ran(there.code, unknown(there.out), unknown(there.err)), name
        assert there.code > 0


@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: " ".join(ask))
def test_a_passage_out_of_scope_has_no_id(cutaway: Cutaway, world: World, ask: tuple[str, ...]) -> None:
    """A number that a passage elsewhere has is a number that none has."""
    homes, scope = world
    with opened(homes.all) as reader:
        held = {card.project: card.note for card in reader.catalog}
        foreign = next(held[project.id] for project in reader.scope if project.name not in scope)
        chunk = str(reader.entries_of_note(foreign)[0].id)
    last = ("2",) if "judge" in ask else ()
    there = cutaway(*ask, chunk, *last, *scope, "--home", str(homes.all))
    nowhere = cutaway(*ask, "987654321987", *last, *scope, "--home", str(homes.all))

    assert nowhere.err.replace("987654321987", chunk) == there.err
    assert nowhere.code == there.code > 0


def unknown(text: str) -> str:
    for name, other in NOBODY.items():
        text = text.replace(name, other)
    return text
