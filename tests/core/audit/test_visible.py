"""Nothing a text hides stays hidden, and no character is lost (S12)."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.core.visible import Piece, as_line, has_hidden, visible, warning

HIDING = {
    "\u202e": "RIGHT-TO-LEFT OVERRIDE",
    "\u2066": "LEFT-TO-RIGHT ISOLATE",
    "\u200b": "ZERO WIDTH SPACE",
    "\u200d": "ZERO WIDTH JOINER",
    "\u2060": "WORD JOINER",
    "\ufeff": "ZERO WIDTH NO-BREAK SPACE",
    "\u00ad": "SOFT HYPHEN",
    "\u00a0": "NO-BREAK SPACE",
    "\u2003": "EM SPACE",
    "\u3000": "IDEOGRAPHIC SPACE",
    "\u2028": "LINE SEPARATOR",
    "\u0007": "",
    "\r": "CARRIAGE RETURN",
    "\x1b": "ESCAPE",
    "\x7f": "DELETE",
    "\u0085": "",
    "\U000e0041": "TAG LATIN CAPITAL LETTER A",
    "\ufe0f": "VARIATION SELECTOR-16",
    "\U000e0100": "VARIATION SELECTOR-17",
    "\u3164": "HANGUL FILLER",
    "\u115f": "HANGUL CHOSEONG FILLER",
    "\u2800": "BRAILLE PATTERN BLANK",
    "\u034f": "COMBINING GRAPHEME JOINER",
    "\ue000": "",
    "\u0378": "",
}


@pytest.mark.parametrize(("char", "name"), HIDING.items())
def test_a_character_that_hides_or_reorders_becomes_an_escape_with_its_name(char, name):
    assert visible(f"a{char}b") == [
        Piece("a", "plain", "a"),
        Piece(f"U+{ord(char):04X}", "escape", char, name),
        Piece("b", "plain", "b"),
    ]
    assert has_hidden(char)
    assert f"U+{ord(char):04X}" in warning(f"x{char}")


@pytest.mark.parametrize(
    "text",
    ["", "Anna Berg", "two\nlines\tand a tab", "Zoë Müller-Å", "日本語とカナ", "Привет", "Ελληνικά", "עברית", "العربية",
     "हिन्दी", "😀 👍🏽 ❤️ 👨‍👩‍👧 1️⃣ ™️", "€ 45,00 – “quoted” …", "<!-- html -->", "naïve café e\u0301", "m² ª º µm"],
)  # fmt: skip
def test_ordinary_text_of_any_language_is_plain_and_needs_no_warning(text):
    assert [piece.kind for piece in visible(text)] in ([], ["plain"])
    assert warning(text) == ""
    assert not has_hidden(text)


def test_in_a_place_of_one_line_line_ends_and_tabs_are_escaped():
    assert [piece.text for piece in visible("a\nb\tc", multiline=False)] == ["a", "U+000A", "b", "U+0009", "c"]
    assert not has_hidden("a\nb")
    assert has_hidden("a\nb", multiline=False)


def test_a_joiner_or_style_sign_that_makes_no_emoji_is_an_escape():
    assert has_hidden("pay\u200dpal")
    assert has_hidden("\u200d😀")
    assert has_hidden("a\ufe0f")
    assert has_hidden("1\ufe0f0")
    assert has_hidden("😀\ufe0f\ufe0f")


def test_a_flag_with_hidden_tags_shows_every_tag():
    text = "🏴" + "".join(chr(0xE0000 + ord(char)) for char in "pay 9000")
    assert sum(piece.kind == "escape" for piece in visible(text)) == 8


@pytest.mark.parametrize(
    ("text", "word"),
    [("to раypal now", "раypal"), ("Αlice", "Αlice"), ("ｐａｙ me", "ｐａｙ"), ("𝐩𝐚𝐲", "𝐩𝐚𝐲"), ("admіn", "admіn")],
)
def test_a_word_that_mixes_alphabets_or_imitates_letters_is_marked_and_says_why(text, word):
    marked = [piece for piece in visible(text) if piece.kind == "lookalike"]
    assert [piece.raw for piece in marked] == [word]
    assert "U+" in marked[0].note
    assert "may not be what it seems" in warning(text)
    assert not has_hidden(text)


def test_a_pile_of_combining_marks_is_escaped_and_an_ordinary_accent_is_not():
    assert not has_hidden("e\u0301\u0323")
    assert has_hidden("e" + "\u0301" * 30)


def test_one_line_for_titles_and_mails_has_no_hidden_character_left():
    assert as_line("ord_1\u202egnp\n2") == "ord_1[U+202E]gnp[U+000A]2"


def test_a_warning_stays_short_however_much_is_hidden():
    assert len(warning("\u200b\u202e\u00a0\u2066\ufeff" * 10_000)) < 400
    assert "50,000 characters" in warning("\u200b\u202e\u00a0\u2066\ufeff" * 10_000)


@given(st.text(st.characters(), max_size=200))
def test_no_character_is_lost_and_no_hiding_one_stays_in_a_plain_piece(text):
    pieces = visible(text)
    assert "".join(piece.raw for piece in pieces) == text
    for piece in pieces:
        if piece.kind == "escape":
            assert len(piece.raw) == 1
            assert piece.text == f"U+{ord(piece.raw):04X}"
        else:
            assert piece.text == piece.raw
            assert not any(unicodedata.category(char) in ("Zl", "Zp", "Co", "Cs") for char in piece.raw)
            assert not any(0x202A <= ord(char) <= 0x202E or 0x2066 <= ord(char) <= 0x2069 for char in piece.raw)


@pytest.mark.parametrize("text", ["a" * 1_000_000, "é" * 400_000, "\u200b" * 100_000, "日本" * 150_000, "аa" * 100_000])
def test_a_long_text_is_shown_whole_and_soon(text):
    start = time.perf_counter()
    assert "".join(piece.raw for piece in visible(text)) == text
    assert time.perf_counter() - start < 3
