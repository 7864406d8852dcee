"""Who somebody is and what they may do *now*. Nothing is cached: rights are read whenever they matter (A5, S17)."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from access.core.confirm import session_name
from access.models import Membership, Tenant
from audit.core.actor import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipRow:
    """One organisation that a person belongs to."""

    tenant_id: str
    tenant_slug: str
    tenant_name: str
    roles: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeciderFacts:
    """What a decision is checked against. `active` is false as soon as the account or the membership is off."""

    user_id: str
    name: str
    active: bool
    roles: frozenset[str]
    groups: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequesterFacts:
    """Whether an agent may still ask what it asked, and with what rights.

    `ok` false comes with `code` and a plain `message`. `scopes` are the agent's, cut by its token session's. `agent` is
    {id, name, version, owner_user_id}, `user` {id, name, email, roles, groups} of the person acted for, or None: JSON
    values that a policy may read.
    """

    ok: bool
    code: str = ""
    message: str = ""
    scopes: frozenset[str] = frozenset()
    agent: Mapping[str, Any]
    user: Mapping[str, Any] | None = None
    owner_user_id: str = ""


# In one statement and by hand: it is asked twice for each call that is judged and twice for each that is sent.
# A revoked session has no scopes here; a person is one only with a membership of the agent's tenant.
REQUESTER = """
SELECT a.name, a.version, a.is_active, a.scopes, owner.user_id,
       (SELECT s.scopes FROM access_tokensession s
         WHERE s.id = %(session)s AND s.agent_id = a.id AND s.revoked_at IS NULL),
       (SELECT jsonb_build_object(
                 'id', u.id, 'name', u.name, 'email', u.email,
                 'roles', (SELECT COALESCE(jsonb_agg(r ORDER BY r COLLATE "C"), '[]') FROM unnest(m.roles) r),
                 'groups', (SELECT COALESCE(jsonb_agg(g.slug ORDER BY g.slug COLLATE "C"), '[]')
                              FROM access_groupmember place JOIN access_group g ON g.id = place.group_id
                             WHERE place.membership_id = m.id),
                 'may_act', m.is_active AND u.is_active AND EXISTS (
                              SELECT 1 FROM access_agentprincipal p WHERE p.agent_id = a.id AND p.membership_id = m.id)
               )::text
          FROM access_membership m JOIN access_user u ON u.id = m.user_id
         WHERE m.tenant_id = a.tenant_id AND m.user_id = %(user)s)
FROM access_agent a JOIN access_membership owner ON owner.id = a.owner_id
WHERE a.tenant_id = %(tenant)s AND a.id = %(agent)s
"""


def actor_for_session(user_id: str | UUID, tenant_id: str | UUID | None, session_id: str = "") -> Actor | None:
    """The person behind a browser session, in one organisation; None if the account or the membership is not active.

    `tenant_id` None takes the membership that is oldest. Of `session_id`, the session's key, only a digest is kept: the
    key opens the session, and an Actor ends up in events and audit entries (E5).
    """
    found = _member(user_id, tenant_id)
    if found is None:
        return None
    # Whoever owes a second step can do nothing but set one up, by whatever door they come.
    return Actor(
        kind="person",
        id=found.user_id,
        name=found.name,
        tenant_id=found.tenant_id,
        roles=frozenset() if found.owes_step else found.roles,
        groups=frozenset() if found.owes_step else found.groups,
        scopes=frozenset(),
        session_id=session_name(session_id),
        via="session",
        stands_in=() if found.owes_step else found.stands_in,
        step_due=found.step_due,
        owes_step=found.owes_step,
    )


def memberships_of(user_id: str | UUID) -> list[MembershipRow]:
    """The organisations that an active person may work in, by name."""
    found = Membership.objects.filter(user_id=_uuid(user_id), is_active=True, user__is_active=True)
    return [
        MembershipRow(
            tenant_id=str(row.tenant_id),
            tenant_slug=row.tenant.slug,
            tenant_name=row.tenant.name,
            roles=frozenset(row.roles),
        )
        for row in found.select_related("tenant").order_by("tenant__name", "tenant_id")
    ]


def decider_facts(*, tenant_id: str | UUID, user_id: str | UUID) -> DeciderFacts | None:
    """A member's rights of this moment; None for whoever never belonged to the organisation."""
    return deciders_facts(tenant_id=tenant_id, user_ids=[str(user_id)]).get(str(_uuid(user_id)))


