"""Saying that one is looking at a proposal, so that colleagues look at another one. A word, and no lock.

It ends by itself, and it keeps nobody from deciding: whoever decides releases it with the decision.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from approvals.models import Claim
from approvals.store import rounds
from approvals.store.click import check_eligible, check_open, check_person, clock_text, locked_for
from approvals.store.rows import change, votes_of
from audit.core.actor import Actor
from audit.core.refusal import Conflict
from audit.services.record import audit_record, audit_refusals
from audit.store import clock

CLAIMED = "proposal.claimed"
RELEASED = "proposal.released"
LASTS = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """Who says that they are looking at it, and until when that word lasts."""

    person_id: UUID
    person_name: str
    until: datetime


def proposal_claim(*, actor: Actor, proposal_id: UUID) -> ClaimRow:
    """Say for LASTS, by the database's clock, that the actor is looking at it; once more begins anew.

    For whoever may decide it. Raises Forbidden and Conflict as a decision does, NotFound, and Conflict CLAIMED
    (`detail.by`): a colleague said so before, and may be passed over only by deciding.
    """
    with audit_refusals(actor=actor, action=CLAIMED, object_type="proposal", object_id=proposal_id):
        check_person(actor, "Claiming")
        proposal = locked_for(actor, proposal_id)
        now = clock.now()
        check_open(proposal, votes_of(proposal), now)
        check_eligible(actor, proposal)
        standing = Claim.objects.filter(pk=proposal.pk, until__gt=now).first()
        if standing is not None and str(standing.person_id) != actor.id:
            raise Conflict(
                f"{standing.person_name} is looking at it until {clock_text(standing.until)}. You may decide it all "
                "the same.",
                code="CLAIMED",
                detail={"by": standing.person_name, "until": standing.until.isoformat()},
            )
        claim, _ = Claim.objects.update_or_create(
            proposal=proposal,
            defaults={"person_id": UUID(actor.id), "person_name": actor.name, "at": now, "until": now + LASTS},
        )
        change(proposal)
        audit_record(actor=actor, action=CLAIMED, detail={"until": claim.until}, **rounds.audited(proposal))
        return ClaimRow(person_id=claim.person_id, person_name=claim.person_name, until=claim.until)


def proposal_release(*, actor: Actor, proposal_id: UUID) -> bool:
    """Take one's own word back; False where there was none (any more). Raises Forbidden, NotFound."""
    with audit_refusals(actor=actor, action=RELEASED, object_type="proposal", object_id=proposal_id):
        check_person(actor, "Releasing")
        proposal = locked_for(actor, proposal_id)
        given, _ = Claim.objects.filter(pk=proposal.pk, person_id=actor.id).delete()
        if not given:
            return False
        change(proposal)
        audit_record(actor=actor, action=RELEASED, **rounds.audited(proposal))
        return True
