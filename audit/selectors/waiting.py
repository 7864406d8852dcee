"""What waits in the audit log's own corner: entries that are owed."""

from django.db import connection

from audit.core.depth import Depth


def owed_waiting(tenant_id: str) -> Depth:
    """Entries of things that were stopped while the log could not be written; the sweep pays them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), extract(epoch FROM clearance_now() - min(at))::float8 FROM audit_owed "
            "WHERE entry ->> 'tenant_id' = %s",
            [tenant_id],
        )
        return Depth(*(cursor.fetchone() or (0, None)))
