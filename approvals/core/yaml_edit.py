"""Writing one place of a YAML text: in the layout that stands there, comments and every other byte as they were (W3).

The same verbs as `approvals.core.json_edit`; a place is a path of names and numbers from the top. Each raises
LookupError where there is no such place; whether the text then says what it should is for the caller to check.
"""

import json
import re
from typing import Any

from approvals.core.policy_order import order_of
from approvals.core.yaml_spans import Path, Span, column, lead, line_end, line_start, place_of, spans_of

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*", re.ASCII)
# What some readers of YAML take for true, false or nothing is put in quotes, though our door does not.
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_LONG = 100  # characters of a list that still stands in one line


def put(text: str, at: Path, name: str, value: Any) -> str:
    """One more member of a mapping, behind those that usually stand before it."""
    item = place_of(spans_of(text), at)
    if item.kind != "map":
        raise LookupError
    if item.flow:
        end = item.items[-1].end if item.items else item.start + 1
        return text[:end] + (", " if item.items else "") + f"{_flow(name)}: {_flow(value)}" + text[end:]
    before = [index for index, known in enumerate(item.names) if order_of(known) <= order_of(name)]
    index = before[-1] if before else -1
    end = line_end(text, max(item.items[index].end, item.keys[index].end))
    line = " " * column(text, item.start) + f"{_flow(name)}:{_block(value, column(text, item.start))}\n"
    return _joined(text[:end]) + line + text[end:]


def drop(text: str, at: Path, name: str) -> str:
    """The text without one member."""
    item = place_of(spans_of(text), at)
    if name not in item.names:
        raise LookupError
    index = item.names.index(name)
    key, value = item.keys[index], item.items[index]
    end = max(key.end, value.end)
    following = item.keys[index + 1].start if index + 1 < len(item.keys) else None
    if not item.flow and text[line_start(text, key.start) : key.start].strip() == "":
        return text[: line_start(text, key.start)] + text[line_end(text, end) :]
    if following is not None:
        return text[: key.start] + text[following:]
    start = item.items[index - 1].end if index else key.start
    return text[:start] + text[end:]


def replace(text: str, at: Path, value: Any) -> str:
    """The text with another value in one place: of a mapping's member or a list's item."""
    holder = place_of(spans_of(text), at[:-1])
    old = holder.at(at[-1])
    if old is None:
        raise LookupError
    in_line = old.kind == "scalar" and "\n" not in text[old.start : old.end] and _in_line(value)
    if holder.flow or in_line or (old.flow and holder.kind == "list"):
        return text[: old.start] + _flow(value) + text[old.end :]
    if holder.kind == "list":
        raise LookupError
    start = holder.keys[holder.names.index(str(at[-1]))].end
    indent = column(text, holder.start)
    # A comment behind the old value goes behind the first line of the new one: in a block it would be text.
    tail = text[old.end : line_end(text, old.end)]
    head, cut, rest = _block(value, indent).partition("\n")
    new = f"{head}{tail.rstrip()}\n{rest}\n" if cut else head + tail
    return f"{text[:start]}:{new}{text[line_end(text, old.end) :]}"


def insert(text: str, at: Path, index: int, value: Any) -> str:
    """One more item of a list, before the one at `index` or behind the last; the list is made if it is not there."""
    root = spans_of(text)
    if len(at) == 1 and root.at(at[0]) is None:
        return _new_list(text, root, str(at[0]), value)
    items = place_of(root, at)
    if not items.items:
        return text[: items.start] + _flow([value]) + text[items.end :]
    last = index >= len(items.items)
    neighbour = items.items[-1 if last else index]
    if items.flow:
        if last:
            return text[: neighbour.end] + ", " + _flow(value) + text[neighbour.end :]
        return text[: neighbour.start] + _flow(value) + ", " + text[neighbour.start :]
    first, behind = _lines(text, neighbour)
    place = behind if last else first
    indent = column(text, _dash(text, neighbour))
    return _joined(text[:place]) + _as_item(value, indent, flow=neighbour.flow) + text[place:]


