"""Making visible what a text hides: invisible, reordering and look-alike characters (S12).

Every character of a text is in exactly one piece, so that nothing is lost, cut or reordered. Text from outside is
shown by its pieces; a page renders an escape in a way that no plain text can imitate.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

type PieceKind = Literal["plain", "escape", "lookalike", "fixed", "unresolved"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text. `raw` is the text itself; `text` what to show for it: the same for "plain" and "lookalike",
    `U+202E` for an "escape". `note` names the character, or says why the word may not be what it seems. A sentence
    about a call has two more kinds: "fixed" for the template's own words, "unresolved" for a value that is absent."""

    text: str
    kind: PieceKind
    raw: str
    note: str = ""


_ORDINARY = re.compile(r"[\x20-\x7e\n\t]*")
_SUSPECT = re.compile(r"[^\x20-\x7e\n\t]")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")

# Characters that show nothing although their category says letter, mark or symbol.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0\ufffc\U0001d159")
_HIDING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_JOINER = "\u200d"
_EMOJI_STYLE = "\ufe0f"
_TEXT_STYLE = "\ufe0e"
_KEYCAP = "\u20e3"
_MARKS_IN_A_ROW = 4  # more combining marks than any writing system stacks can paint over the neighbours
# Alphabets whose letters look like one another's. Scripts that are mixed in ordinary writing (kana, Han) are not here.
_ALPHABETS = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
_NAMED = {"\n": "LINE FEED", "\r": "CARRIAGE RETURN", "\t": "TABULATION", "\x1b": "ESCAPE", "\x7f": "DELETE"}


def visible(text: str, *, multiline: bool = True) -> list[Piece]:
    """`text` as pieces, in order; joined `raw` is `text` again. Without `multiline`, line ends and tabs are escaped
    too, for places that are one line."""
    if multiline and _ORDINARY.fullmatch(text):
        return [Piece(text, "plain", text)] if text else []
    pieces: list[Piece] = []
    start = 0
    for at in _hiding_places(text, multiline):
        pieces.extend(_words(text[start:at]))
        pieces.append(_escape(text[at]))
        start = at + 1
    pieces.extend(_words(text[start:]))
    return pieces


def has_hidden(text: str, *, multiline: bool = True) -> bool:
    """True if `visible` would escape any character of `text`."""
    return any(piece.kind == "escape" for piece in visible(text, multiline=multiline))


def without_hidden(text: str) -> str:
    """`text` without the characters that show nothing; for comparing, never for what is shown or sent. Spaces and line
    ends stay, and so do look-alike letters: they are letters."""
    return text if _ORDINARY.fullmatch(text) else "".join(char for char in text if _is_space(char) or not _hides(char))


def _is_space(char: str) -> bool:
    """Not so the control characters that Python takes for spaces, such as U+001F: no page shows one for them."""
    return char.isspace() and (char in "\t\n\r" or unicodedata.category(char) != "Cc")


def warning(text: str, *, multiline: bool = True) -> str:
    """One sentence about what `text` hides or imitates, or "". Names at most three characters; the pieces show all."""
    pieces = visible(text, multiline=multiline)
    escapes = [piece for piece in pieces if piece.kind == "escape"]
    likes = [piece for piece in pieces if piece.kind == "lookalike"]
    parts = []
    if escapes:
        kinds = list(dict.fromkeys(f"{piece.text} {piece.note}".strip() for piece in escapes))
        more = f" and {len(kinds) - 3} more kinds" if len(kinds) > 3 else ""
        one = "a character that does not show or that reorders the text"
        several = f"{len(escapes):,} characters that do not show or that reorder the text"
        parts.append(f"Contains {one if len(escapes) == 1 else several}: {', '.join(kinds[:3])}{more}.")
    if likes:
        parts.append(f"Contains a word that may not be what it seems: {likes[0].note}.")
    return " ".join(parts)


def as_line(text: str) -> str:
    """`text` as one line of ordinary characters, escapes written [U+202E]; for titles, mails and logs."""
    return "".join(
        f"[{piece.text}]" if piece.kind == "escape" else piece.text for piece in visible(text, multiline=False)
    )


