"""Where each value of a JSON text begins and ends, so that one place can be written anew and every other byte stays.

Reads what the JSON door has let through. YAML's parser is not asked: it stumbles over tabs and over pairs of escapes.
"""

import re

from approvals.core.yaml_spans import Span

_SPACE = re.compile(r"[ \t\r\n]*")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[^\s,:\[\]{}\"]+")


def json_spans_of(text: str) -> Span:
    """The tree of spans of a text that the JSON door accepts. Raises LookupError for another one."""
    return _value(text, _past_space(text, 0))


def _value(text: str, at: int) -> Span:
    if text[at : at + 1] in ("{", "["):
        return _container(text, at)
    return Span("scalar", at, _scalar_end(text, at), flow=True)


def _container(text: str, start: int) -> Span:
    kind = text[start]
    span = Span("map" if kind == "{" else "list", start, start, flow=True)
    close = "}" if kind == "{" else "]"
    at = _past_space(text, start + 1)
    while text[at : at + 1] != close:
        if span.kind == "map":
            key = Span("scalar", at, _scalar_end(text, at), flow=True)
            span.keys.append(key)
            span.names.append(text[key.start + 1 : key.end - 1])
            at = _past_space(text, _past(text, _past_space(text, key.end), ":"))
        span.items.append(_value(text, at))
        at = _past_space(text, span.items[-1].end)
        if text[at : at + 1] != close:
            at = _past_space(text, _past(text, at, ","))
    span.end = at + 1
    return span


def _scalar_end(text: str, at: int) -> int:
    found = (_TEXT if text[at : at + 1] == '"' else _WORD).match(text, at)
    if found is None:
        raise LookupError
    return found.end()


def _past(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise LookupError
    return at + 1


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
