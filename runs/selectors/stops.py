"""Stops for pages, the API and agents: what is in force, what was lifted, what it holds back.

A person sees the stops of their organisation and those of the whole installation; of another organisation's nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Case, Count, IntegerField, Q, QuerySet, Value, When

from access.selectors.names import agent_names
from approvals.selectors.catalogue import tool_names
from audit.core.actor import Actor
from runs.models import Dispatch, Run, Stop
from runs.selectors.runs import visible_runs

LIFTED_SHOWN = 50
_WIDEST_FIRST = Case(
    *(When(kind=kind, then=Value(place)) for place, kind in enumerate(("installation", "tenant", "agent", "tool"))),
    output_field=IntegerField(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRow:
    """A stop as it was set and, if it was, lifted. `subject_name` is what people call the subject."""

    id: UUID
    kind: str
    subject: str
    subject_name: str
    reason: str
    set_by_name: str
    set_at: datetime
    lifted_at: datetime | None
    lifted_by_name: str
    lifted_reason: str

    @property
    def what(self) -> str:
        """What is stopped, as the beginning of a sentence."""
        return {
            "installation": "All dispatch of this installation",
            "tenant": "All dispatch of this organisation",
            "agent": f"The agent {self.subject_name}",
            "tool": f"The tool {self.subject_name}",
        }[self.kind]

    def covers(self, *, agent_id: UUID | str, tool: str) -> bool:
        """Whether a call of its organisation is covered."""
        subjects = {"agent": str(agent_id), "tool": tool}
        return subjects.get(self.kind, self.subject) == self.subject


@dataclass(frozen=True, slots=True, kw_only=True)
class StopShown:
    """A stop in force, with how many approved calls it holds back and how many that it covers are on their way."""

    stop: StopRow
    held: int
    in_flight: int
    may_lift: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A tool or an agent that can be stopped. `note` says what sets it apart ("retired"), `stopped` that it is."""

    value: str
    name: str
    note: str
    stopped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardsShown:
    """The page of stops. `held` and `in_flight` count each call once; `why_not` says why there is no form."""

    in_force: list[StopShown]
    lifted: list[StopRow]
    tools: list[Choice]
    agents: list[Choice]
    tenant_stopped: bool
    held: int
    in_flight: int
    may_change: bool
    why_not: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """What a page says of stops. `expires_at`: until when an approval of this call would still hold."""

    stops: Sequence[StopRow]
    in_flight: int
    held: int
    expires_at: datetime | None = None
    one_call: bool = False
    pending: bool = False


def stop_row(stop: Stop) -> StopRow:
    """The value of a row."""
    return StopRow(
        id=stop.pk,
        kind=stop.kind,
        subject=stop.subject,
        subject_name=stop.subject_name,
        reason=stop.reason,
        set_by_name=stop.set_by_name,
        set_at=stop.set_at,
        lifted_at=stop.lifted_at,
        lifted_by_name=stop.lifted_by_name,
        lifted_reason=stop.lifted_reason,
    )


def stops_in_force(tenant_id: UUID | str | None) -> list[StopRow]:
    """Everything that is stopped for an organisation now (None: only what is for the whole installation), the widest
    first."""
    own = Q(tenant_id=None) if tenant_id is None else Q(tenant_id=tenant_id) | Q(tenant_id=None)
    found = Stop.objects.filter(own, lifted_at=None).order_by(_WIDEST_FIRST, "set_at", "id")
    return [stop_row(stop) for stop in found]


def stop_of(*, tenant_id: UUID | str, agent_id: UUID | str, tool: str) -> StopRow | None:
    """The widest stop that covers such a call now."""
    covering = (row for row in stops_in_force(tenant_id) if row.covers(agent_id=agent_id, tool=tool))
    return next(covering, None)


