"""Closing a proposal and opening its next round, each with its outbox row, audit entry and hint, in one transaction."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from access.services.webhook import webhook_tell
from approvals.core.contract_types import Contract
from approvals.core.digest import CallFacts, snapshot_bytes, snapshot_hash
from approvals.core.policy import Verdict
from approvals.core.present import hides_anything, sentence_text
from approvals.core.rounds import both_hold, expiry_after, reminder_at
from approvals.models import Decision, Proposal
from approvals.selectors.bound import ASKED_AGAIN, Bound
from approvals.selectors.deciders import able_of, prepared_by_of
from approvals.store.alarms import open_alarm
from approvals.store.rows import change, resolve, void_permit
from approvals.store.told import told_of
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.redact import redact
from audit.services.record import audit_record

logger = logging.getLogger(__name__)

type Record = Callable[..., object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Because:
    """Why a round ended or a proposal was closed: a stable code, and a sentence for pages, agents and the log."""

    code: str
    message: str


RESTORED = Because(
    code="RESTORED",
    message="A backup of the database was restored since this was approved. What happened after that backup was made "
    "is not known here, so it is asked anew.",
)
STATE_CHANGED = Because(
    code="STATE_CHANGED", message="The record at the target has changed since this was asked, so it is asked anew."
)


def judged(
    contract: Contract, facts: CallFacts, state: Mapping[str, Json] | None, verdict: Verdict, read_at: datetime
) -> dict[str, Any]:
    """The columns that follow from one judgement: what was seen, what is required and why, and how it reads."""
    seen = snapshot_bytes(state)
    return {
        "snapshot": seen,
        "snapshot_hash": snapshot_hash(seen),
        "snapshot_at": read_at,
        "observed": None,
        "observed_at": None,
        "refresh_asked_at": None,
        "policy_number": verdict.policy_number,
        "rule_id": verdict.rule_id,
        "requires": [{"group": item.group, "count": item.count} for item in verdict.approvers],
        "sentence": sentence_text(contract, facts.arguments, state),
        "hidden_characters": hides_anything(contract, facts.arguments, state),
    }


def why(verdict: Verdict, prepared_by: Mapping[str, str] | None = None) -> dict[str, Json]:
    """The column `why` of a first round: the verdict, and the person ({id, name}) who prepared the call, if one did."""
    return {"verdict": verdict.as_dict(), "opened_because": None} | _prepared(prepared_by)


def why_again(
    verdict: Verdict,
    because: Because,
    at: datetime,
    was: Mapping[str, Json] | None,
    prepared_by: Mapping[str, str] | None = None,
    counted_from: str = "",
) -> dict[str, Json]:
    """The column `why` of a later round: the verdict, what opened it, and the state that the round before saw.
    `counted_from` (ISO 8601): what a rule's time to decide is counted from, where that is not when it was first asked.
    """
    opened: dict[str, Json] = {"code": because.code, "message": because.message, "at": at.isoformat()}
    said: dict[str, Json] = {"verdict": verdict.as_dict()}
    said |= {"opened_because": {**opened, "was": None if was is None else dict(was)}} | _prepared(prepared_by)
    return said | ({"counted_from": counted_from} if counted_from else {})


def _prepared(by: Mapping[str, str] | None) -> dict[str, Json]:
    return {"prepared_by": dict(by)} if by else {}


def logged_sentence(contract: Contract, facts: CallFacts, state: Mapping[str, Json] | None) -> str:
    """The sentence as the audit log may keep it: without what the tool's own redaction paths name (E5)."""
    redacted = redact(facts.arguments, contract.redaction)
    return sentence_text(contract, redacted if isinstance(redacted, dict) else {}, state)


def audited(proposal: Proposal) -> dict[str, Any]:
    """The fields by which every audit entry names a proposal."""
    return {
        "object_type": "proposal",
        "object_id": proposal.pk,
        "run_id": proposal.run_id,
        "call_id": proposal.call_id,
        "tool": proposal.tool,
    }


