"""The head of a tenant's policy under its lock."""

from uuid import UUID

from approvals.models import PolicyHead


def head_locked(tenant_id: UUID | str) -> PolicyHead:
    """The tenant's head, locked, made first where there is none: whoever comes second waits here and then reads the
    number that the first one left."""
    PolicyHead.objects.bulk_create([PolicyHead(tenant_id=tenant_id, active_number=0)], ignore_conflicts=True)
    return PolicyHead.objects.select_for_update().get(tenant_id=tenant_id)
