"""BM25 by arithmetic spelled out, and against a plain second implementation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import WEIGHTING, index_vault, opened, terms, write_vault
from cutaway.index.reader import Reader
from cutaway.model import RowId
from cutaway.notes.analyzer import Term
from cutaway.retrieval.bm25 import Bm25
from cutaway.retrieval.tracing import Scored
from retrieval.worlds import scoped

WORDS = ("red", "green", "blue", "sun", "moon")


class Draft(NamedTuple):
    """A note by its words, field by field, and the words of its one observation."""

    title: list[str]
    aliases: list[str]
    headings: list[str]
    tags: list[str]
    body: list[str]
    observation: list[str]

    @property
    def markdown(self) -> str:
        head = f"title: {' '.join(self.title)}\naliases: [{' '.join(self.aliases)}]\ntags: [{', '.join(self.tags)}]\n"
        body = f"## {' '.join(self.headings)}\n\n{' '.join(self.body)}\n\n- [fact] {' '.join(self.observation)}\n"
        return f"---\n{head}---\n{body}"


def words(least: int = 0) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(WORDS), min_size=least, max_size=6)


tags = st.lists(st.sampled_from(WORDS), max_size=3, unique=True)
drafts = st.builds(Draft, words(1), words(), words(1), tags, words(), words(1))


def fields_of(number: int, draft: Draft) -> dict[tuple[int, str], tuple[list[str], ...]]:
    """The rows of a note and the words of their fields: title, aliases, headings, tags, body."""
    text = [*draft.headings, *draft.body, "fact", *draft.observation]
    entity = ([*draft.title, f"n{number}"], draft.aliases, draft.headings, draft.tags, text)
    observation: tuple[list[str], ...] = ([], [], [], ["fact"], ["fact", *draft.observation])
    return {(number, "entity"): entity, (number, "observation"): observation}


def plain_bm25(notes: Sequence[Draft], query: Sequence[str]) -> dict[tuple[int, str], float]:
    """The formula as the book writes it, one row and one term at a time."""
    rows = {key: fields for number, draft in enumerate(notes) for key, fields in fields_of(number, draft).items()}
    lengths = {key: sum(map(len, fields)) for key, fields in rows.items()}
    scores = dict.fromkeys(rows, 0.0)
    for term in query:
        n = sum(any(term in field for field in fields) for (_, kind), fields in rows.items() if kind == "entity")
        idf = math.log(1 + (len(notes) - n + 0.5) / (n + 0.5))
        for (number, kind), fields in rows.items():
            title, aliases, headings, tags, body = (field.count(term) for field in fields)
            tf = 2 * title + 2 * aliases + headings + tags + body
            same_kind = [length for (_, other), length in lengths.items() if other == kind]
            avgdl = sum(same_kind) / len(same_kind)
            norm = 0.9 * (1 - 0.6 + 0.6 * lengths[number, kind] / avgdl)
            scores[number, kind] += idf * tf / (tf + norm)
    return {key: score for key, score in scores.items() if score > 0}


def named(reader: Reader, hits: Sequence[Scored[RowId]]) -> dict[tuple[int, str], float]:
    """Scores by note number and kind of row."""
    rows = reader.rows([hit.id for hit in hits])
    cards = reader.notes({row.note for row in rows.values()})
    number = {row.id: int(cards[row.note].path[1:-3]) for row in rows.values()}
    return {(number[hit.id], hit.id.kind): hit.score for hit in hits}


@settings(max_examples=40)
@given(notes=st.lists(drafts, min_size=1, max_size=6), query=st.lists(st.sampled_from(WORDS), unique=True, min_size=1))
def test_scores_are_those_of_a_plain_implementation(notes: list[Draft], query: list[str]) -> None:
    """Whatever the corpus and the query: every row that holds a term, and no other, with the same score."""
    with TemporaryDirectory() as folder:
        vault = write_vault(Path(folder, "v"), {f"n{number}.md": draft.markdown for number, draft in enumerate(notes)})
        index_vault(Path(folder, "h"), vault)
        with opened(Path(folder, "h")) as reader:
            found = named(reader, Bm25(reader.lexicon, terms(*query), WEIGHTING).ranked(1_000))

    assert pytest.approx(plain_bm25(notes, query), abs=1e-8) == found


# Inflections, prefixes and fields, against a second plain implementation

FORMS = ("run", "runs", "running", "runner", "sun", "suns", "sunset", "café", "cafés")
STEMS = {"runs": "run", "running": "run", "suns": "sun", "cafes": "cafe"}
FIELDS = ("title", "aliases", "headings", "tags", "body", "path")
UNEVEN = WEIGHTING._replace(inflected=0.7, fields=(3, 2.5, 1.5, 1.25, 1, 0.25))


class Leaf(NamedTuple):
    """A note by its words, field by field, and the folder it is in."""

    title: list[str]
    aliases: list[str]
    headings: list[str]
    tags: list[str]
    body: list[str]
    path: list[str]

    @property
    def markdown(self) -> str:
        head = f"title: {' '.join(self.title)}\naliases: [{' '.join(self.aliases)}]\ntags: [{', '.join(self.tags)}]\n"
        return f"---\n{head}---\n## {' '.join(self.headings)}\n\n{' '.join(self.body)}\n"


def forms(least: int = 0, most: int = 5) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(FORMS), min_size=least, max_size=most)


some_tags = st.lists(st.sampled_from(FORMS), max_size=3, unique=True)
leaves = st.builds(Leaf, forms(1), forms(), forms(1), some_tags, forms(), forms(most=2))
looked_for = st.lists(
    st.sampled_from(["run", "runs", "running", "sun", "cafe", "cafes", "violet"]).map(Term)
    | st.sampled_from(["ru", "run", "sun", "suns", "c", "violet"]).map(lambda text: Term(text, True)),
    min_size=1, max_size=4, unique_by=lambda term: (term.stems or term.text, term.prefix),
)  # fmt: skip


def weight_of(word: str, term: Term) -> float:
    """What an occurrence of a word counts for a term: itself 1, what it finds besides .7, anything else 0."""
    if word == term.text:
        return 1
    alike = word.startswith(term.text) if term.prefix else STEMS.get(word, word) == STEMS.get(term.text, term.text)
    return 0.7 if alike else 0


def plain_parts(notes: Sequence[Leaf], query: Sequence[Term]) -> dict[int, dict[tuple[str, str], float]]:
    """What each term gives each note in each field: its share of the term's gain is its share of tf."""
    rows = [
        [[word.replace("é", "e") for word in field] for field in (
            [*leaf.title, f"n{number}"], leaf.aliases, leaf.headings, leaf.tags,
            [*leaf.headings, *leaf.body], leaf.path,
        )]
        for number, leaf in enumerate(notes)
    ]  # fmt: skip
    lengths = [sum(map(len, row[:-1])) for row in rows]
    parts: dict[int, dict[tuple[str, str], float]] = {number: {} for number in range(len(rows))}
    for term in query:
        given = [
            [sum(weight_of(word, term) for word in field) * UNEVEN.fields[place] for place, field in enumerate(row)]
            for row in rows
        ]
        n = sum(any(fields) for fields in given)
        idf = math.log(1 + (len(rows) - n + 0.5) / (n + 0.5))
        for number, fields in enumerate(given):
            norm = 0.9 * (1 - 0.6 + 0.6 * lengths[number] / (sum(lengths) / len(lengths)))
            for name, tf in zip(FIELDS, fields, strict=True):
                if tf:
                    parts[number][str(term), name] = idf * tf / (sum(fields) + norm)
    return {number: found for number, found in parts.items() if found}


