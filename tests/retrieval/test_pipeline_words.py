"""Queries as people type them: every term counts, no sign is syntax, nothing fails silently."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from builders import HashEmbedder, ask, index_vault, opened, paths, write_vault
from cutaway.config import Settings
from cutaway.errors import UsageError
from cutaway.index.reader import Reader
from cutaway.notes.analyzer import query_terms
from cutaway.retrieval.pipeline import search
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import Request

any_text = st.text(st.characters(), max_size=40)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A small index to throw queries at."""
    folder = tmp_path_factory.mktemp("words")
    notes = {
        "todo.md": "fix the TODO list: a and b, not x^2 in C++",
        "animals.md": "quick brown fox",
        "ü.md": "成语 🐘 café",
    }
    index_vault(folder / "home", write_vault(folder / "vault", notes), HashEmbedder())
    with opened(folder / "home") as reader:
        yield reader


def found(home: Path, vault: Path, notes: dict[str, str], query: str) -> list[str]:
    """The paths that words alone find."""
    index_vault(home, write_vault(vault, notes))
    return paths(ask(home, query, mode="text"))


@settings(max_examples=100)
@given(text=any_text, mode=st.sampled_from(["text", "vector", "hybrid"]))
def test_any_text_is_answered_or_refused_with_a_reason(reader: Reader, text: str, mode: str) -> None:
    """Only a query without content or with a NUL is refused; nothing else raises anything."""
    try:
        search(Request(text, mode=mode), Settings(), reader, Models(HashEmbedder()))  # type: ignore[arg-type]
    except UsageError:
        assert not text.strip() or "\0" in text


@settings(max_examples=60)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0<"), min_size=1, max_size=20))
def test_a_note_is_found_by_its_own_text(text: str) -> None:
    """Whatever the script: text that has a term at all finds the note that holds it, every term counted."""
    assume(query_terms(text).terms)
    with TemporaryDirectory() as folder:
        home = Path(folder, "home")
        index_vault(home, write_vault(Path(folder, "vault"), {"n.md": f"start\n\n{text}\n"}))
        answer = ask(home, text, mode="text", group="note", literal=True)

    assert [] == [remark for remark in answer.remarks if remark[0] == "match"]
    assert 1 == len(answer.page)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("TODO: fix", ("todo", "fix")),
        ("((x", ("x",)),
        ("NOT", ("not",)),
        ("C++", ("c++",)),
        ("x^2", ("x", "2")),
        ("NEAR(quick fox, 9)", ("near", "quick", "fox", "9")),
        ("fox; DROP TABLE rows", ("fox", "drop", "table", "rows")),
        ("https://example.org/fox", ("https", "example.org", "example", "org", "fox")),
        ("can't fox", ("can't", "fox")),
        ("foo/fox", ("foo", "fox")),
        ("what fox?", ("fox",)),
        ('"fox" AND "b', ("fox", "b")),
    ],
)
def test_signs_of_other_query_languages_are_plain_text(reader: Reader, query: str, expected: tuple[str, ...]) -> None:
    """Each query finds the note that has its words, and the plan lists the terms used."""
    answer = search(Request(query, mode="text"), Settings(), reader, Models("none"))

    assert expected == tuple(map(str, answer.plan.terms))
    assert 1 == len(answer.page)


@pytest.mark.parametrize("query", ["*", "((", "?!", "—", "^", '""', "&&"])
def test_a_query_of_signs_says_that_it_has_no_term(reader: Reader, query: str) -> None:
    """No result, and the reason is not silence."""
    answer = search(Request(query, mode="text"), Settings(), reader, Models("none"))

    assert ((), ("match", "no searchable term in the query")) == (answer.page, answer.remarks[-1])


@pytest.mark.parametrize(
    ("notes", "query", "expected"),
    [
        ({"blue.md": "deploy the blue server"}, "server deploy", ["blue.md"]),
        ({"n.md": "run uteke-cloud-dev"}, "uteke-cloud-dev", ["n.md"]),
        ({"Kubernetes.md": "---\naliases: [K8s]\n---\nclusters"}, "K8s", ["Kubernetes.md"]),
        ({"n.md": "我喜欢成语接龙"}, "成语", ["n.md"]),
        ({"n.md": "使用Python进行分析"}, "python", ["n.md"]),
        ({"n.md": "a cup of café"}, "cafe", ["n.md"]),
        ({"n.md": "a cup of cafe"}, "café", ["n.md"]),
        ({"n.md": "cafe\u0301 terrace"}, "caf\u00e9", ["n.md"]),
        ({"one.md": "バカ", "two.md": "ハカ"}, "バカ", ["one.md"]),
        ({"one.md": "an apple and an ant", "two.md": "a plan"}, "a", ["two.md"]),
        ({"one.md": "written in C", "two.md": "written in C++"}, "C++", ["two.md"]),
        ({"one.md": "release 2026.4.11", "two.md": "release 2026.4.10"}, "2026.4.10", ["two.md", "one.md"]),
    ],
    ids=[
        "another word order",
        "a joined name",
        "an alias",
        "Han",
        "Latin inside Han",
        "accent in the note",
        "accent in the query",
        "another normal form",
        "a voiced sound mark is a letter",
        "one letter is no prefix",
        "a sign that is part of the name",
        "the exact version first",
    ],
)
def test_words_find_notes(home: Path, vault: Path, notes: dict[str, str], query: str, expected: list[str]) -> None:
    """Terms meet whole terms, in any order, across forms of writing."""
    assert expected == found(home, vault, notes, query)


