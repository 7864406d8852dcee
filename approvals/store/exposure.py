"""How the counters of exposure are held, raised and taken back.

Place in the lock order: after the run's head, the proposal and its permit, and the policy's head; before the resource
and the audit entry. Whoever judges by a sum and acts on it holds the sum first (`hold`); all raise it in the same
order of rows, so that writers never wait for each other in a circle.
"""

from collections.abc import Collection
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db import connection

from approvals.core.exposure import Subjects

_LOCKS = 1937010545
"""The first number of our advisory locks; runs.store.stops has the one before."""
_MOST = 2**53 - 1

_ENTER = """
WITH entered AS (
  INSERT INTO approvals_exposureentry (id, tenant_id, key, tool, agent_id, customer, currency, amount, at, counted)
  VALUES (gen_random_uuid(), %(tenant)s, %(key)s, %(tool)s, %(agent)s, %(customer)s, %(currency)s, %(amount)s,
    clearance_now(), true)
  ON CONFLICT (tenant_id, key) DO UPDATE SET tool = EXCLUDED.tool, agent_id = EXCLUDED.agent_id,
    customer = EXCLUDED.customer, currency = EXCLUDED.currency, amount = EXCLUDED.amount, at = EXCLUDED.at,
    counted = true
    WHERE NOT approvals_exposureentry.counted
  RETURNING at
),
raised AS (
  INSERT INTO approvals_exposurebucket AS b
    (id, tenant_id, tool, dimension, subject, currency, unit, begins_at, calls, amount)
  SELECT gen_random_uuid(), %(tenant)s, %(tool)s, dimension, subject, %(currency)s, unit,
    date_trunc(field, entered.at, 'UTC'), 1, %(amount)s
  FROM entered, unnest(%(dimensions)s::text[], %(subjects)s::text[]) AS wanted (dimension, subject),
    (VALUES ('d', 'day'), ('h', 'hour')) AS parts (unit, field)
  ORDER BY dimension, subject, unit
  ON CONFLICT (tenant_id, tool, dimension, subject, unit, begins_at, currency) DO UPDATE
  SET calls = b.calls + 1, amount = LEAST(b.amount + EXCLUDED.amount, %(most)s)
)
SELECT at FROM entered
"""
_LOWER = """
WITH taken AS (
  UPDATE approvals_exposureentry SET counted = false WHERE tenant_id = %(tenant)s AND key = %(key)s AND counted
  RETURNING tool, agent_id::text AS agent, customer, currency, amount, at
),
held AS (
  SELECT b.id, taken.amount FROM approvals_exposurebucket b JOIN taken
    ON b.tool = taken.tool AND b.currency = taken.currency
   AND b.subject = CASE b.dimension WHEN 'agent' THEN taken.agent WHEN 'customer' THEN taken.customer ELSE '' END
   AND b.begins_at = date_trunc(CASE b.unit WHEN 'd' THEN 'day' ELSE 'hour' END, taken.at, 'UTC')
  WHERE b.tenant_id = %(tenant)s AND b.dimension IN ('agent', 'customer', 'tool') AND b.unit IN ('d', 'h')
  ORDER BY b.dimension, b.subject, b.unit FOR UPDATE OF b
),
lowered AS (
  UPDATE approvals_exposurebucket b
  SET calls = GREATEST(b.calls - 1, 0), amount = GREATEST(b.amount - held.amount, 0)
  FROM held WHERE b.id = held.id
)
SELECT count(*) FROM taken
"""


def hold(*, tenant_id: UUID | str, tool: str, subjects: Subjects, dimensions: Collection[str]) -> None:
    """Until the transaction ends nobody else who judges by these sums goes on: of two calls that together pass a limit,
    the second one sees the first. A sum may have no row yet, so what is locked is its name. Read it in a later
    statement."""
    names = [f"{tenant_id}/{tool}/{name}/{subjects[name]}" for name in dimensions if subjects.get(name) is not None]
    numbers = sorted(int.from_bytes(sha256(name.encode()).digest()[:4], signed=True) for name in names)
    if not numbers:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_advisory_xact_lock(%s, number)) FROM unnest(%s::int[]) AS number", [_LOCKS, numbers]
        )


def enter(
    *, tenant_id: UUID | str, key: str, tool: str, subjects: Subjects, currency: str, amount: int
) -> datetime | None:
    """Count a call once; when it was counted, or None where it is counted already."""
    customer = subjects.get("customer")
    known = {name: subject for name, subject in subjects.items() if subject is not None}
    row: dict[str, Any] = {
        "tenant": str(tenant_id), "key": key, "tool": tool, "agent": subjects["agent"], "customer": customer or "",
        "currency": currency, "amount": min(amount, _MOST), "dimensions": list(known),
        "subjects": list(known.values()), "most": _MOST,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_ENTER, row)
        entered = cursor.fetchone()
    return entered[0] if entered else None


def take_back(*, tenant_id: UUID | str, key: str) -> bool:
    """Undo `enter`, in the hour and day that it counted for; False where nothing is counted."""
    with connection.cursor() as cursor:
        cursor.execute(_LOWER, {"tenant": str(tenant_id), "key": key})
        row = cursor.fetchone()
        return bool(row and row[0])


def forget_old(*, limit: int) -> int:
    """Remove counters that no window reaches any more, at most so many of each kind; how many."""
    removed = 0
    with connection.cursor() as cursor:
        for statement in (
            "DELETE FROM approvals_exposurebucket WHERE id IN (SELECT id FROM approvals_exposurebucket "
            "WHERE unit = 'h' AND begins_at < (SELECT clearance_now()) - interval '26 hours' LIMIT %s "
            "FOR UPDATE SKIP LOCKED)",
            "DELETE FROM approvals_exposurebucket WHERE id IN (SELECT id FROM approvals_exposurebucket "
            "WHERE unit = 'd' AND begins_at < (SELECT clearance_now()) - interval '32 days' LIMIT %s "
            "FOR UPDATE SKIP LOCKED)",
            "DELETE FROM approvals_exposureentry WHERE id IN (SELECT id FROM approvals_exposureentry "
            "WHERE at < (SELECT clearance_now()) - interval '32 days' LIMIT %s FOR UPDATE SKIP LOCKED)",
        ):
            cursor.execute(statement, [limit])
            removed += cursor.rowcount
    return removed
