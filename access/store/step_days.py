"""The day by which a member was told to have a second step: kept at their place, whatever is wanted afterwards."""

from uuid import UUID

from django.db import connection

from access.models import Membership
from access.selectors.actors import WANTED

_KEEP = f"""
UPDATE access_membership m SET step_due_at = want.begins_at
  FROM access_secondstepdemand want
 WHERE want.tenant_id = m.tenant_id AND m.tenant_id = %(tenant)s AND m.id = COALESCE(%(one)s, m.id)
   AND {WANTED} AND (m.step_due_at IS NULL OR m.step_due_at > want.begins_at)
"""  # noqa: S608 - of constants


def keep(tenant_id: str, membership_id: UUID | None = None) -> None:
    """Write down by when it is wanted of each place (of one), an earlier day staying. In the caller's transaction.

    Called whenever what is wanted or a role changes: so nobody gets days anew because it was not wanted of them for a
    while. A place that is switched off has its day too, for when it is switched on again.
    """
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, {"tenant": UUID(tenant_id), "one": membership_id})


def lock_admins(tenant_id: str) -> set[UUID]:
    """The places of the active admins, locked in one order: so that two admins cannot take each other's role away at
    once, and no role changes while it is written down of whom a second step is wanted."""
    rows = (
        Membership.objects.select_for_update(of=("self",))
        .filter(tenant_id=tenant_id, is_active=True, roles__contains=["admin"], user__is_active=True)
        .order_by("id")
    )
    return {row.id for row in rows}