def close(
    proposal: Proposal,
    kind: str,
    *,
    actor: Actor,
    now: datetime,
    because: Because,
    by: str = "",
    record: Record = audit_record,
) -> None:
    """End a locked proposal that was pending or granted and not redeemed: `kind` is its last status, `by` the name of
    whoever ended it, "" where nobody did."""
    before = proposal.status
    void_permit(proposal, because=because.message)
    told = {"code": because.code, "message": because.message, "by": by}
    change(proposal, status=kind, decided_at=now, refresh_asked_at=None, outcome_detail=told)
    resolve(proposal, kind, at=now, by={"name": by, "reason": because.message, "code": because.code})
    record(
        actor=actor,
        action=f"proposal.{kind}",
        detail={"before": before, "round": proposal.round, "code": because.code, "because": because.message},
        **audited(proposal),
    )


def open_next_round(
    proposal: Proposal,
    *,
    bound: Bound,
    today: Verdict,
    state: Mapping[str, Json] | None,
    read_at: datetime,
    actor: Actor,
    now: datetime,
    because: Because,
    record: Record = audit_record,
    until: datetime | None = None,
) -> bool:
    """Void the votes and the permit of a locked proposal and ask anew, under the same key and deadline (A4, A5).

    `bound` is the row as it was verified; `today` a verdict that does not deny. `until` is a later deadline, for a call
    whose outcome was unknown (services/again.py). False if today's rule gives so little time that it is expired by now:
    then it is closed as such.
    """
    requirement = both_hold(bound.requirement, today)
    counted_from = now.isoformat() if until else _counted_from(proposal)
    asked_at = datetime.fromisoformat(counted_from) if counted_from else proposal.created_at
    asked_at += proposal.stopped
    expires_at = until or expiry_after(created_at=asked_at, expires_at=proposal.expires_at, requirement=requirement)
    if expires_at <= now:
        late = Because(code="EXPIRED", message="Today's rule gives less time, and that has passed.")
        close(proposal, "expired", actor=actor, now=now, because=late, record=record)
        return False
    void_permit(proposal, because=because.message)
    before = proposal.snapshot_hash
    change(
        proposal,
        status="pending",
        round=proposal.round + 1,
        decided_at=None,
        outcome="",
        outcome_detail={},
        expires_at=expires_at,
        remind_at=reminder_at(asked_at=now, expires_at=expires_at, percent=requirement.terms.remind_at_percent),
        why=why_again(requirement, because, now, bound.state, prepared_by_of(proposal), counted_from),
        **judged(bound.contract, bound.facts, state, requirement, read_at),
    )
    record(
        actor=actor,
        action=ASKED_AGAIN,
        detail={
            "round": proposal.round, "code": because.code, "because": because.message,
            "snapshot": {"before": before, "now": proposal.snapshot_hash}, "rule": proposal.rule_id,
            "policy": proposal.policy_number, "requires": proposal.requires, "expires_at": proposal.expires_at,
            "terms": requirement.terms.as_dict(),
            **({"later_deadline": True} if until else {}),
        },
        **audited(proposal),
    )  # fmt: skip
    warn_if_nobody_can_decide(proposal, actor=actor, record=record)
    return True


def _counted_from(proposal: Proposal) -> str:
    """Only shortens a deadline that the log binds, so that an edit of it lengthens nothing."""
    found = proposal.why.get("counted_from") if isinstance(proposal.why, dict) else None
    return found if isinstance(found, str) else ""


def warn_if_nobody_can_decide(
    proposal: Proposal, *, actor: Actor, record: Record = audit_record, votes: Sequence[Decision] = ()
) -> bool:
    """The alarm of S8: a group that was emptied after the policy was published, or lost the passkeys that it signs by,
    blocks, and that is said aloud, once until it ends. `votes` are those of the round. True if it was said now."""
    able = able_of(proposal, votes)
    if able.enough or not open_alarm(proposal):
        return False
    lacks = {"lacks": "passkeys"} if able.for_want_of_keys else {}
    logger.warning(
        "Proposal %s of tenant %s needs people who are not there; it will expire at %s.",
        proposal.pk, proposal.tenant_id, proposal.expires_at.isoformat(),
    )  # fmt: skip
    record(
        actor=actor,
        action="proposal.nobody_can_decide",
        verdict="failed",
        detail={"round": proposal.round, "requires": proposal.requires, **lacks},
        **audited(proposal),
    )
    told = told_of(proposal) | {"needs": proposal.requires, **lacks}
    webhook_tell(tenant_id=proposal.tenant_id, kind="proposal.nobody_can_decide", data=told)
    return True
