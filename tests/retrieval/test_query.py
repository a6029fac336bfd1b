"""The query language: what each query is understood as, and what is said of what only looks like an operator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import HashEmbedder, LengthReranker, index_vault, opened, terms, write_vault
from cutaway.config import Settings
from cutaway.errors import UsageError
from cutaway.faces.schemas import SearchOut
from cutaway.faces.traces import recorded
from cutaway.index.reader import Reader
from cutaway.notes.analyzer import Term
from cutaway.retrieval.conditions import TITLE, Condition, Has, Holds, IsRow, Under
from cutaway.retrieval.pipeline import Answer, search
from cutaway.retrieval.plan import Models
from cutaway.retrieval.query import understood
from cutaway.retrieval.request import MAX_QUERY_CHARS, Request

SIDES = "OR is read as a word: it needs a word, a phrase or a field on both sides"
AND = "AND is read as a word: words rank together anyway, and quotes make one a must"
NOT = "NOT is read as a word: a minus leaves notes out, as in -word"
PARTNER = "its quotation mark has no partner"
EMPTY = "no word is in it"
SPACE = "no space may stand before its value"
STAR = "* stands behind the beginning of a single word"
KINDS = "`is:` knows note, observation, relation"
VALUE = "it needs a value"
DATE = "needs a date as 2024, 2024-05 or 2024-05-31"


def words_of(query: str) -> str:
    """The terms of a query as one text, those set aside behind a bar."""
    understanding = understood(query)
    return " | ".join(" ".join(map(str, found)) for found in (understanding.terms, understanding.set_aside) if found)


# What each operator comes to


@pytest.mark.parametrize(
    ("query", "sought", "found"),
    [
        ("rye", "rye", "rye"),
        ("  rye   Bread ", "  rye   Bread ", "rye bread"),
        ("the rye", "the rye", "rye | the"),
        ("the", "the", "the"),
        ("a or b", "a or b", "b | a or"),
        ("rye and not", "rye and not", "rye | and not"),
        ("-", "-", ""),
        ("--", "--", ""),
        ("a - b", "a - b", "b | a"),
        ("- rye", "- rye", "rye"),
        ("--flag", "--flag", "flag"),
        ("-r", "-r", "r"),
        ("-5", "-5", "5"),
        ("grep -r x", "grep -r x", "grep r x"),
        ("a -b", "a -b", "b | a"),
        ("well-known", "well-known", "well-known well known"),
        ("x:y", "x:y", "x y"),
        ("titled:x", "titled:x", "titled x"),
        ("subtitle:x", "subtitle:x", "subtitle x"),
        ("http://a.org/c", "http://a.org/c", "http a.org org c | a"),
        ("TODO: fix", "TODO: fix", "todo fix"),
        ("iſ:note", "iſ:note", "note | is"),
        ("*", "*", ""),
        ("**", "**", ""),
        ("red*sun", "red*sun", "red sun"),
        ("*red", "*red", "red"),
        ("*red*", "*red*", "red"),
        ("**bold**", "**bold**", "bold"),
        ("(red)*", "(red)*", "red"),
        ("bold**", "bold**", "bold"),
        ('5"x3"', '5"x3"', "5 x3"),
        ('rye"', 'rye"', "rye"),
        ('foo:"red sun"', 'foo:"red sun"', "foo red sun"),
        ("don't", "don't", "don't"),
        ("成语接龙", "成语接龙", "成语 语接 接龙"),
        ("🐘", "🐘", "🐘"),
        ("שלום עולם", "שלום עולם", "שלום עולם"),
        ("cafe\u0301", "cafe\u0301", "cafe"),
    ],
)
def test_plain_text_has_no_operator(query: str, sought: str, found: str) -> None:
    """Words rank, models read the text as it is, nothing is required, and there is nothing to say."""
    understanding = understood(query)

    assert (sought, (), ()) == (understanding.sought, understanding.conditions, understanding.remarks)
    assert found == words_of(query)


OAT = Holds(("oat",))
RYE, BREAD = Holds(("rye",)), Holds(("rye", "bread"), exact=True)


@pytest.mark.parametrize(
    ("query", "sought", "found", "tests", "said"),
    [
        ('"rye bread"', "rye bread", "rye bread", BREAD, '"rye bread"'),
        ('"Rye, bread!"', "Rye, bread!", "rye bread", BREAD, '"Rye, bread!"'),
        ("“rye bread”", "rye bread", "rye bread", BREAD, "“rye bread”"),
        ('“rye" bread”', 'rye" bread', "rye bread", BREAD, '“rye" bread”'),
        ('"rye"', "rye", "rye", Holds(("rye",), exact=True), '"rye"'),
        ('"the"', "the", "the", Holds(("the",), exact=True), '"the"'),
        ('"ferm*"', "ferm*", "ferm", Holds(("ferm",), exact=True), '"ferm*"'),
        ('"my-app"', "my-app", "my-app app | my", Holds(("my-app",), exact=True), '"my-app"'),
        ('"title:x"', "title:x", "title x", Holds(("title", "x"), exact=True), '"title:x"'),
        ('"成语接龙"', "成语接龙", "成语 语接 接龙", Holds(("成语", "语接", "接龙"), exact=True), '"成语接龙"'),
        ('"🐘"', "🐘", "🐘", Holds(("🐘",), exact=True), '"🐘"'),
        ('"שלום עולם"', "שלום עולם", "שלום עולם", Holds(("שלום", "עולם"), exact=True), '"שלום עולם"'),
        ('"CAFE\u0301"', "CAFE\u0301", "cafe", Holds(("cafe",), exact=True), '"CAFE\u0301"'),
        ("“don’t”", "don’t", "don't", Holds(("don't",), exact=True), "“don’t”"),
        ("title:rye", "rye", "rye", Holds(("rye",), TITLE), "title:rye"),
        ("TITLE:Rye", "Rye", "rye", Holds(("rye",), TITLE), "TITLE:Rye"),
        ("title:the", "the", "the", Holds(("the",), TITLE), "title:the"),
        ("title:成语", "成语", "成语", Holds(("成语",), TITLE), "title:成语"),
        ('title:"rye bread"', "rye bread", "rye bread", Holds(BREAD.words, TITLE, True), 'title:"rye bread"'),
        ("title:“rye”", "rye", "rye", Holds(("rye",), TITLE, exact=True), "title:“rye”"),
        ("title:rye/bread", "rye/bread", "rye bread", Holds(BREAD.words, TITLE, True), "title:rye/bread"),
        ("title:a:b", "a:b", "b | a", Holds(("a", "b"), TITLE, exact=True), "title:a:b"),
        ("title:ferm*", "ferm", "ferm*", Holds(("ferm",), TITLE, prefix=True), "title:ferm*"),
        ('title:"ferm*"', "ferm*", "ferm", Holds(("ferm",), TITLE, exact=True), 'title:"ferm*"'),
        ("tag:a", "", "", Has("tags", "=", ("a",)), "tag:a"),
        ("tag:#a", "", "", Has("tags", "=", ("a",)), "tag:#a"),
        ("tag:a,#b/c", "", "", Has("tags", "=", ("a", "b/c")), "tag:a,#b/c"),
        ('TAG:"a b"', "", "", Has("tags", "=", ("a b",)), 'TAG:"a b"'),
        ("path:b/*", "", "", Under("b/*"), "path:b/*"),
        ("path:b*", "", "", Under("b*"), "path:b*"),
        ("tag:rec*", "", "", Has("tags", "=", ("rec*",)), "tag:rec*"),
        ('created:" > 2024 "', "", "", Has("created", ">", ("2024",)), 'created:" > 2024 "'),
        ('path:" a b "', "", "", Under("a b"), 'path:" a b "'),
        ("type:guide", "", "", Has("type", "=", ("guide",)), "type:guide"),
        ("category:fact,idea", "", "", IsRow("observation", ("fact", "idea")), "category:fact,idea"),
        ("is:note", "", "", IsRow("entity"), "is:note"),
        ("is:Observation", "", "", IsRow("observation"), "is:Observation"),
        ("is:relation", "", "", IsRow("relation"), "is:relation"),
        ("created:2024", "", "", Has("created", "=", ("2024",)), "created:2024"),
        ("created:=2024-05", "", "", Has("created", "=", ("2024-05",)), "created:=2024-05"),
        ("created:<=2024-05-31", "", "", Has("created", "<=", ("2024-05-31",)), "created:<=2024-05-31"),
        ("modified:>2024", "", "", Has("modified", ">", ("2024",)), "modified:>2024"),
        ("modified:<2024", "", "", Has("modified", "<", ("2024",)), "modified:<2024"),
        ("modified:>=2024", "", "", Has("modified", ">=", ("2024",)), "modified:>=2024"),
        ("created:2023..2024-05", "", "", Has("created", "..", ("2023", "2024-05")), "created:2023..2024-05"),
        ('created:"2024-05-01 10"', "", "", Has("created", "=", ("2024-05-01 10",)), 'created:"2024-05-01 10"'),
        ("created:2024-05-01T10:59", "", "", Has("created", "=", ("2024-05-01T10:59",)), "created:2024-05-01T10:59"),
        ("created:2024-05-01T10", "", "", Has("created", "=", ("2024-05-01T10",)), "created:2024-05-01T10"),
    ],
)
def test_an_operator_restricts(query: str, sought: str, found: str, tests: object, said: str) -> None:
    """What it makes models read, which terms rank, what a note must be, and how the answer names that."""
    understanding = understood(query)

    assert (sought, ()) == (understanding.sought, understanding.remarks)
    assert found == words_of(query)
    assert (Condition((tests,), False, said),) == understanding.conditions  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "test"),
    [
        ("-rye", RYE),
        ('-"rye bread"', BREAD),
        ("-“rye bread”", BREAD),
        ("-rye/bread", BREAD),
        ("-rye:bread", BREAD),
        ("-http://a.org", Holds(("http", "a", "org"), exact=True)),
        ("-my-app", Holds(("my-app",), exact=True)),
        ("-don't", Holds(("don't",))),
        ("-语", Holds(("语",))),
        ("-é", Holds(("e",))),
        ("-🐘", Holds(("🐘",))),
        ("-the", Holds(("the",))),
        ("-ferm*", Holds(("ferm",), prefix=True)),
        ("-a*", Holds(("a",), prefix=True)),
        ("-title:rye", Holds(("rye",), TITLE)),
        ("-title:ferm*", Holds(("ferm",), TITLE, prefix=True)),
        ("-tag:a,b", Has("tags", "=", ("a", "b"))),
        ("-is:note", IsRow("entity")),
        ("-created:2024", Has("created", "=", ("2024",))),
    ],
)
def test_a_minus_leaves_out(query: str, test: object) -> None:
    """The test is negated, nothing of it ranks, and it is named without its minus."""
    understanding = understood(query)

    assert ("", (), ()) == (understanding.sought, understanding.terms, understanding.remarks)
    assert (Condition((test,), True, f"without {query[1:]}"),) == understanding.conditions  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "sought", "found", "tests", "said"),
    [
        ("rye OR oat", "rye oat", "rye oat", [RYE, Holds(("oat",))], "rye or oat"),
        (
            "rye OR oat OR tea",
            "rye oat tea",
            "rye oat tea",
            [RYE, OAT, Holds(("tea",))],
            "rye or oat or tea",
        ),
        ('oat OR "rye bread"', "oat rye bread", "oat rye bread", [Holds(("oat",)), BREAD], 'oat or "rye bread"'),
        ("tag:x OR rye", "rye", "rye", [Has("tags", "=", ("x",)), RYE], "tag:x or rye"),
        ("tag:x OR path:y", "", "", [Has("tags", "=", ("x",)), Under("y")], "tag:x or path:y"),
        ("rye OR the", "rye the", "rye | the", [RYE, Holds(("the",))], "rye or the"),
        ("ferm* OR rye", "ferm rye", "rye ferm*", [Holds(("ferm",), prefix=True), RYE], "ferm* or rye"),
        ("rye/bread OR oat", "rye/bread oat", "rye bread oat", [BREAD, Holds(("oat",))], "rye/bread or oat"),
    ],
)
def test_alternatives_are_one_condition(query: str, sought: str, found: str, tests: list[object], said: str) -> None:
    """One of them must be met; all of them rank."""
    understanding = understood(query)

    assert (sought, ()) == (understanding.sought, understanding.remarks)
    assert found == words_of(query)
    assert (Condition(tuple(tests), False, said),) == understanding.conditions  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "sought", "expected"),
    [
        ("ferm*", "ferm", (Term("ferm", True),)),
        ("FERMÉ*", "ferme", (Term("ferme", True),)),
        ("ferm* rye", "ferm rye", (Term("rye"), Term("ferm", True))),
        ("my-app*", "my-app", (Term("my-app", True),)),
        ("v1.2*", "v1.2", (Term("v1.2", True),)),
        ("c++*", "c++", (Term("c++", True),)),
        ("成*", "成", (Term("成", True),)),
        ("成语*", "成语", (Term("成语", True),)),
        ("ferm* ferm*", "ferm ferm", (Term("ferm", True),)),
        ("ferm* ferm", "ferm ferm", (Term("ferm"), Term("ferm", True))),
    ],
)
def test_a_star_behind_a_word_ranks_by_its_beginning(query: str, sought: str, expected: tuple[Term, ...]) -> None:
    """It is a term, not a condition; models read the beginning."""
    understanding = understood(query)

    assert (sought, expected) == (understanding.sought, understanding.terms)
    assert ((), ()) == (understanding.conditions, understanding.remarks)


@pytest.mark.parametrize(
    ("query", "sought", "found", "conditions"),
    [
        ('rye -spelt "old dough" tag:x', "rye old dough", "rye old dough", ["without spelt", '"old dough"', "tag:x"]),
        ("-aa -bb", "", "", ["without aa", "without bb"]),
        ('"a ""b"', "a  b", "b | a", ['"a "', '"b"']),
        ('"red"sun', "red sun", "red sun", ['"red"']),
        ('"red"-sun', "red", "red", ['"red"', "without sun"]),
        ('"red"title:sun', "red sun", "red sun", ['"red"', "title:sun"]),
        ('"red"*', "red *", "red", ['"red"']),
        ("aa OR bb cc OR dd", "aa bb cc dd", "aa bb cc dd", ["aa or bb", "cc or dd"]),
        ("aa OR bb -cc", "aa bb", "aa bb", ["aa or bb", "without cc"]),
        ("aa bb OR cc dd", "aa bb cc dd", "aa bb cc dd", ["bb or cc"]),
        ("red ferm* -sun", "red ferm", "red ferm*", ["without sun"]),
        ("the rye -the", "the rye", "rye | the", ["without the"]),
        ("is:note is:note", "", "", ["is:note", "is:note"]),
        ("red - is:note", "red -", "red", ["is:note"]),
        ("grep -r is:note", "grep -r", "grep r", ["is:note"]),
        ("http://a.org is:note", "http://a.org", "http a.org org | a", ["is:note"]),
    ],
)
def test_operators_combine(query: str, sought: str, found: str, conditions: list[str]) -> None:
    """Each does its own; what stays is text."""
    understanding = understood(query)

    assert (sought, ()) == (understanding.sought, understanding.remarks)
    assert found == words_of(query)
    assert conditions == [condition.said for condition in understanding.conditions]


# What only looks like an operator


@pytest.mark.parametrize(
    ("query", "remarks"),
    [
        ('"', [PARTNER]),
        ('"rye', [PARTNER]),
        ('rye "bread', [PARTNER]),
        ("“rye", [PARTNER]),
        ('"rye”', [PARTNER]),
        ('-"', [PARTNER]),
        ('-"rye bread', [PARTNER]),
        ("-“rye", [PARTNER]),
        ('title:"rye bread', [PARTNER]),
        ("-tag:“a", [PARTNER]),
        ('created:"2024', [PARTNER]),
        ('""', [EMPTY]),
        ('" "', [EMPTY]),
        ('"—"', [EMPTY]),
        ("“”", [EMPTY]),
        ('-""', [EMPTY]),
        ('rye "?!"', [EMPTY]),
        ("title:", [SPACE]),
        ("Title:", [SPACE]),
        ("tag: x", [SPACE]),
        ("-tag: x", [SPACE]),
        ("created: 2024", [SPACE]),
        ("title:—", ["`title:` needs a word"]),
        ('title:""', ["`title:` needs a word"]),
        ("-title:—", ["`title:` needs a word"]),
        ("title:*", ["`title:` needs a word"]),
        ("tag:,", [VALUE]),
        ("tag:#", [VALUE]),
        ('tag:""', [VALUE]),
        ("-type:,", [VALUE]),
        ('category:" "', [VALUE]),
        ('path:""', ["`path:` needs a value"]),
        ('-path:" "', ["`path:` needs a value"]),
        ("is:foo", [KINDS]),
        ("is:entity", [KINDS]),
        ("-is:foo", [KINDS]),
        ('is:""', [KINDS]),
        ("created:soon", [DATE]),
        ("created:..2025", [DATE]),
        ("created:2024..", [DATE]),
        ("created:>", [DATE]),
        ("created:>2024..2025", [DATE]),
        ("created:=>2024", [DATE]),
        ("created:2024-13", [DATE]),
        ("created:2024-00", [DATE]),
        ("created:2023-02-29", [DATE]),
        ("created:0000", [DATE]),
        ("created:2024-05-01T25", [DATE]),
        ("created:20240501", [DATE]),
        ("created:２０２４", [DATE]),
        ("modified:2024-5", [DATE]),
        ("OR", [SIDES]),
        ("OR rye", [SIDES]),
        ("rye OR", [SIDES]),
        ("rye OR OR oat", [SIDES]),
        ("-rye OR oat", [SIDES]),
        ("rye OR -oat", [SIDES]),
        ("rye OR —", [SIDES]),
        ('rye OR ""', [SIDES, EMPTY]),
        ('rye OR "oat', [SIDES, PARTNER]),
        ("rye OR title:", [SIDES, SPACE]),
        ("is:foo OR rye", [KINDS, SIDES]),
        ("rye OR oat OR", [SIDES]),
        ("AND", [AND]),
        ("rye AND oat", [AND]),
        ("rye AND oat AND tea", [AND]),
        ("NOT rye", [NOT]),
        ("rye AND NOT oat", [AND, NOT]),
        ("成语接*", [STAR]),
        ("rye/bread*", [STAR]),
        ("rye-*", [STAR]),
        ("is:note*", [KINDS]),
    ],
)
def test_what_cannot_be_an_operator_is_said_and_stays_text(query: str, remarks: list[str]) -> None:
    """Each remark, once, in order; the words of what was misread rank and are read by models."""
    understanding = understood(query)
    misread = [remark.split("”")[0][1:] for remark in understanding.remarks if remark.startswith("“")]

    assert len(remarks) == len(understanding.remarks)
    assert [] == [(said, want) for said, want in zip(understanding.remarks, remarks, strict=True) if want not in said]
    assert all(piece in understanding.sought for piece in misread)


@pytest.mark.parametrize("query", ["rye OR", "OR rye", '"rye', "tag: rye", "rye NOT", "is:rye", "rye AND *"])
def test_what_was_misread_requires_nothing(query: str) -> None:
    """It is no condition, and its word is looked for."""
    understanding = understood(query)

    assert () == understanding.conditions
    assert Term("rye") in understanding.terms


# Whatever is typed

FIELDS = ("title", "TAG", "path", "type", "category", "is", "created", "modified", "status")
VALUES = ("", "red", '"red sun"', '""', "note", "2024", ">=2024-05", "2024..2025", "a,b", "#a", "*", "[", "*/x?")
WHERE = ("status=active", "!status", "rating>=3", "tag=a,b", "created>=2024", "path=*.md", "title=red*", "is=note")
PIECES = (
    *("red", "sun", "violet", "café", "成语", "成语接龙", "🐘", "שלום", "the", "don't", "my-app", "x:y", "http://a.b"),
    *('"', "“", "”", '""', '"red sun"', "“red sun”", '"成语"', '"—"', "—", "*", "**", "?", "[", "(", "'", "\\"),
    *("OR", "AND", "NOT", "NEAR(red", "or", "-", "--", "-r", "--flag", "-red", "-成", "-*", '-"', '-"red sun"'),
    *("red*", "成语*", "my-app*", "*red", "-red*", "r*d", "{title}", "red^2", "%", ";", "';", ":", "(red OR", "sun)"),
    *(f"{sign}{field}:{value}" for sign in ("", "-") for field in FIELDS for value in VALUES),
)
pieces = st.sampled_from(PIECES)
composed = st.lists(pieces, min_size=1, max_size=7).flatmap(
    lambda chosen: st.sampled_from([" ", " ", " ", "", "\n", "\u3000"]).map(lambda joint: joint.join(chosen))
)
queries = st.one_of(composed, st.text(st.characters(), min_size=1, max_size=40))
conditions = st.lists(st.sampled_from(WHERE), max_size=2).map(tuple)
LEAKS = ("sqlite", "fts5", "SQL", "Traceback", "MATCH", "Error(", "object at", "json_each")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A small index of all kinds of rows, scripts and properties to throw queries at."""
    folder = tmp_path_factory.mktemp("query")
    notes = {
        "a/red.md": "---\nstatus: active\nrating: 4\ntags: [a/b]\ncreated: 2024\n---\nred sun\n\n- [fact] [[moon]]",
        "moon.md": "---\nstatus: done\nrating: five\ntype: note\n---\n成语接龙 🐘 café my-app #a\n",
        "שלום.md": "violet שלום don't\n",
        "empty.md": "",
    }
    index_vault(folder / "home", write_vault(folder / "vault", notes), HashEmbedder())
    with opened(folder / "home") as reader:
        yield reader


