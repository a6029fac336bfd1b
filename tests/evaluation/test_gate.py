"""The gate: a file of expectations, each met or failed with the reason, and recorded from today's results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import HashEmbedder, index_vault, opened, write_vault
from cutaway.config import Settings
from cutaway.errors import UsageError
from cutaway.evaluation.gate import Ask, Check, Gate, Verdict, gate_as_yaml, judged_by, read_gate, recorded
from cutaway.index.reader import Reader
from cutaway.retrieval.pipeline import Answer, search
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import Request

NOTES = {
    "salt.md": "# Salt\n\nSalt slows yeast.\n",
    "yeast.md": "# Yeast\n\nYeast rises; salt, warmth and sugar, oven and crust matter less to yeast.\n",
    "bread.md": f"# Bread\n\nFlour, water, salt. {'It is described here at great length. ' * 9}\n",
    "oven.md": "# Oven\n\nHeat and steam.\n",
    "a/log.md": "# Log\n\nBaked twice.\n",
    "b/log.md": "# Log\n\nBaked once.\n",
}
QUERY = "salt"
ORDER = ["salt.md", "yeast.md", "bread.md"]
"""The notes that hold the word, as the search ranks them."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gate")
    index_vault(folder / "home", write_vault(folder / "vault", NOTES), HashEmbedder())
    return folder / "home"


@pytest.fixture
def reader(home: Path) -> Iterator[Reader]:
    with opened(home) as reader:
        yield reader


def asking(reader: Reader, **settings: Any) -> Ask:
    """A search by words, unless the settings say otherwise."""
    chosen = Settings(**{"mode": "text", **settings})

    def ask(query: str, limit: int, page: int) -> Answer:
        return search(Request(query, limit=limit, page=page), chosen, reader, Models(HashEmbedder()))

    return ask


def verdicts(reader: Reader, k: int = 10, ask: Ask | None = None, **expectations: Any) -> list[Verdict]:
    """What is said of one query's expectations."""
    gate = Gate(k=k, laws=False, checks=[Check(query=QUERY, **expectations)])
    return list(judged_by(gate, ask or asking(reader), reader))


def outcome(reader: Reader, k: int = 10, ask: Ask | None = None, **expectations: Any) -> tuple[bool, str]:
    """Of one expectation: met or not, and why."""
    (verdict,) = verdicts(reader, k, ask, **expectations)
    return verdict.passed, verdict.said


def parsed(folder: Path, text: str) -> Gate:
    """A gate from the text of its file."""
    return read_gate(write_vault(folder, {"gate.yaml": text}) / "gate.yaml")


def test_a_gate_is_a_list_of_queries_and_what_is_expected(tmp_path: Path) -> None:
    """All else has a default."""
    check = Check(query="salt", find={"Salt": 1}, avoid=["Oven"])

    assert Gate(checks=[check]) == parsed(tmp_path, "checks: [{query: salt, find: {Salt: 1}, avoid: [Oven]}]")
    assert (10, True, {}) == (Gate(checks=[check]).k, Gate(checks=[check]).laws, Gate(checks=[check]).settings)