def _hiding_places(text: str, multiline: bool) -> list[int]:
    """Indexes of the characters to escape."""
    suspect = _SUSPECT if multiline else re.compile(r"[^\x20-\x7e]")
    places = []
    marks = 0
    last = -2
    for match in suspect.finditer(text):
        at = match.start()
        char = match.group()
        marks = marks + 1 if at == last + 1 and _is_mark(char) else int(_is_mark(char))
        last = at
        if marks > _MARKS_IN_A_ROW or (_hides(char) and not _belongs_to_emoji(text, at)):
            places.append(at)
    return places


@lru_cache(maxsize=4_096)
def _hides(char: str) -> bool:
    return unicodedata.category(char) in _HIDING or char in _BLANK or _is_selector(char)


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


@lru_cache(maxsize=4_096)
def _is_mark(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me") and not _is_selector(char)


def _belongs_to_emoji(text: str, at: int) -> bool:
    """True for the two invisible characters that emoji are made with, where they do make one."""
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if text[at] in (_EMOJI_STYLE, _TEXT_STYLE):
        return _is_emoji(before) or (before in "0123456789#*" and before != "" and after == _KEYCAP)
    if text[at] == _JOINER:
        if before == _EMOJI_STYLE and at >= 2:
            before = text[at - 2]
        return _is_emoji(before) and _is_emoji(after)
    return False


def _is_emoji(char: str) -> bool:
    # unicodedata does not know the property Extended_Pictographic; these blocks hold all of it.
    return char != "" and (
        "\U0001f000" <= char <= "\U0001faff"
        or "\u2190" <= char <= "\u21ff"
        or "\u2300" <= char <= "\u23ff"
        or "\u25a0" <= char <= "\u27bf"
        or "\u2b00" <= char <= "\u2bff"
        or char in "\u00a9\u00ae\u203c\u2049\u2122\u2139\u24c2\u2934\u2935\u3030\u303d\u3297\u3299"
    )


def _escape(char: str) -> Piece:
    name = _NAMED.get(char, "") or unicodedata.name(char, "")
    return Piece(f"U+{ord(char):04X}", "escape", char, name)


def _words(text: str) -> list[Piece]:
    """`text`, which hides nothing, with the words apart that mix alphabets or imitate plain letters."""
    if not text:
        return []
    if text.isascii():
        return [Piece(text, "plain", text)]
    pieces: list[Piece] = []
    start = 0
    for match in _WORD.finditer(text):
        note = "" if match.group().isascii() else _imitates(match.group())
        if note:
            if start < match.start():
                pieces.append(Piece(text[start : match.start()], "plain", text[start : match.start()]))
            pieces.append(Piece(match.group(), "lookalike", match.group(), note))
            start = match.end()
    if start < len(text):
        pieces.append(Piece(text[start:], "plain", text[start:]))
    return pieces


def _imitates(word: str) -> str:
    alphabets: dict[str, str] = {}
    for char in word:
        if not char.isascii() and _styled_ascii(char):
            return f"{_name(char)} stands for a plain {unicodedata.normalize('NFKC', char)}"
        alphabet = _alphabet(char)
        if alphabet in _ALPHABETS:
            alphabets.setdefault(alphabet, char)
    if len(alphabets) < 2:
        return ""
    odd = next(char for alphabet, char in alphabets.items() if alphabet != "LATIN")
    names = " and ".join(alphabet.capitalize() for alphabet in alphabets)
    return f"it mixes {names} letters, among them {_name(odd)}"


@lru_cache(maxsize=4_096)
def _alphabet(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]


@lru_cache(maxsize=4_096)
def _styled_ascii(char: str) -> bool:
    """True for full-width and mathematical letters, which read as plain ones; not for ª and º of Latin-1."""
    plain = unicodedata.normalize("NFKC", char)
    return char > "\u00ff" and len(plain) == 1 and plain.isascii() and plain.isalpha()


def _name(char: str) -> str:
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip()
