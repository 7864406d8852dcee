"""Whether the rights behind many browser sessions are still what they were: one statement for all open pages."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db import connection

from access.selectors.actors import LENT, STEP_DUE

STAMPS = f"""
SELECT asked.place, md5(ROW(
         s.session_data, u.password, u.is_active, u.name, u.time_zone, u.theme, m.is_active, m.roles,
         ARRAY(SELECT g.slug FROM access_groupmember place JOIN access_group g ON g.id = place.group_id
                WHERE place.membership_id = m.id ORDER BY g.slug),
         {LENT}, {STEP_DUE}, {STEP_DUE} <= clearance_now())::text)
  FROM unnest(%s::text[], %s::uuid[], %s::uuid[]) WITH ORDINALITY AS asked (key, user_id, tenant_id, place)
  JOIN django_session s ON s.session_key = asked.key AND s.expire_date > clearance_now()
  JOIN access_user u ON u.id = asked.user_id
  JOIN access_membership m ON m.user_id = u.id AND m.tenant_id = asked.tenant_id
"""  # noqa: S608 - of constants


@dataclass(frozen=True, slots=True)
class Sitting:
    """A browser session, and the person and tenant that it was found to be about."""

    session_key: str
    user_id: str
    tenant_id: str


def stamps_of(sittings: Collection[Sitting]) -> Mapping[Sitting, str]:
    """A stamp that is another one whenever `person_of_key` may give another answer: the session's own data, the
    password, whether account and membership are active, roles, groups, whose place they hold, what second step they
    owe, name, zone and theme. A
    session that has ended has none."""
    if not sittings:
        return {}
    asked = list(sittings)
    with connection.cursor() as cursor:
        cursor.execute(
            STAMPS,
            [
                [sitting.session_key for sitting in asked],
                [sitting.user_id for sitting in asked],
                [sitting.tenant_id for sitting in asked],
            ],
        )
        return {asked[place - 1]: stamp for place, stamp in cursor.fetchall()}
