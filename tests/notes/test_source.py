"""A note's source: bytes, characters and lines name the same places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.notes.source import Source

LINE_ENDS = ["\n", "\r\n", "\r"]
texts = st.lists(st.text(max_size=5) | st.sampled_from([*LINE_ENDS, "é", "字", "🐘", "\u2028", "\x0c"])).map("".join)


@given(texts)
def test_text_and_bytes_are_the_same_content(text: str):
    """
    Nothing is normalised on the way in, line ends least of all.
    """
    source = Source(text.encode())

    assert (text, text.encode()) == (source.text, source.raw)


@given(texts)
def test_every_character_has_a_byte_and_every_such_byte_its_character(text: str):
    """
    The two translations are inverse to each other, the end of the text included.
    """
    source = Source(text.encode())
    places = range(len(text) + 1)

    assert [len(text[:place].encode()) for place in places] == [source.byte(place) for place in places]
    assert list(places) == [source.char(source.byte(place)) for place in places]


@given(texts, st.data())
def test_a_slice_between_two_characters_is_the_text_between_them(text: str, data: st.DataObject):
    """
    Cutting by bytes gives what cutting by characters gives.
    """
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    source = Source(text.encode())

    assert text[first:last] == source.slice(source.byte(first), source.byte(last))


def test_a_byte_inside_a_character_belongs_to_the_one_after():
    """
    A byte offset from elsewhere may fall inside a character; the next one is meant.
    """
    source = Source("a🐘b".encode())

    assert [0, 1, 2, 2, 2, 2, 3] == [source.char(byte) for byte in range(7)]


@given(texts)
def test_every_byte_is_on_the_line_that_an_editor_shows(text: str):
    """
    Line feed, carriage return, and both together each end one line; nothing else does.
    """
    source = Source(text.encode())
    lines = [number for number, line in enumerate(source.raw.splitlines(keepends=True), start=1) for _ in line]

    assert lines == [source.line(byte) for byte in range(len(source))]


@pytest.mark.parametrize("end", LINE_ENDS)
def test_a_line_starts_behind_the_end_of_the_one_before(end: str):
    """
    The start of a line is the same for each of its bytes.
    """
    source = Source(f"één{end}two{end}".encode())
    second = len(f"één{end}".encode())

    assert {0} == {source.line_start(byte) for byte in range(second)}
    assert {second} == {source.line_start(byte) for byte in range(second, len(source))}


@pytest.mark.parametrize("sign", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_signs_that_only_some_programs_break_at_end_no_line(sign: str):
    """
    Editors and Markdown count these as part of the line.
    """
    assert 1 == Source(f"one{sign}still one".encode()).line(len(f"one{sign}".encode()))


@pytest.mark.parametrize("end", LINE_ENDS)
def test_the_lines_of_a_range_leave_out_blank_margins(end: str):
    """
    A range that begins and ends with blank lines is named by the lines that hold text.
    """
    text = f"one{end}{end}  two{end}three{end}{end}"

    assert (3, 4) == Source(text.encode()).lines(3, len(text))


@pytest.mark.parametrize(("start", "end"), [(4, 4), (4, 6)])
def test_a_range_without_text_is_on_the_line_where_it_begins(start: int, end: int):
    """
    An empty or a blank range still has one line to show.
    """
    assert (2, 2) == Source(b"one\n\n\n").lines(start, end)


@pytest.mark.parametrize("raw", [b"\xff", b"caf\xe9", b"ok \xf0\x9f", b"\xed\xa0\x80", b"\xc0\xaf"])
def test_bytes_that_are_no_text_are_refused(raw: bytes):
    """
    A lone byte, a character cut short, a surrogate and an overlong form are not UTF-8.
    """
    with pytest.raises(UnicodeDecodeError):
        Source(raw)
