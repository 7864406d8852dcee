"""How a proposal stands at this instant, by the database's clock, whether a sweep has written it down or not (A3, S89).

An overdue pending proposal *is* expired, and so is a granted one that was never redeemed (S82). Lists and pages ask for
`standing`, never for the stored `status`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import (
    BooleanField,
    Case,
    DateTimeField,
    Exists,
    F,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    UUIDField,
    Value,
    When,
)
from django.db.models.functions import Coalesce, JSONObject

from approvals.models import Decision, Permit, Proposal
from audit.core.actor import Actor
from audit.core.visible import as_line
from audit.store.clock import StatementNow


def taken_back_by(by: object, agent_name: str) -> str:
    """Who took a call back, as one line, where it was not the agent that asked: an operator takes back what was
    prepared to make up for something that did not happen. "" for the agent itself. `by` is a closed proposal's own."""
    name = as_line(by) if isinstance(by, str) else ""
    return "" if name == as_line(agent_name) else name


def decided_by(proposal: Any, votes: Sequence[Decision]) -> str:
    """Who decided last in the present round of a closed proposal, or took it back in the agent's place; "" where nobody
    did. The row carries `standing` and `ended_by`."""
    if proposal.standing == "withdrawn":
        return taken_back_by(proposal.ended_by, proposal.agent_name)
    return max(votes, key=lambda vote: vote.at).by if votes and proposal.decided_at else ""


class Intact(Func):
    """Whether the stored bytes still have their digest and can be read (S84, S87); the bytes stay in the database."""

    function = "approvals_intact"
    output_field = BooleanField()


def visible_proposals(actor: Actor) -> "QuerySet[Proposal, Any]":
    """What the actor may see at all: a person with any role everything of the tenant, an agent what it asked itself for
    the same person. A foreign id is not in it, so it answers like an unknown one (S62)."""
    found = Proposal.objects.filter(tenant_id=actor.tenant_id)
    if actor.kind == "agent":
        return found.filter(agent_id=actor.id, acting_user_id=actor.on_behalf_of or None)
    if actor.kind == "person" and not actor.roles:
        return found.none()
    return found


def place_held(tenant_id: str) -> Func:
    """Of a decision in another's place whether its delegation covered it and was not called back since, and whether
    whoever gave it may still decide; access's own function answers."""
    named = ("reviewer_id", "for_user_id", "at")
    tenant = Value(UUID(tenant_id), output_field=UUIDField())
    return Func(tenant, *named, function="access_place_held", output_field=BooleanField())


class RestoredAt(Func):
    """When the last restore of a backup was taken note of; NULL where there was none."""

    template = "clearance_restored_at()"
    output_field = DateTimeField()


def with_standing(found: "QuerySet[Proposal, Any]") -> "QuerySet[Proposal, Any]":
    """Annotates `standing` (the status of now) and `settled_at` (when it left the queue, or will)."""
    unused = Exists(Permit.objects.filter(proposal=OuterRef("pk"), round=OuterRef("round"), status="ready"))
    overdue = Q(expires_at__lte=StatementNow())
    return found.annotate(
        standing=Case(
            When(overdue & Q(status="pending"), then=Value("expired")),
            When(overdue & Q(status="granted") & unused, then=Value("expired")),
            default=F("status"),
            output_field=TextField(),
        ),
        settled_at=Coalesce("decided_at", "expires_at"),
    )


WAITING = Q(status="pending", expires_at__gt=StatementNow())
"""Pending and in time, by one look at the clock, so that an index finds them."""

SETTLED = ~WAITING & Q(settled_at__lte=StatementNow())
"""What left the queue, of rows that carry `settled_at`. The second half says nothing new, but lets the index of the
decided list begin behind those that wait: their deadlines lie ahead."""

EXECUTED = ("started", "succeeded", "unknown")
"""Outcomes behind which an effect stands, or may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """Another proposal with the same digest, as it stood at this look (E7, S91)."""

    id: UUID
    words: str


def same_call() -> Coalesce:
    """The facts of another proposal of the tenant with the same digest: of the newest that was executed, if any was."""
    facts = JSONObject(id="id", status="status", outcome="outcome", outcome_at="outcome_at", created_at="created_at")
    others = (
        Proposal.objects.filter(tenant_id=OuterRef("tenant_id"), digest=OuterRef("digest"))
        .exclude(pk=OuterRef("pk"))
        .order_by("-created_at")
    )
    executed = others.filter(outcome__in=EXECUTED)
    return Coalesce(Subquery(executed.values(facts=facts)[:1]), Subquery(others.values(facts=facts)[:1]))


def same_as(facts: Mapping[str, Any] | None, read_at: datetime) -> Same | None:
    """What `same_call` found, in words."""
    if facts is None:
        return None
    if facts["outcome"] in EXECUTED:
        what, at = "executed" if facts["outcome"] == "succeeded" else "started", facts["outcome_at"]
        if facts["outcome"] == "unknown":
            what = "sent, outcome unknown,"
    else:
        what, at = f"{facts['status']}, asked", facts["created_at"]
    ago = ago_words(read_at - datetime.fromisoformat(at)) if at else "before"
    return Same(id=UUID(facts["id"]), words=f"Same as another call, {what} {ago}.")


def ago_words(ago: timedelta) -> str:
    """`2 minutes ago`, in the largest unit that fits."""
    seconds = max(int(ago.total_seconds()), 0)
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
