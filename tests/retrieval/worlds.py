"""Small random vaults full of ties, for the laws of ranking: a number names each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from builders import HashEmbedder, LengthReranker, index_vault, opened, write_vault
from cutaway.config import RerankFormula, Settings
from cutaway.index.projects import as_scope, projects_of
from cutaway.index.reader import Reader
from cutaway.index.store import open_reader, open_writer
from cutaway.retrieval.pipeline import Answer, search
from cutaway.retrieval.plan import Models
from cutaway.retrieval.request import Request

SETTINGS = Settings(chunk_chars=100, window=10)
WORDS = ("red", "green", "blue", "sun", "moon")
QUERIES = ("red", "blue sun", "moon violet", "red green blue", "sun sun moon green", "violet")


@dataclass(frozen=True, slots=True)
class Asked(Request):
    """A request, and the setting that a request cannot name."""

    rerank_formula: RerankFormula = "blend"


seeds = st.integers(0, 23)
requests = st.builds(
    Asked,
    text=st.sampled_from(QUERIES),
    mode=st.sampled_from(["text", "vector", "hybrid"]),
    group=st.sampled_from(["note", "row"]),
    fusion=st.sampled_from(["calibrated-dismax", "dismax-0.3", "rrf"]),
    min_similarity=st.sampled_from([None, 0.6, 0.8]),
    rerank=st.booleans(),
    depth=st.sampled_from([1, 3, 10, 50]),
    rerank_formula=st.sampled_from(["blend", "replace"]),
)


class Judge:
    """A reranker that gives what a function makes of the documents. Counts its calls and keeps what it was given."""

    def __init__(self, judge: Callable[[Sequence[str]], Any], identity: str = "judge") -> None:
        self.judge = judge
        self.identity = identity
        self.calls = 0
        self.read: list[str] = []

    def relevance(self, query: str, documents: Sequence[str]) -> Any:  # noqa: ARG002
        self.calls += 1
        self.read += documents
        return self.judge(documents)


class Worlds:
    """Indexed vaults of 5 to 51 notes, each made when first asked for and kept open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open = ExitStack()
        self._readers: dict[tuple[int, bool], Reader] = {}

    def reader(self, seed: int, unready: bool = False) -> Reader:
        """The vault of a number; where *unready*, half of its chunks have lost their place in the manifest."""
        if (seed, unready) not in self._readers:
            home = self.folder / f"{seed}{'-unready' if unready else ''}"
            vault = write_vault(home / "vault", notes(seed))
            index_vault(home, vault, HashEmbedder(), SETTINGS)
            if unready:
                unsettle(home)
            self._readers[seed, unready] = self._open.enter_context(opened(home))
        return self._readers[seed, unready]

    def close(self) -> None:
        self._open.close()


@contextmanager
def worlds_in(folder: Path) -> Iterator[Worlds]:
    """Vaults under *folder*, closed at the end."""
    worlds = Worlds(folder)
    try:
        yield worlds
    finally:
        worlds.close()


@contextmanager
def scoped(home: Path, *names: str) -> Iterator[Reader]:
    """A reader over some projects of *home*."""
    connection = open_reader(home)
    try:
        yield Reader(connection, as_scope([project for project in projects_of(connection) if project.name in names]))
    finally:
        connection.close()


def notes(seed: int) -> dict[str, str]:
    """Notes of few words: some alike, some without chunks, and one, in every third vault, with very many."""
    chance = random.Random(seed)
    made: dict[str, str] = {}
    for number in range(5 + 2 * seed):
        blocks = [_block(chance) for _ in range(chance.randint(1, 4))]
        if number == 2 and seed % 3 == 2:
            blocks = [_words(chance, 15) for _ in range(40)]
        head = "---\nembed: false\n---\n" if chance.random() < 0.1 else ""
        text = head + "\n\n".join(blocks) + "\n"
        made[f"n{number}.md"] = chance.choice(list(made.values())) if made and chance.random() < 0.2 else text
    return made


def unsettle(home: Path) -> None:
    """Call a quarter of the chunks pending and a quarter failed, their vectors still in place."""
    connection = open_writer(home)
    connection.execute("UPDATE chunks SET state = 'pending', space_id = NULL WHERE id % 4 = 0")
    connection.execute("UPDATE chunks SET state = 'failed', error = 'broken' WHERE id % 4 = 1")
    connection.close()


def answer(
    reader: Reader, request: Request, settings: Settings = SETTINGS, models: Models | None = None, **changes: object
) -> Answer:
    """One search, with changes to the request."""
    if isinstance(request, Asked):
        settings = settings.model_copy(update={"rerank_formula": request.rerank_formula})
    models = models or Models(HashEmbedder(), LengthReranker())
    return search(replace(request, **changes), settings, reader, models)  # type: ignore[arg-type]


def hits(answered: Answer) -> list[tuple[object, float]]:
    """Ids and scores of a page."""
    return [(hit.id, hit.score) for hit in answered.page]


def _block(chance: random.Random) -> str:
    text = _words(chance, chance.choice([1, 3, 3, 25]))
    return chance.choice([text, text, f"- [fact] {text}", f"- uses [[{text}]]", f"## {text[:9]}\n\n{text}"])


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))