@settings(max_examples=60)
@given(notes=st.lists(leaves, min_size=1, max_size=6), query=looked_for)
def test_parts_are_those_of_a_plain_implementation(notes: list[Leaf], query: list[Term]) -> None:
    """Inflections and prefixes count a little less, fields each their own weight; the parts are the score."""
    with TemporaryDirectory() as folder:
        files = {"/".join([*leaf.path, f"n{number}.md"]): leaf.markdown for number, leaf in enumerate(notes)}
        index_vault(Path(folder, "h"), write_vault(Path(folder, "v"), files))
        with opened(Path(folder, "h")) as reader:
            hits = Bm25(reader.lexicon, tuple(query), UNEVEN).ranked(1_000)
            rows = reader.rows([hit.id for hit in hits])
            cards = reader.notes({row.note for row in rows.values()})
    found = {int(cards[rows[hit.id].note].path.split("/")[-1][1:-3]): hit for hit in hits}
    expected = plain_parts(notes, query)

    assert expected.keys() == found.keys()
    for number, parts in expected.items():
        assert pytest.approx(parts, abs=1e-8) == {
            (where.term, where.field): given for where, given in found[number].parts
        }
        assert pytest.approx(sum(given for _, given in found[number].parts), abs=1e-9) == found[number].score


@pytest.mark.parametrize(
    ("term", "others"),
    [
        (Term("run"), ["running", "runs"]),
        (Term("running"), ["run", "runs"]),
        (Term("runs"), ["run", "running"]),
        (Term("run", True), ["running", "runs", "runner"]),
        (Term("runn", True), ["running", "runner"]),
        (Term("runs", True), []),
        (Term("runner"), []),
        (Term("violet"), []),
    ],
    ids=str,
)
def test_the_word_itself_beats_what_it_finds_besides(home: Path, vault: Path, term: Term, others: list[str]) -> None:
    """Exact before inflected, exact before prefixed, both alike among themselves; nothing else is found."""
    words_ = ["run", "running", "runs", "runner", "sun"]
    index_vault(home, write_vault(vault, {f"n{number}.md": word for number, word in enumerate(words_)}))
    with opened(home) as reader:
        found = named(reader, Bm25(reader.lexicon, (term,), WEIGHTING).ranked(9))

    scores = {words_[number]: score for (number, _), score in found.items()}
    exact = scores.pop(term.text, None)
    assert set(others) == set(scores)
    assert 1 >= len(set(scores.values()))
    assert (exact is not None) == (term.text in words_)
    assert all(score < (exact or 1) for score in scores.values())