def stop_of_call(actor: Actor, *, run_id: UUID, tool: str) -> StopRow | None:
    """The widest stop that covers a call of a run that the actor may see."""
    in_force = stops_in_force(actor.tenant_id)
    if not in_force:
        return None
    agent_id = visible_runs(actor).filter(pk=run_id).values_list("agent_id", flat=True).first()
    return next((row for row in in_force if agent_id and row.covers(agent_id=agent_id, tool=tool)), None)


def stops_listed(actor: Actor) -> GuardsShown:
    """The Guards page for a person."""
    in_force = stops_in_force(actor.tenant_id)
    counts = _counts(actor.tenant_id)
    may = actor.kind == "person" and actor.has_role("operator", "admin")
    shown = [
        StopShown(
            stop=row,
            held=_sum(counts, [row], "ready"),
            in_flight=_sum(counts, [row], "started"),
            may_lift=may and row.kind != "installation",
        )
        for row in in_force
    ]
    lifted = _mine(actor).filter(lifted_at__isnull=False).order_by("-lifted_at", "-set_at")[:LIFTED_SHOWN]
    stopped = {(row.kind, row.subject) for row in in_force}
    return GuardsShown(
        in_force=shown,
        lifted=[stop_row(stop) for stop in lifted],
        tools=[
            Choice(value=name, name=name, note="" if admitted else "retired", stopped=("tool", name) in stopped)
            for name, admitted in tool_names(actor.tenant_id)
        ],
        agents=[
            Choice(value=id_, name=name, note="" if active else "not active", stopped=("agent", id_) in stopped)
            for id_, name, active in agent_names(actor.tenant_id)
        ],
        tenant_stopped=("tenant", "") in stopped,
        held=_sum(counts, in_force, "ready"),
        in_flight=_sum(counts, in_force, "started"),
        may_change=may,
        why_not="" if may else "Setting and lifting stops takes the role operator.",
    )


def stops_banner(actor: Actor) -> Banner | None:
    """What the lists say: everything that is stopped. None when nothing is."""
    in_force = stops_in_force(actor.tenant_id)
    if not in_force:
        return None
    counts = _counts(actor.tenant_id)
    return Banner(stops=in_force, held=_sum(counts, in_force, "ready"), in_flight=_sum(counts, in_force, "started"))


def stops_banner_of_run(actor: Actor, run_id: UUID) -> Banner | None:
    """What a run's page says: the stops that cover calls of it which are not sent yet, or its agent as a whole."""
    run = visible_runs(actor).filter(pk=run_id, finished_at=None).first()
    in_force = stops_in_force(actor.tenant_id) if run is not None else []
    if run is None or not in_force:
        return None
    open_tools = set(run.calls.filter(state__in=["new", "waiting", "ready", "started"]).values_list("tool", flat=True))
    covering = [
        row
        for row in in_force
        if (row.subject in open_tools if row.kind == "tool" else row.covers(agent_id=run.agent_id, tool=""))
    ]
    if not covering:
        return None
    counts = _counts(actor.tenant_id, run=run)
    return Banner(stops=covering, held=_sum(counts, covering, "ready"), in_flight=_sum(counts, covering, "started"))


def _mine(actor: Actor) -> QuerySet[Stop]:
    return Stop.objects.filter(Q(tenant_id=actor.tenant_id) | Q(tenant_id=None))


type _Counts = dict[tuple[UUID, str, str], int]


def _counts(tenant_id: UUID | str, *, run: Run | None = None) -> _Counts:
    """Rows of work that send, by agent, tool and status: *ready* is approved and not begun, *started* on its way."""
    rows = Dispatch.objects.filter(kind="dispatch", status__in=["ready", "started"], call__tenant_id=tenant_id)
    if run is not None:
        rows = rows.filter(run=run)
    found = rows.order_by().values_list("run__agent_id", "call__tool", "status").annotate(Count("pk"))
    return {(agent, tool, status): number for agent, tool, status, number in found}


def _sum(counts: _Counts, in_force: Sequence[StopRow], status: str) -> int:
    return sum(
        number
        for (agent, tool, stands), number in counts.items()
        if stands == status and any(row.covers(agent_id=agent, tool=tool) for row in in_force)
    )
