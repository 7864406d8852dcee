"""Where each value of a JSON text begins and ends, so that one place can be written anew and every other byte stays.

Reads what the JSON door has let through. YAML's parser is not asked: it stumbles over tabs and over pairs of escapes.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator

from approvals.core.yaml_door import Lines
from approvals.core.yaml_spans import Span
from audit.core.jsondoor import open_json
from audit.core.pointers import pointer
from audit.core.refusal import Refusal

_SPACE = re.compile(r"[ \t\r\n]*")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[^\s,:\[\]{}\"]+")


def json_spans_of(text: str) -> Span:
    """The tree of spans of a text that the JSON door accepts. Raises LookupError for another one."""
    return _value(text, _past_space(text, 0))


def json_lines(text: str) -> Lines:
    """Where each place of a text stands that the JSON door accepts; nothing for another one."""
    lines = Lines(text)
    try:
        root = json_spans_of(text)
    except (LookupError, Refusal):
        return lines
    ends = [found.start() for found in re.finditer("\n", text)]
    for path, span in _places(root, []):
        line = bisect_left(ends, span.start)
        place = pointer(path)
        lines[place], lines.starts[place] = line + 1, span.start
        lines.columns[place] = span.start - (ends[line - 1] if line else -1)
    return lines


def _places(span: Span, path: list[str | int]) -> Iterator[tuple[list[str | int], Span]]:
    yield path, span
    for at, item in enumerate(span.items):
        yield from _places(item, [*path, span.names[at] if span.kind == "map" else at])


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
            span.names.append(_name(text[key.start : key.end]))
            at = _past_space(text, _past(text, _past_space(text, key.end), ":"))
        span.items.append(_value(text, at))
        at = _past_space(text, span.items[-1].end)
        if text[at : at + 1] != close:
            at = _past_space(text, _past(text, at, ","))
    span.end = at + 1
    return span


def _name(written: str) -> str:
    if "\\" not in written:
        return written[1:-1]
    data = written.encode()
    return str(open_json(data, limit=len(data)))


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
