"""Which groups proposals wait for and the policy asks: what an admin is told before a group loses people."""

from uuid import UUID

from django.db import connection

from access.core.needs import GroupNeed, merged
from approvals.models import PolicyHead
from approvals.selectors.policies import rules_of

_WAITING = """
SELECT item->>'group', count(DISTINCT p.id), max((item->>'count')::int)
FROM approvals_proposal p
CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(p.requires) WHEN 'array' THEN p.requires ELSE '[]' END) item
WHERE p.tenant_id = %s AND p.status = 'pending' AND p.expires_at > clearance_now()
  AND item->>'group' IS NOT NULL AND item->>'count' ~ '^[0-9]{1,6}$'
GROUP BY 1
"""


def groups_needed_here(tenant_id: UUID) -> dict[str, GroupNeed]:
    """What depends on each group of the tenant: pending proposals, and rules and limits of the policy in force.

    Raises Conflict (POLICY_ALTERED) as `rules_of` does.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [tenant_id])
        waiting = {slug: GroupNeed(waiting=number, most=most) for slug, number, most in cursor.fetchall()}
    number = PolicyHead.objects.filter(tenant_id=tenant_id).values_list("active_number", flat=True).first() or 0
    asked = [
        {approver.group: GroupNeed(rules=1, most=approver.count)}
        for asked_together in rules_of(tenant_id, number).asked()
        for approver in asked_together
    ]
    return merged([waiting, *asked])
