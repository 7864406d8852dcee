"""Who decides in whose place, at this moment by the database's clock (A9). Nothing is cached."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from access.core.delegation import Giver
from access.core.rights import require_admin
from access.models import Delegation, Group, Membership
from access.selectors.actors import decider_facts
from audit.core.actor import Actor
from audit.core.visible import as_line
from audit.store import clock

# By hand: it is asked at each look of a proposal. The giver's own rights of now, cut to the groups that were given; a
# delegation that somebody holds is no right that they could give on, so one never leads to a third person.
GIVERS = """
SELECT d.to_user_id, d.from_user_id, u.name, m.is_active AND u.is_active, m.roles,
       ARRAY(SELECT g.slug FROM access_groupmember place JOIN access_group g ON g.id = place.group_id
              WHERE place.membership_id = m.id AND (d.groups = '{}' OR g.slug = ANY(d.groups))), d.ends_at
  FROM access_delegation d
  JOIN access_user u ON u.id = d.from_user_id
  JOIN access_membership m ON m.user_id = d.from_user_id AND m.tenant_id = d.tenant_id
 WHERE d.tenant_id = %(tenant)s AND d.to_user_id = ANY(%(people)s) AND d.revoked_at IS NULL
   AND d.starts_at <= COALESCE(%(at)s, clearance_now()) AND COALESCE(%(at)s, clearance_now()) < d.ends_at
 ORDER BY u.name, d.from_user_id, d.ends_at
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationRow:
    """One delegation as pages list it. `state` is planned, on, over, revoked or void: void while the giver or the
    delegate may not decide at all. `mine` is given, held or "" for whoever looks."""

    id: UUID
    from_id: UUID
    from_name: str
    to_id: UUID
    to_name: str
    groups: tuple[str, ...]
    starts_at: datetime
    ends_at: datetime
    reason: str
    created_by: str
    revoked_at: datetime | None
    revoked_by: str
    state: str
    mine: str


def givers_by_holder(
    tenant_id: str | UUID, user_ids: Collection[str], *, at: datetime | None = None
) -> Mapping[str, list[Giver]]:
    """For each of these people those in whose place they may decide now; people without any are left out. One query.

    With `at`: in whose place they could decide then, by delegations that were not called back since; rights are those
    of now all the same.
    """
    people = [UUID(user_id) for user_id in user_ids]
    if not people:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(GIVERS, {"tenant": UUID(str(tenant_id)), "people": people, "at": at})
        rows = cursor.fetchall()
    found: dict[str, dict[str, Giver]] = {}
    for holder, giver_id, name, active, roles, groups, ends_at in rows:
        held = found.setdefault(str(holder), {})
        giver = Giver(str(giver_id), name, active, frozenset(roles), frozenset(groups), ends_at)
        before = held.get(giver.id)
        # Two delegations of the same two people give the groups of both.
        held[giver.id] = giver if before is None else replace(giver, groups=giver.groups | before.groups)
    return {holder: list(givers.values()) for holder, givers in found.items()}


def givers_of(tenant_id: str | UUID, user_id: str) -> list[Giver]:
    """Those in whose place one person may decide now, by name."""
    return givers_by_holder(tenant_id, [user_id]).get(user_id, [])


def giver_at(tenant_id: str | UUID, *, user_id: str, giver_id: str, at: datetime) -> Giver | None:
    """The giver in whose place somebody decided at that time, with the rights of now; None if no delegation covered it,
    or if it was called back since. One that merely came to its end still covers what was decided in time."""
    found = givers_by_holder(tenant_id, [user_id], at=at).get(user_id, [])
    return next((giver for giver in found if giver.id == giver_id), None)


def delegations_mine(actor: Actor) -> list[DelegationRow]:
    """What the actor has given and holds, what is in force or planned first, then the newest."""
    return _rows(actor, Q(from_user_id=actor.id) | Q(to_user_id=actor.id))


def delegations_all(actor: Actor) -> list[DelegationRow]:
    """The organisation's, for admins. Raises Forbidden (ROLE_MISSING)."""
    require_admin(actor)
    return _rows(actor, Q())


def delegates_for(actor: Actor, giver_id: str) -> list[tuple[str, str]]:
    """(id, name) of the people whom the giver may choose: active reviewers of the organisation but themselves. An
    empty giver leaves nobody out."""
    places = Membership.objects.filter(
        tenant_id=actor.tenant_id, is_active=True, user__is_active=True, roles__contains=["reviewer"]
    )
    return [(user_id, name) for user_id, name in _named(places) if user_id != giver_id]


def groups_held(actor: Actor, user_id: str) -> list[str]:
    """The groups that a person could give, by name; none for somebody who may not decide."""
    facts = decider_facts(tenant_id=actor.tenant_id, user_id=user_id)
    return sorted(facts.groups) if facts and facts.active and "reviewer" in facts.roles else []


def _rows(actor: Actor, which: Q) -> list[DelegationRow]:
    now = clock.now()
    found: Any = (
        Delegation.objects.filter(which, tenant_id=actor.tenant_id)
        .select_related("from_user", "to_user", "created_by", "revoked_by")
        .order_by("-ends_at", "id")[:200]
    )
    able = {
        str(user_id)
        for user_id in Membership.objects.filter(
            tenant_id=actor.tenant_id, is_active=True, user__is_active=True, roles__contains=["reviewer"]
        ).values_list("user_id", flat=True)
    }
    rows = [
        DelegationRow(
            id=row.pk,
            from_id=row.from_user_id,
            from_name=row.from_user.name,
            to_id=row.to_user_id,
            to_name=row.to_user.name,
            groups=tuple(row.groups),
            starts_at=row.starts_at,
            ends_at=row.ends_at,
            reason=row.reason,
            created_by=row.created_by.name,
            revoked_at=row.revoked_at,
            revoked_by=row.revoked_by.name if row.revoked_by else "",
            state=_state(row, now, able),
            mine={str(row.from_user_id): "given", str(row.to_user_id): "held"}.get(actor.id, ""),
        )
        for row in found
    ]
    return sorted(rows, key=lambda row: row.state in ("over", "revoked"))


def _state(row: Delegation, now: datetime, able: set[str]) -> str:
    if row.revoked_at is not None:
        return "revoked"
    if row.ends_at <= now:
        return "over"
    if not {str(row.from_user_id), str(row.to_user_id)} <= able:
        return "void"
    return "planned" if row.starts_at > now else "on"


def givers_possible(actor: Actor) -> tuple[list[tuple[str, str]], list[str]]:
    """For an admin's form: (id, name) of everybody who has something to give, and all groups by name."""
    require_admin(actor)
    places = Membership.objects.filter(
        tenant_id=actor.tenant_id,
        is_active=True,
        user__is_active=True,
        roles__contains=["reviewer"],
        group_places__isnull=False,
    ).distinct()
    groups = Group.objects.filter(tenant_id=actor.tenant_id).order_by("slug").values_list("slug", flat=True)
    return _named(places), list(groups)


def _named(places: "QuerySet[Membership, Membership]") -> list[tuple[str, str]]:
    """(id, name) by name, for a choice: one line of ordinary characters."""
    rows = places.order_by("user__name", "user_id").values_list("user_id", "user__name")
    return [(str(user_id), as_line(name)) for user_id, name in rows]
