"""Judged queries in the formats of the field: what is read, what is written, which fault is named where."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from builders import write_vault
from cutaway.errors import UsageError
from cutaway.evaluation.judged import FORMATS, JudgedSet, Topic, queries_jsonl, read_set, written
from cutaway.model import Span

QUERIES = '{"_id": "q1", "text": "salt"}\n{"_id": "q2", "text": "rising bread"}\n'
TOPICS = (Topic("q1", "salt"), Topic("q2", "rising bread"))
BEIR = "query-id\tcorpus-id\tscore\nq1\ta.md\t2\nq1\tb c.md\t0\nq2\ta.md\t1\n"
TREC = "q1 0 a.md 2\nq1 0 b%20c.md 0\nq2 0 a.md 1\n"
QUEPID = "query,docid,rating\nsalt,a.md,2\nsalt,b c.md,0\nrising bread,a.md,1\n"
GRADES = {"q1": {"a.md": 2, "b c.md": 0}, "q2": {"a.md": 1}}


def read(folder: Path, **texts: str | bytes) -> JudgedSet:
    """A set from the texts of its files."""
    write_vault(folder, texts)
    queries, spans = (folder / name if name in texts else None for name in ("queries", "spans"))
    return read_set(queries, folder / "qrels", spans)


@pytest.mark.parametrize("place", ["qrels.tsv", "qrels/test.tsv"])
def test_a_beir_folder_holds_queries_and_judgments(tmp_path: Path, place: str) -> None:
    """The judgments stand beside the queries or in a folder of their own."""
    write_vault(tmp_path, {"queries.jsonl": QUERIES, place: BEIR})

    assert JudgedSet(TOPICS, GRADES) == read_set(None, tmp_path)


def test_several_sets_may_share_queries_one_folder_up(tmp_path: Path) -> None:
    """Where the folder has none of its own."""
    write_vault(tmp_path, {"queries.jsonl": QUERIES, "train/qrels.tsv": BEIR})

    assert JudgedSet(TOPICS, GRADES) == read_set(None, tmp_path / "train")


def test_queries_that_are_named_come_before_those_of_the_folder(tmp_path: Path) -> None:
    """A folder's judgments with other wordings of its queries."""
    write_vault(tmp_path, {"queries.jsonl": QUERIES, "qrels.tsv": BEIR, "mine": "q1\twhy salt\n"})

    assert (Topic("q1", "why salt"),) == read_set(tmp_path / "mine", tmp_path).topics


@pytest.mark.parametrize("qrels", [BEIR, BEIR.split("\n", 1)[1], TREC, TREC.replace(" ", "\t")])
def test_judgments_are_three_columns_or_the_four_of_trec(tmp_path: Path, qrels: str) -> None:
    """With and without a header, by tab or by space."""
    assert GRADES == read(tmp_path, queries=QUERIES, qrels=qrels).qrels


@pytest.mark.parametrize("qrels", ["q1\t0\tb c.md\t3\n", "q1\tb c.md\t3\n"])
def test_between_tabs_a_document_may_hold_spaces(tmp_path: Path, qrels: str) -> None:
    """They are part of its name."""
    assert {"q1": {"b c.md": 3}} == read(tmp_path, queries=QUERIES, qrels=qrels).qrels


def test_topics_of_trec_are_an_id_a_tab_and_the_text(tmp_path: Path) -> None:
    """A further tab belongs to the text."""
    topics = read(tmp_path, queries="q1\tsalt\nq2\trising\tbread\n", qrels=TREC).topics

    assert (Topic("q1", "salt"), Topic("q2", "rising\tbread")) == topics


def test_a_quepid_file_holds_queries_and_judgments(tmp_path: Path) -> None:
    """A query is called by its text."""
    topics = (Topic("salt", "salt"), Topic("rising bread", "rising bread"))
    grades = {"salt": {"a.md": 2, "b c.md": 0}, "rising bread": {"a.md": 1}}

    assert JudgedSet(topics, grades) == read(tmp_path, qrels=QUEPID)


def test_a_quepid_file_quotes_commas_and_quotes(tmp_path: Path) -> None:
    """As any CSV does."""
    judged = read(tmp_path, qrels='query,docid,rating\n"salt, ""fine""","a, b.md",3\n')

    assert {'salt, "fine"': {"a, b.md": 3}} == judged.qrels


def test_a_result_that_nobody_rated_yet_is_not_judged(tmp_path: Path) -> None:
    """No rating is not a rating of 0."""
    judged = read(tmp_path, qrels="query,docid,rating\nsalt,a.md,\nsalt,b.md,1\n")

    assert {"salt": {"b.md": 1}} == judged.qrels