def asked(reader: Reader, text: str, **request: object) -> Answer:
    models = Models(HashEmbedder(), LengthReranker())
    return search(Request(text, **request), Settings(), reader, models)  # type: ignore[arg-type]


@settings(max_examples=400)
@given(
    text=queries,
    where=conditions,
    mode=st.sampled_from(["text", "vector", "hybrid"]),
    group=st.sampled_from(["note", "row"]),
    literal=st.booleans(),
)
def test_every_query_is_answered_or_refused_with_a_reason(
    reader: Reader, text: str, where: tuple[str, ...], mode: str, group: str, literal: bool
) -> None:
    """Only nothing at all and a NUL are refused; nothing inside shows in what is said; no number is none."""
    try:
        found = asked(reader, text, where=where, mode=mode, group=group, literal=literal)
    except UsageError as refusal:
        assert "\0" in text or not (text.strip() or where)
        assert not [leak for leak in LEAKS if leak in str(refusal)]
        return
    said = [remark for _, remark in found.remarks] + [part.reason for part in found.degraded]

    assert not [(leak, remark) for remark in said for leak in LEAKS if leak in remark and leak not in text]
    for shown in (SearchOut.of(found), recorded(found, reader)):  # type: ignore[arg-type]
        assert not [token for token in ("NaN", "Infinity") if f": {token}" in shown.as_json()]