@pytest.fixture
def two(home: Path, vault: Path) -> Iterator[Reader]:
    """Two notes; counted with their file names they have 2 and 3 terms, on average 2.5."""
    index_vault(home, write_vault(vault, {"a.md": "red", "b.md": "green green"}))
    with opened(home) as reader:
        yield reader


def test_a_score_by_hand(two: Reader) -> None:
    """One occurrence in a row of 2 terms, in one of two notes."""
    (hit,) = Bm25(two.lexicon, terms("red"), WEIGHTING).ranked(10)

    idf = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    assert round(idf * 1 / (1 + 0.9 * (0.4 + 0.6 * 2 / 2.5)), 9) == hit.score


def test_a_title_counts_twice(two: Reader) -> None:
    """The file name is a title: its one occurrence weighs 2."""
    (hit,) = Bm25(two.lexicon, terms("a"), WEIGHTING).ranked(10)

    idf = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    assert round(idf * 2 / (2 + 0.9 * (0.4 + 0.6 * 2 / 2.5)), 9) == hit.score


def test_a_score_is_the_sum_of_its_terms(two: Reader) -> None:
    """Each term's share is recorded, in the order of the query, and they add up."""
    hits = {hit.parts: hit.score for hit in Bm25(two.lexicon, terms("green", "b", "red"), WEIGHTING).ranked(10)}

    assert [("green", "b"), ("red",)] == [tuple(where.term for where, _ in parts) for parts in hits]
    assert [pytest.approx(sum(share for _, share in parts), abs=1e-9) for parts in hits] == list(hits.values())


def test_a_term_nobody_has_weighs_nothing(two: Reader) -> None:
    """Its idf is 0, it is not among the terms found, and the others score as without it."""
    bm25 = Bm25(two.lexicon, terms("red", "violet"), WEIGHTING)

    assert (0.0, terms("red")) == (bm25.idf[Term("violet")], bm25.found)
    assert Bm25(two.lexicon, terms("red"), WEIGHTING).ranked(10) == bm25.ranked(10)


def test_a_term_every_note_has_still_counts(home: Path, vault: Path) -> None:
    """Its weight is small but above zero, so a row that holds it is found."""
    index_vault(home, write_vault(vault, {f"n{number}.md": "red" for number in range(9)}))
    with opened(home) as reader:
        bm25 = Bm25(reader.lexicon, terms("red"), WEIGHTING)

        assert math.log(1 + (9 - 9 + 0.5) / (9 + 0.5)) == bm25.idf[Term("red")]
        assert 9 == len(bm25.ranked(100))