def test_grades_may_be_written_as_decimals(tmp_path: Path) -> None:
    """Some programs write 2 as 2.0, in every format."""
    assert {"q1": {"a": 2}} == read(tmp_path, queries=QUERIES, qrels="q1\ta\t2.0\n").qrels
    assert {"salt": {"a": 3}} == read(tmp_path, qrels="query,docid,rating\nsalt,a,3.0\n").qrels


@pytest.mark.parametrize("qrels", [BEIR, TREC, QUEPID])
def test_files_from_windows_read_the_same(tmp_path: Path, qrels: str) -> None:
    """With a byte-order mark, two characters at the end of a line, and a blank line last."""
    plain = read(tmp_path / "plain", queries=QUERIES, qrels=qrels)
    foreign = [f"\ufeff{text}\n".replace("\n", "\r\n").encode() for text in (QUERIES, qrels)]

    assert plain == read(tmp_path / "foreign", queries=foreign[0], qrels=foreign[1])


def test_blank_lines_are_passed_over(tmp_path: Path) -> None:
    """Between queries, and between judgments."""
    judged = read(tmp_path, queries=QUERIES.replace("\n", "\n\n"), qrels=BEIR.replace("\n", "\n \n"))

    assert JudgedSet(TOPICS, GRADES) == judged


def test_a_query_may_name_documents_that_do_not_count(tmp_path: Path) -> None:
    """Such as the one it was taken from."""
    queries = '{"_id": 7, "text": "salt", "metadata": {"exclude": ["a.md", 5]}}\n{"_id": "8", "text": "x"}\n'
    topics = read(tmp_path, queries=queries, qrels=BEIR).topics

    assert (Topic("7", "salt", frozenset({"a.md", "5"})), Topic("8", "x")) == topics


@pytest.mark.parametrize(
    ("exclude", "names"), [('"d12"', {"d12"}), ("7", {"7"}), ("null", set()), ("[]", set()), ('"a b.md"', {"a b.md"})]
)
def test_one_excluded_document_needs_no_list(tmp_path: Path, exclude: str, names: set[str]) -> None:
    """It is one name, not its letters."""
    queries = f'{{"_id": "q1", "text": "salt", "metadata": {{"exclude": {exclude}}}}}\n'

    assert names == read(tmp_path, queries=queries, qrels=BEIR).topics[0].exclude


@pytest.mark.parametrize("header", ["", "query-id\tcorpus-id\tstart\tend\tscore\n"])
def test_spans_are_the_ranges_of_a_document_that_hold_the_answer(tmp_path: Path, header: str) -> None:
    """There may be several of one document; a score beside them says nothing more."""
    spans = f"{header}q1\ta b.md\t0\t20\t1\nq1\ta b.md\t30\t40\t1\nq2\tc.md\t5\t6\t1\n"
    judged = read(tmp_path, queries=QUERIES, qrels=BEIR, spans=spans)

    assert {"q1": {"a b.md": (Span(0, 20), Span(30, 40))}, "q2": {"c.md": (Span(5, 6),)}} == judged.spans


def test_a_topic_can_be_evaluated_if_something_is_relevant() -> None:
    """Not where nothing was judged, nor where all that was is not relevant."""
    topics = tuple(Topic(name, name) for name in ("found", "junk", "unjudged"))
    judged = JudgedSet(topics, {"found": {"a": 0, "b": 2}, "junk": {"a": 0, "b": -1}})

    assert topics[:1] == judged.evaluable()
    assert {"b": 2} == judged.relevant("found")


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_written_is_read_again(tmp_path: Path, form: str) -> None:
    """Documents with spaces, commas and quotes come back as they were."""
    grades = {topic.id: {'a "b", c.md': 3, "d  e.md": 0, "f.md": -1, "100%.md": 1, "%20.md": 2} for topic in TOPICS}
    by_text = {topic.text: grades[topic.id] for topic in TOPICS}
    judged = read(tmp_path, queries=queries_jsonl(TOPICS), qrels=written(JudgedSet(TOPICS, grades), form))

    assert (by_text if form == "quepid" else grades) == judged.qrels


def test_half_a_character_is_a_question_mark(tmp_path: Path) -> None:
    """JSON can spell it, but no run file could hold it; a search reads it so too."""
    queries = '{"_id": "q\\ud800", "text": "salt \\udc00", "metadata": {"exclude": "a\\ud800"}}\n'

    assert (Topic("q?", "salt ?", frozenset({"a?"})),) == read(tmp_path, queries=queries, qrels=BEIR).topics


