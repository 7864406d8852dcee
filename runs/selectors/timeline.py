"""The history of a run as its page windows it: blocks of a hundred events, narrowed to a group of kinds or to a call.

The page holds only the blocks near what is looked at, so a block is asked for by the sequence numbers that it spans;
the blocks lie side by side from 1 to the run's last event, whatever the filter.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, QuerySet

from audit.core.actor import Actor
from audit.core.refusal import NotFound
from runs.core.groups import BY_KEY, GROUPS, OTHER, group_of
from runs.core.words import Line, line
from runs.models import Call, Event
from runs.selectors.runs import run_visible

BLOCK = 100
"""Events in a block; the newest has up to half as many more."""
MOST = 500
"""Events that are read at once for a page."""
_KNOWN = [kind.value for group in GROUPS for kind in group.kinds]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A filter of the history: a group of kinds (`runs.core.groups`) and a call of the agent's; "" is every one."""

    group: str = ""
    call_id: str = ""

    def __bool__(self) -> bool:
        return bool(self.group or self.call_id)


WHOLE = Narrowed()


@dataclass(frozen=True, slots=True)
class Block:
    """Events `first` to `last`; `count` of them pass the filter."""

    first: int
    last: int
    count: int


@dataclass(frozen=True, slots=True)
class EventShown:
    """An event with its words. `call_id` is "" where it is not about a call."""

    seq: int
    at: datetime
    line: Line
    call_id: str


@dataclass(frozen=True, slots=True)
class GroupShown:
    """A group of kinds with the number of its events, whatever else is narrowed."""

    key: str
    word: str
    count: int


def events_shown(
    run_id: UUID, narrowed: Narrowed, *, after: int, until: int, tools: Mapping[str, str] | None = None
) -> list[EventShown]:
    """The events behind `after` up to `until` that pass the filter, newest first, at most MOST. `tools`: of calls that
    the caller has read, by call id."""
    rows = _narrow(Event.objects.filter(run_id=run_id, seq__gt=after, seq__lte=until), narrowed)
    found = list(rows.order_by("seq").values_list("seq", "kind", "at", "actor", "body")[:MOST])
    # What has no form is left out, so that one bad event hides no other (S87).
    sound = [(seq, kind, at, _object(actor), _object(body)) for seq, kind, at, actor, body in found]
    known = dict(tools or {})
    missing = {str(body["call_id"]) for *_, body in sound if "call_id" in body} - set(known)
    if missing:
        known |= dict(Call.objects.filter(run_id=run_id, call_id__in=missing).values_list("call_id", "tool"))
    return [
        EventShown(seq, at, line(kind, body, actor, known), str(body.get("call_id") or ""))
        for seq, kind, at, actor, body in reversed(sound)
    ]


def event_raw(actor: Actor, run_id: UUID, seq: int) -> str:
    """One event as JSON text. Raises NotFound."""
    run = run_visible(actor, run_id)
    row = Event.objects.filter(run_id=run.id, seq=seq).values_list("kind", "schema", "at", "actor", "body").first()
    if row is None:
        raise NotFound
    kind, schema, at, who, body = row
    raw = {"seq": seq, "kind": kind, "schema": schema, "at": at.isoformat(), "actor": who, "body": body}
    return json.dumps(raw, indent=2, ensure_ascii=False)


def events_block(actor: Actor, run_id: UUID, narrowed: Narrowed, *, first: int, last: int) -> list[EventShown]:
    """The events of one block. Raises NotFound for a run that the actor may not see."""
    return events_shown(run_visible(actor, run_id).id, narrowed, after=first - 1, until=last)


def blocks(run_id: UUID, seq: int, narrowed: Narrowed) -> list[Block]:
    """The blocks of a history of `seq` events, newest first; at least one."""
    if not narrowed:
        # The newest is what is sent first: never a few rows alone.
        starts = list(range(1, max(seq - BLOCK // 2, 1) + 1, BLOCK))
        ends = [*(start - 1 for start in starts[1:]), seq]
        return [Block(first, last, last - first + 1) for first, last in zip(starts, ends, strict=True)][::-1]
    rows = _narrow(Event.objects.filter(run_id=run_id, seq__lte=seq), narrowed)
    hits = list(rows.order_by("seq").values_list("seq", flat=True))
    found, start = [], 1
    for at in range(0, len(hits), BLOCK):
        part = hits[at : at + BLOCK]
        end = part[-1] if at + BLOCK < len(hits) else seq
        found.append(Block(start, end, len(part)))
        start = end + 1
    return found[::-1] or [Block(1, seq, 0)]


def block_at(found: Sequence[Block], seq: int | None) -> Block:
    """The block that holds event `seq`, or the newest."""
    return next((block for block in found if seq is not None and block.first <= seq <= block.last), found[0])


def groups_shown(run_id: UUID, chosen: str) -> list[GroupShown]:
    """The groups that occur in the history and the chosen one, with their numbers. One query."""
    number: dict[str, int] = {}
    kinds = Event.objects.filter(run_id=run_id).order_by().values_list("kind").annotate(Count("seq"))
    for kind, count in kinds:
        number[group_of(kind)] = number.get(group_of(kind), 0) + count
    return [
        GroupShown(group.key, group.word, number.get(group.key, 0))
        for group in GROUPS
        if number.get(group.key) or group.key == chosen
    ]


def _narrow(rows: QuerySet[Event], narrowed: Narrowed) -> QuerySet[Event]:
    if narrowed.group == OTHER:
        rows = rows.exclude(kind__in=_KNOWN)
    elif narrowed.group:
        group = BY_KEY.get(narrowed.group)
        rows = rows.filter(kind__in=[kind.value for kind in group.kinds]) if group else rows.none()
    return rows.filter(body__call_id=narrowed.call_id) if narrowed.call_id else rows


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
