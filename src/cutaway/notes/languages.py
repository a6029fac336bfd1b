"""Languages: which one a note is written in, which words of it carry no subject, and what the forms of a word share.

A word's script decides where it can; between languages of the Latin script, the function words of
the note do. Stems are Snowball's.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

import Stemmer

DEFAULT = ("english",)
_READ, _LEAST, _SHARE = 2_000, 3, 0.05

# Words that hold a sentence together. Measured: questions are answered better without them (docs/evaluation.md).
_FUNCTION_WORDS = {
    "english": """
        a about above after again against all also am an and any are as at be because been before being below between
        both but by can could did do does doing don't down during each few for from further get had has have having he
        her here hers him his how i if in into is it its just like me more most my no nor not now of off on once only or
        other our out over own same she should so some such than that the their them then there these they this those
        through to too under until up very was we were what when where which while who whom why will with would you your
        """,
    "german": """
        aber als am an auch auf aus bei beim bin bis bist da damit dann das dass dein deine dem den der des die dies
        diese diesem diesen dieser dieses doch du durch ein eine einem einen einer eines er es für gegen haben hat hatte
        hatten ich ihr ihre ihrem ihren ihrer im in ins ist ja kann kein keine keinen können man mein meine mich mir mit
        nach nicht noch nur ob oder ohne sehr sein seine seinem seinen seiner sich sie sind so über um und uns unter vom
        von vor war waren warum was welche welchem welchen welcher welches wenn wer werden wie wir wird wo wurde wurden
        zu zum zur zwischen
        """,
    "spanish": """
        a al algo ante antes aquel aquella como con contra cual cuales cuál cuáles cuando cuándo cuánto cuántos de del
        desde donde dónde durante e el él ella ellas ellos en entre era eran es esa ese eso esta está están este esto
        estos fue fueron ha había han hasta hay la las le les lo los más me mi mientras muy no nos o para pero por
        porque qué que quién quien quiénes se sea ser si sí sin sobre son su sus también te tiene tienen todo todos tu
        un una uno unos unas y ya yo
        """,
    "french": """
        à alors après au aucun aussi autre aux avant avec avoir ce cela ces cet cette chez comme comment dans de des
        donc du elle elles en encore entre est et était étaient être eu fait il ils je la le les leur leurs lui mais me
        même mes moi mon ne nos notre nous on ont ou où par pas pendant peut plus pour pourquoi qu quand que quel quelle
        quelles quels qui quoi sa sans se sera ses si son sont sous sur ta te tes ton tous tout toute très tu un une vos
        votre vous y
        """,
    "italian": """
        a ad agli ai al alla alle allo anche ancora avere c che chi ci come con cosa cui da dagli dai dal dalla dalle
        dei del della delle dello di dove e è ed era erano essere fra gli ha hanno ho i il in io la le lei li lo loro
        lui ma mi mio ne nei nel nella nelle nello noi non o ogni perché per più qual quale quali quando quanto quella
        quelle quelli quello questa queste questi questo se sei si sia sono su sua sue sul sulla suo suoi tra tu tuo un
        una uno voi
        """,
    "portuguese": """
        a ao aos aquela aquele as às até com como da das de dela dele deles depois do dos e é ela elas ele eles em
        entre era eram essa esse esta está este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na
        nas não nem no nos nós o onde os ou para pela pelas pelo pelos por porque qual quais quando que quem se sem ser
        seu seus só sobre sua suas também te tem têm um uma você
        """,
    "dutch": """
        aan al als bij dan dat de der deze die dit doen door dus een en er ge geen had heb hebben heeft het hier hij hoe
        hun ik in is ja je kan kunnen maar me meer men met mij mijn naar niet nog nu of om omdat ons onze ook op over te
        tegen toch toen tot u uit van veel voor waar waarom wanneer want waren was wat we welke werd wie wij word worden
        wordt zal ze zelf zich zij zijn zo zonder
        """,
    "swedish": """
        att av blev bli blir de dem den denna dessa det detta dig din du där efter ej eller en er ett från för genom
        ha hade han har hon honom hos hur hän i in inte jag kan kunde man med mellan men mig min mot mycket ni nu när
        och om oss på sig sin ska skulle som så till under upp ut utan vad var vara varför vem vi vid vilka vilken
        vilket än är över
        """,
    "russian": """
        а без более бы был была были было быть в вам вас ваш весь во вот все всего всех вы где да даже для до его ее
        если есть еще же за и из или им их к как какая какие какой каким каких каком когда кого кто куда ли между меня
        мне мы на над наш не него нее нет ни них но о об он она они оно от по под почему при с сам свой себя со так
        также такой там тем то того тоже той только том ты у уже чего чей чем что чтобы эта эти это этого этой этом этот
        я который которая которые которой которого которых сколько
        """,
    "arabic": """
        من في على إلى الى عن ما ماذا متى أين اين كيف كم هل هو هي هم التي الذي الذين هذا هذه ذلك تلك أن ان إن كان كانت لم
        لا قد أو او ثم مع بين بعد قبل عند كل أي اي لماذا و
        """,
}
LATIN = ("english", "german", "spanish", "french", "italian", "portuguese", "dutch", "swedish")
_SCRIPTS = {
    "russian": re.compile(r"[а-я]+"),
    "arabic": re.compile(r"[\u0620-\u064a]+"),
    "greek": re.compile(r"[α-ω]+"),
}
_LATIN = re.compile(r"[a-z']+")
_MARK = re.compile(r"[\u0300-\u036f]")
FUNCTION_WORDS = {
    name: frozenset(_MARK.sub("", unicodedata.normalize("NFD", words)).split() if name in LATIN else words.split())
    for name, words in _FUNCTION_WORDS.items()
}
"""By language, folded as the analyzer folds."""
_stemmers = {name: Stemmer.Stemmer(name) for name in (*LATIN, *_SCRIPTS)}


def language_of(words: Iterable[str]) -> str | None:
    """The Latin-script language whose function words a text has most of; None where hardly any stand in it."""
    read = Counter(islice(words, _READ))
    hits = {name: sum(count for word, count in read.items() if word in FUNCTION_WORDS[name]) for name in LATIN}
    best = max(LATIN, key=lambda name: hits[name])
    return best if hits[best] >= max(_LEAST, _SHARE * read.total()) else None


def languages_for(word: str, spoken: tuple[str, ...]) -> tuple[str, ...]:
    """Whose rules a word may follow: its script's, else those of the languages *spoken*; none for other terms."""
    if _LATIN.fullmatch(word):
        return spoken
    return tuple(name for name, script in _SCRIPTS.items() if script.fullmatch(word))


def is_function_word(word: str, spoken: tuple[str, ...]) -> bool:
    """Whether a folded word is one in a language it may be of; an apostrophe may stand in it."""
    names = spoken if word.isascii() else (*spoken, *languages_for(word, ()))
    return any(word in FUNCTION_WORDS.get(name, ()) for name in names)


def stem(word: str, language: str) -> str:
    """What the forms of a folded word have in common."""
    return str(_stemmers[language].stemWord(word))


@lru_cache(maxsize=131_072)
def stems(word: str, spoken: tuple[str, ...]) -> frozenset[str]:
    """The stems of a word, each under its language, as the index keeps them."""
    return frozenset(f"{name} {stem(word, name)}" for name in languages_for(word, spoken))