def test_a_gate_that_is_written_is_read_again(tmp_path: Path) -> None:
    """Without what is at its default, and with letters of any script as they are."""
    check = Check(query="größe: “x”", grades={"a.md": 3}, min_ndcg=0.5, baseline=["b #1.md"], min_overlap=0.8)
    gate = Gate(k=5, laws=False, settings={"mode": "text"}, checks=[check])

    assert gate == parsed(tmp_path, gate_as_yaml(gate))
    assert "größe" in gate_as_yaml(gate)
    assert "version" not in gate_as_yaml(gate)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("checks: [{query: x, finds: {a: 1}}]", "checks.0.finds: Extra inputs"),
        ("cheks: []", "cheks: Extra inputs"),
        ("checks: [{find: {a: 1}}]", "checks.0.query: Field required"),
        ("checks: []", "checks: List should have at least 1"),
        ("checks: [{query: ''}]", "checks.0.query: String should have at least 1"),
        ("checks: [{query: 12}]", "checks.0.query: Input should be a valid string"),
        ("checks: [{query: x, find: {a: first}}]", "checks.0.find.a: Input should be a valid integer"),
        ("checks: [{query: x, find: [a]}]", "checks.0.find: Input should be a valid dictionary"),
        ("checks: [{query: x, min_ndcg: 60}]", "checks.0.min_ndcg: Input should be less than or equal to 1"),
        ("k: 0\nchecks: [{query: x}]", "k: Input should be greater than or equal to 1"),
        ("version: 2\nchecks: [{query: x}]", "version: Input should be less than or equal to 1"),
        ("checks: [{query: ' '}]", "checks.0.query: String should match"),
        ("checks: [{query: x, find: {a: 0}}]", "checks.0.find.a: Input should be greater than or equal to 1"),
        ("checks: [{query: x, find: {a: -1}}]", "checks.0.find.a: Input should be greater than or equal to 1"),
        ("checks: [{query: x, grades: {a: 4}}]", "checks.0.grades.a: Input should be less than or equal to 3"),
        ("checks: [{query: x, grades: {a: -1}}]", "checks.0.grades.a: Input should be greater than or equal to 0"),
        ("checks: [{query: x, min_ndcg: 0.5}]", "checks.0: min_ndcg needs grades, and one of them above 0"),
        ("checks: [{query: x, grades: {a: 0}, min_ndcg: 0}]", "checks.0: min_ndcg needs grades"),
        ("checks: [{query: x, min_overlap: 0.5}]", "checks.0: min_overlap needs a baseline"),
        ("checks: [{query: x, baseline: [], min_overlap: 0}]", "checks.0: min_overlap needs a baseline"),
        ("just text", "Input should be a valid dictionary"),
        ("", "Input should be a valid dictionary"),
    ],
)
def test_a_fault_of_a_gate_is_named_with_its_place(tmp_path: Path, text: str, named: str) -> None:
    """A name that is not known, a value that is missing, of the wrong kind or out of range."""
    with pytest.raises(UsageError) as refused:
        parsed(tmp_path, text)

    assert str(refused.value).startswith(f"{tmp_path / 'gate.yaml'} is not a gate file: ")
    assert named in str(refused.value)


@pytest.mark.parametrize(
    "check",
    [
        "find: {a: 0}",
        "finds: {a: 1}",
        "grades: {a: 4}",
        "min_ndcg: 7",
        "min_ndcg: 0.5",
        "avoid: Oven",
        "min_overlap: 1",
        "baseline: [{}]",
    ],
)
def test_a_faulty_check_is_named_by_its_query(tmp_path: Path, check: str) -> None:
    """Nobody counts the checks of a long file."""
    with pytest.raises(UsageError) as refused:
        parsed(tmp_path, f"checks: [{{query: bread}}, {{query: does salt slow it, {check}}}]")

    assert "(query 'does salt slow it')" in str(refused.value)
    assert "'bread'" not in str(refused.value)


@pytest.mark.parametrize(
    ("query", "shown"), [("2024-05-01", "2024-05-01"), ("12", "12"), ("1.5", "1.5"), ("yes", "True"), ("1:30", "90")]
)
def test_a_query_that_yaml_reads_as_something_else_is_to_be_quoted(tmp_path: Path, query: str, shown: str) -> None:
    """A date, a number, a yes."""
    with pytest.raises(UsageError) as refused:
        parsed(tmp_path, f"checks: [{{query: {query}}}]")

    assert f"valid string; put it in quotes (query {shown!r})" in str(refused.value)


@pytest.mark.parametrize("checks", ["12", "[12]", "[[]]", "{0: {query: x}}", "[null]", "[{}]", "[{query: [x]}]"])
def test_checks_of_another_kind_are_a_fault_like_any(tmp_path: Path, checks: str) -> None:
    """There may be no query to name."""
    with pytest.raises(UsageError, match=r"gate\.yaml is not a gate file: checks"):
        parsed(tmp_path, f"checks: {checks}")


BROKEN = ["checks: [", b"\xff\xfe", "checks: !!python/object:os.system {}", "checks: 2024-13-45", "[" * 5_000, "a: \0"]
"""Of these, the date is no date, and nobody reads so many brackets."""


@pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
def test_a_gate_that_is_no_yaml_is_named(tmp_path: Path, content: str | bytes) -> None:
    """Broken, no text, or more than values."""
    file = write_vault(tmp_path, {"gate.yaml": content}) / "gate.yaml"

    with pytest.raises(UsageError, match=r"gate\.yaml cannot be read as YAML"):
        read_gate(file)