@settings(max_examples=200)
@given(text=queries)
def test_what_looks_like_an_operator_is_one_or_is_said(text: str) -> None:
    """Where a word of another query language, a lone quotation mark or a bare field stands, there is a remark."""
    understanding = understood(text)
    words = text.split()
    lone = text.count('"') == 1 and any(word.lstrip("-").startswith('"') for word in words) and "“" not in text
    foreign = any(word in ("AND", "NOT") for word in words) and '"' not in text and "“" not in text
    bare = any(word.lstrip("-").lower() in ("title:", "tag:", "is:") for word in words) and len(words) == 1

    assert understanding.remarks or not (lone or foreign or (bare and not text.strip().startswith("--")))


@settings(max_examples=200)
@given(text=queries)
def test_what_is_understood_loses_no_word(text: str) -> None:
    """A query without conditions is read by models as it was typed, and each term is one that its text has."""
    understanding = understood(text)
    if not understanding.conditions and not any(term.prefix for term in understanding.terms):
        assert text == understanding.sought
    assert len(set(understanding.remarks)) == len(understanding.remarks)


@settings(max_examples=200)
@given(text=queries)
def test_a_literal_query_has_no_operators(text: str) -> None:
    """No condition, no prefix, no remark: the text and its words."""
    understanding = understood(text, literal=True)

    assert (text, (), ()) == (understanding.sought, understanding.conditions, understanding.remarks)
    assert not [term for term in (*understanding.terms, *understanding.set_aside) if term.prefix]


