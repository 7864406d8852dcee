"""Writing one place of a JSON text: laid out as what stands around it, every other byte as it was (W3).

The same verbs as `approvals.core.yaml_edit`; a place is a path of names and numbers from the top. Each raises
LookupError where there is no such place; whether the text then says what it should is for the caller to check.
"""

import json
import re
from typing import Any

from approvals.core.json_spans import json_spans_of
from approvals.core.policy_order import order_of
from approvals.core.yaml_spans import Path, Span, line_start, place_of


def put(text: str, at: Path, name: str, value: Any) -> str:
    """One more member of an object, behind those that usually stand before it."""
    span = place_of(json_spans_of(text), at)
    before = [index for index, known in enumerate(span.names) if order_of(known) <= order_of(name)]
    if not span.items:
        return _replaced(text, span, {name: value})
    index = before[-1] if before else -1
    colon = text[span.keys[0].end : span.items[0].start]
    new = f"{json.dumps(name, ensure_ascii=False)}{colon}{_laid_out(text, span, value)}"
    behind = span.items[index].end
    return text[:behind] + _between(text, span) + new + text[behind:]


def drop(text: str, at: Path, name: str) -> str:
    """The text without one member."""
    span = place_of(json_spans_of(text), at)
    index = span.names.index(name) if name in span.names else -1
    if index < 0:
        raise LookupError
    return _cut(text, span, [key.start for key in span.keys], index)


def replace(text: str, at: Path, value: Any) -> str:
    """The text with another value in one place."""
    return _replaced(text, place_of(json_spans_of(text), at), value)


def insert(text: str, at: Path, index: int, value: Any) -> str:
    """One more item of a list, before the one at `index` or behind the last; the list is made if it is not there."""
    root = json_spans_of(text)
    if len(at) == 1 and root.at(at[0]) is None:
        return put(text, (), str(at[0]), [value])
    span = place_of(root, at)
    if not span.items:
        return _replaced(text, span, [value])
    last = index >= len(span.items)
    neighbour = span.items[-1 if last else index]
    new = _dumped(text, value, lines="\n" in text[neighbour.start : neighbour.end], indent=_indent(text, span))
    if last:
        return text[: neighbour.end] + _between(text, span) + new + text[neighbour.end :]
    return text[: neighbour.start] + new + _between(text, span) + text[neighbour.start :]


def remove(text: str, at: Path, index: int) -> str:
    """The text without one item of a list."""
    span = place_of(json_spans_of(text), at)
    return _cut(text, span, [item.start for item in span.items], index)


def swap(text: str, at: Path, index: int) -> str:
    """The text with one item of a list behind the one that follows it."""
    span = place_of(json_spans_of(text), at)
    if not 0 <= index < len(span.items) - 1:
        raise LookupError
    a, b = span.items[index], span.items[index + 1]
    return text[: a.start] + text[b.start : b.end] + text[a.end : b.start] + text[a.start : a.end] + text[b.end :]


def _cut(text: str, span: Span, starts: list[int], index: int) -> str:
    if index + 1 < len(starts):
        return text[: starts[index]] + text[starts[index + 1] :]
    if index == 0:
        return text[: span.start + 1] + text[span.end - 1 :]
    return text[: span.items[index - 1].end] + text[span.items[index].end :]


def _replaced(text: str, span: Span, value: Any) -> str:
    """In lines where the old value stood in lines, or where it was empty and the whole text stands in lines."""
    old = text[span.start : span.end]
    lines = "\n" in old or (not span.items and "\n" in text.strip())
    begin = line_start(text, span.start)
    indent = re.match(r"[ \t]*", text[begin:])
    return (
        text[: span.start]
        + _dumped(text, value, lines=lines, indent=indent.group() if indent else "")
        + text[span.end :]
    )


def _laid_out(text: str, span: Span, value: Any) -> str:
    """A new member's value: in lines where its object stands in lines, unless lists and objects in it do not."""
    inner = [text[item.start : item.end] for item in span.items if item.items]
    lines = "\n" in _between(text, span) and (not inner or any("\n" in one for one in inner))
    return _dumped(text, value, lines=lines, indent=_indent(text, span))


def _between(text: str, span: Span) -> str:
    """What stands between two members or items."""
    first = span.keys[0].start if span.keys else span.items[0].start
    if "\n" in text[span.start : first]:
        return ",\n" + _indent(text, span)
    return "," if _is_compact(text) else ", "


def _indent(text: str, span: Span) -> str:
    """The spaces before the members or items of an object or list that is written in lines."""
    first = span.keys[0].start if span.keys else span.items[0].start
    found = re.match(r"[ \t]*", text[line_start(text, first) : first])
    return found.group() if found else ""


def _is_compact(text: str) -> bool:
    return re.search(r'^\s*\{\s*"[^"\\]*":\S', text) is not None


def _dumped(text: str, value: Any, *, lines: bool, indent: str) -> str:
    if not lines:
        separators = (",", ":") if _is_compact(text) else (", ", ": ")
        return json.dumps(value, ensure_ascii=False, separators=separators)
    step = re.search(r"\n([ \t]+)\S", text)
    written = json.dumps(value, ensure_ascii=False, indent=step.group(1) if step else 2)
    return written.replace("\n", "\n" + indent)
