"""The one JSON door (data rule 13): every body and every answer of a target enters through `open_json`.

It reads without recursion and with its own stack, so depth costs nothing and every refusal can name the place.
What comes out is the canonical value: numbers that are whole are `int` (`1.0` and `1e2` are 1 and 100, -0 is 0),
every other number is a `float` whose shortest text is exactly the decimal that was sent. Everything behind the door
works on that value, so what is shown, hashed and executed cannot differ by a reading (S83, S87).
"""

import re
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]  # typeshed forgets it
from typing import Any, NoReturn

from audit.core.pointers import pointer
from audit.core.refusal import Invalid, TooLarge

type Json = bool | int | float | str | list[Json] | dict[str, Json] | None

BODY_LIMIT = 1_048_576
"""Bytes a body may have."""
DEPTH_LIMIT = 64
"""Arrays and objects that may be open at once."""
MEMBER_LIMIT = 20_000
"""Object members and array items a document may have in all."""
SAFE_INTEGER = 2**53 - 1
"""The largest integer that JSON numbers keep exactly everywhere."""

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?)([0-9]+))?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS: tuple[tuple[str, Json], ...] = (("true", True), ("false", False), ("null", None))
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_SHOWN = 64  # characters of a member name that a refusal repeats: it names a place and echoes no body


def open_json(raw: bytes, *, limit: int = BODY_LIMIT, members: int = MEMBER_LIMIT) -> Json:
    """Read one JSON document and return its canonical value.

    Raises `TooLarge` (BODY_TOO_LARGE) over `limit` bytes; else `Invalid` with `detail.path`, a JSON pointer, and one of
    JSON_NOT_UTF8, JSON_SYNTAX, JSON_DEPTH, JSON_TOO_MANY_MEMBERS, JSON_DUPLICATE_KEY, JSON_NOT_FINITE,
    JSON_NUMBER_RANGE, JSON_NUMBER_INEXACT, JSON_SURROGATE, JSON_NUL.
    """
    if len(raw) > limit:
        raise TooLarge(
            f"The body has {len(raw):,} bytes; this door takes at most {limit:,}. Send less, or refer to an artifact.",
            detail={"bytes": len(raw), "limit": limit},
        )
    try:
        text = str(raw, "utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(
            f"The body is not UTF-8 text (byte {error.start}). Encode it as UTF-8 and send it again.",
            code="JSON_NOT_UTF8",
            detail={"path": "", "byte": error.start},
        ) from None
    return _Reader(text, members).read()


def open_json_object(raw: bytes, *, limit: int = BODY_LIMIT, members: int = MEMBER_LIMIT) -> dict[str, Any]:
    """`open_json` for a body that must be an object; anything else is `Invalid` (JSON_NOT_OBJECT)."""
    value = open_json(raw, limit=limit, members=members)
    if not isinstance(value, dict):
        raise Invalid(
            "The body must be a JSON object, written { … }. Send one.", code="JSON_NOT_OBJECT", detail={"path": ""}
        )
    return value


