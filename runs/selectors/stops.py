"""Stops for pages, the API and agents: what is in force, what was lifted, what it holds back.

A person sees the stops of their organisation and those of the whole installation; of another organisation's nothing.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Case, Count, IntegerField, Q, QuerySet, Value, When

from access.selectors.names import agent_names
from approvals.selectors.catalogue import tool_names
from approvals.selectors.frozen import Freezing, freeze_of
from approvals.selectors.links import proposal_link
from audit.core.actor import Actor
from audit.core.refusal import Forbidden
from runs.models import Call, Dispatch, Run, Stop
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
    """What a page says of stops. On a proposal's page `call` is *pending* or *granted*, and `expires_at` says until
    when its approval can still be executed; on others it is "". `freeze` is what the policy holds that call back by."""

    stops: Sequence[StopRow]
    in_flight: int
    held: int
    expires_at: datetime | None = None
    call: str = ""
    freeze: Freezing | None = None

    @property
    def over(self) -> str:
        """When what is held back goes on, as the end of a sentence."""
        stops = f"{'the stops are' if len(self.stops) > 1 else 'the stop is'} lifted"
        if self.freeze is None:
            return stops
        return f"{stops} and the freeze is over" if self.stops else "the freeze is over"

    @property
    def held_by(self) -> str:
        """What holds it back, in one word."""
        return "stopped" if self.stops else "frozen"

    @property
    def sig(self) -> str:
        """Another one whenever it says something else."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]


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


def stopped_count(actor: Actor) -> int:
    """How many stops are in force for the actor's organisation."""
    return _mine(actor).filter(lifted_at=None).count()


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
    """The Guards page. Raises Forbidden (PERSON_REQUIRED): an agent reads on its own calls that they are stopped."""
    if actor.kind != "person":
        raise Forbidden("Stops are listed for people, in their own session.", code="PERSON_REQUIRED")
    in_force = stops_in_force(actor.tenant_id)
    counts = _counts(actor.tenant_id)
    may = actor.has_role("operator", "admin")
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


def banner_for(actor: Actor, *, run_id: UUID | None = None, proposal_id: UUID | None = None) -> Banner | None:
    """The banner of the page of a run or a proposal, or of a list where neither is given. None: nothing to say, also
    for a foreign id."""
    if run_id is not None:
        return stops_banner_of_run(actor, run_id)
    if proposal_id is not None:
        return stops_banner_of_proposal(actor, proposal_id)
    return stops_banner(actor)


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


def stops_banner_of_proposal(actor: Actor, proposal_id: UUID) -> Banner | None:
    """What a proposal's page says, while its call could still be executed."""
    in_force = stops_in_force(actor.tenant_id)
    freeze = freeze_of(tenant_id=actor.tenant_id, proposal_id=proposal_id)
    link = proposal_link(actor, proposal_id) if in_force or freeze else None
    if link is None or link.status not in ("pending", "granted"):
        return None
    call = Call.objects.filter(proposal_id=proposal_id, run__in=visible_runs(actor)).select_related("run").first()
    if call is None or call.state not in ("waiting", "ready"):
        return None
    covering = [row for row in in_force if row.covers(agent_id=call.run.agent_id, tool=call.tool)]
    if not covering and freeze is None:
        return None
    return Banner(stops=covering, held=0, in_flight=0, expires_at=link.expires_at, call=link.status, freeze=freeze)


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
