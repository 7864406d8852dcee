"""What every click on a proposal is asked before it does anything: a person's own, in time, about what stands here.

All of it after the row's lock, by the clock and the rights of that moment (data rule 11, S17).
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from approvals.models import Decision, Proposal
from approvals.selectors.deciders import eligibility_of
from approvals.selectors.standing import taken_back_by
from approvals.store.rows import lock_proposal
from audit.core.actor import Actor
from audit.core.canonical import short_digest
from audit.core.refusal import Conflict, Forbidden, NotFound


def check_person(actor: Actor, what: str) -> None:
    """Raises Forbidden (PERSON_REQUIRED) for whoever is not a person in its own session; `what` needs one."""
    if actor.kind != "person" or actor.via != "session":
        raise Forbidden(
            f"{what} needs a person in their own browser session; no token does it.", code="PERSON_REQUIRED"
        )


def locked_for(actor: Actor, proposal_id: UUID) -> Proposal:
    """The proposal, locked. Raises NotFound, also for a foreign id (S62)."""
    proposal = lock_proposal(proposal_id, tenant_id=actor.tenant_id)
    if proposal is None:
        raise NotFound
    return proposal


def check_open(proposal: Proposal, votes: Sequence[Decision], now: datetime) -> None:
    """State and expiry. What was decided is told before what is late: whoever decided it did so in time.

    Raises Conflict: ALREADY_DECIDED (`detail.by`, `detail.at`), EXPIRED, CLOSED.
    """
    if proposal.status in ("granted", "rejected"):
        last = votes[-1] if votes else None
        word = "approved" if proposal.status == "granted" else "rejected"
        if last is not None:
            raise already(f"{last.by} {word} this at {clock_text(last.at)}; nothing is left to do.", last)
        raise Conflict(f"This was {word} already.", code="ALREADY_DECIDED")
    if proposal.status == "expired" or (proposal.status == "pending" and now >= proposal.expires_at):
        raise Conflict(
            f"The time to decide was over at {clock_text(proposal.expires_at)}; it was refused and nothing ran. "
            "The agent may ask again.",
            code="EXPIRED",
            detail={"expires_at": proposal.expires_at.isoformat()},
        )
    if proposal.status != "pending":
        # Votes stand where it was approved, and taken back before it was sent.
        before = "before it was executed" if votes else "before anybody decided"
        by = taken_back_by(proposal.outcome_detail.get("by"), proposal.agent_name)
        words = {
            "withdrawn": f"{by or 'The agent'} took this back {before}",
            "cancelled": f"The run was cancelled {before}",
            "superseded": "An edited revision took the place of this",
            "refused": "This was refused when it was judged again",
        }
        raise Conflict(
            f"{words.get(proposal.status, f'This is {proposal.status}')}; nothing ran and nothing is left to do.",
            code="CLOSED",
            detail={"status": proposal.status},
        )


def check_eligible(actor: Actor, proposal: Proposal) -> None:
    """Raises Forbidden with the reason for whoever may not decide it."""
    allowed = eligibility_of(actor, proposal)
    if not allowed.ok:
        raise Forbidden(allowed.reason, code=allowed.code, missing=allowed.missing)


def check_same_thing(proposal: Proposal, digest: str, round: int | None) -> None:
    """The click is about what stands here: the call by its digest, and the state and rules by the round.

    Raises Conflict: DIGEST_CHANGED, ROUND_CHANGED.
    """
    if digest != proposal.digest:
        raise Conflict(
            f"You decided on another call than this one (this is {short_digest(proposal.digest)}). "
            "Load the page again and decide on what it shows.",
            code="DIGEST_CHANGED",
            detail={"digest": proposal.digest},
        )
    if round is not None and round != proposal.round:
        because = (proposal.why or {}).get("opened_because") or {}
        raise Conflict(
            f"This is asked anew since you opened the page: {because.get('message') or 'it was judged again.'} "
            "Load the page again and decide on what it shows now.",
            code="ROUND_CHANGED",
            detail={"round": proposal.round},
        )


def already(message: str, by: Decision) -> Conflict:
    """The refusal for a click that comes after somebody's decision."""
    return Conflict(
        message,
        code="ALREADY_DECIDED",
        detail={
            "by": by.by, "at": by.at.isoformat(), "verdict": by.verdict, "reason": by.reason,
        },
    )  # fmt: skip


def clock_text(at: datetime) -> str:
    """To the second, in UTC; pages show the reader's own zone beside it from `detail`."""
    return f"{at:%H:%M:%S} UTC"