def deciders_facts(*, tenant_id: str | UUID, user_ids: Collection[str]) -> Mapping[str, DeciderFacts]:
    """`decider_facts` of many in one query, by user id; whoever never belonged to the organisation is left out."""
    with connection.cursor() as cursor:
        cursor.execute(MEMBERS, {"tenant": _uuid(tenant_id), "users": [_uuid(user_id) for user_id in user_ids]})
        return {
            str(user): DeciderFacts(
                user_id=str(user), name=name, active=active, roles=frozenset(roles), groups=frozenset(groups)
            )
            for user, name, active, roles, groups in cursor.fetchall()
        }


def requester_facts(
    *,
    tenant_id: str | UUID,
    agent_id: str | UUID,
    acting_user_id: str | UUID | None = None,
    token_session_id: str | UUID | None = None,
) -> RequesterFacts:
    """The requester's rights of this moment (A5). Not ok: AGENT_INACTIVE, SESSION_REVOKED or PRINCIPAL_REFUSED.

    A session that merely came to its end does not count: what was asked in time may be carried out after it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            REQUESTER,
            {
                "tenant": _uuid(tenant_id),
                "agent": _uuid(agent_id),
                "user": None if acting_user_id is None else _uuid(acting_user_id),
                "session": None if token_session_id is None else _uuid(token_session_id),
            },
        )
        row = cursor.fetchone()
    if row is None:
        return RequesterFacts(
            ok=False, code="AGENT_INACTIVE", message="The agent that asked is not known here.", agent={}
        )
    name, version, active, scopes, owner, session_scopes, person = row
    known = {"id": str(_uuid(agent_id)), "name": name, "version": version, "owner_user_id": str(owner)}
    may_act = False
    user = None
    if person is not None:
        user = json.loads(person)
        may_act = user.pop("may_act")

    def refused(code: str, message: str, user: Mapping[str, Any] | None = None) -> RequesterFacts:
        return RequesterFacts(ok=False, code=code, message=message, agent=known, user=user, owner_user_id=str(owner))

    if not active:
        return refused("AGENT_INACTIVE", f"The agent {name} was deactivated.")
    if token_session_id is not None and session_scopes is None:
        return refused("SESSION_REVOKED", f"The session in which {name} asked was revoked.")
    if acting_user_id is not None and not may_act:
        return refused("PRINCIPAL_REFUSED", f"{name} may no longer act for the person it asked for.", user)
    rights = frozenset(scopes) if session_scopes is None else frozenset(scopes) & frozenset(session_scopes)
    return RequesterFacts(ok=True, scopes=rights, agent=known, user=user, owner_user_id=str(owner))


def group_members(tenant_id: str | UUID, slug: str, *, role: str = "") -> list[tuple[str, str]]:
    """(user id, name) of the active people in a group, by name; empty for an unknown group. With `role`, of those who
    hold it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT m.user_id, u.name FROM access_group g JOIN access_groupmember place ON place.group_id = g.id "
            "JOIN access_membership m ON m.id = place.membership_id AND m.is_active "
            "JOIN access_user u ON u.id = m.user_id AND u.is_active "
            "WHERE g.tenant_id = %s AND g.slug = %s AND (%s = '' OR %s = ANY(m.roles)) ORDER BY u.name, m.user_id",
            [_uuid(tenant_id), slug, role, role],
        )
        return [(str(user_id), name) for user_id, name in cursor.fetchall()]


def tenant_slug(tenant_id: str | UUID) -> str:
    """The organisation's short name; "" for an unknown one."""
    return Tenant.objects.filter(id=_uuid(tenant_id)).values_list("slug", flat=True).first() or ""


def tenant_ids() -> list[UUID]:
    """Every organisation; for what concerns the whole installation."""
    return list(Tenant.objects.order_by("id").values_list("id", flat=True))


def tenant_id_of(slug: str) -> str | None:
    """The id behind a short name; for the command line."""
    found = Tenant.objects.filter(slug=slug).values_list("id", flat=True).first()
    return str(found) if found else None


def user_id_of(email: str) -> str | None:
    """The account behind an e-mail address; for the command line."""
    found = Membership.objects.filter(user__email=email.strip().lower()).values_list("user_id", flat=True).first()
    return str(found) if found else None


