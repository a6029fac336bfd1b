"""The analyzer: which terms a text gives, and that a query finds what a note says."""

from __future__ import annotations

import unicodedata
from itertools import chain, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders import terms
from cutaway.notes.analyzer import Term, answering, note_terms, query_terms, tokens

PIECES = [
    *("C++", "C#", "don't", "don’t", "my-app", "1.2.3", "read_file", "_", "Run", "NOT", "(", '"', "*", "^", "\0", "#"),
    *("é", "e\u0301", "ọ̀", "İ", "ß", "ﬁ", "ё", "成语", "バカ", "ハ\u3099", "한", "ภา", "👨‍👩‍👧‍👦", "⑴", "ﷺ", "\u200d"),
    *(" ", "\n", "-", ".", "'"),
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=10).map("".join)


def finds(query: str, note: str) -> bool:
    """Whether the note answers every term of the query, and there is one."""
    wanted = set(chain(*query_terms(query)))
    return bool(wanted) and wanted == answering(wanted, note_terms(note))


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("成语", "我喜欢成语接龙"),
        ("龙", "我喜欢成语接龙"),
        ("python", "使用Python进行分析"),
        ("进行", "使用Python进行分析"),
        ("ねこ", "かわいいねこがいる"),
        ("서울", "나는서울에산다"),
        ("ภาษา", "ฉันพูดภาษาไทย"),
    ],
)
def test_words_are_found_inside_text_without_spaces(query: str, note: str):
    """
    A word of two or more characters, a single character, or a Latin word in the middle.
    """
    assert finds(query, note)


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("uteke-cloud-dev", "run uteke-cloud-dev"),
        ("cloud", "run uteke-cloud-dev"),
        ("2026.4.10", "released 2026.4.10 today"),
        ("read_file", "call read_file first"),
        ("file", "call read_file first"),
        ("snake", "größer: snake_case"),
        ("foo/bar", "in foo/bar.txt"),
        ("server deploy", "deploy the blue server"),
        ("quick ok", "it is ok quick"),
        ("TODO: fix", "fix this todo"),
        ("don't", "they don’t know"),
        ("C++", "größer in C++ written"),
        ("running", "she runs"),
        ("книги", "новая книга"),
        ("🐘", "an elephant 🐘!"),
    ],
)
def test_a_query_finds_the_note_that_says_it(query: str, note: str):
    """
    Joined words and their parts, signs, word order, inflection and apostrophes do not hide a note.
    """
    assert finds(query, note)


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("2026.4.10", "2026.4.11"),
        ("a", "apple banana"),
        ("C++", "C and c"),
        ("C#", "C and c"),
        ("C", "C++ and C#"),
        ("バカ", "ハカ"),
        ("成龙", "成语接龙"),
        ("app", "application"),
    ],
)
def test_a_query_does_not_find_what_only_resembles_it(query: str, note: str):
    """
    No silent prefixes, no dropped signs, and a voiced kana is another letter than the plain one.
    """
    assert not finds(query, note)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", "cafe"),
        ("Ångström", "angstrom"),
        ("naïve", "naive"),
        ("Việt", "viet"),
        ("İstanbul", "istanbul"),
        ("ọ̀rọ̀", "oro"),
        ("Ἑλλάς", "ελλας"),
        ("ёлка", "елка"),
        ("Straße", "STRASSE"),
        ("ﬁle", "file"),
        ("ｆｕｌｌ", "full"),
        ("ﾊﾞｶ", "バカ"),
    ],
)
def test_spelling_with_and_without_accents_is_one_word_both_ways(one: str, other: str):
    """
    Case, accents of Latin and Greek letters and compatibility forms are folded in notes and queries alike.
    """
    assert (True, True) == (finds(one, f"the {other} note"), finds(other, f"the {one} note"))


@pytest.mark.parametrize("word", ["café", "バカ", "がぎぐ", "한글", "й", "Ångström", "Việt", "ệ", "Ἑλλάς"])
def test_composed_and_decomposed_text_give_the_same_terms(word: str):
    """
    Some systems write letters and their marks apart; to a reader both are the same word.
    """
    composed, decomposed = (unicodedata.normalize(form, f"the {word} note") for form in ("NFC", "NFD"))

    assert note_terms(composed) == note_terms(decomposed)


