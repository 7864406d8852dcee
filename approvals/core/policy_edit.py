"""Writing one rule, limit or test into a policy's text: every other line stays as it was, comments and order too (W3).

The form beside the text works by this. Each change is checked: the new text must say exactly the old document with
that one change, else `EditError`, and nothing is changed. A JSON text stays JSON.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from approvals.core.yaml_door import YamlError, open_yaml
from approvals.core.yaml_spans import Span, column, lead, line_end, line_start, spans_of
from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import open_json
from audit.core.refusal import Refusal

type Part = Literal["rules", "limits", "freeze", "tests"]

ORDER = (
    "id", "name", "tool", "per", "window", "amount", "calls", "over", "from", "to", "tools", "when", "effect", "level",
    "message", "approvers", "tiers", "expires_in_s", "rejections", "authentication", "reasons", "question_clock",
    "remind_at_percent", "escalate_to", "editable", "arguments", "state", "principal", "run", "exposure", "now",
    "expect",
)  # fmt: skip
"""Where a name that is new in a rule, limit or test goes."""

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*", re.ASCII)
# What some readers of YAML take for true, false or nothing is put in quotes, though our door does not.
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_LONG = 100  # characters of a list that still stands in one line


class EditError(ValueError):
    """The change cannot be written into this text; the message says what to do instead."""


def format_of(source: str) -> Literal["yaml", "json"]:
    """JSON where the text begins like an object, YAML otherwise."""
    return "json" if source.lstrip().startswith("{") else "yaml"


def item_change(source: str, part: Part, index: int, changes: Mapping[str, Any]) -> str:
    """The text with members of one item set to new values; None takes a member out. Raises `EditError`."""

    def change(document: dict[str, Any]) -> None:
        item = document[part][index]
        for name, value in changes.items():
            if value is None:
                item.pop(name, None)
            else:
                item[name] = value

    def write(text: str) -> str:
        for name, value in changes.items():
            text = _set_member(text, _item(text, part, index), name, value)
        return text

    return _edit(source, change, write)


def item_add(source: str, part: Part, item: Mapping[str, Any], index: int | None = None) -> str:
    """The text with one more item, before the one at `index` or, with None, behind the last. Raises `EditError`."""
    ordered = {name: item[name] for name in sorted(item, key=_order)}

    def change(document: dict[str, Any]) -> None:
        items = document.setdefault(part, [])
        items.insert(len(items) if index is None else index, ordered)

    return _edit(source, change, lambda text: _insert(text, part, ordered, index))


def item_remove(source: str, part: Part, index: int) -> str:
    """The text without one item and without the comment right above it. Raises `EditError`."""

    def change(document: dict[str, Any]) -> None:
        if part == "rules" and len(document[part]) == 1:
            raise EditError("A policy keeps at least one rule. Change this one, or add another first.")
        del document[part][index]
        if not document[part]:
            del document[part]  # the list goes with its last item

    return _edit(source, change, lambda text: _remove(text, part, index))


def item_move(source: str, part: Part, index: int, to: int) -> str:
    """The text with one item changed over with its neighbour `to`, comments above included. Raises `EditError`."""

    def change(document: dict[str, Any]) -> None:
        items = document[part]
        if min(index, to) < 0:
            raise LookupError
        items[index], items[to] = items[to], items[index]

    return _edit(source, change, lambda text: _swap(text, part, min(index, to), max(index, to)))


def _edit(source: str, change: Callable[[dict[str, Any]], None], write: Callable[[str], str]) -> str:
    before = _read(source)
    try:
        change(before)
        if format_of(source) == "json":
            return _json(source, before)
        text = write(source)
        if canonical_bytes(_document(text)) == canonical_bytes(before):
            return text
    except (LookupError, TypeError, AttributeError, YamlError, Refusal):
        pass
    raise EditError("This place of the text is written in a way that the form cannot change. Change it in the text.")


def _read(source: str) -> dict[str, Any]:
    try:
        document = _document(source)
    except (YamlError, Refusal) as error:
        raise EditError(f"Mend the text first, then use the form. {error.message}") from None
    if not isinstance(document, dict):
        raise EditError("Mend the text first, then use the form. A policy is an object.")
    return document


def _document(source: str) -> Any:
    if format_of(source) == "json":
        return open_json(source.encode(), limit=len(source.encode()) + 1, members=50_000)
    return open_yaml(source)[0]


def _json(source: str, document: dict[str, Any]) -> str:
    """As it was laid out: in one line, or with the indent of its second line."""
    found = re.search(r"\n([ \t]+)\S", source)
    text = json.dumps(document, ensure_ascii=False, indent=found.group(1) if found else None)
    return text + ("\n" if source.endswith("\n") else "")


# -- places ------------------------------------------------------------------------------------------------------------


def _item(text: str, part: Part, index: int) -> Span:
    items = spans_of(text).at(part)
    found = items.at(index) if items else None
    if found is None or found.kind != "map":
        raise LookupError
    return found


def _dash(text: str, item: Span) -> int:
    """The dash of an item of a list that is written in lines."""
    found = text.rfind("-", 0, item.start)
    if found < 0 or text[found + 1 : item.start].strip() or text[line_start(text, found) : found].strip():
        raise LookupError
    return found


def _lines(text: str, item: Span) -> tuple[int, int]:
    """The lines of an item of a list that is written in lines, with the comment above it."""
    return lead(text, _dash(text, item)), line_end(text, item.end)


def _order(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


# -- one member of an item ---------------------------------------------------------------------------------------------


def _set_member(text: str, item: Span, name: str, value: Any) -> str:
    old = item.at(name)
    if value is None:
        return text if old is None else _drop_member(text, item, item.names.index(name))
    if old is not None:
        if item.flow or (old.kind == "scalar" and "\n" not in text[old.start : old.end] and _in_line(value)):
            return text[: old.start] + _flow(value) + text[old.end :]
        start = item.keys[item.names.index(name)].end
        # A comment behind the old value goes behind the first line of the new one: in a block it would be text.
        tail = text[old.end : line_end(text, old.end)]
        head, cut, rest = _block(value, column(text, item.start)).partition("\n")
        new = f"{head}{tail.rstrip()}\n{rest}\n" if cut else head + tail
        return f"{text[:start]}:{new}{text[line_end(text, old.end) :]}"
    if item.flow:
        at = item.items[-1].end if item.items else item.start + 1
        return text[:at] + (", " if item.items else "") + f"{name}: {_flow(value)}" + text[at:]
    before = [at for at, known in enumerate(item.names) if _order(known) <= _order(name)]
    behind = item.items[before[-1] if before else -1]
    at = line_end(text, max(behind.end, item.keys[before[-1] if before else -1].end))
    line = " " * column(text, item.start) + f"{name}:{_block(value, column(text, item.start))}\n"
    return text[:at] + ("" if text[:at].endswith("\n") else "\n") + line + text[at:]


def _drop_member(text: str, item: Span, at: int) -> str:
    key, value = item.keys[at], item.items[at]
    end = max(key.end, value.end)
    following = item.keys[at + 1].start if at + 1 < len(item.keys) else None
    if not item.flow and text[line_start(text, key.start) : key.start].strip() == "":
        return text[: line_start(text, key.start)] + text[line_end(text, end) :]
    if following is not None:
        return text[: key.start] + text[following:]
    start = item.items[at - 1].end if at else key.start
    return text[:start] + text[end:]


# -- items of a list ---------------------------------------------------------------------------------------------------


def _insert(text: str, part: Part, item: dict[str, Any], index: int | None) -> str:
    root = spans_of(text)
    items = root.at(part)
    if items is None:
        if root.flow:
            at = root.items[-1].end
            return text[:at] + f", {part}: {_flow([item])}" + text[at:]
        at = line_end(text, root.items[-1].end)
        line = " " * column(text, root.start)
        return _joined(text[:at]) + f"{line}{part}:\n{_as_item(item, len(line) + 2, flow=False)}" + text[at:]
    if not items.items:
        return text[: items.start] + _flow([item]) + text[items.end :]
    if items.flow:
        if index is None or index >= len(items.items):
            at = items.items[-1].end
            return text[:at] + ", " + _flow(item) + text[at:]
        at = items.items[index].start
        return text[:at] + _flow(item) + ", " + text[at:]
    neighbour = items.items[-1 if index is None or index >= len(items.items) else index]
    first, behind = _lines(text, neighbour)
    at = behind if index is None or index >= len(items.items) else first
    indent = column(text, _dash(text, neighbour))
    return _joined(text[:at]) + _as_item(item, indent, flow=neighbour.flow) + text[at:]


def _joined(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _remove(text: str, part: Part, index: int) -> str:
    items = spans_of(text).at(part)
    if items is None:
        raise LookupError
    if len(items.items) == 1:
        root = spans_of(text)
        return _drop_member(text, root, root.names.index(part))
    if items.flow:
        if index + 1 < len(items.items):
            return text[: items.items[index].start] + text[items.items[index + 1].start :]
        start = items.items[index - 1].end if index else items.items[index].start
        return text[:start] + text[items.items[index].end :]
    first, behind = _lines(text, items.items[index])
    return text[:first] + text[behind:]


def _swap(text: str, part: Part, one: int, other: int) -> str:
    items = spans_of(text).at(part)
    if items is None or other != one + 1:
        raise LookupError
    if items.flow:
        a, b = items.items[one], items.items[other]
        return text[: a.start] + text[b.start : b.end] + text[a.end : b.start] + text[a.start : a.end] + text[b.end :]
    (a0, a1), (b0, b1) = _lines(text, items.items[one]), _lines(text, items.items[other])
    return text[:a0] + _joined(text[b0:b1]) + text[a1:b0] + text[a0:a1] + text[b1:]


# -- writing values ----------------------------------------------------------------------------------------------------


def _as_item(item: dict[str, Any], indent: int, *, flow: bool) -> str:
    space = " " * indent
    if flow:
        return f"{space}- {_flow(item)}\n"
    lines = [f"{name}:{_block(value, indent + 2)}\n" for name, value in item.items()]
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
