"""Taking an approval back before it is executed (S81)."""

from collections.abc import Sequence
from uuid import UUID

from access.selectors.actors import decider_facts
from approvals.core.reasons import reason_of
from approvals.models import Decision
from approvals.selectors.bound import read_bound
from approvals.store import rounds
from approvals.store.rounds import Because
from approvals.store.rows import ProposalRow, lock_permit, lock_proposal, row_of, votes_of
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Forbidden, NotFound, Refusal
from audit.services.record import audit_record_or_owe, audit_refusals
from audit.store import clock


def permit_revoke(*, actor: Actor, proposal_id: UUID, reason: str) -> ProposalRow:
    """Take an approval back before it is executed (S81): the permit is void and people are asked anew.

    For an admin, an operator, and whoever approved in this round. Works while the audit log does not (S69). Raises
    NotFound, Forbidden (PERSON_REQUIRED, ROLE_MISSING), Invalid (REASON_REQUIRED), Conflict (NOT_GRANTED, EXPIRED,
    ALREADY_STARTED: the permit was redeemed, nothing can be called back).
    """
    with audit_refusals(actor=actor, action="permit.revoked", object_type="proposal", object_id=proposal_id):
        proposal = lock_proposal(proposal_id, tenant_id=actor.tenant_id)
        if proposal is None:
            raise NotFound
        now = clock.now()
        votes = votes_of(proposal)
        _check_may_revoke(actor, votes)
        said = reason_of(reason, required=True)
        because = Because(code="REVOKED", message=f"{actor.name} took the approval back: {said}")
        permit = lock_permit(proposal)
        if permit is not None and permit.status == "redeemed":
            raise Conflict("It was started already; an effect cannot be called back.", code="ALREADY_STARTED")
        if proposal.status != "granted" or permit is None:
            raise Conflict(f"There is no approval to take back: it is {proposal.status}.", code="NOT_GRANTED")
        if proposal.expires_at <= now:
            raise Conflict("The approval has expired already; it will not be executed.", code="EXPIRED")
        try:
            bound = read_bound(proposal, decisions=votes, permit=permit)
        except Refusal:
            rounds.close(
                proposal, "refused", actor=actor, now=now, because=because, by=actor.name, record=audit_record_or_owe
            )
            return row_of(proposal)
        rounds.open_next_round(
            proposal,
            bound=bound,
            today=bound.requirement,
            state=bound.state,
            read_at=proposal.snapshot_at,
            actor=actor,
            now=now,
            because=because,
            record=audit_record_or_owe,
        )
        return row_of(proposal)


def _check_may_revoke(actor: Actor, votes: Sequence[Decision]) -> None:
    if actor.kind != "person" or actor.via != "session":
        raise Forbidden("Only a person, in their own session, takes an approval back.", code="PERSON_REQUIRED")
    facts = decider_facts(tenant_id=actor.tenant_id, user_id=actor.id)
    if facts is None or not facts.active:
        raise Forbidden("Your account is not active.", code="INACTIVE")
    if not facts.roles.isdisjoint({"admin", "operator"}) or any(str(v.reviewer_id) == actor.id for v in votes):
        return
    raise Forbidden(
        "Only an admin, an operator or whoever approved it may take the approval back.",
        code="ROLE_MISSING",
        missing=["operator"],
    )
