"""What an edit makes of a call: another call under an id of ours, and what is different in it (S15, E6, A9).

A revision is a call of its own, with its own bytes, digest and key, so that what is shown, hashed and executed is bound
for it as for any other (A1). Its id is made from the agent's own and can be told from every id that an agent may give.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import Json
from audit.core.pointers import pointer

_REVISED = re.compile(r"~r[0-9]+\Z")


class Missing:
    """What a change comes from or leads to where there is no value: neither `null` nor an empty one (S2)."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


@dataclass(frozen=True, slots=True)
class Change:
    """One place of the arguments that an edit changed. `path` is its JSON pointer."""

    path: str
    before: Json | Missing
    after: Json | Missing

    def as_dict(self) -> dict[str, Json]:
        """`{path, from, to}`; a side without a value has no member."""
        told: dict[str, Json] = {"path": self.path}
        if not isinstance(self.before, Missing):
            told["from"] = self.before
        if not isinstance(self.after, Missing):
            told["to"] = self.after
        return told


def revision_call_id(step_id: str, number: int) -> str:
    """The call id of revision `number` (from 2) of the step that the agent called `step_id`."""
    if number < 2:
        raise ValueError("the first revision is the agent's own call")
    return f"{step_id}~r{number}"


def is_revision_id(call_id: str) -> bool:
    """Whether only we may have made this call id; an agent is refused one like it."""
    return _REVISED.search(call_id) is not None


def changes_between(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[Change]:
    """Every value that differs, in the order of the canonical bytes; lists are compared place by place.

    A place that held an object and holds a plain value now is told as its parts gone and the value come.
    """
    old, new = dict(_leaves(dict(before), [])), dict(_leaves(dict(after), []))
    places = sorted({**old, **new}, key=lambda place: place.encode("utf-16be"))
    told = (Change(place, old.get(place, MISSING), new.get(place, MISSING)) for place in places)
    return [change for change in told if not _equal(change.before, change.after)]


def _equal(one: Json | Missing, other: Json | Missing) -> bool:
    if isinstance(one, Missing) or isinstance(other, Missing):
        return one is other
    return canonical_bytes(one) == canonical_bytes(other)  # 1 is not true


def _leaves(value: Json, path: Sequence[str | int]) -> Iterator[tuple[str, Json]]:
    parts: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = list(enumerate(value))
    if parts:
        for part, item in parts:
            yield from _leaves(item, [*path, part])
    elif path:
        yield pointer(path), value
