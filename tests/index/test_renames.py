"""This file is about notes that move: they keep their identity, and nothing is embedded for it."""

from __future__ import annotations

from pathlib import Path

from indexes import SOUND, faults, note_ids, states

from builders import HashEmbedder, ask, index_vault, manifest, opened, paths, vectors_of, write_vault

NOTE = "# Sourdough\n\nFlour and water.\n\n- [step] Fold it twice #dough\n- needs [[Flour]]\n"


def hundred(folder: str) -> dict[str, str]:
    """A hundred notes with two chunks each."""
    text = "# Note {0}\n\nAbout subject{0}.\n\n- [fact] Number {0} of many\n"
    return {f"{folder}/sub/{number:02}.md": text.format(number) for number in range(100)}


def test_a_renamed_note_is_the_same_note(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Its id and its chunks' ids stay, nothing is embedded, and every chunk has its vector."""
    write_vault(vault, {"old.md": NOTE, "other.md": "# Other\n\nSomething else.\n"})
    index_vault(home, vault, embedder)
    before, chunks = note_ids(home)["old.md"], chunks_of(home, "old.md")
    embedder.embedded.clear()
    (vault / "old.md").rename(vault / "new.md")

    report, _ = index_vault(home, vault, embedder)

    assert (("old.md", "new.md"),) == report.difference.renamed
    assert (before, chunks) == (note_ids(home)["new.md"], chunks_of(home, "new.md"))
    assert [] == embedder.embedded
    assert SOUND == faults(home)


def chunks_of(home: Path, path: str) -> list[object]:
    """The ids of a note's chunks, in source order."""
    return [chunk for note, chunk, *_ in manifest(home) if note == path]


def test_a_renamed_folder_of_a_hundred_notes_embeds_nothing(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Every note below it keeps its id, and every chunk its vector."""
    write_vault(vault, hundred("before"))
    index_vault(home, vault, embedder)
    before = note_ids(home)
    embedder.embedded.clear()
    (vault / "before").rename(vault / "after")

    report, _ = index_vault(home, vault, embedder)

    assert (100, (), ()) == (len(report.difference.renamed), report.difference.added, report.difference.removed)
    assert {path.replace("before/", "after/"): note for path, note in before.items()} == note_ids(home)
    assert [] == embedder.embedded
    assert SOUND == faults(home)


def test_a_renamed_note_answers_to_its_new_name_only(home: Path, vault: Path) -> None:
    """The file name is searchable text, so the words of the old name are gone and those of the new are found."""
    write_vault(vault, {"zebra.md": "Plain text.", "other.md": "Other text."})
    index_vault(home, vault)
    (vault / "zebra.md").rename(vault / "giraffe.md")

    index_vault(home, vault)

    assert ([], ["giraffe.md"]) == (paths(ask(home, "zebra")), paths(ask(home, "giraffe")))


def test_each_vector_still_belongs_to_its_chunk_after_a_rename(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Asked for its own words, every note of a renamed folder is its own nearest neighbour."""
    write_vault(vault, hundred("before"))
    index_vault(home, vault, embedder)
    (vault / "before").rename(vault / "after")
    index_vault(home, vault, embedder)

    with opened(home) as reader:
        vectors = vectors_of(reader, embedder)
        for number in (0, 50, 99):
            text = f"# Note {number}\n\nAbout subject{number}."
            entries = reader.entries([near.id for near in vectors.nearest(embedder.embed([text])[0], 1).hits])
            (note,) = reader.notes(entry.note for entry in entries.values()).values()
            assert f"after/sub/{number:02}.md" == note.path


def test_a_note_renamed_and_edited_at_once_is_a_new_note(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Nothing ties the two together; but passages that stayed are not embedded again."""
    write_vault(vault, {"old.md": NOTE})
    index_vault(home, vault, embedder)
    embedder.embedded.clear()
    (vault / "old.md").unlink()
    write_vault(vault, {"new.md": f"{NOTE}\n- [step] Bake it hot\n"})

    report, _ = index_vault(home, vault, embedder)

    assert (("new.md",), ("old.md",)) == (report.difference.added, report.difference.removed)
    assert ["Bake it hot"] == [text.rpartition("] ")[2] for text in embedder.embedded]
    assert SOUND == faults(home)


def test_two_notes_that_exchange_names_keep_what_belongs_to_each_path(
    home: Path, vault: Path, embedder: HashEmbedder
) -> None:
    """Each path says what its file says now, and nothing is embedded for it."""
    write_vault(vault, {"a.md": "About ants.", "b.md": "About bees."})
    index_vault(home, vault, embedder)
    embedder.embedded.clear()
    write_vault(vault, {"a.md": "About bees.", "b.md": "About ants."})

    index_vault(home, vault, embedder)

    assert (["a.md"], ["b.md"]) == (paths(ask(home, "bees")), paths(ask(home, "ants")))
    assert [] == embedder.embedded
    assert SOUND == faults(home)


def test_a_chain_of_renames_loses_nothing(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Notes shifted along by one name, as numbered notes are, keep every chunk and embed nothing."""
    write_vault(vault, {f"{number}.md": f"Text of note number{number}." for number in range(5)})
    index_vault(home, vault, embedder)
    embedder.embedded.clear()
    for number in reversed(range(5)):
        (vault / f"{number}.md").rename(vault / f"{number + 1}.md")

    index_vault(home, vault, embedder)

    assert {f"{number}.md" for number in range(1, 6)} == note_ids(home).keys()
    assert {"ready": 5, "pending": 0, "failed": 0} == states(home)
    assert ([], SOUND) == (embedder.embedded, faults(home))


def test_a_name_may_be_used_again_after_a_rename(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """A new note at the old path is another note, with ids of its own."""
    write_vault(vault, {"a.md": NOTE})
    index_vault(home, vault, embedder)
    moved = note_ids(home)["a.md"]
    (vault / "a.md").rename(vault / "b.md")
    index_vault(home, vault, embedder)
    write_vault(vault, {"a.md": "# Another\n\nNot the same.\n"})

    index_vault(home, vault, embedder)

    assert moved == note_ids(home)["b.md"]
    assert moved != note_ids(home)["a.md"]
    assert SOUND == faults(home)


def test_a_note_moved_to_another_project_embeds_nothing(home: Path, vault: Path, embedder: HashEmbedder) -> None:
    """Projects share what was embedded once."""
    other = vault.parent / "other"
    write_vault(vault, {"a.md": NOTE, "stays.md": "It stays."})
    write_vault(other, {"there.md": "It is there."})
    index_vault(home, vault, embedder)
    index_vault(home, other, embedder)
    embedder.embedded.clear()
    (vault / "a.md").rename(other / "a.md")

    index_vault(home, vault, embedder)
    index_vault(home, other, embedder)

    assert [] == embedder.embedded
    assert SOUND == faults(home)
