"""A corpus file as a vault: each document a note, indexed in a home of its own that may be thrown away."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import unicodedata
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cutaway.config import Settings
from cutaway.errors import UsageError
from cutaway.evaluation.judged import JudgedSet, named
from cutaway.evaluation.runs import Documents
from cutaway.index.reader import Reader
from cutaway.index.store import Store, open_writer
from cutaway.index.sync import Progress, embed_pending, sync
from cutaway.index.writer import Writer
from cutaway.models.embedder import Embedder

_PLAIN = re.compile(r"[^\w.-]")


class Document(NamedTuple):
    """One line of a corpus file."""

    id: str
    title: str
    text: str

    @property
    def file(self) -> str:
        """A file name for it: its id where that can be one, and a hash so that no two are the same."""
        mark = hashlib.blake2b(self.id.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
        plain = _PLAIN.sub("_", unicodedata.normalize("NFC", self.id)).lstrip(".")  # a dot would hide the file
        return f"{plain[:60]}-{mark}.md"

    @property
    def note(self) -> str:
        """A title becomes the level-1 heading. A text has no frontmatter, even where it begins like one."""
        title = " ".join(self.title.split())
        if title:
            return f"# {title}\n\n{self.text}"
        return f"\n{self.text}" if self.text.removeprefix("\ufeff").startswith("---") else self.text


def corpus_home(corpus: Path, home: Path) -> Path:
    """Where a corpus is indexed: below *home*, so its embeddings are there for the next run."""
    corpus = corpus.resolve()
    digest = hashlib.blake2b(str(corpus).encode(), digest_size=6).hexdigest()
    return home / "corpora" / f"{corpus.parent.name}-{digest}"


def index_corpus(corpus: Path, home: Path, settings: Settings, embedder: Embedder | None, progress: Progress) -> None:
    """Bring the index of a corpus in line with its file. Raises UsageError, naming file and line."""
    folder = home.resolve() / "notes"
    folder.mkdir(parents=True, exist_ok=True)
    written = set()
    for document in documents(corpus):
        file = folder / document.file
        written.add(file)
        content = document.note.encode("utf-8", "replace")
        if not file.is_file() or file.read_bytes() != content:
            file.write_bytes(content)
    if not written:
        raise UsageError(f"{corpus} holds no documents.")
    for file in set(folder.iterdir()) - written:
        file.unlink()
    settings = settings.model_copy(update={"store": None, "vectors": "exact"})  # it has a file of its own
    connection = open_writer(home, settings)
    try:
        _sync(connection, folder, settings, embedder, progress)
    finally:
        connection.close()


def documents(corpus: Path) -> Iterator[Document]:
    """The documents of a ``corpus.jsonl`` or ``corpus.jsonl.gz``."""
    opened = gzip.open if corpus.suffix == ".gz" else open
    seen: set[str] = set()
    try:
        with opened(corpus, "rt", encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    document = _document(corpus, number, line)
                    if document.id in seen:
                        raise UsageError(f"{corpus}:{number}: document {document.id!r} stands there twice.")
                    seen.add(document.id)
                    yield document
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise UsageError(f"{corpus} cannot be read: {error}") from None


def corpus_documents(corpus: Path, judged: JudgedSet, reader: Reader) -> Documents:
    """Which note each document of the corpus is."""
    by_file = {document.file: document.id for document in documents(corpus)}
    names = {card.note: by_file.get(card.path, card.path) for card in reader.catalog}
    wanted = {document for grades in judged.qrels.values() for document in grades}
    return Documents(names, tuple(sorted(wanted - set(names.values()))))


def _sync(connection: Store, folder: Path, settings: Settings, embedder: Embedder | None, progress: Progress) -> None:
    with connection.transaction():
        writer = Writer(connection)
        for held in writer.projects():
            if held.root != folder:  # the home was moved
                writer.move_project(held, folder)
        project = writer.add_project("corpus", folder)
    sync(project, connection, embedder, settings, progress)
    if embedder is not None:
        embed_pending([project], connection, embedder, progress)


def _document(corpus: Path, number: int, line: str) -> Document:
    try:
        values = json.loads(line)
        name, title, text = named(values["_id"]), str(values.get("title") or ""), values["text"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{corpus}:{number}: expected an object with `_id` and `text`.") from None
    if not isinstance(text, str):
        raise UsageError(f"{corpus}:{number}: the `text` of document {name!r} is {json.dumps(text)[:60]}, not a text.")
    return Document(name, title, text)
