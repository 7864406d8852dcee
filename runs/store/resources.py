"""The lease of the thing an effect is made on: one effect at a time on an order, whichever runs ask for it (R9).

Taken in the transaction that records the intent, given up with the outcome. An unknown outcome keeps it until a
look-up settles the question or proves that no old request can still arrive: until then a second effect on the same
order would be judged on a state that may change under it.
"""

from uuid import UUID

from django.db import connection

from runs.models import ResourceLease


def take(*, tenant_id: UUID, resource: str, dispatch_id: UUID) -> bool:
    """Lease `resource` for this dispatch. False when another dispatch holds it; "" is no resource and always free.

    Waits for a transaction that is taking it this instant. Lock order: after the run head and the proposal.
    """
    if not resource:
        return True
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO runs_resourcelease (tenant_id, resource, dispatch_id, taken_at) "
            "VALUES (%s, %s, %s, clearance_now()) ON CONFLICT (tenant_id, resource) DO NOTHING",
            [tenant_id, resource, dispatch_id],
        )
        return cursor.rowcount == 1


def is_held(*, tenant_id: UUID, resource: str) -> bool:
    """Whether a dispatch holds it now; asked before the target is, to spare it. Only `take` decides."""
    return bool(resource) and ResourceLease.objects.filter(tenant_id=tenant_id, resource=resource).exists()


def free(dispatch_id: UUID | str | None) -> None:
    """Give up what this dispatch holds; None holds nothing."""
    if dispatch_id is not None:
        ResourceLease.objects.filter(dispatch_id=dispatch_id).delete()
