"""What was started in the last 24 hours and 30 days, from the counters.

Hours and UTC days are whole: one that is only partly inside the window counts wholly, so that a limit errs on the
strict side, by at most an hour's or a day's worth.
"""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db import connection

from approvals.core.exposure import Subjects
from approvals.core.policy_names import DIMENSIONS
from approvals.models import ExposureEntry
from audit.core.jsondoor import SAFE_INTEGER

_READ = """
WITH moment AS (SELECT clearance_now() AS now),
own AS (
  SELECT e.currency, e.amount, e.at, e.agent_id::text AS agent, e.customer FROM approvals_exposureentry e
  WHERE e.tenant_id = %(tenant)s AND e.key = %(key)s AND e.tool = %(tool)s AND e.counted
),
counted AS (
  SELECT b.dimension, b.unit, b.currency, b.begins_at, b.calls, b.amount
  FROM approvals_exposurebucket b
  JOIN unnest(%(dimensions)s::text[], %(subjects)s::text[]) AS wanted (dimension, subject)
    ON b.dimension = wanted.dimension AND b.subject = wanted.subject
  WHERE b.tenant_id = %(tenant)s AND b.tool = %(tool)s
  UNION ALL
  SELECT wanted.dimension, parts.unit, own.currency, date_trunc(parts.field, own.at, 'UTC'), -1, -own.amount
  FROM own, unnest(%(dimensions)s::text[], %(subjects)s::text[]) AS wanted (dimension, subject),
    (VALUES ('h', 'hour'), ('d', 'day')) AS parts (unit, field)
  WHERE wanted.subject = CASE wanted.dimension WHEN 'agent' THEN own.agent WHEN 'customer' THEN own.customer ELSE '' END
)
SELECT dimension, unit, currency, sum(calls), sum(amount) FROM counted, moment
WHERE (unit = 'h' AND begins_at > now - interval '25 hours') OR (unit = 'd' AND begins_at > now - interval '31 days')
GROUP BY dimension, unit, currency
"""
_WINDOWS = {"h": "24h", "d": "30d"}


def exposure_of(
    *,
    tenant_id: UUID | str,
    tool: str,
    subjects: Subjects,
    key: str = "",
    dimensions: Collection[str] = DIMENSIONS,
) -> dict[str, Any]:
    """What `Request.exposure` is: {"customer": {"24h": {"AUD": {"amount": minor units, "calls": n}}}}, for these
    dimensions; None for one whose subject is not known. `key`: that call itself is left out. One query."""
    known = {name: subjects[name] for name in sorted(dimensions) if subjects.get(name) is not None}
    found: dict[str, Any] = {name: {"24h": {}, "30d": {}} if name in known else None for name in sorted(dimensions)}
    if not known:
        return found
    with connection.cursor() as cursor:
        cursor.execute(
            _READ,
            {"tenant": str(tenant_id), "tool": tool, "key": key, "dimensions": list(known),
             "subjects": list(known.values())},
        )  # fmt: skip
        for dimension, unit, currency, calls, amount in cursor.fetchall():
            found[dimension][_WINDOWS[unit]][currency] = {
                "amount": max(0, min(int(amount), SAFE_INTEGER)),
                "calls": max(0, min(int(calls), SAFE_INTEGER)),
            }
    return found


def may_have_happened(*, tenant_id: UUID | str, key: str) -> bool:
    """Whether the call with this key was started and it was never proven that nothing came of it."""
    return ExposureEntry.objects.filter(tenant_id=tenant_id, key=key, counted=True).exists()