def test_a_missing_gate_is_named(tmp_path: Path) -> None:
    """With its path."""
    with pytest.raises(UsageError, match=r"gate\.yaml cannot be read.*No such file"):
        read_gate(tmp_path / "gate.yaml")


@pytest.mark.parametrize(
    ("find", "met", "said"),
    [
        ({"salt.md": 1}, True, "rank 1"),
        ({"Yeast": 2}, True, "rank 2"),
        ({"Bread": 2}, False, "rank 3"),
        ({"Oven": 10}, False, "not among the candidates of either leg"),
    ],
)
def test_a_note_is_found_within_so_many(reader: Reader, find: dict[str, int], met: bool, said: str) -> None:
    """By path or title; where it is not, the rank it has instead."""
    assert (met, said) == outcome(reader, find=find)


def test_a_note_may_be_looked_for_beyond_the_first_results(reader: Reader) -> None:
    """Its rank is that of the whole order, not of the page."""
    assert (True, "rank 3") == outcome(reader, k=1, find={"Bread": 3})


def test_a_note_that_fell_says_at_which_stage(reader: Reader) -> None:
    """With the reason, and what it lacked to be kept."""
    strict = asking(reader, mode="vector", min_similarity=0.999)
    met, said = outcome(reader, find={"Oven": 10}, ask=strict)

    assert not met
    assert said.startswith("fell at threshold: ")
    assert ", lacking 0." in said


@pytest.mark.parametrize(
    ("k", "name", "met", "said"),
    [
        (10, "Oven", True, "not among the first results"),
        (10, "Bread", False, "rank 3"),
        (2, "Bread", True, "not among the first results"),
    ],
)
def test_a_note_is_avoided_among_the_first_results(reader: Reader, k: int, name: str, met: bool, said: str) -> None:
    """Further down it may stand."""
    assert (met, said) == outcome(reader, k=k, avoid=[name])


@pytest.mark.parametrize(("least", "met"), [(0.63, True), (0.64, False)])
def test_results_are_as_good_as_their_grades(reader: Reader, least: float, met: bool) -> None:
    """One relevant note at rank 2: 1 / log2(3) = 0.631."""
    assert (met, "0.631") == outcome(reader, grades={"Yeast": 2, "Oven": 0}, min_ndcg=least)


def test_results_beyond_the_first_are_worth_nothing(reader: Reader) -> None:
    """The cutoff is the gate's."""
    assert (False, "0.000") == outcome(reader, k=1, grades={"Yeast": 2}, min_ndcg=0.1)


@pytest.mark.parametrize(
    ("baseline", "met", "said"),
    [
        (ORDER, True, "100%"),
        (ORDER[::-1], True, "100%"),
        ([*ORDER, "oven.md"], True, "75%; gone: oven.md"),
        (["salt.md", "oven.md", "old.md"], False, "33%; gone: oven.md, old.md"),
    ],
)
def test_results_are_as_steady_as_asked(reader: Reader, baseline: list[str], met: bool, said: str) -> None:
    """A share of the baseline must still be there, in any order; what is gone is named, deleted or not."""
    assert (met, said) == outcome(reader, baseline=baseline, min_overlap=0.75)


def test_every_expectation_has_a_verdict_in_the_order_of_the_file(reader: Reader) -> None:
    """Each says what was expected, and of which query."""
    said = verdicts(reader, 5, find={"Salt": 1, "Yeast": 3}, avoid=["Oven"], grades={"Salt": 1}, min_ndcg=0.9)

    assert [
        "finds Salt within 1",
        "finds Yeast within 3",
        "does not return Oven",
        "nDCG@5 at least 0.9",
    ] == [verdict.expectation for verdict in said]
    assert {(QUERY, True)} == {(verdict.query, verdict.passed) for verdict in said}


@pytest.mark.parametrize(
    ("name", "named"), [("Zinc", "'Zinc', and no note of the index"), ("Log", "'Log', and 2 notes of the index")]
)
@pytest.mark.parametrize("where", ["find", "avoid", "grades"])
def test_a_gate_that_names_no_one_note_is_refused(reader: Reader, where: str, name: str, named: str) -> None:
    """An expectation that cannot be checked is neither met nor failed."""
    expected: dict[str, Any] = {where: [name] if where == "avoid" else {name: 1}}
    if where == "grades":
        expected["min_ndcg"] = 0.5

    with pytest.raises(UsageError, match=named):
        verdicts(reader, **expected)


