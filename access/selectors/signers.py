"""Who could sign an approval now: by a passkey of their own, or because whoever decides in their place has one (A9)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from access.models import Passkey
from access.selectors.assertion import party

# By hand, like the other questions about delegations. The delegate is fit to decide; no groups are all of the giver's.
_THROUGH = """
SELECT d.from_user_id, d.to_user_id, d.groups
  FROM access_delegation d
  JOIN access_membership m ON m.user_id = d.to_user_id AND m.tenant_id = d.tenant_id
       AND m.is_active AND 'reviewer' = ANY(m.roles)
  JOIN access_user u ON u.id = m.user_id AND u.is_active
 WHERE d.tenant_id = %s AND d.from_user_id = ANY(%s) AND d.revoked_at IS NULL
   AND d.starts_at <= clearance_now() AND clearance_now() < d.ends_at
   AND EXISTS (SELECT 1 FROM access_passkey p WHERE p.user_id = d.to_user_id AND p.removed_at IS NULL)
 ORDER BY d.from_user_id, d.to_user_id, d.id
"""


@dataclass(frozen=True, slots=True)
class Lent:
    """A delegate who has a passkey. `groups` empty is every group of the giver's."""

    holder: str
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class Signers:
    """Of the people asked about: `own`, who have a passkey, and by giver the delegates who have one. `problem` is "" or
    says why this installation takes no passkey at all; then nobody can sign."""

    own: frozenset[str]
    through: Mapping[str, tuple[Lent, ...]]
    problem: str = ""


def passkey_holders(user_ids: Collection[str]) -> frozenset[str]:
    """Those of these people who have a passkey that this installation takes. One query."""
    if not user_ids or party().problem:
        return frozenset()
    ids = [UUID(user_id) for user_id in user_ids]
    found = Passkey.objects.filter(user_id__in=ids, removed_at=None).values_list("user_id", flat=True).distinct()
    return frozenset(str(user_id) for user_id in found)


def signers_of(tenant_id: UUID | str, user_ids: Collection[str]) -> Signers:
    """Who of these people could sign in the organisation now, themselves or through a delegate. Two queries."""
    problem = party().problem
    if problem or not user_ids:
        return Signers(frozenset(), {}, problem)
    own = passkey_holders(user_ids)
    without = [UUID(user_id) for user_id in user_ids if user_id not in own]
    with connection.cursor() as cursor:
        cursor.execute(_THROUGH, [UUID(str(tenant_id)), without])
        rows = cursor.fetchall()
    through: dict[str, tuple[Lent, ...]] = {}
    for giver, holder, groups in rows:
        through[str(giver)] = (*through.get(str(giver), ()), Lent(str(holder), frozenset(groups)))
    return Signers(own, through)
