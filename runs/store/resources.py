"""The lease of the thing an effect is made on: one effect at a time on an order, whichever runs ask for it (R9).

Calls that only read neither take it nor wait for it.

Taken in the transaction that records the intent, given up with the outcome. An unknown outcome keeps it until a
look-up settles the question or proves that no old request can still arrive: until then a second effect on the same
order would be judged on a state that may change under it.
"""

from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import connection, transaction

from runs.signals import work_waits

NEXT_IN_LINE = 3
"""One of them gets it; the others are there for when that one is refused."""


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
    if not resource:
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM runs_resourcelease WHERE tenant_id = %s AND resource = %s", [tenant_id, resource])
        return cursor.fetchone() is not None


def was_used(*, tenant_id: UUID, resource: str, dispatch_id: UUID, since: datetime) -> bool:
    """Whether another dispatch has started on `resource` since then.

    Asked by whoever has just taken it, after having read its state without holding it: what was read before the other
    one's effect is not what people would approve now, however young it is. Reads the few rows that started since.
    """
    if not resource:
        return False
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM runs_dispatch d JOIN runs_call c ON c.id = d.call_id "
            "WHERE d.started_at >= %s AND d.id <> %s AND c.tenant_id = %s AND c.resource = %s)",
            [since, dispatch_id, tenant_id, resource],
        )
        [used] = cursor.fetchone() or [True]
    return bool(used)


def free(dispatch_id: UUID | str | None) -> None:
    """Give up what this dispatch holds, and tell workers after the commit of those that have waited for it longest.

    None holds nothing. Rows of other runs are touched without their heads: only ready ones, and none that anybody holds
    at this moment.
    """
    if dispatch_id is None:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH freed AS (DELETE FROM runs_resourcelease WHERE dispatch_id = %s RETURNING tenant_id, resource)
            UPDATE runs_dispatch SET not_before = clearance_now() WHERE id IN (
              SELECT d.id FROM freed JOIN runs_call c ON c.tenant_id = freed.tenant_id AND c.resource = freed.resource
              JOIN runs_dispatch d ON d.call_id = c.id
              WHERE d.status = 'ready' AND d.kind = 'dispatch'
              ORDER BY d.created_at LIMIT %s FOR UPDATE OF d SKIP LOCKED)
            RETURNING run_id
            """,
            [dispatch_id, NEXT_IN_LINE],
        )
        for run_id in {row[0] for row in cursor.fetchall()}:
            transaction.on_commit(partial(work_waits.send_robust, sender=None, run_id=run_id), robust=True)
