"""Reading runs, calls and timelines. Every function takes the actor; a foreign id answers like an unknown one (S62).

An agent sees the runs that it opened; a person sees the runs of the tenant, with any role in it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, Exists, IntegerField, OuterRef, Q, QuerySet, Value, When

from audit.core.actor import Actor
from audit.core.page_mark import page_mark, page_mark_read
from audit.core.refusal import NotFound
from audit.store.clock import now
from runs.core.kinds import FINAL_CALLS
from runs.core.reducer import REDUCERS
from runs.core.state import State
from runs.core.status import counts
from runs.core.words import Line, line
from runs.models import Call, Run
from runs.selectors.folded_on import folded_on
from runs.selectors.history import RunDamaged, facts_as_stored
from runs.selectors.rows import CallRow, RunRow, call_row_of, run_row

log = logging.getLogger(__name__)

PAGE = 50
TIMELINE_LIMIT = 500
# What no page shows of a call; together up to half a megabyte each.
_BYTES = ("canonical", "given")


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs: `state` is one of RunStatus, `agent` an agent's id, `tool` the name of one that was called, `acting`
    whom the agent acts for, `age` one of AGES, `q` part of a title or an agent's name, or a run's id. `stuck`: those of
    `runs.selectors.stuck` alone. "" is every one."""

    state: str = ""
    agent: str = ""
    tool: str = ""
    acting: str = ""
    age: str = ""
    q: str = ""
    stuck: bool = False

    def __bool__(self) -> bool:
        return self != EVERY


EVERY = RunFilter()
AGES: Mapping[str, tuple[bool, timedelta]] = {
    "1h": (True, timedelta(hours=1)),
    "1d": (True, timedelta(days=1)),
    "7d": (True, timedelta(days=7)),
    "over-1d": (False, timedelta(days=1)),
    "over-7d": (False, timedelta(days=7)),
}
"""By the word in an address: whether runs are wanted that were opened since so long ago, or before."""


@dataclass(frozen=True, slots=True)
class RunPage:
    """One page of runs, most recently changed first; `next` is the cursor of the page behind it, "" at the end."""

    rows: list[RunRow]
    next: str


@dataclass(frozen=True, slots=True)
class RunRead:
    """A run and what its history says. `counts` are the numbers behind the status (calls by state, `in_flight`).
    `damaged`: the history cannot be read, and why in words; then `state` is that of a run without events, `counts` are
    those of the calls' rows, and only the rows tell something."""

    run: RunRow
    reducer_version: int
    state: State
    counts: Mapping[str, int]
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
    return run_row(run_visible(actor, run_id))


def runs_page(actor: Actor, wanted: RunFilter = EVERY, *, cursor: str = "", limit: int = PAGE) -> RunPage:
    """Runs, most recently changed first. Raises Invalid (CURSOR_INVALID)."""
    runs = runs_wanted(actor, wanted)
    if cursor:
        at, last = page_mark_read(cursor)
        runs = runs.filter(Q(updated_at__lt=at) | Q(updated_at=at, id__lt=last))
    found = list(runs.order_by("-updated_at", "-id")[: limit + 1])
    more = found[limit - 1] if len(found) > limit else None
    return RunPage([run_row(run) for run in found[:limit]], page_mark(more.updated_at, more.id) if more else "")


def runs_wanted(actor: Actor, wanted: RunFilter) -> QuerySet[Run]:
    """Those of the runs that the actor may see which pass the filter (all but its `stuck`)."""
    runs = visible_runs(actor)
    if wanted.state:
        runs = runs.filter(status=wanted.state)
    if wanted.agent:
        agent = _uuid(wanted.agent)
        runs = runs.filter(agent_id=agent) if agent else runs.none()
    if wanted.acting:
        runs = runs.filter(acting_user_name__iexact=wanted.acting)
    if wanted.tool:
        called = Call.objects.filter(tenant_id=actor.tenant_id, tool=wanted.tool, run_id=OuterRef("pk"))
        runs = runs.filter(Exists(called))
    if wanted.age in AGES:
        runs = _aged(runs, *AGES[wanted.age])
    if wanted.q:
        named = Q(title__icontains=wanted.q) | Q(agent_name__icontains=wanted.q)
        known = _uuid(wanted.q)
        runs = runs.filter(named | Q(pk=known) if known else named)
    return runs


def _aged(runs: QuerySet[Run], younger: bool, limit: timedelta) -> QuerySet[Run]:
    since = now() - limit
    # What was opened since then has changed since then: the index on the last change finds it.
    return runs.filter(created_at__gte=since, updated_at__gte=since) if younger else runs.filter(created_at__lt=since)


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


def run_read(actor: Actor, run_id: UUID | str) -> RunRead:
    """A run with its state, for pages. Raises NotFound."""
    run = run_visible(actor, run_id)
    try:
        state = folded_on(run)
    except RunDamaged as damaged:
        log.exception("The history of run %s cannot be read.", run.id)
        nothing = REDUCERS[max(REDUCERS)].initial_state()
        standing = call_counts(actor, [run.id]).get(run.id, {})
        return RunRead(run_row(run), run.reducer_version, nothing, standing, damaged.message)
    return RunRead(run_row(run), run.reducer_version, state, counts(state))


def calls_of_interest(run_id: UUID, *, first: str = "", limit: int) -> list[CallRow]:
    """Calls of a run: the one named `first`, then those that are not final, then the latest."""
    order = Case(
        When(call_id=first, then=Value(0)),
        When(state__in=[state.value for state in FINAL_CALLS], then=Value(2)),
        default=Value(1),
        output_field=IntegerField(),
    )
    found = Call.objects.filter(run_id=run_id).defer(*_BYTES).order_by(order, "-created_at", "-id")[:limit]
    return [call_row_of(call) for call in found]


def timeline(actor: Actor, run_id: UUID | str, *, after: int = 0, limit: int = TIMELINE_LIMIT) -> list[EventRow]:
    """The events behind sequence `after`, in order, at most `limit`. Raises NotFound."""
    run = run_visible(actor, run_id)
    found = list(facts_as_stored(run.id, after=after, until=run.seq, limit=min(limit, TIMELINE_LIMIT)))
    called = {str(body["call_id"]) for *_, body in found if "call_id" in body}
    tools = dict(Call.objects.filter(run=run, call_id__in=called).values_list("call_id", "tool"))
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
    run = run_visible(actor, run_id)
    calls = Call.objects.filter(run=run).defer(*_BYTES).order_by("created_at", "id")
    if after:
        last = Call.objects.filter(run=run, call_id=after).first()
        if last is None:
            raise NotFound
        calls = calls.filter(Q(created_at__gt=last.created_at) | Q(created_at=last.created_at, id__gt=last.id))
    return [call_row_of(call) for call in calls[:limit]]


def last_seq(actor: Actor, run_id: UUID | str) -> int:
    """The run's last sequence; cheap, for whoever waits for the next one. Raises NotFound."""
    return run_visible(actor, run_id).seq


def run_visible(actor: Actor, run_id: UUID | str) -> Run:
    """The row of a run that the actor may see. Raises NotFound."""
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