def test_short_common_words_count(home: Path, vault: Path) -> None:
    """No term is taken for noise: the note with both words comes first, both named in its score."""
    index_vault(home, write_vault(vault, {"one.md": "it is ok quick", "two.md": "quick only"}))
    answer = ask(home, "quick ok", mode="text")

    assert ["one.md", "two.md"] == paths(answer)
    assert ["quick", "ok"] == [where.term for where, _ in answer.stages[0].kept[0].parts]


def test_a_question_that_no_note_answers_in_full_is_relaxed(home: Path, vault: Path) -> None:
    """Two of four words are enough for a hit, and the trace says so."""
    index_vault(home, write_vault(vault, {"n.md": "Резервное копирование базы данных каждую ночь"}))
    answer = ask(home, "когда делается копирование базы", mode="text")

    assert ["n.md"] == paths(answer)
    assert "relaxed: no row holds every term" in dict(answer.remarks)["match"]


def test_a_query_answered_in_full_is_not_relaxed(home: Path, vault: Path) -> None:
    """One row that holds every term is enough."""
    index_vault(home, write_vault(vault, {"n.md": "red sun", "m.md": "red"}))

    assert () == ask(home, "sun red", mode="text").remarks


def test_a_term_that_every_note_holds_shows_a_tie(home: Path, vault: Path) -> None:
    """Equal scores above zero, ordered by id."""
    index_vault(home, write_vault(vault, {f"{number}/n.md": "red sun" for number in range(8)}))
    page = ask(home, "red", mode="text").page

    assert (8, 1) == (len(page), len({hit.score for hit in page}))
    assert sorted(hit.id for hit in page) == [hit.id for hit in page]
    assert page[0].score > 0


def test_no_result_has_an_exact_total(home: Path, vault: Path) -> None:
    """None, and that is certain."""
    index_vault(home, write_vault(vault, {"n.md": "red"}))
    answer = ask(home, "violet", mode="text")

    assert (0, True, False) == (answer.total, answer.total_is_exact, answer.has_more)


def test_the_trace_lists_the_words_of_a_text_without_spaces(home: Path, vault: Path) -> None:
    """A query inside a longer text is a hit, and the trace names the terms that were used."""
    index_vault(home, write_vault(vault, {"n.md": "我喜欢成语接龙"}))
    answer = ask(home, "成语", mode="text")

    assert (["n.md"], ["成语"]) == (paths(answer), list(map(str, answer.plan.terms)))
    assert [("成语", "body")] == [tuple(where) for where, _ in answer.stages[0].kept[0].parts]


@pytest.mark.parametrize(
    ("query", "field"), [("K8s", "aliases"), ("Kubernetes", "title"), ("clusters", "body"), ("ops", "path")]
)
def test_a_hit_names_the_field_it_was_found_in(home: Path, vault: Path, query: str, field: str) -> None:
    """An alias is found as an alias."""
    index_vault(home, write_vault(vault, {"ops/Kubernetes.md": "---\naliases: [K8s]\n---\nrun clusters"}))
    answer = ask(home, query, mode="text", group="note")

    assert [field] == [where.field for where, _ in answer.stages[0].kept[0].parts]


@pytest.mark.parametrize("query", ["café", "terrace", '"café terrace"', "title:café", "path:café", "é*"])
def test_a_note_in_another_normal_form_is_one_note_and_found(home: Path, vault: Path, query: str) -> None:
    """File name and text decomposed; the query composed."""
    decomposed = {"cafe\u0301.md": "the cafe\u0301 terrace is e\u0301lite"}
    index_vault(home, write_vault(vault, decomposed))
    answer = ask(home, query, mode="text")

    assert (["caf\u00e9.md"], 1) == (paths(answer), len(answer.shelf.notes))


def test_a_condition_keeps_the_ranking_of_words(home: Path, vault: Path) -> None:
    """Text and a filter: the scores are those without it, none is flattened."""
    notes = {f"n{number}.md": f"---\nstatus: {number % 2}\n---\n{'red ' * number}sun" for number in range(1, 7)}
    index_vault(home, write_vault(vault, notes))
    every, some = ask(home, "red", mode="text"), ask(home, "red", mode="text", where=("status=1",))

    assert [hit for hit in every.page if hit.id in {kept.id for kept in some.page}] == list(some.page)
    assert 3 == len({hit.score for hit in some.page})


@pytest.mark.parametrize("query", ["c", "a", "go"])
def test_no_word_is_taken_for_the_beginning_of_others(home: Path, vault: Path, query: str) -> None:
    """Only a star asks for that; and then the word itself still comes first."""
    notes = {"one.md": f"uses {query} here", "two.md": f"uses {query}more here"}
    assert ["one.md"] == found(home, vault, notes, query)
    assert ["one.md", "two.md"] == paths(ask(home, f"{query}*", mode="text"))


def test_the_one_note_that_passes_is_found_behind_a_thousand(home: Path, vault: Path) -> None:
    """A condition is resolved before anything is cut, in every mode: five hundred better ones take no place."""
    notes = {f"a/n{number}.md": "red" if number % 2 else "moon" for number in range(1_000)}
    index_vault(home, write_vault(vault, {**notes, "b/one.md": "red sun"}), HashEmbedder())

    for mode in ("text", "vector", "hybrid"):
        assert ["b/one.md"] == paths(
            ask(home, "red", HashEmbedder(), Settings(window=10), mode=mode, where=("path=b/*",))
        )
