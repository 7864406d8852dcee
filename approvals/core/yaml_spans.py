"""Where each value of a YAML text begins and ends, so that one place can be written anew and every other byte stays.

Reads what `approvals.core.yaml_door` has let through: no anchors, aliases, tags or second documents. A library that
loads and writes the whole text again was tried and not taken: docs/decisions/0014-writing-into-policies.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

type Path = tuple[str | int, ...]
"""A place from the top: names of members and numbers of items."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class Span:
    """One value. `start` and `end` count characters from 0; a block's end is that of its last value, without the
    comments behind it. `keys` are the spans of a mapping's names, beside `items`; `names` their texts."""

    kind: Literal["scalar", "list", "map"]
    start: int
    end: int
    flow: bool
    items: list["Span"] = field(default_factory=list)
    keys: list["Span"] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def at(self, name: str | int) -> "Span | None":
        """The value of a name, or the item of a number; None if there is none."""
        if isinstance(name, int):
            return self.items[name] if self.kind == "list" and 0 <= name < len(self.items) else None
        return self.items[self.names.index(name)] if name in self.names else None


def place_of(root: Span, at: Path) -> Span:
    """The span at a path. Raises LookupError if there is none."""
    for name in at:
        found = root.at(name)
        if found is None:
            raise LookupError
        root = found
    return root


def spans_of(text: str) -> Span:
    """The tree of spans of a text that the YAML door accepts."""
    events = yaml.parse(text, Loader=_LOADER)
    for event in events:
        if isinstance(event, yaml.NodeEvent):
            return _node(text, event, events)
    return Span("scalar", 0, 0, flow=False)


def _node(text: str, event: yaml.NodeEvent, events: Iterator[yaml.Event]) -> Span:
    start = _place(event.start_mark)
    if isinstance(event, yaml.ScalarEvent):
        end = _place(event.end_mark)
        # A block of text ends with its last line, not with the empty lines behind it.
        return Span("scalar", start, max(start, len(text[:end].rstrip())) if event.style in ("|", ">") else end, False)
    kind: Literal["list", "map"] = "map" if isinstance(event, yaml.MappingStartEvent) else "list"
    span = Span(kind, start, start, bool(getattr(event, "flow_style", False)))
    for inner in events:
        if isinstance(inner, yaml.CollectionEndEvent):
            last = span.items[-1].end if span.items else _place(inner.end_mark)
            span.end = _place(inner.end_mark) if span.flow else last
            break
        node = _node(text, inner, events)  # type: ignore[arg-type]  # between the ends there are only nodes
        if kind == "map" and len(span.keys) == len(span.items):
            span.keys.append(node)
            span.names.append(str(getattr(inner, "value", "")))
        else:
            span.items.append(node)
    return span


def _place(mark: Any) -> int:
    """Both parsers mark every event; their types only allow that one does not."""
    return int(mark.index)


def line_start(text: str, at: int) -> int:
    """Where the line of a character begins."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Behind the line end of a character's line; the end of the text for the last line."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def column(text: str, at: int) -> int:
    """How many characters stand before it in its line."""
    return at - line_start(text, at)


def lead(text: str, at: int) -> int:
    """Where the lines of comment begin that stand right above a character's line, without an empty line between."""
    start = line_start(text, at)
    while start > 0:
        above = line_start(text, start - 1)
        if not text[above:start].lstrip().startswith("#"):
            break
        start = above
    return start
