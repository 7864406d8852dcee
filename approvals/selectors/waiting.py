"""What of approvals waits: for people, and to be taken up by its run."""

from django.db import connection

from audit.core.depth import Depth


def pending_waiting(tenant_id: str) -> Depth:
    """Proposals that people have not decided and that are not overdue."""
    return _depth(
        "SELECT count(*), extract(epoch FROM clearance_now() - min(created_at))::float8 FROM approvals_proposal "
        "WHERE tenant_id = %s AND status = 'pending' AND expires_at > (SELECT clearance_now())",
        tenant_id,
    )


def resolutions_waiting(tenant_id: str) -> Depth:
    """Decisions that their run has not taken up."""
    return _depth(
        "SELECT count(*), extract(epoch FROM clearance_now() - min(r.at))::float8 FROM approvals_resolution r "
        "JOIN approvals_proposal p ON p.id = r.proposal_id WHERE r.consumed_at IS NULL AND p.tenant_id = %s",
        tenant_id,
    )


def _depth(statement: str, tenant_id: str) -> Depth:
    with connection.cursor() as cursor:
        cursor.execute(statement, [tenant_id])
        return Depth(*(cursor.fetchone() or (0, None)))
