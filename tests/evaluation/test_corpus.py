"""A corpus file as a vault: every document found again by its id, brought in line, faults named by line."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import HashEmbedder, opened, write_vault
from cutaway.config import Settings
from cutaway.errors import UsageError
from cutaway.evaluation.corpus import Document, corpus_documents, corpus_home, documents, index_corpus
from cutaway.evaluation.judged import JudgedSet, Topic
from cutaway.evaluation.runs import Documents

NOTHING = JudgedSet((), {})
ODD = [
    "MED-10",
    "a/b",
    "a_b",
    "a b",
    "a:b",
    "up/..",
    "Größe",
    "größe",
    "文献 7",
    "e\u0301",
    "é",
    "😀",
    "-dash",
    "~tilde",
    "tail.md",
    "tail.",
    "x" * 300,
    "x" * 301,
    "https://example.org/?q=1&r=2#top",
    '"quoted"',
    "back\\slash",
    "*?[!a]",
    "tab\there",
]
"""Ids that are no file names, or that would be the same one."""

DEEP = "[" * 100_000
"""JSON that no reader follows to its end."""


def corpus_of(folder: Path, texts: Mapping[str, str], name: str = "corpus.jsonl") -> Path:
    """A corpus file with a document of each id and text."""
    lines = [json.dumps({"_id": name, "title": "", "text": text}, ensure_ascii=False) for name, text in texts.items()]
    text = "\n".join(lines) + "\n"
    file = folder / name
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return file


def index(corpus: Path, home: Path, embedder: HashEmbedder | None = None) -> None:
    """Bring the index of a corpus in line."""
    index_corpus(corpus, home, Settings(), embedder, lambda *_: None)


def named(corpus: Path, home: Path, judged: JudgedSet = NOTHING) -> Documents:
    """What the notes of an indexed corpus are called."""
    with opened(home) as reader:
        return corpus_documents(corpus, judged, reader)


def written(home: Path) -> dict[str, int]:
    """When each note was written."""
    return {file.name: file.stat().st_mtime_ns for file in (home / "notes").iterdir()}


def sources(corpus: Path, home: Path) -> dict[str, str]:
    """What is indexed of each document."""
    names = named(corpus, home).names
    with opened(home) as reader:
        return {names[note]: card.source.decode() for note, card in reader.notes(names).items()}


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_every_document_is_a_note_that_goes_by_its_id(tmp_path: Path, home: Path, name: str) -> None:
    """Whatever the id, packed or plain."""
    texts = {odd: f"text number {number}" for number, odd in enumerate(ODD)}
    corpus = corpus_of(tmp_path, texts, name)
    index(corpus, home)

    assert texts == sources(corpus, home)


@given(ids=st.sets(st.text(max_size=100), max_size=20))
def test_no_two_documents_share_a_file(ids: set[str]) -> None:
    """Not even where letters of two sizes are one to the disk."""
    files = {Document(name, "", "").file.casefold() for name in ids}

    assert len(ids) == len(files)
    assert not any(set("/\\:\0\n") & set(file) for file in files)


def test_a_title_is_the_first_heading_of_its_note() -> None:
    """In one line; without one the text stands alone."""
    titled, plain = Document("1", " Salt\nand  yeast ", "Text.\n"), Document("2", "", "Text.\n")

    assert ("# Salt and yeast\n\nText.\n", "Text.\n") == (titled.note, plain.note)


def test_documents_are_read_with_or_without_a_title(tmp_path: Path) -> None:
    """An id may be a number; blank lines and further values are passed over."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(
        '{"_id": 1, "title": null, "text": "a", "metadata": {}}\n\n{"_id": "2", "title": "B", "text": ""}\n'
    )

    assert [Document("1", "", "a"), Document("2", "B", "")] == list(documents(corpus))


def test_a_second_run_embeds_nothing(tmp_path: Path, home: Path) -> None:
    """And writes nothing: the files are as they were."""
    corpus, embedder = corpus_of(tmp_path, {"a": "salt", "b": "yeast"}), HashEmbedder()
    index(corpus, home, HashEmbedder())
    before = written(home)
    index(corpus, home, embedder)

    assert [] == embedder.embedded
    assert before == written(home)