# What a member holds by delegations in force, as `giver's id group`; the giver's own rights of now, never what was lent
# to the giver.
LENT = """ARRAY(SELECT d.from_user_id || ' ' || g.slug
         FROM access_delegation d
         JOIN access_membership giver ON giver.user_id = d.from_user_id AND giver.tenant_id = d.tenant_id
              AND giver.is_active AND 'reviewer' = ANY(giver.roles)
         JOIN access_user person ON person.id = giver.user_id AND person.is_active
         JOIN access_groupmember place ON place.membership_id = giver.id
         JOIN access_group g ON g.id = place.group_id AND (d.groups = '{}' OR g.slug = ANY(d.groups))
        WHERE d.to_user_id = m.user_id AND d.tenant_id = m.tenant_id AND d.revoked_at IS NULL
          AND d.starts_at <= clearance_now() AND clearance_now() < d.ends_at
        ORDER BY 1)"""

# Whether what an organisation wants, `want`, is wanted of its member `m`; and from when on: the day that they were told
# first, if that is earlier.
WANTED = """(want.of = 'everybody' OR want.of = 'admins' AND 'admin' = ANY(m.roles)
                OR want.of = 'deciders' AND m.roles && ARRAY['admin', 'reviewer']::varchar[])"""
WANTED_FROM = "LEAST(m.step_due_at, want.begins_at)"

# Since or until when a member `m` owes a second step that the organisation wants: NULL for whoever has one that their
# sign-in asks for, or of whom none is wanted.
STEP_DUE = f"""(SELECT {WANTED_FROM} FROM access_secondstepdemand want
         WHERE want.tenant_id = m.tenant_id AND {WANTED}
           AND NOT EXISTS (SELECT 1 FROM access_secondfactor had
                            WHERE had.user_id = m.user_id AND had.at_sign_in AND (had.ciphertext IS NOT NULL
                                  OR EXISTS (SELECT 1 FROM access_passkey held
                                              WHERE held.user_id = m.user_id AND held.removed_at IS NULL))))"""  # noqa: S608

# By hand as well: it is asked at each request, and twice at each look of each open page.
MEMBER = f"""
SELECT m.user_id, u.name, m.tenant_id, m.roles,
       ARRAY(SELECT g.slug FROM access_groupmember place JOIN access_group g ON g.id = place.group_id
              WHERE place.membership_id = m.id),
       {LENT}, {STEP_DUE}, clearance_now()
  FROM access_membership m JOIN access_user u ON u.id = m.user_id
 WHERE m.user_id = %(user)s AND m.tenant_id = COALESCE(%(tenant)s, m.tenant_id)
   AND m.is_active AND u.is_active
 ORDER BY m.created_at, m.id LIMIT 1
"""  # noqa: S608 - of constants


MEMBERS = """
SELECT m.user_id, u.name, m.is_active AND u.is_active, m.roles,
       ARRAY(SELECT g.slug FROM access_groupmember place JOIN access_group g ON g.id = place.group_id
              WHERE place.membership_id = m.id)
  FROM access_membership m JOIN access_user u ON u.id = m.user_id
 WHERE m.tenant_id = %(tenant)s AND m.user_id = ANY(%(users)s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    user_id: str
    name: str
    tenant_id: str
    roles: frozenset[str]
    groups: frozenset[str]
    stands_in: tuple[tuple[str, tuple[str, ...]], ...]
    step_due: datetime | None
    owes_step: bool


def _member(user_id: str | UUID, tenant_id: str | UUID | None) -> _Member | None:
    """The membership in that tenant, without one the oldest; only one that is in force."""
    tenant = None if tenant_id is None else _uuid(tenant_id)
    with connection.cursor() as cursor:
        cursor.execute(MEMBER, {"user": _uuid(user_id), "tenant": tenant})
        row = cursor.fetchone()
    if row is None:
        return None
    user, name, of, roles, groups, lent, step_due, now = row
    return _Member(
        user_id=str(user),
        name=name,
        tenant_id=str(of),
        roles=frozenset(roles),
        groups=frozenset(groups),
        stands_in=_places(lent),
        step_due=step_due,
        owes_step=step_due is not None and step_due <= now,
    )


def _places(lent: list[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(giver's id, groups), each giver once."""
    held: dict[str, list[str]] = {}
    for word in dict.fromkeys(lent):
        giver, _, group = word.partition(" ")
        held.setdefault(giver, []).append(group)
    return tuple((giver, tuple(groups)) for giver, groups in held.items())


def _uuid(value: str | UUID) -> UUID:
    """The id; a malformed one becomes the one that nothing has, so that it is answered like an unknown one (S62)."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)
    except ValueError:
        return UUID(int=0)
