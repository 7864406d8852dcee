"""Who said what about an unknown outcome, when and why: from the run's own history, and from the audit log what moved
nothing in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from audit.selectors.entries import EntryFilters, entries_page
from runs.core.kinds import EventKind
from runs.models import Call, Event

WORDS: Mapping[str, str] = {
    "happened": "it happened",
    "did_not_happen": "it did not happen",
    "retry": "it did not happen and is sent again with the same key",
    "compensated": "another call made up for it",
}
LOOK_UP = "look-up"
NOTED: Mapping[str, str] = {
    "call.left_unknown": "left it as it is",
    "call.look_up_asked": "had the target asked",
    "call.compensation_prepared": "prepared a call that makes up for it",
}
"""What people did about it that moved nothing, by its audit action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """One reconciliation. `attempt` is the attempt that it was about; None where the look-up found the effect."""

    by: str
    actor_id: str
    at: datetime
    outcome: str
    words: str
    reason: str
    reference: str
    compensated_by: str
    attempt: int | None
    by_look_up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What somebody did that moved nothing."""

    at: datetime
    by: str
    words: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """A result that came after somebody else had the call: evidence."""

    at: datetime
    outcome: str
    reference: str


def noted_on(call: Call) -> list[Noted]:
    """What was left, asked and prepared, oldest first."""
    since = call.created_at - timedelta(hours=1)
    filters = EntryFilters(run_id=str(call.run_id), call_id=call.call_id, verdict="ok", since=since)
    return [
        Noted(
            at=entry.at,
            by=entry.actor_name,
            words=NOTED[entry.action],
            reason=str(entry.detail.get("reason") or ""),
        )
        for entry in reversed(entries_page(str(call.tenant_id), filters))
        if entry.action in NOTED
    ]


def late_results(call: Call) -> list[Late]:
    """Results of this call that were kept as evidence, oldest first."""
    events = Event.objects.filter(
        run_id=call.run_id, kind=EventKind.LATE_RESULT_KEPT.value, body__call_id=call.call_id
    ).order_by("seq")
    return [
        Late(at=at, outcome=str(body.get("outcome", "")), reference=str(body.get("reference") or ""))
        for at, body in events.values_list("at", "body")
    ]


def decisions_on(run_id: UUID, call_id: str) -> list[Decided]:
    """All of a call, oldest first: a call that was sent again may become unknown again."""
    events = Event.objects.filter(run_id=run_id, kind=EventKind.OUTCOME_RECONCILED.value, body__call_id=call_id)
    return [_decided(at, actor, body) for at, actor, body in events.order_by("seq").values_list("at", "actor", "body")]


def decision_on(run_id: UUID, call_id: str, *, attempt: int) -> Decided | None:
    """What was decided about this attempt of a call, by an operator or by the look-up; None if nothing was."""
    found = decisions_on(run_id, call_id)
    exact = [one for one in found if one.attempt == attempt]
    by_look_up = [one for one in found if one.attempt is None]
    said = exact or by_look_up
    return said[-1] if said else None


def _decided(at: datetime, actor: Mapping[str, Any], body: Mapping[str, Any]) -> Decided:
    outcome = str(body.get("outcome", ""))
    return Decided(
        by=str(body.get("by", "")),
        actor_id=str(actor.get("id", "")),
        at=at,
        outcome=outcome,
        words=WORDS.get(outcome, outcome),
        reason=str(body.get("reason") or ""),
        reference=str(body.get("reference") or ""),
        compensated_by=str(body.get("compensated_by") or ""),
        attempt=body["attempt"] if isinstance(body.get("attempt"), int) else None,
        by_look_up=body.get("by") == LOOK_UP and actor.get("kind") == "system",
    )
