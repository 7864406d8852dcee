"""Why a condition held: its parts with the values that matched, in words for a person (A6: the rule that held it)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

from approvals.core.cel import Bindings, CelError, compile_value, evaluate
from approvals.core.cel_text import Reference, references, split_parts, tokens
from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import Json
from audit.core.visible import as_line

_LONG = 80  # characters of a value that stand inside an expression; the whole value is in the arguments' own row
_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Match:
    """One part of a condition. `text` is the part with its values, such as `args.amount 4500 > 2000`; `values` maps
    each name to its value, whole."""

    expression: str
    text: str
    values: tuple[tuple[str, Json], ...]

    def as_dict(self) -> dict[str, Json]:
        """JSON for the stored proposal."""
        return {"expression": self.expression, "text": self.text, "values": dict(self.values)}


def matched_parts(expression: str, variables: tuple[str, ...], bindings: Bindings) -> tuple[Match, ...]:
    """The parts of a condition that was true, those that were false on one side of an `||` left out."""
    return tuple(_match(part, variables, bindings) for part in _true_parts(expression, variables, bindings, _DEPTH))


def failed_parts(expression: str, variables: tuple[str, ...], bindings: Bindings) -> tuple[Match, ...]:
    """The parts of a condition that was false: those of an outer `&&` that were false, else the whole."""
    joined, found = _split(expression)
    parts = list(found)
    if joined == "all":
        parts = [part for part in parts if _value(part, variables, bindings) is False] or [expression]
    else:
        parts = [expression]
    return tuple(_match(part, variables, bindings) for part in parts)


def _true_parts(expression: str, variables: tuple[str, ...], bindings: Bindings, depth: int) -> list[str]:
    joined, found = _split(expression)
    parts = list(found)
    if joined == "one" or depth == 0:
        return parts if joined == "one" else [expression]
    if joined == "any":
        parts = [part for part in parts if _value(part, variables, bindings) is True]
    return [inner for part in parts for inner in _true_parts(part, variables, bindings, depth - 1)]


# The same conditions are explained for every call: they are taken apart once.
@lru_cache(maxsize=2_048)
def _split(expression: str) -> tuple[Literal["all", "any", "one"], tuple[str, ...]]:
    joined, parts = split_parts(expression)
    return joined, tuple(parts)


@lru_cache(maxsize=4_096)
def _named(part: str, variables: tuple[str, ...]) -> tuple[Reference, ...]:
    return tuple(references(tokens(part), frozenset(variables)))


def _value(part: str, variables: tuple[str, ...], bindings: Bindings) -> Json:
    try:
        return evaluate(compile_value(part, variables), bindings)
    except CelError:
        return None  # one side of an || may err while the other holds


def _match(part: str, variables: tuple[str, ...], bindings: Bindings) -> Match:
    text = ""
    start = 0
    values: dict[str, Json] = {}
    for reference in _named(part, variables):
        found, value = _look_up(reference.path, bindings)
        text += part[start : reference.end] + " " + (_word(value) if found else "(absent)")
        start = reference.end
        if found:
            values[".".join(reference.path)] = value
    text += part[start:]
    return Match(part, " ".join(text.split()), tuple(values.items()))


def _look_up(path: tuple[str, ...], bindings: Bindings) -> tuple[bool, Json]:
    value: object = bindings.values
    for name in path:
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return False, None
    return True, value.isoformat() if isinstance(value, datetime) else value  # type: ignore[return-value]


def _word(value: Json) -> str:
    if isinstance(value, list):
        return f"(a list of {len(value):,})"
    if isinstance(value, dict):
        return f"(an object of {len(value):,})"
    text = as_line(canonical_bytes(value).decode())
    return text if len(text) <= _LONG else f"(a text of {len(str(value)):,} characters)"
