"""Reading the text of a CEL expression: its tokens, its parts joined by && and ||, and the values it names.

CEL itself compiles and checks (`approvals.core.cel`); this reads only what the package does not tell: which functions
are called and how deep, for the bounds, and which parts held, so that a person is shown "args.amount 4500 > 2000".
"""

import re
from dataclasses import dataclass
from typing import Literal

type Kind = Literal["space", "text", "number", "name", "sign"]

_TOKENS = re.compile(
    r"""
    (?P<space> \s+ | //[^\n]* )
  | (?P<text> [rR]? (?: "{3} | '{3} ) )                                  # refused: see `tokens`
  | (?P<raw> [rR] (?: "[^"\n]*" | '[^'\n]*' ) )
  | (?P<plain> "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' )
  | (?P<number> 0[xX][0-9a-fA-F]+ | (?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?u? )
  | (?P<name> [A-Za-z_][A-Za-z0-9_]* )
  | (?P<sign> && | \|\| | [<>=!]= | [-+*/%<>!?:.,()\[\]{}] )
    """,
    re.VERBOSE | re.ASCII,
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_OPEN = {"(": ")", "[": "]", "{": "}"}
_CLOSE = frozenset(_OPEN.values())


class CelTextError(ValueError):
    """The text has something that our expressions do not use; the message says what, `position` where (from 0)."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of an expression. `text` is as written; `start` counts characters from 0."""

    kind: Kind
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that an expression names: `args.customer["id"]` as `path` ("args", "customer", "id")."""

    path: tuple[str, ...]
    start: int
    end: int


def tokens(expression: str) -> list[Token]:
    """The tokens of `expression`, spaces and comments left out. Raises `CelTextError`."""
    found: list[Token] = []
    position = 0
    half = _SURROGATE.search(expression)
    if half is not None:
        raise CelTextError("half of a surrogate pair is no character", half.start())
    while position < len(expression):
        match = _TOKENS.match(expression, position)
        if match is None or match.lastgroup is None:
            raise CelTextError(f"{expression[position]!r} has no meaning here", position)
        if match.lastgroup == "text":
            raise CelTextError("text in triple quotes is not used here; write it in single or double quotes", position)
        if match.lastgroup != "space":
            kind = "text" if match.lastgroup in ("raw", "plain") else match.lastgroup
            found.append(Token(kind, match.group(), position))  # type: ignore[arg-type]
        position = match.end()
    return found


def literal(token: Token) -> str:
    """The text that a `text` token stands for; the escapes that CEL and Python share are undone."""
    if token.text[0] in "rR":
        return token.text[2:-1]
    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", _unescape, token.text[1:-1])


def _unescape(match: re.Match[str]) -> str:
    if match.group(1):
        return chr(int(match.group(1), 16))
    return {"n": "\n", "t": "\t", "r": "\r"}.get(match.group(2), match.group(2))


def references(parts: list[Token], roots: frozenset[str]) -> list[Reference]:
    """The values below `roots` that `parts` name, in order of appearance, method names left out."""
    found: list[Reference] = []
    at = 0
    while at < len(parts):
        token = parts[at]
        after_dot = at > 0 and parts[at - 1].text == "."
        if token.kind == "name" and token.text in roots and not after_dot:
            reference, at = _follow(parts, at)
            found.append(reference)
        else:
            at += 1
    return found


def _follow(parts: list[Token], at: int) -> tuple[Reference, int]:
    start = parts[at].start
    path = [parts[at].text]
    end = parts[at].end
    at += 1
    while at + 1 < len(parts):
        sign, name = parts[at], parts[at + 1]
        after = parts[at + 2].text if at + 2 < len(parts) else ""
        if sign.text == "." and name.kind == "name" and after != "(":
            path.append(name.text)
            end, at = name.end, at + 2
        elif sign.text == "[" and name.kind in ("text", "number") and after == "]":
            path.append(literal(name) if name.kind == "text" else name.text)
            end, at = parts[at + 2].end, at + 3
        else:
            break
    return Reference(tuple(path), start, end), at


def split_parts(expression: str) -> tuple[Literal["all", "any", "one"], list[str]]:
    """An expression as the parts that `&&` ("all") or `||` ("any") join at its outermost level.

    An outer pair of brackets around everything is taken off. An expression that neither joins, or that is a choice
    (`a ? b : c`), is "one" part.
    """
    parts = tokens(expression)
    parts = _unwrap(parts)
    if not parts:
        return "one", [expression]
    if not any(depth == 0 and token.text == "?" for depth, token in _depths(parts)):
        for sign, joined in (("||", "any"), ("&&", "all")):
            pieces = _split(expression, parts, sign)
            if len(pieces) > 1:
                return joined, pieces  # type: ignore[return-value]
    return "one", [expression[parts[0].start : parts[-1].end]]


def _depths(parts: list[Token]) -> list[tuple[int, Token]]:
    depth = 0
    found = []
    for token in parts:
        if token.text in _CLOSE:
            depth -= 1
        found.append((depth, token))
        if token.text in _OPEN:
            depth += 1
    return found


def _unwrap(parts: list[Token]) -> list[Token]:
    while len(parts) > 2 and parts[0].text == "(" and parts[-1].text == ")":
        if any(depth == 0 for depth, _ in _depths(parts)[1:-1]):
            break  # the first bracket closes before the end: (a) && (b)
        parts = parts[1:-1]
    return parts


def _split(expression: str, parts: list[Token], sign: str) -> list[str]:
    pieces = []
    start = parts[0].start
    for depth, token in _depths(parts):
        if depth == 0 and token.text == sign:
            pieces.append(expression[start : token.start].strip())
            start = token.end
    pieces.append(expression[start : parts[-1].end].strip())
    return pieces
