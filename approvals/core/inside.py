"""Where a character of a text value stands in its YAML or JSON source: behind quotes, escapes, indents and folds (A8).

What is found is checked: read back, the places must spell the value. Where they do not, nothing is said.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_DIGITS = {"x": 2, "u": 4, "U": 8}
_HEADER = re.compile(r"[|>][+-]?([1-9]?)[+-]?[ \t]*(?:#[^\n]*)?\r?\n")
_OTHER_ENDS = re.compile("\r(?!\n)|[\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class _Letter:
    """One character of the value and where it is written, from `start` until before `end`."""

    text: str
    start: int
    end: int


def place_inside(source: str, start: int, value: str, offset: int) -> int | None:
    """Where in `source` the character at `offset` of `value` stands, whose text begins at `start`; all count from 0.

    Behind the last visible character for an offset at the value's end. None where that is not exactly known."""
    shown = value.rstrip()
    if not 0 <= offset <= len(value) or not shown:
        return None
    letters = _spelled(source, start, value)
    if not letters:
        return None
    found = letters[len(shown) - 1].end if offset >= len(shown) else letters[offset].start
    return None if _OTHER_ENDS.search(source, start, found) else found


@lru_cache(maxsize=4)  # a condition may be told of hundreds of times
def _spelled(source: str, start: int, value: str) -> tuple[_Letter, ...]:
    """Where each character of the value is written; () where that is not exactly known."""
    for letters in _readings(source, start, len(value)):
        if "".join(letter.text for letter in letters[: len(value)]) == value:
            return tuple(letters)
    return ()


def _readings(source: str, start: int, count: int) -> "list[list[_Letter]]":
    """What may be written there, as far as `count` characters; of a block with every indent that it may have."""
    sign = source[start : start + 1]
    if sign in ('"', "'"):
        return [_in_line(source, start + 1, count, sign)]
    header = _HEADER.match(source, start) if sign in ("|", ">") else None
    if header is None:
        return [_in_line(source, start, count, "")]
    first = re.compile(r"(?:[ \t]*\r?\n)*([ ]*)").match(source, header.end())
    deepest = len(first.group(1)) if first else 0
    # With an indicator the first line may be indented further than the block.
    depths = range(1, deepest + 1) if header.group(1) else [deepest]
    return [_in_block(source, header.end(), count, depth, folded=sign == ">") for depth in depths]


def _in_line(source: str, at: int, count: int, quote: str) -> list[_Letter]:
    """Of a plain text or one in quotes: escapes undone, line ends folded."""
    letters: list[_Letter] = []
    held = 0  # behind it spaces may go, if a line ends there; an escaped one may not
    while len(letters) < count and at < len(source):
        sign = source[at]
        if quote == '"' and sign == "\\":
            letter, at = _escaped(source, at)
            if letter is not None:
                letters.append(letter)
            held = len(letters)
        elif quote == "'" and source.startswith("''", at):
            letters.append(_Letter("'", at, at + 2))
            at += 2
        elif sign == quote:
            break
        elif sign in "\r\n":
            while len(letters) > held and letters[-1].text in " \t":
                letters.pop()
            end = at
            while source[end : end + 1] and source[end] in " \t\r\n":
                end += 1
            ends = source.count("\n", at, end)
            letters += [_Letter(" ", at, end)] if ends == 1 else [_Letter("\n", at, end)] * (ends - 1)
            at = end
        else:
            letters.append(_Letter(sign, at, at + 1))
            at += 1
    return letters


def _escaped(source: str, at: int) -> tuple[_Letter | None, int]:
    """The character that a backslash begins, None for an escaped line end, and what follows it."""
    sign = source[at + 1 : at + 2]
    if sign in _DIGITS:
        end = at + 2 + _DIGITS[sign]
        code = _hex(source[at + 2 : end])
        if 0xD800 <= code < 0xDC00 and source[end : end + 2] == "\\u":
            code = 0x10000 + (code - 0xD800) * 0x400 + _hex(source[end + 2 : end + 6]) - 0xDC00
            end += 6
        return _Letter(chr(code) if 0 <= code < 0x110000 else "", at, end), end
    broken = re.compile(r"\r?\n[ \t]*").match(source, at + 1)
    if broken is not None:
        return None, broken.end()
    return _Letter(_ESCAPES.get(sign, ""), at, at + 2), at + 2


def _hex(digits: str) -> int:
    return int(digits, 16) if re.fullmatch(r"[0-9A-Fa-f]+", digits) else -1


def _in_block(source: str, at: int, count: int, indent: int, *, folded: bool) -> list[_Letter]:
    """Of a block of lines, each without its indent; folded, one line end between two plain lines is a space."""
    letters: list[_Letter] = []
    breaks, at = _empty_lines(source, at, indent)
    while len(letters) < count and at < len(source):
        letters += breaks
        end = source.find("\n", at)
        end = len(source) if end < 0 else end
        line_end = end - 1 if source[end - 1 : end] == "\r" and end > at else end
        letters += [_Letter(source[place], place, place + 1) for place in range(at, line_end)]
        plain = source[at : at + 1] not in (" ", "\t")
        after, at = _empty_lines(source, end + 1, indent)
        goes_on = source[at - indent : at] == " " * indent and at <= len(source)
        if folded and goes_on and plain and source[at : at + 1] not in (" ", "\t"):
            breaks = after or [_Letter(" ", line_end, end + 1)]
        else:
            breaks = [_Letter("\n", line_end, end + 1), *after]
        if not goes_on:
            break
    return letters + breaks


def _empty_lines(source: str, at: int, indent: int) -> tuple[list[_Letter], int]:
    """The line ends of lines of nothing but the indent, and where the next line's text begins."""
    breaks: list[_Letter] = []
    while True:
        begin = at
        while at - begin < indent and source[at : at + 1] == " ":
            at += 1
        end = at + 1 if source.startswith("\r\n", at) else at
        if source[end : end + 1] != "\n":
            return breaks, at
        breaks.append(_Letter("\n", at, end + 1))
        at = end + 1