def remove(text: str, at: Path, index: int) -> str:
    """The text without one of several items of a list and, of a list in lines, without the comment right above it."""
    items = place_of(spans_of(text), at)
    if not 0 <= index < len(items.items) or len(items.items) == 1:
        raise LookupError
    if items.flow:
        if index + 1 < len(items.items):
            return text[: items.items[index].start] + text[items.items[index + 1].start :]
        return text[: items.items[index - 1].end] + text[items.items[index].end :]
    first, behind = _lines(text, items.items[index])
    return text[:first] + text[behind:]


def swap(text: str, at: Path, index: int) -> str:
    """The text with one item of a list behind the one that follows it, each with the comment above it."""
    items = place_of(spans_of(text), at)
    if not 0 <= index < len(items.items) - 1:
        raise LookupError
    a, b = items.items[index], items.items[index + 1]
    if items.flow:
        return text[: a.start] + text[b.start : b.end] + text[a.end : b.start] + text[a.start : a.end] + text[b.end :]
    (a0, a1), (b0, b1) = _lines(text, a), _lines(text, b)
    return text[:a0] + _joined(text[b0:b1]) + text[a1:b0] + text[a0:a1] + text[b1:]


# -- places ------------------------------------------------------------------------------------------------------------


def _dash(text: str, item: Span) -> int:
    """The dash of an item of a list that is written in lines."""
    found = text.rfind("-", 0, item.start)
    if found < 0 or text[found + 1 : item.start].strip() or text[line_start(text, found) : found].strip():
        raise LookupError
    return found


def _lines(text: str, item: Span) -> tuple[int, int]:
    """The lines of an item of a list that is written in lines, with the comment above it."""
    return lead(text, _dash(text, item)), line_end(text, item.end)


def _new_list(text: str, root: Span, name: str, value: Any) -> str:
    if root.flow:
        end = root.items[-1].end
        return text[:end] + f", {name}: {_flow([value])}" + text[end:]
    end = line_end(text, root.items[-1].end)
    line = " " * column(text, root.start)
    return _joined(text[:end]) + f"{line}{name}:\n{_as_item(value, len(line) + 2, flow=False)}" + text[end:]


def _joined(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


# -- writing values ----------------------------------------------------------------------------------------------------


def _as_item(item: Any, indent: int, *, flow: bool) -> str:
    space = " " * indent
    if flow or not isinstance(item, dict):
        return f"{space}- {_flow(item)}\n"
    lines = [f"{_flow(name)}:{_block(value, indent + 2)}\n" for name, value in item.items()]
    return f"{space}- " + f"{space}  ".join(lines)


def _block(value: Any, indent: int) -> str:
    """What stands behind `name:` in a text of lines, with the space before it and without a line end."""
    if isinstance(value, str) and _is_lines(value):
        kept = "|-" if not value.endswith("\n") else "|"
        inner = "".join(f"\n{' ' * (indent + 2)}{line}" if line else "\n" for line in value.rstrip("\n").split("\n"))
        return f" {kept}{inner}"
    if isinstance(value, list) and value and (len(value) > 1 or len(_flow(value)) > _LONG) and not _in_line(value):
        return "".join(f"\n{' ' * (indent + 2)}- {_flow(inner)}" for inner in value)
    return " " + _flow(value)


def _is_lines(text: str) -> bool:
    """True for a text of several lines that a block says as it is."""
    body = text.removesuffix("\n")
    plain = "\n" in body and text[:1] not in " \n" and body == body.rstrip()
    return plain and all(line.isprintable() for line in body.split("\n"))


def _in_line(value: Any) -> bool:
    """True for what stands in one line in a text of lines too."""
    if isinstance(value, str):
        return not _is_lines(value)
    if isinstance(value, list):
        return len(_flow(value)) <= _LONG and all("approvers" not in inner for inner in value)
    return True


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(name)}: {_flow(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(inner) for inner in value) + "]"
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) is not None and value.lower() not in _WORDS
        return value if plain else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)
