"""What no row and no chunk holds, and that nothing else is lost with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.model import Span
from cutaway.notes.rows import Note, parse, remaining

PAYLOAD = "QUJD" * 500
WRAPPED = "\n".join([PAYLOAD[:76]] * 20)


def note(text: str) -> Note:
    return parse("a.md", text.encode())


def kept(text: str) -> str:
    """The text of a note without what it skips."""
    found = note(text)
    return "".join(found.source.slice(*span) for span in remaining(Span(0, len(found.source)), found.skips))


def reasons(text: str) -> list[tuple[str, str]]:
    found = note(text)
    return [(found.source.slice(skip.start, skip.end), skip.reason) for skip in found.skips]


@pytest.mark.parametrize(
    "written",
    [
        f"![](data:image/png;base64,{PAYLOAD})",
        f"[](data:application/pdf;base64,{PAYLOAD})",
        f"![](data:image/png;base64,{PAYLOAD} 'title')",
        f'<img src="data:image/png;base64,{PAYLOAD}">',
        f"[pic]: data:image/png;base64,{PAYLOAD}",
        f"[pic]: <data:image/png;base64,{PAYLOAD}>",
        f"data:image/png;base64,{PAYLOAD}",
        f"data:font/woff2;charset=utf-8;base64,{PAYLOAD}",
        f"data:;base64,{PAYLOAD}",
        f"DATA:image/PNG;BASE64,{PAYLOAD}",
        f"![](data:image/svg+xml;base64,{PAYLOAD}==)",
        f"![](data:image/svg+xml,%3Csvg%20{PAYLOAD}%3E)",
        f"![](data:image/png;base64,{WRAPPED})",
        f"`data:image/png;base64,{PAYLOAD}`",
    ],
    ids=lambda written: written.replace(PAYLOAD, "…").replace(WRAPPED, "wrapped"),
)
def test_a_data_uri_is_skipped_however_it_is_written(written: str):
    """
    Pictures, links, HTML, definitions; base64 in one piece or wrapped, or percent-encoded. The text around it stays.
    """
    text = kept(f"Words before.\n\n{written}\n\nWords behind that go on for a while\nand say something\n")

    assert PAYLOAD[:76] not in text
    assert text.startswith("Words before.") and text.endswith(
        "Words behind that go on for a while\nand say something\n"
    )


def test_a_skipped_data_uri_says_so():
    """
    The reason is given with the bytes.
    """
    written = f"data:image/png;base64,{PAYLOAD}"

    assert [(written, "data URI")] == reasons(f"x\n\n<img src='{written}'>\n")


def test_the_words_that_describe_a_picture_are_kept():
    """
    Alternative text is what a reader would search a picture by.
    """
    assert "the pump from the side" in kept(f"![the pump from the side](data:image/png;base64,{PAYLOAD})\n")


@pytest.mark.parametrize("text", ["data:image/png;base64, is how a picture begins, as this shows\n", "data: none\n"])
def test_text_that_speaks_of_data_uris_is_text(text: str):
    """
    Only what carries data is skipped.
    """
    assert text == kept(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\ntitle: x\n---\nText.\n", [("---\ntitle: x\n---\n", "frontmatter")]),
        ("---\ntags: [a\n---\nText.\n", [("---\ntags: [a\n---\n", "frontmatter")]),
        ("\ufeffText.\n", [("\ufeff", "byte order mark")]),
        ("\ufeff---\nx: y\n---\nText.\n", [("\ufeff---\nx: y\n---\n", "frontmatter")]),
        ("Text.\n\n<!-- a\n\nb -->\n", [("<!-- a\n\nb -->", "comment")]),
        ("Text.\n\n%% a %%\n", [("%% a %%", "comment")]),
        ("```compressed-json\nN4K\n```\n", [("```compressed-json\nN4K\n```", "compressed drawing")]),
        ("---\nprose\n---\nText.\n", []),
        ("Text <!-- amid --> text.\n", []),
        ("", []),
    ],
)
def test_what_is_skipped_is_listed_with_its_reason(text: str, expected: list[tuple[str, str]]):
    """
    Frontmatter even when it is broken, comments that stand alone, drawings in compressed form; nothing else.
    """
    assert expected == reasons(text)


SKIPPED = [
    "<!-- a -->",
    "%% b %%",
    "%%\n<!-- c -->\n%%",
    f"data:a/b;base64,{PAYLOAD[:80]}",
    "```compressed-json\nx\n```",
]
pieces = st.sampled_from([*SKIPPED, "<!--", "%%", "-->", "text", "é", "\n", "\n\n", "---\nx: y\n---\n", "\ufeff"])


@given(st.lists(pieces, max_size=12).map("".join))
def test_skips_come_in_order_and_apart(text: str):
    """
    No byte is skipped for two reasons, and none is cut from inside a character.
    """
    found = note(text)
    bounds = [bound for skip in found.skips for bound in (skip.start, skip.end)]

    assert sorted(bounds) == bounds
    assert [] == [skip for skip in found.skips if skip.start == skip.end]
    assert [] == [bound for bound in bounds if found.source.byte(found.source.char(bound)) != bound]