@pytest.mark.parametrize(
    "text",
    [
        *("a OR ", "OR ", '"a b" ', "-ab ", "a* ", "tag:a ", "path:*a* ", '"', "“", "-", "(", "title:a "),
        *("成语", "path:[a-", "is:note OR ", "created:2024 ", '"" ', "x:"),
    ],
)
def test_the_longest_queries_are_answered(reader: Reader, text: str) -> None:
    """However often an operator is repeated, up to the limit."""
    found = asked(reader, (text * MAX_QUERY_CHARS)[:MAX_QUERY_CHARS], mode="text")

    assert MAX_QUERY_CHARS >= len(found.plan.text)


def test_a_phrase_as_long_as_a_query_may_be(reader: Reader) -> None:
    """Ten thousand words one after the other."""
    found = asked(reader, f'"{"ab " * 6_000}"', mode="text")

    assert ((), 0) == (found.page, found.total)


def test_an_answer_says_what_was_misread(reader: Reader) -> None:
    """The plan has the remark, the answer shows it first, under its name."""
    found = asked(reader, 'red OR "sun')

    assert tuple(("query", remark) for remark in found.plan.query_remarks) == found.remarks[:2]
    assert 2 == len(found.plan.query_remarks)


@pytest.mark.parametrize("literal", [False, True])
def test_conditions_beside_the_query_hold_for_literal_ones_too(reader: Reader, literal: bool) -> None:
    """What was typed is text; what was given beside it still restricts."""
    found = asked(reader, "-violet", where=("path=שלום",), literal=literal, mode="text")

    assert (0 if not literal else 1) == found.total
    assert ["path=שלום"] == [condition.said for condition in found.plan.conditions][-1:]


def test_terms_of_a_query_are_one_of_each_stem() -> None:
    """The first spelling stands for the others; a prefix is another term."""
    assert (*terms("running"), Term("run", True)) == understood("running runs run*").terms