def test_queries_that_are_written_are_read_again(tmp_path: Path) -> None:
    """Quotes, tabs and line ends in a text included."""
    topics = (Topic("1", 'a "b"\n\tc'), Topic("2", "Grüße, 世界"))

    assert topics == read(tmp_path, queries=queries_jsonl(topics), qrels=BEIR).topics


def test_every_format_of_one_set_is_as_documented() -> None:
    """Line by line, the documents in one order."""
    judged = JudgedSet(TOPICS, {"q2": {"a.md": 1}, "q1": {"b c.md": 0, "a.md": 2}})

    assert (BEIR, TREC, QUEPID) == tuple(written(judged, form) for form in ("beir", "trec", "quepid"))


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("queries", '{"_id": "q1", "text": "salt"}\n{"_id": "q2", "text"\n', 2),
        ("queries", '{"_id": "q1"}\n', 1),
        ("queries", '{"text": "salt"}\n', 1),
        ("queries", '{"_id": "q1", "text": "salt", "metadata": "none"}\n', 1),
        ("queries", "q1\tsalt\n\nq2 bread\n", 3),
        ("queries", "q1\t\n", 1),
        ("queries", "q1\tsalt\nq1\tbread\n", 2),
        ("qrels", "q1\ta.md\t1\nq1\ta.md\n", 2),
        ("qrels", "q1\ta.md\thigh\n", 1),
        ("queries", '{"_id": "q1", "text": "salt"}\n{"_id": "q2", "text": null}\n', 2),
        ("queries", '{"_id": "q1", "text": 12}\n', 1),
        ("queries", '{"_id": "q1", "text": ["salt"]}\n', 1),
        ("queries", '{"_id": "q1", "text": ""}\n', 1),
        ("queries", '{"_id": "q1", "text": " \\t"}\n', 1),
        ("queries", '{"_id": null, "text": "salt"}\n', 1),
        ("queries", '{"_id": "", "text": "salt"}\n', 1),
        ("queries", '{"_id": "q1", "text": "salt", "metadata": {"exclude": 1.5}}\n', 1),
        ("queries", '{"_id": "q1", "text": "salt", "metadata": {"exclude": {"a.md": 1}}}\n', 1),
        ("queries", '{"_id": "q1", "text": "salt", "metadata": {"exclude": ["a.md", null]}}\n', 1),
        ("queries", "q1\tsalt\n \tbread\n", 2),
        ("qrels", "q1\ta.md\t1\nq1\t\t1\n", 2),
        ("qrels", "q1 0 a.md 1 x\n", 1),
        ("spans", "query-id\tcorpus-id\tstart\tend\nq1\ta.md\t5\n", 2),
        ("spans", "q1\ta.md\tfive\t10\n", 1),
        ("spans", "q1\ta.md\t5\t10\nq1\ta.md\t10\t10\n", 2),
        ("spans", "q1\ta.md\t12\t10\n", 1),
        ("spans", "q1\ta.md\t-1\t10\n", 1),
    ],
)
def test_a_fault_is_named_with_its_file_and_line(tmp_path: Path, file: str, text: str, line: int) -> None:
    """Broken JSON, a column too few or too many, no text, a query twice, what is no number, no range."""
    texts = {"queries": QUERIES, "qrels": BEIR, file: text}

    with pytest.raises(UsageError) as refused:
        read(tmp_path, **texts)

    assert str(refused.value).startswith(f"{tmp_path / file}:{line}: ")


def test_a_rating_that_is_no_number_is_quoted(tmp_path: Path) -> None:
    """The header is the first line."""
    with pytest.raises(UsageError, match=r"qrels:3: the rating 'good' is not a whole number"):
        read(tmp_path, qrels="query,docid,rating\nsalt,a.md,1\nsalt,b.md,good\n")


@pytest.mark.parametrize("grade", ["0.9", "2.5", "inf", "-inf", "nan", "1e0", "1_0", "²", "٣", "9" * 400, "high"])
@pytest.mark.parametrize("qrels", [BEIR, TREC, QUEPID])
def test_a_grade_that_is_no_whole_number_is_refused(tmp_path: Path, qrels: str, grade: str) -> None:
    """It is not cut to one: 0.9 is not irrelevant. The line is named, and the grade quoted."""
    lines = qrels.splitlines()
    lines[-1] = lines[-1][:-1] + grade

    with pytest.raises(UsageError) as refused:
        read(tmp_path, queries=QUERIES, qrels="\n".join(lines))

    assert str(refused.value).startswith(f"{tmp_path / 'qrels'}:{len(lines)}: ")
    assert f"{grade!r} is not a whole number" in str(refused.value)


