"""The little that an agent's answer says of a proposal; one cheap query, because every poll asks for it."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from approvals.models import Proposal
from approvals.selectors.standing import visible_proposals, with_standing
from audit.core.actor import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalLink:
    """Where people decide, until when, about which digest. `status` is the standing of this instant."""

    id: UUID
    status: str
    round: int
    expires_at: datetime
    digest: str


def proposal_link(actor: Actor, proposal_id: UUID) -> ProposalLink | None:
    """The proposal as the actor may see it; None for a foreign or unknown id."""
    found = with_standing(visible_proposals(actor).filter(pk=proposal_id))
    columns = ("id", "standing", "round", "expires_at", "digest")
    row = found.values_list(*columns).first()
    if row is None:
        return None
    return ProposalLink(id=row[0], status=row[1], round=row[2], expires_at=row[3], digest=row[4])


def proposal_ends(tenant_id: UUID | str, proposal_id: UUID | str) -> datetime | None:
    """When the approval of a proposal is over, for our own parts; None for an unknown one."""
    found = Proposal.objects.filter(tenant_id=tenant_id, pk=proposal_id)
    return found.values_list("expires_at", flat=True).first()
