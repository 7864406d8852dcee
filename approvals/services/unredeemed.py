"""Approvals that ended while nothing redeemed them: for runs that hold an approved call back (a stop).

A run learns of an approval's end when it redeems the permit. A call that is held back comes to no redeeming, so it has
to ask.
"""

from collections.abc import Collection
from uuid import UUID

from django.db import connection

from approvals.models import Proposal
from approvals.services.permit import Refused
from approvals.store.rows import lock_proposal, row_of


def resolutions_unredeemed(*, proposal_ids: Collection[UUID]) -> list[UUID]:
    """Those of the proposals that are not granted any more. Read without locks; see `resolution_unredeemed`."""
    found = Proposal.objects.filter(pk__in=proposal_ids).exclude(status="granted")
    return list(found.values_list("pk", flat=True))


def resolution_unredeemed(*, proposal_id: UUID) -> Refused | None:
    """How a granted proposal ended, as `permit_redeem` would say it; None while it is granted. Changes nothing.

    In the run's transaction, under its head. Raises RuntimeError outside one: the answer would be old at once.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("what became of an approval is asked in the transaction that records it")
    proposal = lock_proposal(proposal_id)
    if proposal is None:
        return Refused(kind="refused", code="NOT_FOUND", message="The proposal of this call is not there.")
    row = row_of(proposal)
    if proposal.status == "granted":
        return None
    if proposal.status == "pending":
        return Refused(kind="ask_again", code="ASKED_AGAIN", message="The call waits for people again.", proposal=row)
    if proposal.status == "expired":
        message = "The approval expired before the call was executed."
        return Refused(kind="expired", code="EXPIRED", message=message, proposal=row)
    told = proposal.outcome_detail if isinstance(proposal.outcome_detail, dict) else {}
    message = str(told.get("message") or f"The call is {proposal.status}.")
    return Refused(kind="refused", code=proposal.status.upper(), message=message, proposal=row)