@pytest.mark.parametrize(
    "header",
    [
        "Query,DocID,Rating",
        " query , docid , rating ",
        '"query","docid","rating"',
        '"Query", "DocID", "Rating"',
        "\ufeffQUERY,DOCID,RATING",
    ],
)
def test_the_columns_of_a_quepid_file_are_known_however_written(tmp_path: Path, header: str) -> None:
    """In any case, with spaces around them, quoted."""
    assert read(tmp_path, qrels=QUEPID) == read(tmp_path, qrels=QUEPID.replace("query,docid,rating", header))


@pytest.mark.parametrize("order", list(itertools.permutations(("query", "docid", "rating", "notes"))))
def test_the_columns_of_a_quepid_file_may_stand_in_any_order(tmp_path: Path, order: tuple[str, ...]) -> None:
    """With others between them."""
    row = {"query": "salt", "docid": "a.md", "rating": "2", "notes": "“fine”"}
    judged = read(tmp_path, qrels=f"{','.join(order)}\n{','.join(row[name] for name in order)}\n")

    assert JudgedSet((Topic("salt", "salt"),), {"salt": {"a.md": 2}}) == judged


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("salt,a.md", "expected 3 fields as in the header; found 2"),
        ("salt, fine,a.md,3", "expected 3 fields as in the header; found 4"),
        (",a.md,3", "expected a query and a docid"),
        (" ,a.md,3", "expected a query and a docid"),
        ("salt,,3", "expected a query and a docid"),
        (f"salt,{'a' * 200_000},3", "cannot be read as CSV"),
    ],
)
def test_a_faulty_row_of_a_quepid_file_is_named_with_its_line(tmp_path: Path, row: str, said: str) -> None:
    """Lines are those of the file, also after a text of several lines."""
    with pytest.raises(UsageError, match=f"qrels:4:? {said}"):
        read(tmp_path, qrels=f'query,docid,rating\n"salt\nand yeast",a.md,1\n{row}\n')


def test_ranges_may_stand_beside_a_quepid_file(tmp_path: Path) -> None:
    """Its queries go by their texts there too."""
    judged = read(tmp_path, qrels=QUEPID, spans="rising bread\ta.md\t0\t5\n")

    assert {"rising bread": {"a.md": (Span(0, 5),)}} == judged.spans


@pytest.mark.parametrize("file", ["queries", "qrels", "spans"])
@pytest.mark.parametrize("text", ["", "\n \n"])
def test_an_empty_file_is_named(tmp_path: Path, file: str, text: str) -> None:
    """It is more likely a mistake than a set of nothing."""
    texts = {"queries": QUERIES, "qrels": BEIR, file: text}

    with pytest.raises(UsageError, match=f"{file} is empty"):
        read(tmp_path, **texts)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    """Not UTF-8."""
    with pytest.raises(UsageError, match="qrels cannot be read"):
        read(tmp_path, queries=QUERIES, qrels=b"q1\t\xff\t1\n")


@pytest.mark.parametrize("missing", ["queries", "qrels"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    """Whichever of the two."""
    write_vault(tmp_path, {"queries": QUERIES, "qrels": BEIR})
    (tmp_path / missing).unlink()

    with pytest.raises(UsageError, match=f"{missing} cannot be read"):
        read_set(tmp_path / "queries", tmp_path / "qrels")


@pytest.mark.parametrize(
    ("held", "named"),
    [({"queries.jsonl": QUERIES}, ["qrels.tsv", "qrels/test.tsv"]), ({"qrels.tsv": BEIR}, ["queries.jsonl"])],
)
def test_a_folder_that_is_no_set_says_which_file_it_lacks(
    tmp_path: Path, held: dict[str, str], named: list[str]
) -> None:
    """With every place it was looked for."""
    folder = write_vault(tmp_path / "set", held)

    with pytest.raises(UsageError) as refused:
        read_set(None, folder)

    assert all(str(folder / name) in str(refused.value) for name in named)


def test_judgments_without_queries_say_how_to_name_them(tmp_path: Path) -> None:
    """BEIR and TREC know a query by its id only."""
    with pytest.raises(UsageError, match="--queries"):
        read(tmp_path, qrels=TREC)