def test_the_laws_hold_for_a_search(reader: Reader) -> None:
    """Two pages are one of twice the length."""
    (verdict,) = judged_by(Gate(k=1, checks=[Check(query=QUERY)]), asking(reader, mode="hybrid"), reader)

    assert ("pages concatenate", True, "the same results in the same order") == verdict[1:]


@pytest.mark.parametrize("broken", [(1, 2), (2, 1)])
def test_a_search_that_breaks_the_laws_fails(reader: Reader, broken: tuple[int, int]) -> None:
    """A second page, or a longer one, that lacks its last result."""
    lawful = asking(reader)

    def ask(query: str, limit: int, page: int) -> Answer:
        answer = lawful(query, limit, page)
        cut = replace(answer.stages[-1], kept=answer.page[:-1])
        return replace(answer, stages=(*answer.stages[:-1], cut)) if (limit, page) == broken else answer

    (verdict,) = judged_by(Gate(k=1, checks=[Check(query=QUERY)]), ask, reader)

    assert (False, "two pages differ from one of twice the length") == verdict[2:]


@pytest.mark.parametrize("grades", [{}, {"Yeast": 3, "oven.md": 1, "Salt": 0}])
@pytest.mark.parametrize("k", [1, 2, 10])
def test_what_was_recorded_passes_at_once(reader: Reader, grades: dict[str, int], k: int) -> None:
    """With grades and without."""
    ask = asking(reader)
    gate = Gate(k=k, checks=[recorded(QUERY, grades, ask(QUERY, k, 1), reader, k)])

    assert [True] * (3 if grades else 2) == [verdict.passed for verdict in judged_by(gate, ask, reader)]


def test_what_is_recorded_are_the_paths_and_the_figure(reader: Reader) -> None:
    """The figure rounded down, so that it is met: ranks 1 and 3 of two are (1 + 0.5) / (1 + 0.6309…) = 0.9197…"""
    grades = {"Salt": 1, "bread.md": 1}
    check = recorded(QUERY, grades, asking(reader)(QUERY, 10, 1), reader, 10)

    assert Check(query=QUERY, grades=grades, min_ndcg=0.91, baseline=ORDER, min_overlap=0.8) == check


def test_what_finds_nothing_is_recorded_without_a_baseline(reader: Reader, tmp_path: Path) -> None:
    """There is nothing that could be lost; the file can be read again."""
    check = recorded("zinc", {}, asking(reader)("zinc", 10, 1), reader, 10)

    assert Check(query="zinc") == check
    assert [check] == parsed(tmp_path, gate_as_yaml(Gate(checks=[check]))).checks


def test_junk_is_recorded_as_not_relevant(reader: Reader) -> None:
    """TREC has grades below 0, and they are worth as little."""
    check = recorded(QUERY, {"Salt": 1, "Oven": -2}, asking(reader)(QUERY, 10, 1), reader, 10)

    assert ({"Salt": 1, "Oven": 0}, 1.0) == (check.grades, check.min_ndcg)


def test_a_grade_that_a_gate_does_not_know_is_not_recorded(reader: Reader) -> None:
    """The query is named."""
    with pytest.raises(UsageError, match="query 'salt' has a grade of 4; a gate knows 0, 1, 2 and 3"):
        recorded(QUERY, {"Salt": 4}, asking(reader)(QUERY, 10, 1), reader, 10)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda vault: (vault / "salt.md").unlink(), "67%; gone: salt.md"),
        (lambda vault: (vault / "yeast.md").write_text("# Yeast\n\nIt rises.\n"), "67%; gone: yeast.md"),
    ],
)
def test_a_regression_is_seen(tmp_path: Path, change: Callable[[Path], object], said: str) -> None:
    """A note that goes, or no longer says it, is missed and named."""
    home, vault = tmp_path / "home", write_vault(tmp_path / "vault", NOTES)
    index_vault(home, vault)
    with opened(home) as reader:
        check = recorded(QUERY, {}, asking(reader)(QUERY, 10, 1), reader, 10)
    change(vault)
    index_vault(home, vault)
    with opened(home) as reader:
        (overlap, _) = judged_by(Gate(checks=[check]), asking(reader), reader)

    assert (False, said) == (overlap.passed, overlap.said)