class _Reader:
    """One reading of one text. `stack` holds the open containers, `keys` the member being read in each."""

    __slots__ = ("keys", "left", "members", "pos", "stack", "text")

    def __init__(self, text: str, members: int) -> None:
        self.text = text
        self.pos = 0
        self.members = members
        self.left = members
        self.stack: list[list[Json] | dict[str, Json]] = []
        self.keys: list[str | int] = []

    def read(self) -> Json:
        """The whole document: values until nothing is open, then only white space."""
        self._skip()
        while True:
            opened, value = self._value()
            if opened:
                continue
            while True:
                if not self.stack:
                    self._skip()
                    if self.pos != len(self.text):
                        self._fail("JSON_SYNTAX", "There is more text after the end of the JSON value.")
                    return value
                if self._attach(value):
                    break
                value = self.stack.pop()
                self.keys.pop()

    def _value(self) -> tuple[bool, Json]:
        """Read a scalar, an empty container (False, value), or enter a container (True, None) at its first value."""
        char = self.text[self.pos : self.pos + 1]
        if char == '"':
            return False, self._string()
        if char == "{" or char == "[":
            return self._open(char)
        if char == "-" or ("0" <= char <= "9"):
            return False, self._number()
        for word, value in _WORDS:
            if self.text.startswith(word, self.pos):
                self.pos += len(word)
                return False, value
        for word in _NOT_FINITE:
            if self.text.startswith(word, self.pos):
                self._not_finite(word)
        if char == "":
            self._fail("JSON_SYNTAX", "The text ends where a value is expected.")
        if char == "\ufeff" and self.pos == 0:
            self._fail("JSON_SYNTAX", "The text begins with a byte order mark. Send it without one.")
        self._fail("JSON_SYNTAX", "This is not a JSON value.")

    def _open(self, char: str) -> tuple[bool, Json]:
        if len(self.stack) >= DEPTH_LIMIT:
            self._fail("JSON_DEPTH", f"Arrays and objects are nested more than {DEPTH_LIMIT} deep. Flatten them.")
        self.pos += 1
        self._skip()
        is_object = char == "{"
        if self.text.startswith("}" if is_object else "]", self.pos):
            self.pos += 1
            return False, {} if is_object else []
        self.stack.append({} if is_object else [])
        self.keys.append("" if is_object else 0)
        if is_object:
            self._key()
        else:
            self._count()
        return True, None

    def _attach(self, value: Json) -> bool:
        """Put a finished value where it belongs; True if another value follows, False if the container has ended."""
        container = self.stack[-1]
        if isinstance(container, dict):
            container[self.keys[-1]] = value  # type: ignore[index]
        else:
            container.append(value)
        self._skip()
        char = self.text[self.pos : self.pos + 1]
        if char == ",":
            self.pos += 1
            self._skip()
            if isinstance(container, dict):
                self._key()
            else:
                self.keys[-1] = len(container)
                self._count()
            return True
        if char == ("}" if isinstance(container, dict) else "]"):
            self.pos += 1
            return False
        wanted = "a comma or }" if isinstance(container, dict) else "a comma or ]"
        self._fail("JSON_SYNTAX", f"After this value {wanted} is expected.")

    def _key(self) -> None:
        """Read a member's name and its colon, and make it the current place."""
        container = self.stack[-1]
        self.keys[-1] = ""
        if not self.text.startswith('"', self.pos):
            self._fail("JSON_SYNTAX", "A member name in double quotes is expected here.", inside=True)
        key = self._string(inside=True)
        self.keys[-1] = key
        if key in container:
            self._fail("JSON_DUPLICATE_KEY", "This member is there twice. Send it once.")
        self._count()
        self._skip()
        if not self.text.startswith(":", self.pos):
            self._fail("JSON_SYNTAX", "A colon is expected after this member's name.")
        self.pos += 1
        self._skip()

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            self._fail(
                "JSON_TOO_MANY_MEMBERS",
                f"There are more than {self.members:,} members and items in all. Send fewer, or refer to an artifact.",
            )

    def _string(self, *, inside: bool = False) -> str:
        try:
            value, self.pos = scanstring(self.text, self.pos + 1, True)
        except JSONDecodeError as error:
            self.pos = error.pos
            if self.text.startswith("\0", error.pos):
                self._nul(inside)
            self._fail("JSON_SYNTAX", f"This text is not well formed: {_what(error.msg)}.", inside=inside)
        if not value.isascii() and _SURROGATE.search(value):
            self._fail(
                "JSON_SURROGATE",
                "This text holds half of a surrogate pair, which is no character. Send whole characters.",
                inside=inside,
            )
        if "\0" in value:
            self._nul(inside)
        return value

    def _number(self) -> int | float:
        found = _NUMBER.match(self.text, self.pos)
        if found is None:
            if self.text.startswith("-Infinity", self.pos):
                self._not_finite("-Infinity")
            self._fail("JSON_SYNTAX", "This is not a JSON number.")
        self.pos = found.end()
        sign, whole, fraction, exponent_sign, exponent = found.groups(default="")
        if not fraction and not exponent:
            # The common case. Sixteen digits hold every safe integer, so longer ones need no conversion.
            number = int(whole) if len(whole) <= 16 else SAFE_INTEGER + 1
            return self._whole(-number if sign else number)
        digits = (whole + fraction).lstrip("0")
        if not digits:
            return 0
        exponent = exponent.lstrip("0")
        if len(exponent) > 7:
            self._inexact() if exponent_sign == "-" else self._out_of_range()
        shift = int(exponent or "0") * (-1 if exponent_sign == "-" else 1) - len(fraction)
        kept = digits.rstrip("0")
        shift += len(digits) - len(kept)
        if shift >= 0:
            number = int(kept) * 10**shift if len(kept) + shift <= 16 else SAFE_INTEGER + 1
            return self._whole(-number if sign else number)
        return self._fraction(sign, kept, shift)

    def _whole(self, number: int) -> int:
        if not -SAFE_INTEGER <= number <= SAFE_INTEGER:
            self._out_of_range()
        return number

    def _fraction(self, sign: str, digits: str, shift: int) -> float:
        """The float for `digits` x 10^`shift` (shift < 0), if its shortest text is that very decimal."""
        if len(digits) > 17:
            self._inexact()
        number = float(f"{sign}{digits}e{shift}")
        if number == 0:
            self._inexact()
        if _decimal_of(number) != (digits, shift):
            self._inexact()
        return number

    def _out_of_range(self) -> NoReturn:
        self._fail(
            "JSON_NUMBER_RANGE",
            f"This number is beyond ±{SAFE_INTEGER}, where numbers stop being exact. Send it as text if the tool "
            "takes text here.",
        )

    def _inexact(self) -> NoReturn:
        self._fail(
            "JSON_NUMBER_INEXACT",
            "This number has more digits than a JSON number keeps. Send fewer digits, or text if the tool takes text.",
        )

    def _not_finite(self, word: str) -> NoReturn:
        self._fail("JSON_NOT_FINITE", f"{word} is not a JSON number. Send a number or leave the member out.")

    def _nul(self, inside: bool) -> NoReturn:
        self._fail("JSON_NUL", "This text holds the character NUL, which is not taken. Remove it.", inside=inside)

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.pos)
        if found is not None:
            self.pos = found.end()

    def _fail(self, code: str, message: str, *, inside: bool = False) -> NoReturn:
        """Refuse at the current place; `inside` means the container itself, while a member's name is being read."""
        keys = self.keys[:-1] if inside else self.keys
        place = pointer([key[:_SHOWN] + "…" if isinstance(key, str) and len(key) > _SHOWN else key for key in keys])
        raise Invalid(
            f"{message} Place: {place or 'the top of the document'}.",
            code=code,
            detail={"path": place, "offset": self.pos},
        )


def _what(message: str) -> str:
    """The scanner's own words as the second half of a sentence: "unterminated string"."""
    return message.lower().removesuffix(" at").removesuffix(" starting").removesuffix(":")


def _decimal_of(number: float) -> tuple[str, int]:
    """The digits and power of ten of a float's shortest text, without zeros at either end."""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    return kept, int(exponent or "0") - len(fraction) + len(digits) - len(kept)
