"""Writing one rule, freeze, limit or test into a policy's text: every other byte stays, comments and order too (W3).

The form beside the text works by this, for YAML and JSON alike. Of what is changed only the places that differ are
written. Each change is checked: the new text must say exactly the old document with that one change, else `EditError`,
and nothing is changed.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from approvals.core import json_edit, yaml_edit
from approvals.core.policy_order import order_of
from approvals.core.yaml_door import YamlError, open_yaml
from approvals.core.yaml_spans import Path
from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import open_json
from audit.core.refusal import Refusal

type Part = Literal["rules", "limits", "freeze", "tests"]
type Document = dict[str, Any]


class EditError(ValueError):
    """The change cannot be written into this text; the message says what to do instead."""


class Writer(Protocol):
    """The verbs by which one place of a text is written: `approvals.core.yaml_edit` and `approvals.core.json_edit`."""

    def put(self, text: str, at: Path, name: str, value: Any) -> str:
        """One more member."""

    def drop(self, text: str, at: Path, name: str) -> str:
        """One member less."""

    def replace(self, text: str, at: Path, value: Any) -> str:
        """Another value in one place."""

    def insert(self, text: str, at: Path, index: int, value: Any) -> str:
        """One more item."""

    def remove(self, text: str, at: Path, index: int) -> str:
        """One item less."""

    def swap(self, text: str, at: Path, index: int) -> str:
        """An item changed over with the one behind it."""


type Write = Callable[[Writer, str, Document, Document], str]
"""Writes into a text what differs between the document that it says and the one that it is to say."""


def format_of(source: str) -> Literal["yaml", "json"]:
    """JSON where the text begins like an object, YAML otherwise."""
    return "json" if source.lstrip().startswith("{") else "yaml"


def item_change(source: str, part: Part, index: int, changes: Mapping[str, Any]) -> str:
    """The text with members of one item set to new values; None takes a member out. Raises `EditError`."""

    def change(document: Document) -> None:
        item = document[part][index]
        for name, value in changes.items():
            if value is None:
                item.pop(name, None)
            else:
                item[name] = value

    def write(writer: Writer, text: str, old: Document, new: Document) -> str:
        return _members(writer, text, (part, index), old[part][index], new[part][index], deep=True)

    def coarsely(writer: Writer, text: str, old: Document, new: Document) -> str:
        # Where an inner place is written in a way that is not known, its whole member still can be.
        return _members(writer, text, (part, index), old[part][index], new[part][index], deep=False)

    return _edit(source, change, write, coarsely)


def item_add(source: str, part: Part, item: Mapping[str, Any], index: int | None = None) -> str:
    """The text with one more item, before the one at `index` or, with None, behind the last. Raises `EditError`."""
    ordered = {name: item[name] for name in sorted(item, key=order_of)}

    def change(document: Document) -> None:
        items = document.setdefault(part, [])
        items.insert(len(items) if index is None else index, ordered)

    def write(writer: Writer, text: str, old: Document, _: Document) -> str:
        return writer.insert(text, (part,), len(old.get(part, ())) if index is None else index, ordered)

    return _edit(source, change, write)


def item_remove(source: str, part: Part, index: int) -> str:
    """The text without one item and without the comment right above it. Raises `EditError`."""

    def change(document: Document) -> None:
        if part == "rules" and len(document[part]) == 1:
            raise EditError("A policy keeps at least one rule. Change this one, or add another first.")
        del document[part][index]
        if not document[part]:
            del document[part]  # the list goes with its last item

    def write(writer: Writer, text: str, _: Document, new: Document) -> str:
        return writer.remove(text, (part,), index) if part in new else writer.drop(text, (), part)

    return _edit(source, change, write)


def item_move(source: str, part: Part, index: int, to: int) -> str:
    """The text with one item changed over with its neighbour `to`, comments above included. Raises `EditError`."""

    def change(document: Document) -> None:
        items = document[part]
        if min(index, to) < 0 or abs(index - to) != 1:
            raise LookupError
        items[index], items[to] = items[to], items[index]

    return _edit(source, change, lambda writer, text, *_: writer.swap(text, (part,), min(index, to)))


def _edit(source: str, change: Callable[[Document], None], *ways: Write) -> str:
    old = _read(source)
    new = copy.deepcopy(old)
    writer: Writer = json_edit if format_of(source) == "json" else yaml_edit
    try:
        change(new)
    except (LookupError, TypeError, AttributeError):
        ways = ()
    for write in ways:
        try:
            text = write(writer, source, old, new)
            if canonical_bytes(_document(text)) == canonical_bytes(new):
                return text
        except (LookupError, TypeError, AttributeError, YamlError, Refusal):
            continue
    raise EditError("This place of the text is written in a way that the form cannot change. Change it in the text.")


def _members(writer: Writer, text: str, at: Path, old: Document, new: Document, *, deep: bool) -> str:
    """What differs between two objects, the new members first: so none is ever empty in between."""
    for name, value in new.items():
        if name not in old:
            text = writer.put(text, at, name, value)
        elif deep:
            text = _value(writer, text, (*at, name), old[name], value)
        elif not _same(old[name], value):
            text = writer.replace(text, (*at, name), value)
    for name in old:
        if name not in new:
            text = writer.drop(text, at, name)
    return text


def _value(writer: Writer, text: str, at: Path, old: Any, new: Any) -> str:
    """The text with `new` where it said `old`, written in as few places as possible."""
    if _same(old, new):
        return text
    if isinstance(old, dict) and isinstance(new, dict) and old and new:
        return _members(writer, text, at, old, new, deep=True)
    if not (isinstance(old, list) and isinstance(new, list) and old and new):
        return writer.replace(text, at, new)
    if len(old) == len(new):
        for index, (was, becomes) in enumerate(zip(old, new, strict=True)):
            text = _value(writer, text, (*at, index), was, becomes)
        return text
    shorter = min(len(old), len(new))
    head = next((index for index in range(shorter) if not _same(old[index], new[index])), shorter)
    tail = next(
        (index for index in range(shorter - head) if not _same(old[-1 - index], new[-1 - index])), shorter - head
    )
    if head + tail < shorter:
        return writer.replace(text, at, new)
    for index in reversed(range(head, len(old) - tail)):
        text = writer.remove(text, at, index)
    for index in range(head, len(new) - tail):
        text = writer.insert(text, at, index, new[index])
    return text


def _same(some: Any, other: Any) -> bool:
    """True is not 1."""
    return canonical_bytes(some) == canonical_bytes(other)


def _read(source: str) -> Document:
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