def test_equal_scores_are_ordered_by_id(home: Path, vault: Path) -> None:
    """A tie across rows of several kinds has one order, at any cut."""
    index_vault(home, write_vault(vault, {f"n{number}.md": "- [red] red\n- [red] red" for number in range(9)}))
    with opened(home) as reader:
        bm25 = Bm25(reader.lexicon, terms("red"), WEIGHTING)
        every = bm25.ranked(100)

        assert sorted(every, key=lambda hit: (-hit.score, hit.id)) == list(every)
        assert [every[:k] for k in range(1, 28)] == [bm25.ranked(k) for k in range(1, 28)]


def test_a_short_observation_is_measured_against_observations(home: Path, vault: Path) -> None:
    """An observation of average length is no shorter than average, however long notes are."""
    index_vault(home, write_vault(vault, {"a.md": "- [fact] red blue\n\n" + "green " * 100}))
    with opened(home) as reader:
        scores = {hit.id.kind: hit.score for hit in Bm25(reader.lexicon, terms("red"), WEIGHTING).ranked(10)}

    assert scores["entity"] == scores["observation"]


def test_counts_of_what_matched(home: Path, vault: Path) -> None:
    """Rows and notes that hold a term, and rows that hold them all, are counted over the whole index."""
    index_vault(home, write_vault(vault, {"a.md": "- [fact] red\n\nblue", "b.md": "red", "c.md": "green"}))
    with opened(home) as reader:
        bm25 = Bm25(reader.lexicon, terms("red", "blue"), WEIGHTING)

        assert (3, 1, 2) == (bm25.total, bm25.complete, bm25.matched_notes())


def test_scores_of_given_rows_are_those_of_the_ranking(two: Reader) -> None:
    """Asked for by id a row has the same score and parts; one without a term has none."""
    bm25 = Bm25(two.lexicon, terms("red"), WEIGHTING)
    (hit,) = bm25.ranked(10)
    other = next(two.lexicon.rows([place])[0] for place in range(2) if two.lexicon.rows([place])[0] != hit.id)

    assert {hit.id: hit} == bm25.of([other, hit.id])


@pytest.mark.parametrize(
    ("notes", "idf"), [(0, math.log(1 + 0.5 / 1.5)), (1, math.log(1 + 0.5 / 1.5)), (2, math.log(2))]
)
def test_the_idf_of_a_term_found_once(home: Path, vault: Path, notes: int, idf: float) -> None:
    """I = ln(1 + (N - .5) / 1.5), never less than for one note."""
    index_vault(home, write_vault(vault, {f"n{number}.md": "red" for number in range(notes)}))
    with opened(home) as reader:
        assert idf == Bm25(reader.lexicon, terms("red"), WEIGHTING).lone_idf


def test_the_idf_of_a_query_counts_what_is_missing(home: Path, vault: Path) -> None:
    """Q = Σ idf over its terms; a term that no note holds counts as one that a single note holds. Never below I."""
    index_vault(home, write_vault(vault, {"a.md": "red blue", "b.md": "red green", "c.md": "red"}))
    with opened(home) as reader:
        common, rare = (Bm25(reader.lexicon, terms(term), WEIGHTING).idf[Term(term)] for term in ("red", "blue"))
        lone = Bm25(reader.lexicon, terms("blue"), WEIGHTING).lone_idf

        assert common + rare + lone == pytest.approx(
            Bm25(reader.lexicon, terms("red", "blue", "violet"), WEIGHTING).query_idf
        )
        assert lone == Bm25(reader.lexicon, terms("red"), WEIGHTING).query_idf


def test_notes_outside_the_scope_change_no_score(home: Path, tmp_path: Path) -> None:
    """N, idf and lengths are those of the projects in scope."""
    index_vault(home, write_vault(tmp_path / "one", {"a.md": "red", "b.md": "green green"}))
    with opened(home) as alone:
        before = Bm25(alone.lexicon, terms("red", "green"), WEIGHTING).ranked(10)
    index_vault(home, write_vault(tmp_path / "two", {f"n{number}.md": "red red" for number in range(9)}))
    with scoped(home, "one") as one:
        assert before == Bm25(one.lexicon, terms("red", "green"), WEIGHTING).ranked(10)


@pytest.mark.parametrize("words_", [(), ("violet",)])
def test_nothing_matches_nothing(two: Reader, words_: tuple[str, ...]) -> None:
    """Without a term in the index there is no hit and no count."""
    bm25 = Bm25(two.lexicon, terms(*words_), WEIGHTING)

    assert ((), 0, 0, 0) == (bm25.ranked(10), bm25.total, bm25.complete, bm25.matched_notes())
