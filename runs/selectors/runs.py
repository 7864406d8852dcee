"""Reading runs, calls and timelines. Every function takes the actor; a foreign id answers like an unknown one (S62).

An agent sees the runs that it opened; a person sees the runs of the tenant, with any role in it.
"""

import base64
import binascii
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from audit.core.actor import Actor
from audit.core.refusal import Invalid, NotFound
from runs.core.reducer import REDUCERS
from runs.core.state import CallMachine, State
from runs.core.status import counts
from runs.core.words import Line, line
from runs.models import Call, Run
from runs.selectors.history import RunDamaged, facts_as_stored, folded
from runs.selectors.rows import CallRow, RunRow, call_row_of, run_row

log = logging.getLogger(__name__)

type _Stored = tuple[int, str, datetime, dict[str, Any], dict[str, Any]]

PAGE = 50
TIMELINE_LIMIT = 500


@dataclass(frozen=True, slots=True)
class RunPage:
    """One page of runs, most recently changed first; `next` is the cursor of the page behind it, "" at the end."""

    rows: list[RunRow]
    next: str


@dataclass(frozen=True, slots=True)
class RunDetail:
    """A run with its calls. `machines` holds by call id what the history says of each: rule, round, attempt, effect.

    `counts` are the numbers behind the status (calls by state, `in_flight`). `damaged`: the history cannot be read, and
    why in words; then `machines` is empty, `state` that of a run without events, and only the rows tell something."""

    run: RunRow
    calls: list[CallRow]
    machines: Mapping[str, CallMachine]
    counts: Mapping[str, int]
    state: State
    damaged: str = ""


@dataclass(frozen=True, slots=True)
class EventRow:
    """One fact of the timeline, with its words. `actor` and `body` are the event's own JSON."""

    seq: int
    kind: str
    at: datetime
    actor: Mapping[str, Any]
    body: Mapping[str, Any]
    line: Line


def visible_runs(actor: Actor) -> QuerySet[Run]:
    """The runs that `actor` may see at all."""
    runs = Run.objects.filter(tenant_id=actor.tenant_id)
    if actor.kind == "agent":
        return runs.filter(agent_id=actor.id)
    if actor.kind == "person" and actor.roles:
        return runs
    return runs.none()


def run_get(actor: Actor, run_id: UUID | str) -> RunRow:
    """One run's head. Raises NotFound."""
    return run_row(_visible(actor, run_id))


def runs_page(actor: Actor, *, status: str = "", search: str = "", cursor: str = "", limit: int = PAGE) -> RunPage:
    """Runs, most recently changed first. `status` is one of RunStatus; `search` part of a title or an agent's name, or
    a run's id. Raises Invalid (CURSOR_INVALID)."""
    runs = visible_runs(actor)
    if status:
        runs = runs.filter(status=status)
    if search:
        named = Q(title__icontains=search) | Q(agent_name__icontains=search)
        wanted = _uuid(search)
        runs = runs.filter(named | Q(pk=wanted) if wanted else named)
    if cursor:
        at, last = _read_cursor(cursor)
        runs = runs.filter(Q(updated_at__lt=at) | Q(updated_at=at, id__lt=last))
    found = list(runs.order_by("-updated_at", "-id")[: limit + 1])
    more = found[limit - 1] if len(found) > limit else None
    return RunPage([run_row(run) for run in found[:limit]], _cursor(more) if more else "")


def runs_by_id(actor: Actor, ids: Sequence[UUID]) -> list[RunRow]:
    """The heads of those runs that the actor may see; for live lists that re-read what a hint named."""
    return [run_row(run) for run in visible_runs(actor).filter(pk__in=ids)]


def call_counts(actor: Actor, ids: Sequence[UUID]) -> Mapping[UUID, Mapping[str, int]]:
    """How many calls of each of these runs stand in each state, in one query. Runs out of sight are left out."""
    if not ids:
        return {}
    found: dict[UUID, dict[str, int]] = {}
    states = Call.objects.filter(run__in=visible_runs(actor).filter(pk__in=ids)).order_by()
    for run_id, state, number in states.values_list("run_id", "state").annotate(Count("pk")):
        found.setdefault(run_id, {})[state] = number
    return found


