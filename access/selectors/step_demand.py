"""Of whom an organisation wants a second step at the sign-in, and who has none."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from access.core.demand import WHOM
from access.core.rights import require_admin
from access.models import SecondStepDemand
from access.selectors.actors import STEP_DUE, WANTED, WANTED_FROM
from access.selectors.confirmation import means_of
from audit.core.actor import Actor
from audit.core.visible import as_line

_LACK = f"""
SELECT m.id, u.name, {STEP_DUE}, count(*) OVER ()
  FROM access_membership m JOIN access_user u ON u.id = m.user_id AND u.is_active
 WHERE m.tenant_id = %s AND m.is_active AND {STEP_DUE} IS NOT NULL
 ORDER BY u.name, m.id LIMIT %s
"""  # noqa: S608 - of constants
_EARLIER = f"""
SELECT count(*) FROM access_membership m JOIN access_user u ON u.id = m.user_id AND u.is_active
 WHERE m.tenant_id = %s AND m.is_active AND {STEP_DUE} < %s
"""  # noqa: S608 - of constants
_WANTING = f"""
SELECT t.id, t.name, {WANTED_FROM}, {WANTED_FROM} <= clearance_now()
  FROM access_membership m JOIN access_secondstepdemand want ON want.tenant_id = m.tenant_id
       JOIN access_tenant t ON t.id = m.tenant_id
 WHERE m.user_id = %s AND m.is_active AND {WANTED}
 ORDER BY t.name, t.id
"""  # noqa: S608 - of constants
_MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class WantingRow:
    """An organisation that wants a second step of one of its members, from `begins_at` on; `begun`: that has come."""

    tenant_id: str
    name: str
    begins_at: datetime
    begun: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandRow:
    """What is wanted, in words too; `begins_at` None where nothing is. `lack`: (membership id, name, by when) of those
    of whom it is wanted and who have none, the first ones, and how many they are; by when is `begins_at` or earlier.
    `own`: whether the reader has one."""

    of: str
    words: str
    begins_at: datetime | None
    set_by: str
    set_at: datetime | None
    lack: tuple[tuple[UUID, str, datetime], ...]
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
        lack=tuple((id_, as_line(name), due) for id_, name, due, _ in lack),
        lacking=lack[0][3] if lack else 0,
        own=has_second_step(actor.id),
    )


def has_second_step(user_id: str) -> bool:
    """Whether somebody's sign-in asks for an app's code or a passkey."""
    means = means_of(user_id)
    return means.second and means.at_sign_in


def step_wanted(tenant_id: str, user_id: str) -> bool:
    """Whether the organisation wants a second step of this member, have they one or not."""
    return any(row.tenant_id == tenant_id for row in wanting(user_id))


def wanting(user_id: str) -> tuple[WantingRow, ...]:
    """Which of their organisations want a second step of somebody, have they one or not; by name."""
    with connection.cursor() as cursor:
        cursor.execute(_WANTING, [UUID(user_id)])
        return tuple(
            WantingRow(tenant_id=str(id_), name=as_line(name), begins_at=begins_at, begun=begun)
            for id_, name, begins_at, begun in cursor.fetchall()
        )


def due_earlier(tenant_id: str, than: datetime) -> int:
    """How many of an organisation's members owe a second step by an earlier day than the one it wants one from."""
    with connection.cursor() as cursor:
        cursor.execute(_EARLIER, [UUID(tenant_id), than])
        return int(cursor.fetchone()[0])
