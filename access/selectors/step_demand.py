"""Of whom an organisation wants a second step at the sign-in, and who has none."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from access.core.demand import WHOM
from access.core.rights import require_admin
from access.models import Membership, SecondStepDemand
from access.selectors.actors import STEP_DUE
from access.selectors.confirmation import means_of
from audit.core.actor import Actor
from audit.core.visible import as_line

_LACK = f"""
SELECT m.id, u.name, count(*) OVER () FROM access_membership m JOIN access_user u ON u.id = m.user_id AND u.is_active
 WHERE m.tenant_id = %s AND m.is_active AND {STEP_DUE} IS NOT NULL
 ORDER BY u.name, m.id LIMIT %s
"""  # noqa: S608 - of constants
_MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandRow:
    """What is wanted, in words too; `begins_at` None where nothing is. `lack`: (membership id, name) of those of whom
    it is wanted and who have none, the first ones, and how many they are. `own`: whether the reader has one."""

    of: str
    words: str
    begins_at: datetime | None
    set_by: str
    set_at: datetime | None
    lack: tuple[tuple[UUID, str], ...]
    lacking: int
    own: bool


def step_demand(actor: Actor) -> DemandRow:
    """The actor's organisation's, for admins. Raises Forbidden (ROLE_MISSING)."""
    require_admin(actor)
    row = SecondStepDemand.objects.filter(tenant_id=actor.tenant_id).exclude(of="nobody").first()
    with connection.cursor() as cursor:
        cursor.execute(_LACK, [UUID(actor.tenant_id), _MOST])
        lack = cursor.fetchall()
    return DemandRow(
        of=row.of if row else "nobody",
        words=WHOM[row.of if row else "nobody"],
        begins_at=row.begins_at if row else None,
        set_by=as_line(row.set_by) if row else "",
        set_at=row.set_at if row else None,
        lack=tuple((id_, as_line(name)) for id_, name, _ in lack),
        lacking=lack[0][2] if lack else 0,
        own=has_second_step(actor.id),
    )


def has_second_step(user_id: str) -> bool:
    """Whether somebody's sign-in asks for an app's code or a passkey."""
    means = means_of(user_id)
    return means.second and means.at_sign_in


def step_wanted(tenant_id: str, user_id: str) -> bool:
    """Whether the organisation wants a second step of this member, have they one or not."""
    row = SecondStepDemand.objects.filter(tenant_id=tenant_id).exclude(of="nobody").first()
    if row is None:
        return False
    wanted = {"admins": ["admin"], "deciders": ["admin", "reviewer"]}.get(row.of)
    found = Membership.objects.filter(tenant_id=tenant_id, user_id=user_id, is_active=True)
    return (found if wanted is None else found.filter(roles__overlap=wanted)).exists()
