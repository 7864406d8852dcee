"""Asking people once more about a call that may have been sent, after it was shown that nothing happened.

The one place where a deadline moves on: the approval was used up by the attempt whose outcome was unknown, its time has
passed, and an operator has decided that the same call may be sent again. Nobody's earlier vote counts for that.
"""

from datetime import datetime, timedelta
from uuid import UUID

from approvals.models import Permit
from approvals.selectors.bound import read_bound
from approvals.store import rounds
from approvals.store.rounds import Because
from approvals.store.rows import ProposalRow, lock_permit, lock_proposal, row_of, votes_of
from audit.core.actor import Actor
from audit.core.refusal import Conflict, NotFound
from audit.store import clock


def proposal_ask_after_unknown(
    *, actor: Actor, proposal_id: UUID, reason: str, latest: datetime | None = None
) -> ProposalRow:
    """Open the next round of a proposal whose redeemed permit led to an unknown outcome, with a deadline of its own.

    In the run's transaction, which has recorded the operator's decision. The used permit becomes void: its attempt is
    shown to have had no effect. `latest`: the call's own deadline. Raises NotFound, Conflict (NOT_UNKNOWN, EXPIRED,
    PROPOSAL_ALTERED, CONTRACT_ALTERED).
    """
    proposal = lock_proposal(proposal_id, tenant_id=actor.tenant_id)
    if proposal is None:
        raise NotFound
    now = clock.now()
    permit = lock_permit(proposal)
    if proposal.status != "granted" or proposal.outcome != "unknown" or permit is None or permit.status != "redeemed":
        raise Conflict("The outcome of this proposal's call is not unknown; nothing is asked anew.", code="NOT_UNKNOWN")
    bound = read_bound(proposal, decisions=votes_of(proposal), permit=permit)
    seconds = bound.requirement.expires_in_s or bound.contract.expires_in_s
    until = now + timedelta(seconds=seconds)
    if latest is not None:
        until = min(until, latest)
    if until <= now:
        raise Conflict("The call's own deadline has passed; it cannot be asked about again.", code="EXPIRED")
    # First as if it had never been used: a permit never goes from redeemed to void (approvals_permit_bound).
    Permit.objects.filter(pk=permit.pk, status="redeemed").update(status="ready", redeemed_at=None, dispatch_id=None)
    rounds.open_next_round(
        proposal,
        bound=bound,
        today=bound.requirement,
        state=bound.state,
        read_at=proposal.snapshot_at,
        actor=actor,
        now=now,
        because=Because(
            code="AFTER_UNKNOWN",
            message=f"It was sent once, its outcome was unknown, and {actor.name} found that nothing happened "
            f"({reason}). The approval's time is over, so sending it again is asked anew",
        ),
        until=until,
    )
    return row_of(proposal)