def test_a_changed_corpus_is_brought_in_line(tmp_path: Path, home: Path) -> None:
    """What is new or changed is embedded, what is gone is gone."""
    embedder = HashEmbedder()
    index(corpus_of(tmp_path, {"same": "salt", "changed": "yeast", "gone": "steam"}), home, HashEmbedder())
    now = {"same": "salt", "changed": "yeast and flour", "new": "water"}
    corpus = corpus_of(tmp_path, now)
    index(corpus, home, embedder)

    assert now == sources(corpus, home)
    assert 2 == len(embedder.embedded)


def test_without_a_model_words_are_indexed_all_the_same(tmp_path: Path, home: Path) -> None:
    """Nothing is embedded; the chunks wait."""
    corpus = corpus_of(tmp_path, {"a": "salt"})
    index(corpus, home, None)

    with opened(home) as reader:
        assert (0, 1) == reader.readiness(None)[:2]


def test_judged_documents_that_the_corpus_lacks_are_reported(tmp_path: Path, home: Path) -> None:
    """An id is no title: only the id itself will do."""
    corpus = corpus_of(tmp_path, {"a": "# Salt\n", "b": "yeast"})
    index(corpus, home)
    judged = JudgedSet((Topic("q", "q"),), {"q": {"a": 1, "z": 1, "Salt": 1}})

    assert ("Salt", "z") == named(corpus, home, judged).unknown


def test_a_corpus_has_a_home_of_its_own(tmp_path: Path, home: Path) -> None:
    """Two of one name in folders of one name do not share it; the same one has it again."""
    one, two = tmp_path / "one" / "set" / "corpus.jsonl", tmp_path / "two" / "set" / "corpus.jsonl"

    assert corpus_home(one, home) == corpus_home(one, home)
    assert corpus_home(one, home) != corpus_home(two, home)
    assert home in corpus_home(one, home).parents


