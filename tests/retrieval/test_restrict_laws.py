"""Laws of conditions: they choose what is ranked, completely, and change nothing of what they let through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import HashEmbedder, LengthReranker, ask, index_vault, paths, write_vault
from cutaway.config import Settings
from cutaway.errors import StaleCursor
from cutaway.index.store import open_writer
from cutaway.model import RowId
from cutaway.retrieval.pipeline import Answer, search
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import MAX_RESULTS, Request
from retrieval.shelves import TYPED, WHERE, WIDE, Checked, Shelf, Shelves, Typed, shelves_in

NARROW = WIDE.model_copy(update={"window": 10})

seeds = st.integers(0, 11)
modes = st.sampled_from(["text", "vector", "hybrid"])
groups = st.sampled_from(["note", "row"])
words = st.sampled_from(["red", "sun moon", "run green", "violet", "running sun red", "fact moon", "sun*"])
checked = st.sampled_from(WHERE)
several = st.lists(checked, min_size=1, max_size=3)


@pytest.fixture(scope="module")
def shelves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelves]:
    with shelves_in(tmp_path_factory.mktemp("shelves")) as shelves:
        yield shelves


def asked(
    shelf: Shelf, text: str, conditions: Sequence[Checked] = (), chosen: Settings = WIDE, **more: object
) -> Answer:
    """One search, on one long page where no other is asked for."""
    where = tuple(condition.text for condition in conditions)
    request = Request(text, where=where, **{"limit": MAX_RESULTS, **more})  # type: ignore[arg-type]
    return search(request, chosen, shelf.reader, Models(HashEmbedder(), LengthReranker()))


def hits(answer: Answer) -> list[tuple[RowId, float]]:
    return [(hit.id, hit.score) for hit in answer.page]


def filtered(shelf: Shelf, answer: Answer, checks: Sequence[Checked | Typed], group: str) -> list[tuple[RowId, float]]:
    """Of a ranking of all rows, what passes plain checks; of each note the first, where notes are ranked."""
    passing = [hit for hit in hits(answer) if all(check.check(shelf.found(hit[0])) for check in checks)]
    first = {shelf.found(hit[0]).page.path: hit for hit in reversed(passing)}
    return passing if group == "row" else [hit for hit in passing if first[shelf.found(hit[0]).page.path] == hit]


# What is let through


@settings(max_examples=300)
@given(seeds, words, several, modes, groups)
def test_a_restricted_ranking_is_the_ranking_filtered(
    shelves: Shelves, seed: int, text: str, conditions: list[Checked], mode: str, group: str
) -> None:
    """The same rows with the same scores in the same order, to the end; nothing else, and the total counts them."""
    shelf = shelves[seed]
    expected = filtered(shelf, asked(shelf, text, mode=mode, group="row"), conditions, group)
    found = asked(shelf, text, conditions, mode=mode, group=group)

    assert expected == hits(found)
    assert (len(expected), True, False) == (found.total, found.total_is_exact, found.has_more)


@settings(max_examples=200)
@given(seeds, st.sampled_from(TYPED), modes, groups)
def test_operators_filter_the_ranking_of_their_words(
    shelves: Shelves, seed: int, typed: Typed, mode: str, group: str
) -> None:
    """As if the words alone had been asked for, and what does not pass were crossed out."""
    shelf = shelves[seed]
    whole = asked(shelf, typed.sought, mode=mode, group="row", literal=True)

    assert filtered(shelf, whole, [typed], group) == hits(asked(shelf, typed.text, mode=mode, group=group))


@pytest.mark.parametrize("condition", WHERE, ids=lambda condition: condition.text)
@pytest.mark.parametrize("group", ["note", "row"])
def test_a_listing_is_complete_and_in_order_of_path(shelves: Shelves, condition: Checked, group: str) -> None:
    """With nothing to rank by: every row or note that passes, by path, then as the note has them."""
    for seed in range(12):
        shelf = shelves[seed]
        found = asked(shelf, "", [condition], group=group)
        notes = sorted(shelf.reader.catalog, key=lambda note: note.path)
        rows = [row for note in notes for row in shelf.reader.rows_of_note(note.note)]
        passing = [(shelf.found(row.id).page.path, row.id) for row in rows if condition.check(shelf.found(row.id))]
        expected = [row for _, row in passing] if group == "row" else list(dict(reversed(passing)).values())[::-1]

        assert expected == [hit.id for hit in found.page]
        assert () == found.degraded


@pytest.mark.parametrize("typed", TYPED, ids=lambda typed: typed.text)
def test_the_vaults_try_every_check_both_ways(shelves: Shelves, typed: Typed) -> None:
    """Somewhere each operator lets a row through and keeps one out: the laws above are not empty."""
    rows = [(shelves[seed], note) for seed in range(12) for note in shelves[seed].reader.catalog]
    found = [shelf.found(card.id) for shelf, note in rows for card in shelf.reader.rows_of_note(note.note)]

    assert {True, False} == {typed.check(row) for row in found}


# How conditions go together


@settings(max_examples=100)
@given(seeds, words, modes, groups, st.sampled_from([c for c in WHERE if "!" not in c.text and "=" in c.text]))
def test_a_negated_condition_lets_in_the_rest(
    shelves: Shelves, seed: int, text: str, mode: str, group: str, condition: Checked
) -> None:
    """Every row passes the condition or its opposite, never both."""
    shelf = shelves[seed]
    opposite = condition.text if any(sign in condition.text for sign in "<>") else condition.text.replace("=", "!=", 1)
    if opposite == condition.text:
        return
    turned = Checked(opposite, lambda row: not condition.check(row))
    whole = hits(asked(shelf, text, mode=mode, group="row"))
    parts = [hits(asked(shelf, text, [part], mode=mode, group="row")) for part in (condition, turned)]

    assert sorted(whole) == sorted([*parts[0], *parts[1]])
    assert filtered(shelf, asked(shelf, text, mode=mode, group="row"), [turned], group) == hits(
        asked(shelf, text, [turned], mode=mode, group=group)
    )


FIELDED = ("tag:a", "tag:c", "path:work", "type:guide", "created:2024", "is:observation", "category:fact")


@settings(max_examples=100)
@given(seeds, st.lists(st.sampled_from(FIELDED), min_size=2, max_size=4, unique=True), words)
def test_alternatives_let_in_what_any_of_them_lets_in(
    shelves: Shelves, seed: int, fields: list[str], text: str
) -> None:
    """The rows of `a OR b` are those of `a` and those of `b`."""
    shelf = shelves[seed]
    each = [hits(asked(shelf, f"{field} {text} -title:never", mode="text", group="row")) for field in fields]
    union = asked(shelf, f"{' OR '.join(fields)} {text} -title:never", mode="text", group="row")

    assert {row for found in each for row, _ in found} == {row for row, _ in hits(union)}


@settings(max_examples=100)
@given(seeds, words, several, modes, st.randoms(use_true_random=False))
def test_the_order_of_conditions_does_not_matter(
    shelves: Shelves, seed: int, text: str, conditions: list[Checked], mode: str, random: object
) -> None:
    """Nor does saying one twice."""
    shelf = shelves[seed]
    shuffled = [*conditions, conditions[0]]
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert hits(asked(shelf, text, conditions, mode=mode)) == hits(asked(shelf, text, shuffled, mode=mode))


@settings(max_examples=60)
@given(
    seeds, words, modes, groups, st.sampled_from(["path=*", "path=n", "status!=never", "!nothing", "modified>=1970"])
)
def test_a_condition_that_everything_meets_changes_nothing(
    shelves: Shelves, seed: int, text: str, mode: str, group: str, condition: str
) -> None:
    """Not a hit, not a score, not what is said."""
    shelf = shelves[seed]
    with_it = search(
        Request(text, where=(condition,), mode=mode, group=group, limit=MAX_RESULTS),  # type: ignore[arg-type]
        *(WIDE, shelf.reader, Models(HashEmbedder(), LengthReranker())),
    )
    without = asked(shelf, text, mode=mode, group=group)

    assert hits(without) == hits(with_it)
    assert (without.remarks, without.total, without.weak) == (with_it.remarks, with_it.total, with_it.weak)


@settings(max_examples=60)
@given(seeds, words, several, modes)
def test_conditions_change_no_statistic(
    shelves: Shelves, seed: int, text: str, conditions: list[Checked], mode: str
) -> None:
    """How rare a term is, how long rows are, what mean similarity is: all is counted over the scope."""
    shelf = shelves[seed]
    one, other = asked(shelf, text, mode=mode).evidence, asked(shelf, text, conditions, mode=mode).evidence

    assert (one.idf, one.lone_idf, one.query_idf) == (other.idf, other.lone_idf, other.query_idf)
    assert one.baseline == other.baseline


@settings(max_examples=60)
@given(seeds, several)
def test_each_condition_is_counted_alone_and_together(shelves: Shelves, seed: int, conditions: list[Checked]) -> None:
    """How many notes meet each, how many meet all, and why there is nothing where there is nothing."""
    shelf = shelves[seed]
    found = asked(shelf, "red", conditions, mode="text")
    admission = found.evidence.admission
    rows = [shelf.found(card.id) for note in shelf.reader.catalog for card in shelf.reader.rows_of_note(note.note)]
    counts = [len({row.page.path for row in rows if condition.check(row)}) for condition in conditions]
    passing = {row.page.path for row in rows if all(condition.check(row) for condition in conditions)}

    assert admission is not None
    assert (counts, len(passing), len(shelf.pages)) == (
        [met.notes for met in admission.met],
        admission.notes,
        admission.of,
    )
    never = [condition.text for condition, count in zip(conditions, counts, strict=True) if not count]
    reason = f"no note meets {', '.join(never)}" if never else "no note meets all conditions at once"
    assert (None if passing else reason) == dict(found.remarks).get("restrict")


def test_an_empty_vault_has_nothing_to_meet_a_condition(home: Path, vault: Path) -> None:
    """So nothing is said of the condition."""
    index_vault(home, vault)
    found = ask(home, "red", mode="text", where=("path=*",))

    assert (0, None) == (found.total, dict(found.remarks).get("restrict"))


# Pages and cursors


@settings(max_examples=80)
@given(seeds, words, several, modes, groups, st.sampled_from([1, 3, 7]))
def test_pages_with_conditions_concatenate(
    shelves: Shelves, seed: int, text: str, conditions: list[Checked], mode: str, group: str, size: int
) -> None:
    """Page by page, with a small window: the long page, and cursors lead through the same pages."""
    shelf = shelves[seed]
    narrow = {"chosen": NARROW, "mode": mode, "group": group}
    whole = hits(asked(shelf, text, conditions, **narrow))  # type: ignore[arg-type]
    answer = asked(shelf, text, conditions, limit=size, **narrow)  # type: ignore[arg-type]
    by_page, by_cursor = hits(answer), hits(answer)
    while answer.cursor:
        page = len(by_page) // size + 1
        by_page += hits(asked(shelf, text, conditions, limit=size, page=page, **narrow))  # type: ignore[arg-type]
        answer = asked(shelf, text, conditions, limit=size, cursor=answer.cursor, **narrow)  # type: ignore[arg-type]
        by_cursor += hits(answer)

    assert whole == by_page == by_cursor


@settings(max_examples=60)
@given(seeds, words, several, modes, groups)
def test_a_small_window_loses_nothing_that_passes(
    shelves: Shelves, seed: int, text: str, conditions: list[Checked], mode: str, group: str
) -> None:
    """However few pass: conditions are resolved before the legs are cut, so the same results are found."""
    shelf = shelves[seed]
    wide, narrow = (asked(shelf, text, conditions, chosen, mode=mode, group=group) for chosen in (WIDE, NARROW))

    assert {shelf.found(hit.id).page.path for hit in wide.page} == {
        shelf.found(hit.id).page.path for hit in narrow.page
    }
    assert len(wide.page) == len(narrow.page)


@pytest.mark.parametrize(
    ("other", "where"), [("sun", ()), ("sun", ("path=*", "path=*")), ("sun", ("path=n",)), ("sun is:note", ("path=*",))]
)
def test_a_cursor_belongs_to_its_conditions(shelves: Shelves, other: str, where: tuple[str, ...]) -> None:
    """Another condition, one less or one more is another request."""
    shelf = shelves[11]
    models = Models(HashEmbedder())
    cursor = search(Request("sun", where=("path=*",), limit=2), WIDE, shelf.reader, models).cursor

    assert cursor is not None
    search(Request("sun", where=("path=*",), limit=2, cursor=cursor), WIDE, shelf.reader, models)
    with pytest.raises(StaleCursor, match="another query"):
        search(Request(other, where=where, limit=2, cursor=cursor), WIDE, shelf.reader, models)


@pytest.mark.parametrize("group", ["note", "row"])
@pytest.mark.parametrize("size", [1, 4, 1_000])
def test_pages_of_a_listing_concatenate(shelves: Shelves, group: str, size: int) -> None:
    """In order of path, to the end."""
    shelf = shelves[7]
    whole = hits(asked(shelf, "path:n", group=group))
    pages = [asked(shelf, "path:n", group=group, limit=size, page=page) for page in range(1, len(whole) // size + 2)]

    assert [row for row, _ in whole] == [row for page in pages for row, _ in hits(page)]


# Beyond small vaults

MANY = 40_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty thousand notes of one word and one property, and one that has neither, put in place by copying rows."""
    folder = tmp_path_factory.mktemp("large")
    home = folder / "home"
    index_vault(home, write_vault(folder / "vault", {"a.md": "---\nstatus: open\n---\nred", "z.md": "red sun"}))
    connection = open_writer(home)
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY - 1})"
    copied = (
        "INSERT INTO notes SELECT i, project_id, 'b/' || printf('%05d', i) || '.md', title, aliases, permalink,"
        " type, tags, metadata, language, source, size, hash, form, skips, problem, indexed_at"
        " FROM n, notes WHERE path = 'a.md'",
        "INSERT INTO properties SELECT i, 'status', 'open', NULL FROM n",
        "INSERT INTO rows SELECT 10 + i, i, i, project_id, kind, category, ordinal, title, start, end, length, chunks"
        " FROM n, rows WHERE note_id = (SELECT id FROM notes WHERE path = 'a.md')",
        "INSERT INTO lexical (rowid, title, body) SELECT 10 + i, 'a', 'red' FROM n",
    )
    with connection.transaction():
        for statement in copied:
            into, _, chosen = statement.partition(" SELECT ")
            connection.execute(f"{into} {numbers} SELECT {chosen}")
    connection.close()
    return home


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "where", "total"),
    [
        ("red", "status=open", MANY),
        ("red", "status!=open", 1),
        ("sun", "status!=open", 1),
        ("sun", "status=open", 0),
        ("red -sun", "path=*", MANY),
        ("red -title:a", "path=*.md", 1),
    ],
)
def test_a_condition_may_let_in_forty_thousand_notes(large: Path, text: str, where: str, total: int) -> None:
    """Or leave them out, and find the one behind them."""
    found = ask(large, text, mode="text", where=(where,))

    assert (total, True) == (found.total, found.total_is_exact)
    assert min(total, 10) == len(found.page)


