"""Languages: what a note is written in, and what the forms of its words share."""

from __future__ import annotations

import pytest

from cutaway.notes.analyzer import note_terms, query_terms
from cutaway.notes.languages import FUNCTION_WORDS, LATIN, language_of, stems

SENTENCES = {
    "english": "The dough rises slowly when the kitchen is cold, but it will rise in the end.",
    "german": "Der Teig geht langsam auf, wenn die Küche kalt ist, aber am Ende wird er doch aufgehen.",
    "spanish": "La masa sube despacio cuando la cocina está fría, pero al final va a subir.",
    "french": "La pâte lève lentement quand la cuisine est froide, mais elle finira par lever.",
    "italian": "La pasta lievita lentamente quando la cucina è fredda, ma alla fine cresce.",
    "portuguese": "A massa cresce devagar quando a cozinha está fria, mas no fim ela vai crescer.",
    "dutch": "Het deeg rijst langzaam wanneer de keuken koud is, maar op het einde zal het rijzen.",
    "swedish": "Degen jäser långsamt när köket är kallt, men till slut kommer den att jäsa upp.",
}


@pytest.mark.parametrize("language", LATIN)
def test_a_sentence_is_enough_to_know_its_language(language: str) -> None:
    """Its function words are no other language's, or not as many of them."""
    assert language == language_of(note_terms(SENTENCES[language]))


@pytest.mark.parametrize("text", ["", "x = foo(bar)", "Zlatibor Šumarice", "成语接龙", "Привет, мир, как дела у вас"])
def test_without_function_words_the_language_is_unknown(text: str) -> None:
    """Code, names and other scripts do not say."""
    assert None is language_of(note_terms(text))


@pytest.mark.parametrize(
    ("one", "other", "spoken"),
    [
        ("running", "runs", ("english",)),
        ("hauser", "haus", ("german",)),
        ("canciones", "cancion", ("spanish",)),
        ("книги", "книга", ("english",)),
        ("الكتاب", "كتاب", ("english",)),
        ("hauser", "haus", ("english", "german")),
    ],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str, spoken: tuple[str, ...]) -> None:
    """By the rules of the languages spoken, or of the script whatever is spoken."""
    assert stems(one, spoken) & stems(other, spoken)


@pytest.mark.parametrize(("one", "other"), [("hauser", "haus"), ("hablaron", "hablar")])
def test_rules_of_a_language_that_nobody_speaks_do_not_count(one: str, other: str) -> None:
    """English knows no German plural, and no Spanish past."""
    assert not stems(one, ("english",)) & stems(other, ("english",))


@pytest.mark.parametrize("term", ["2026.4.10", "c++", "k8s", "成语", "my-app"])
def test_what_is_no_plain_word_has_no_stem(term: str) -> None:
    """Versions, names with signs, pairs of characters are only themselves."""
    assert frozenset() == stems(term, LATIN)


@pytest.mark.parametrize(
    ("text", "spoken", "set_aside"),
    [
        ("warum geht der Teig langsam auf", ("german",), ["warum", "der", "auf"]),
        ("warum geht der Teig langsam auf", ("english",), []),
        ("¿por qué sube la masa?", ("spanish",), ["por", "que", "la"]),
        ("почему тесто так поднимается", ("english",), ["почему", "так"]),
        ("für die Küche", ("german",), ["fur", "die"]),
    ],
)
def test_function_words_of_the_notes_languages_are_set_aside(
    text: str, spoken: tuple[str, ...], set_aside: list[str]
) -> None:
    """Those of languages that the notes are written in, and those of a script's own language."""
    assert set_aside == [term.text for term in query_terms(text, (), spoken).set_aside]


def test_function_words_are_folded_as_terms_are() -> None:
    """Each is a term of the analyzer, or it would never be met."""
    wrong = {word for words in FUNCTION_WORDS.values() for word in words if word not in note_terms(word)}

    assert set() == wrong
