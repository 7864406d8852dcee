"""What a run needs to go on with an edited call: read as it takes up the edit, in its transaction, under its head."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.models import Proposal, Revision
from approvals.selectors.revisions import changes_told


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionFacts:
    """An edited call as it was stored with its proposal. Whoever sends it verifies bytes and digest once more."""

    proposal_id: UUID
    call_id: str
    number: int
    step_id: str
    editor_name: str
    reason: str
    changes: list[dict[str, Any]]
    tool: str
    contract_version: int
    canonical: bytes
    given: bytes
    digest: str
    key: str
    target: str
    resource: str
    round: int
    expires_at: datetime
    rule_id: str
    policy_number: int


def revision_facts(*, proposal_id: UUID) -> RevisionFacts | None:
    """The revision with this proposal; None if there is none."""
    found = Revision.objects.select_related("proposal__tool_version").filter(pk=proposal_id).first()
    if found is None:
        return None
    proposal: Proposal = found.proposal
    return RevisionFacts(
        proposal_id=proposal.pk,
        call_id=proposal.call_id,
        number=found.number,
        step_id=found.step_id,
        editor_name=found.editor_name,
        reason=found.reason,
        changes=changes_told(found.changes),
        tool=proposal.tool,
        contract_version=proposal.tool_version.number,
        canonical=bytes(proposal.canonical),
        given=bytes(proposal.given),
        digest=proposal.digest,
        key=proposal.key,
        target=proposal.target,
        resource=proposal.resource,
        round=proposal.round,
        expires_at=proposal.expires_at,
        rule_id=proposal.rule_id,
        policy_number=proposal.policy_number,
    )
