"""How much work of an organisation's runs waits, is under way, or has an outcome that nobody knows."""

from django.db import connection

from audit.core.depth import Depth

# What a row's age is counted from: when it was due, when it was claimed (its lease's history is not kept, so when it
# was due), when its request was started.
ROWS = """
SELECT d.status, count(*), extract(epoch FROM clearance_now() - min(COALESCE(d.started_at, d.not_before)))::float8
FROM runs_dispatch d JOIN runs_run r ON r.id = d.run_id
WHERE r.tenant_id = %(tenant)s AND (d.status IN ('claimed', 'started')
  OR d.status = 'ready' AND d.not_before <= (SELECT clearance_now()))
GROUP BY d.status
"""
UNKNOWN = """
SELECT count(*), extract(epoch FROM clearance_now() - min(c.created_at))::float8
FROM runs_run r JOIN runs_call c ON c.run_id = r.id
WHERE r.tenant_id = %(tenant)s AND r.status IN ('needs_reconciliation', 'cancelling') AND c.state = 'unknown'
"""


def work_waiting(tenant_id: str) -> dict[str, Depth]:
    """By *ready* (due, nobody has it), *claimed*, *started* (a request may be on its way), *unknown* (the target has to
    be asked, or an operator)."""
    found = dict.fromkeys(("ready", "claimed", "started"), Depth(0, None))
    with connection.cursor() as cursor:
        cursor.execute(ROWS, {"tenant": tenant_id})
        found |= {status: Depth(count, oldest) for status, count, oldest in cursor.fetchall()}
        cursor.execute(UNKNOWN, {"tenant": tenant_id})
        found["unknown"] = Depth(*(cursor.fetchone() or (0, None)))
    return found