def run_detail(actor: Actor, run_id: UUID | str) -> RunDetail:
    """A run, its calls in the order in which they were asked for, what the history says of each. Raises NotFound."""
    run = _visible(actor, run_id)
    calls = [call_row_of(call) for call in Call.objects.filter(run=run).order_by("created_at", "id")]
    try:
        state = folded(run)
    except RunDamaged as damaged:
        log.exception("The history of run %s cannot be read.", run.id)
        nothing = REDUCERS[max(REDUCERS)].initial_state()
        return RunDetail(run_row(run), calls, {}, Counter(call.state for call in calls), nothing, damaged.message)
    return RunDetail(run_row(run), calls, state.calls, counts(state), state)


def timeline(actor: Actor, run_id: UUID | str, *, after: int = 0, limit: int = TIMELINE_LIMIT) -> list[EventRow]:
    """The events behind sequence `after`, in order, at most `limit`. Raises NotFound."""
    run = _visible(actor, run_id)
    found = list(facts_as_stored(run.id, after=after, until=run.seq, limit=min(limit, TIMELINE_LIMIT)))
    called = {str(body["call_id"]) for *_, body in found if "call_id" in body}
    return _in_words(found, dict(Call.objects.filter(run=run, call_id__in=called).values_list("call_id", "tool")))


def timeline_of(detail: RunDetail, *, after: int, until: int) -> list[EventRow]:
    """`timeline` of a run that has been read already."""
    found = list(facts_as_stored(detail.run.id, after=after, until=until, limit=TIMELINE_LIMIT))
    return _in_words(found, {call.call_id: call.tool for call in detail.calls})


def _in_words(found: Sequence[_Stored], tools: Mapping[str, str]) -> list[EventRow]:
    return [
        EventRow(seq, kind, at, actor, body, line(kind, body, actor, tools)) for seq, kind, at, actor, body in found
    ]


def call_row(actor: Actor, run_id: UUID | str, call_id: str) -> CallRow:
    """One call of a run that the actor may see. Raises NotFound."""
    call = Call.objects.filter(run__in=visible_runs(actor), run_id=_must_be_uuid(run_id), call_id=call_id).first()
    if call is None:
        raise NotFound
    return call_row_of(call)


def calls_page(actor: Actor, run_id: UUID | str, *, after: str = "", limit: int = PAGE) -> list[CallRow]:
    """Calls of a run in the order in which they were asked for; `after` is the call id of the last one seen."""
    run = _visible(actor, run_id)
    calls = Call.objects.filter(run=run).order_by("created_at", "id")
    if after:
        last = Call.objects.filter(run=run, call_id=after).first()
        if last is None:
            raise NotFound
        calls = calls.filter(Q(created_at__gt=last.created_at) | Q(created_at=last.created_at, id__gt=last.id))
    return [call_row_of(call) for call in calls[:limit]]


def last_seq(actor: Actor, run_id: UUID | str) -> int:
    """The run's last sequence; cheap, for whoever waits for the next one. Raises NotFound."""
    return _visible(actor, run_id).seq


def _visible(actor: Actor, run_id: UUID | str) -> Run:
    run = visible_runs(actor).filter(pk=_must_be_uuid(run_id)).first()
    if run is None:
        raise NotFound
    return run


def _uuid(text: UUID | str) -> UUID | None:
    try:
        return text if isinstance(text, UUID) else UUID(text)
    except ValueError:
        return None


def _must_be_uuid(text: UUID | str) -> UUID:
    found = _uuid(text)
    if found is None:
        raise NotFound
    return found


def _cursor(run: Run) -> str:
    return base64.urlsafe_b64encode(f"{run.updated_at.isoformat()} {run.id}".encode()).decode()


def _read_cursor(cursor: str) -> tuple[datetime, UUID]:
    try:
        at, _, last = base64.urlsafe_b64decode(cursor.encode()).decode().partition(" ")
        return datetime.fromisoformat(at), UUID(last)
    except (ValueError, binascii.Error):
        raise Invalid("This page mark is not one of ours. Start from the first page.", code="CURSOR_INVALID") from None
