"""Reading a note: whole, in lines, and a piece at a time."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import index_vault, write_vault
from cutaway.config import Settings
from cutaway.errors import NoteNotFound
from cutaway.faces.asked import NoteIn
from cutaway.faces.engine import Engine
from cutaway.faces.note_texts import NoteTextOut, read

LINES = ["# Größe", "", "eins 😀", "zwei\r", "x" * 50, "ende"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("read")
    vault = write_vault(folder / "vault", {"a.md": "\n".join(LINES), "empty.md": "", "ends.md": "one\ntwo\n"})
    index_vault(folder / "home", vault)
    return Engine(folder / "home", Settings(embedder="none"))


def text(engine: Engine, note: str = "a.md", **asked: int) -> NoteTextOut:
    wanted = NoteIn.model_validate({"note": note, **asked})
    with engine.session(wanted) as session:
        return read(session, wanted)


def test_a_note_is_given_as_it_is(engine: Engine) -> None:
    whole = text(engine)

    assert ("\n".join(LINES), 1, 6, 6, None) == (
        *(whole.text, whole.first_line, whole.last_line, whole.lines, whole.next),
    )
    assert (0, whole.bytes) == (whole.start, whole.end)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [(3, 3, "eins 😀\n"), (6, None, "ende"), (6, 99, "ende"), (7, None, ""), (1, 1, "# Größe\n"), (5, 2, "")],
)
def test_lines_are_given_with_their_ends(engine: Engine, first: int, last: int | None, expected: str) -> None:
    asked = {"first_line": first} | ({} if last is None else {"last_line": last})

    assert expected == text(engine, **asked).text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(most=st.integers(1, 130), first=st.integers(1, 7), last=st.integers(1, 7))
def test_pieces_add_up(engine: Engine, most: int, first: int, last: int) -> None:
    """Whatever the size of a piece: none repeats, none is missing, none cuts a character."""
    whole = text(engine, first_line=first, last_line=last).text
    pieces, start = [], 0
    while True:
        piece = text(engine, first_line=first, last_line=last, max_chars=most, start=start)
        pieces.append(piece.text)
        if piece.next is None:
            break
        assert 0 < len(piece.text) <= most
        start = piece.next

    assert whole == "".join(pieces)


def test_a_piece_ends_with_a_line_where_one_fits(engine: Engine) -> None:
    assert ["# Größe\n\n", "# Größe\n"] == [text(engine, max_chars=count).text for count in (12, 8)]


def test_an_empty_note_has_no_text(engine: Engine) -> None:
    assert ("", None) == (text(engine, "empty.md").text, text(engine, "empty.md").next)


def test_a_last_line_end_begins_no_line(engine: Engine) -> None:
    assert (2, "two\n") == (text(engine, "ends.md").lines, text(engine, "ends.md", first_line=2).text)


@pytest.mark.parametrize("name", ["../outside.md", "/etc/passwd", "~/x.md", "nul\0.md", "a" * 4_000])
def test_no_name_leads_out_of_the_folder(engine: Engine, name: str) -> None:
    with pytest.raises(NoteNotFound):
        text(engine, name)


def test_the_servers_own_folder_names_no_note(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the folder that was given with the request does."""
    with engine.session(NoteIn(note="a.md")) as session:
        root = session.reader.scope[0].root
    monkeypatch.chdir(root)

    with pytest.raises(NoteNotFound):
        text(engine, "./a.md")
    asked = NoteIn(note="./a.md", here=str(root))
    with engine.session(asked) as session:
        assert "a.md" == read(session, asked).path