def test_no_word_of_a_query_is_dropped():
    """
    Short and frequent words are terms like any other, in the order typed, each once.
    """
    assert (terms("ok", "quick"), terms("it", "is", "not")) == query_terms("it is OK quick, is it NOT")


@pytest.mark.parametrize("query", ["", "  ", "*", "?!", "((", "\0", '""', "-", "\u200d"])
def test_a_query_of_signs_alone_has_no_term(query: str):
    """
    Nothing to look up is an empty answer that can be said, not a fault.
    """
    assert ((), ()) == query_terms(query)


@pytest.mark.parametrize("sign", ["⑴", "ﷺ", "½", "‼", "㎏", "№", "…", "ﱞ", "\u00a0", "ͺ"])
def test_folding_a_sign_makes_no_term_that_falls_apart(sign: str):
    """
    Some characters fold to several signs or words; a term is still one word of the lexical index.
    """
    assert [] == [term for term in note_terms(f"a{sign} {sign}") if not indexable(term)]


def indexable(term: str) -> bool:
    """Whether the lexical index, which splits at white space and most ASCII signs, keeps the term whole."""
    return bool(term) and all(
        sign.isalnum() or sign in "+#.-_'" or (ord(sign) > 127 and not sign.isspace()) for sign in term
    )


@given(texts)
@example("⑴ ﷺ")
def test_every_text_whatever_gives_terms_that_can_be_looked_up(text: str):
    """
    No text raises, and no term holds white space or a sign that means something to a query parser.
    """
    assert [] == [term for term in (*map(str, chain(*query_terms(text))), *note_terms(text)) if not indexable(term)]


@given(texts, texts, texts)
def test_a_text_is_found_by_what_stands_in_it(before: str, query: str, behind: str):
    """
    Whatever surrounds a text, in whatever script, each term of it remains a term of the whole.
    """
    assert {term.text for term in chain(*query_terms(query))} <= set(note_terms(f"{before} {query} {behind}"))


@given(st.text(st.sampled_from("ab1_'+#-. x\n(\0")))
def test_plain_text_gives_the_same_terms_amid_other_scripts(text: str):
    """
    One accented word in a note changes nothing for the others, and how often each stands there.
    """
    assert sorted([*note_terms(text), "e"]) == sorted(note_terms(f"{text} é"))


@given(texts)
@example("ハ\u3099カ")
def test_every_term_stands_where_it_says(text: str):
    """
    The characters a term points at give that term when they are read alone.
    """
    assert [] == [token for token in tokens(text) if token.term not in note_terms(text[token.start : token.end])]


@given(texts)
@example("my-app runs")
def test_terms_come_in_reading_order(text: str):
    """
    No term starts before the one that was given before it.
    """
    assert [] == [pair for pair in pairwise(tokens(text)) if pair[0].start > pair[1].start]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my-app", ["my", "app", "my-app"]),
        ("v1.2", ["v1", "2", "v1.2"]),
        ("read_file", ["read", "file", "read_file"]),
        ("成语接", ["成语", "语接"]),
        ("成", ["成"]),
        ("C++ C# F#", ["c++", "c#", "f#"]),
        ("👨‍👩‍👧‍👦", ["👨", "👩", "👧", "👦"]),
    ],
)
def test_the_terms_of_a_text_spelled_out(text: str, expected: list[str]):
    """
    Parts and the whole of joined words, pairs of characters, names that end in signs, people of a family.
    """
    assert sorted(expected) == sorted(token.term for token in tokens(text))


def test_a_query_of_function_words_alone_is_looked_for_as_it_is() -> None:
    """Nothing is set aside where nothing would be left."""
    assert (terms("to", "be", "or", "not"), ()) == query_terms("to be or not to be")


def test_every_term_is_answered_by_the_same_words() -> None:
    """However many terms there are, in whatever order, and however the words are given."""
    asked = [Term("suns"), Term("running"), Term("mo", prefix=True), Term("violet"), Term("red")]

    for order in (asked, asked[::-1]):
        assert {*asked} - {Term("violet")} == answering(order, iter(["red", "runs", "sun", "moon"]))
