"""What a freeze of today's policy holds back: calls that waited for people when it began, or when it was published.

A freeze says when nothing may be started. A new call is refused inside it; one that waits stays, can be decided, and is
started after it if its own time has not run out. Only told here: what decides is the judgement at the start (A5).
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from approvals.core.limits import frozen
from approvals.models import Proposal
from approvals.selectors.catalogue import contract_of
from approvals.selectors.policies import rules_in_force
from audit.core.refusal import Refusal
from audit.store import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Freezing:
    """A freeze that holds a call back. `message` is the policy's own sentence, "" where it gives none; `status` and
    `expires_at` are those of the call's proposal."""

    id: str
    since: datetime
    until: datetime
    message: str
    status: str
    expires_at: datetime

    @property
    def looked_at(self) -> datetime:
        """When there is something else to say at the latest."""
        return min(self.until, self.expires_at)


def freeze_of(*, tenant_id: UUID | str, proposal_id: UUID | str) -> Freezing | None:
    """The freeze that holds this call back now; None where none does, where the call is started or closed, and where
    the policy is not the one that was published (whoever judges by it says so)."""
    try:
        policy = rules_in_force(tenant_id)
        if not policy.freezes:
            return None
        waits = Proposal.objects.filter(pk=proposal_id, tenant_id=tenant_id, status__in=["pending", "granted"])
        row = waits.filter(outcome="").values_list("tool_version_id", "status", "expires_at").first()
        now = clock.now()
        if row is None or row[2] <= now:
            return None
        found = frozen(policy.freezes, contract_of(row[0]), now)
    except Refusal:
        return None
    if found is None:
        return None
    freeze = found.freeze
    return Freezing(
        id=freeze.id, since=freeze.start, until=freeze.end, message=freeze.message, status=row[1], expires_at=row[2]
    )