@pytest.mark.parametrize("where", [".", "..", "set"])
def test_a_corpus_is_the_same_by_every_path(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Relative to any folder, by a detour, through a link: one home, called by the folder the file is in."""
    corpus = write_vault(tmp_path, {"work/set/corpus.jsonl": "", "work/set/set/x": ""}) / "work/set/corpus.jsonl"
    (tmp_path / "link").symlink_to(corpus.parent)
    monkeypatch.chdir(corpus.parent / where)
    detours = [corpus.parent / "set" / ".." / corpus.name, tmp_path / "link" / corpus.name]

    (found,) = {corpus_home(path, home) for path in (corpus, Path(os.path.relpath(corpus)), *detours)}
    assert found.name.startswith("set-")


@pytest.mark.parametrize("places", [("moved",), ("moved", "deep/er"), ("moved", "home")])
def test_a_home_that_was_moved_works_again(tmp_path: Path, home: Path, places: tuple[str, ...]) -> None:
    """With nothing embedded again; what changed since is brought in line."""
    embedder = HashEmbedder()
    index(corpus_of(tmp_path, {"a": "salt", "b": "yeast"}), home, HashEmbedder())
    for place in places:
        (tmp_path / place).parent.mkdir(exist_ok=True)
        home = home.rename(tmp_path / place)
        index(corpus_of(tmp_path, {"a": "salt", "c": place}), home, embedder)

    assert {"a": "salt", "c": places[-1]} == sources(tmp_path / "corpus.jsonl", home)
    assert list(places) == embedder.embedded


def test_a_home_may_be_named_from_another_folder(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative home is the same one."""
    corpus, embedder = corpus_of(tmp_path, {"a": "salt"}), HashEmbedder()
    index(corpus, home, HashEmbedder())
    for folder in (tmp_path, home):
        monkeypatch.chdir(folder)
        index(corpus, Path(os.path.relpath(home)), embedder)

    assert [] == embedder.embedded
    assert {"a": "salt"} == sources(corpus, home)


@pytest.mark.parametrize("text", ["---\ntitle: X\nindex: false\n---\nsalt\n", "---\r\nindex: no\r\n---\r\nsalt", "---"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_text_that_begins_like_frontmatter_is_a_text(tmp_path: Path, home: Path, mark: str, text: str) -> None:
    """All of it is searched, and nothing in it says that it is not to be."""
    corpus = corpus_of(tmp_path, {"a": mark + text})
    index(corpus, home)

    assert {"a": f"\n{mark}{text}"} == sources(corpus, home)


def test_an_id_can_be_written_to_a_run_file(tmp_path: Path) -> None:
    """JSON can spell half a character, which no file can hold."""
    (corpus := tmp_path / "corpus.jsonl").write_text('{"_id": "a\\ud800", "text": "salt"}\n')

    assert [Document("a?", "", "salt")] == list(documents(corpus))


def test_a_document_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    """The line and the id are named; a number is the same id as its digits."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": 7, "text": "a"}\n\n{"_id": "8", "text": "b"}\n{"_id": "7", "text": "a"}\n')

    with pytest.raises(UsageError, match=r"corpus\.jsonl:4: document '7' stands there twice"):
        list(documents(corpus))


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
@pytest.mark.parametrize("before", [{}, {"a": "salt"}])
def test_a_corpus_of_no_documents_is_refused(tmp_path: Path, home: Path, name: str, before: dict[str, str]) -> None:
    """In its own words, and the index stays as it was."""
    if before:
        index(corpus_of(tmp_path, before), home)
    with pytest.raises(UsageError, match=f"{name} holds no documents") as refused:
        index(corpus_of(tmp_path, {}, name), home)

    assert "--allow-empty" not in str(refused.value)
    assert not before or before == sources(corpus_of(tmp_path, before), home)


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_a_corpus_may_begin_with_a_byte_order_mark(tmp_path: Path, name: str) -> None:
    """As programs on Windows write it."""
    content = '\ufeff{"_id": "a", "text": "salt"}\r\n'.encode()
    corpus = tmp_path / name
    corpus.write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)

    assert [Document("a", "", "salt")] == list(documents(corpus))


@pytest.mark.parametrize("text", ["null", "12", "true", '["salt"]', '{"en": "salt"}'])
def test_a_text_that_is_none_is_named_with_its_line(tmp_path: Path, text: str) -> None:
    """It is not indexed as the word for it."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(f'{{"_id": "a", "text": "salt"}}\n{{"_id": "b", "text": {text}}}\n')

    with pytest.raises(UsageError, match=r"corpus\.jsonl:2: the `text` of document 'b' is .*, not a text"):
        list(documents(corpus))


@pytest.mark.parametrize(
    "line",
    [
        '{"_id": "b"',
        '{"_id": "b"}',
        '{"text": "x"}',
        '["b", "x"]',
        "b\tx",
        "null",
        '{"_id": null, "text": ""}',
        DEEP,
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, home: Path, line: str) -> None:
    """And with what was expected."""
    corpus = corpus_of(tmp_path, {"a": "salt"})
    corpus.write_text(f"{corpus.read_text()}\n{line}\n")

    with pytest.raises(UsageError, match=r"corpus\.jsonl:3: expected an object with `_id` and `text`"):
        index(corpus, home)


def test_a_fault_leaves_the_index_as_it_was(tmp_path: Path, home: Path) -> None:
    """The documents before it are not indexed, those after it not removed."""
    texts = {"a": "salt", "b": "yeast"}
    corpus = corpus_of(tmp_path, texts)
    index(corpus, home)
    (broken := tmp_path / "broken.jsonl").write_text('{"_id": "a", "text": "sugar"}\n{\n')
    with pytest.raises(UsageError):
        index(broken, home)

    assert texts == sources(corpus, home)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("corpus.jsonl", None),
        ("corpus.jsonl", b'{"_id": "\xff", "text": ""}'),
        ("corpus.jsonl.gz", b'{"_id": "a", "text": ""}'),
        ("corpus.jsonl.gz", gzip.compress(b'{"_id": "a", "text": ""}', mtime=0)[:-9]),
        ("corpus.jsonl.gz", gzip.compress(b"x", mtime=0)[:10] + b"\xff" * 20),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes | None) -> None:
    """Not there, no text, not packed, or only half of it."""
    corpus = tmp_path / name
    if content is not None:
        corpus.write_bytes(content)

    with pytest.raises(UsageError, match=f"{name} cannot be read"):
        list(documents(corpus))
