"""Who somebody is and what they may do *now*. Nothing is cached: rights are read whenever they matter (A5, S17)."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Exists, OuterRef, Q, QuerySet

from access.models import Agent, AgentPrincipal, GroupMember, Membership, Tenant, TokenSession
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


def actor_for_session(user_id: str | UUID, tenant_id: str | UUID | None, session_id: str = "") -> Actor | None:
    """The person behind a browser session, in one organisation; None if the account or the membership is not active.

    `tenant_id` None takes the membership that is oldest. Of `session_id`, the session's key, only a digest is kept: the
    key opens the session, and an Actor ends up in events and audit entries (E5).
    """
    user = _uuid(user_id)
    found = _memberships(Q(user_id=user, is_active=True, user__is_active=True))
    if tenant_id is not None:
        found = found.filter(tenant_id=_uuid(tenant_id))
    membership = found.order_by("created_at", "id").first()
    if membership is None:
        return None
    return Actor(
        kind="person",
        id=str(user),
        name=membership.user.name,
        tenant_id=str(membership.tenant_id),
        roles=frozenset(membership.roles),
        groups=_groups(membership),
        scopes=frozenset(),
        session_id=hashlib.sha256(session_id.encode()).hexdigest()[:16] if session_id else "",
        via="session",
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
    membership = _memberships(Q(tenant_id=_uuid(tenant_id), user_id=_uuid(user_id))).first()
    if membership is None:
        return None
    return DeciderFacts(
        user_id=str(membership.user_id),
        name=membership.user.name,
        active=membership.is_active and membership.user.is_active,
        roles=frozenset(membership.roles),
        groups=_groups(membership),
    )


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
    agent = Agent.objects.filter(tenant_id=_uuid(tenant_id), id=_uuid(agent_id)).select_related("owner").first()
    if agent is None:
        return RequesterFacts(
            ok=False, code="AGENT_INACTIVE", message="The agent that asked is not known here.", agent={}
        )
    owner = str(agent.owner.user_id)
    known = {"id": str(agent.id), "name": agent.name, "version": agent.version, "owner_user_id": owner}

    def refused(code: str, message: str, user: Mapping[str, Any] | None = None) -> RequesterFacts:
        return RequesterFacts(ok=False, code=code, message=message, agent=known, user=user, owner_user_id=owner)

    if not agent.is_active:
        return refused("AGENT_INACTIVE", f"The agent {agent.name} was deactivated.")
    scopes = frozenset(agent.scopes)
    if token_session_id is not None:
        session = TokenSession.objects.filter(id=_uuid(token_session_id), agent=agent).first()
        if session is None or session.revoked_at is not None:
            return refused("SESSION_REVOKED", f"The session in which {agent.name} asked was revoked.")
        scopes &= frozenset(session.scopes)
    user = None
    if acting_user_id is not None:
        may_act = AgentPrincipal.objects.filter(agent=agent, membership=OuterRef("pk"))
        person = (
            _memberships(Q(tenant_id=agent.tenant_id, user_id=_uuid(acting_user_id)))
            .annotate(may_act=Exists(may_act))
            .first()
        )
        if person is not None:
            user = {
                "id": str(person.user_id),
                "name": person.user.name,
                "email": person.user.email,
                "roles": sorted(person.roles),
                "groups": sorted(_groups(person)),
            }
        if person is None or not (person.may_act and person.is_active and person.user.is_active):
            return refused("PRINCIPAL_REFUSED", f"{agent.name} may no longer act for the person it asked for.", user)
    return RequesterFacts(ok=True, scopes=scopes, agent=known, user=user, owner_user_id=owner)


def group_members(tenant_id: str | UUID, slug: str, *, role: str = "") -> list[tuple[str, str]]:
    """(user id, name) of the active people in a group, by name; empty for an unknown group. With `role`, of those who
    hold it."""
    places = GroupMember.objects.filter(
        group__tenant_id=_uuid(tenant_id),
        group__slug=slug,
        membership__is_active=True,
        membership__user__is_active=True,
    )
    if role:
        places = places.filter(membership__roles__contains=[role])
    rows = places.values_list("membership__user_id", "membership__user__name")
    return [(str(user_id), name) for user_id, name in rows.order_by("membership__user__name", "membership__user_id")]


def tenant_slug(tenant_id: str | UUID) -> str:
    """The organisation's short name; "" for an unknown one."""
    return Tenant.objects.filter(id=_uuid(tenant_id)).values_list("slug", flat=True).first() or ""


def tenant_id_of(slug: str) -> str | None:
    """The id behind a short name; for the command line."""
    found = Tenant.objects.filter(slug=slug).values_list("id", flat=True).first()
    return str(found) if found else None


def user_id_of(email: str) -> str | None:
    """The account behind an e-mail address; for the command line."""
    found = Membership.objects.filter(user__email=email.strip().lower()).values_list("user_id", flat=True).first()
    return str(found) if found else None


def _memberships(condition: Q) -> "QuerySet[Membership, Any]":
    slugs = ArrayAgg("group_places__group__slug", filter=Q(group_places__isnull=False), default=[])
    return Membership.objects.filter(condition).select_related("user").annotate(group_slugs=slugs)


def _groups(membership: Membership) -> frozenset[str]:
    return frozenset(membership.group_slugs)  # type: ignore[attr-defined]


def _uuid(value: str | UUID) -> UUID:
    """The id; a malformed one becomes the one that nothing has, so that it is answered like an unknown one (S62)."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)
    except ValueError:
        return UUID(int=0)