@pytest.mark.slow
def test_a_listing_of_forty_thousand_notes_begins_at_the_first_path(large: Path) -> None:
    """In order of path, on the first page and on the last."""
    first = paths(ask(large, "", where=("status=open",), mode="text", limit=1_000))
    last = paths(ask(large, "", where=("status=open",), mode="text", limit=1_000, page=40))

    assert ["a.md", *(f"b/{number:05}.md" for number in range(1, 1_000))] == first
    assert [f"b/{number:05}.md" for number in range(39_000, 40_000)] == last


# What a listing says of itself


@pytest.mark.parametrize(("group", "size"), [("note", 1_000), ("note", 2), ("row", 2)])
def test_the_total_of_a_listing_counts_its_results(shelves: Shelves, group: str, size: int) -> None:
    """All of them, whatever the page, and nothing follows the last."""
    shelf = shelves[11]
    whole = asked(shelf, "path:n", chosen=NARROW, group=group)
    page = asked(shelf, "path:n", chosen=NARROW, group=group, limit=size)

    assert len(whole.page) == page.total
    assert (len(whole.page) > size) == page.has_more


def test_a_listing_is_never_reranked(shelves: Shelves) -> None:
    """There is nothing to judge by: the order stays that of paths."""
    assert not asked(shelves[11], "path:n", rerank=True).reranked


def test_a_listing_misses_no_model(shelves: Shelves) -> None:
    """What is not wanted is not unavailable."""
    request = Request("path:n", mode="hybrid")

    assert () == search(request, WIDE, shelves[11].reader, Models("no model")).degraded


def test_a_listing_has_each_note_of_two_projects_that_share_a_path(tmp_path: Path) -> None:
    """A path is one note's in its project only."""
    for name in ("one", "two"):
        index_vault(tmp_path / "home", write_vault(tmp_path / name, {"same.md": f"- [fact] {name}"}))

    answer = ask(tmp_path / "home", "path:same", limit=9)
    assert (2, 2) == (len(answer.page), answer.total)
