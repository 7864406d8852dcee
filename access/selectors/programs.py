"""Agents, their sessions and the backend credentials of an organisation, as admins and owners see them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from access.core.rights import is_admin, require_admin
from access.models import Agent, BackendCredential, RefreshToken, TokenSession
from audit.core.actor import Actor
from audit.core.refusal import Forbidden, NotFound
from audit.store.clock import ClearanceNow

PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSummary:
    """One agent. `token_at` is when it last fetched a token: it was used then, and at most ten minutes later."""

    id: str
    name: str
    version: str
    client_id: str
    scopes: tuple[str, ...]
    owner_id: str
    owner: str
    owner_active: bool
    active: bool
    created_at: datetime
    token_at: datetime | None
    live_sessions: int
    acts_for: tuple[tuple[str, str, bool], ...]
    """(user id, name, whether still an active member) of the people it may act for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """One session of an agent. `token_at` as in AgentSummary; `live` at this moment."""

    id: str
    agent_id: str
    agent: str
    acting_for: str
    scopes: tuple[str, ...]
    created_at: datetime
    token_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    revoked_because: str
    live: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialRow:
    """One backend credential; never its secret, which no page can show."""

    name: str
    changed_at: datetime
    changed_by: str


def agents_of(actor: Actor) -> list[AgentSummary]:
    """The organisation's agents for an admin, active ones first; for anybody else those they own.

    Raises Forbidden to whoever is no admin and owns none.
    """
    found = [_agent(row) for row in _agents(actor).order_by("-is_active", "name", "id")]
    if not found and not is_admin(actor):
        raise Forbidden(
            "Agents are an admin's affair, and you own none. Ask an admin of this organisation.",
            code="ROLE_MISSING",
            missing=["admin"],
        )
    return found


def agent_detail(actor: Actor, agent_id: UUID) -> AgentSummary:
    """One agent, for an admin or its owner. Raises NotFound."""
    row = _agents(actor).filter(id=agent_id).first()
    if row is None:
        raise NotFound
    return _agent(row)


def tokens_page(
    actor: Actor, *, agent_id: UUID | None = None, ended: bool = False, page: int = 1
) -> tuple[list[TokenRow], bool]:
    """(sessions of agents that the actor may see, the newest first; whether there are more pages). Without `ended`
    only those that a token opens now. Raises Forbidden like `agents_of`."""
    if not is_admin(actor) and not Agent.objects.filter(_visible(actor)).exists():
        agents_of(actor)
    found = (
        TokenSession.objects.filter(agent__in=Agent.objects.filter(_visible(actor)))
        .select_related("agent", "acting_for__user")
        .annotate(token_at=Coalesce(Max("refresh_tokens__created_at"), "created_at"), now=ClearanceNow())
    )
    if agent_id is not None:
        found = found.filter(agent_id=agent_id)
    if not ended:
        found = found.filter(revoked_at=None, expires_at__gt=ClearanceNow(), agent__is_active=True)
    start = (max(page, 1) - 1) * PAGE
    rows = list(found.order_by("-created_at", "-id")[start : start + PAGE + 1])
    return [_token(row) for row in rows[:PAGE]], len(rows) > PAGE


def credentials_of(actor: Actor) -> list[CredentialRow]:
    """The organisation's backend credentials, by name. Raises Forbidden."""
    require_admin(actor)
    found = BackendCredential.objects.filter(tenant_id=actor.tenant_id).select_related("changed_by__user")
    return [
        CredentialRow(
            name=row.name,
            changed_at=row.replaced_at or row.created_at,
            changed_by=row.changed_by.user.name if row.changed_by else "the installation",
        )
        for row in found.defer("ciphertext").order_by("name")
    ]


def _visible(actor: Actor) -> Q:
    mine = Q(tenant_id=actor.tenant_id)
    return mine if is_admin(actor) else mine & Q(owner__user_id=actor.id)


def _agents(actor: Actor) -> "QuerySet[Agent]":
    last = RefreshToken.objects.filter(session__agent=OuterRef("pk")).order_by("-created_at").values("created_at")[:1]
    live = Q(sessions__revoked_at=None, sessions__expires_at__gt=ClearanceNow())
    return (
        Agent.objects.filter(_visible(actor))
        .select_related("owner__user")
        .prefetch_related("principals__membership__user")
        .annotate(token_at=Subquery(last), live=Count("sessions", filter=live))
    )


def _agent(row: Agent) -> AgentSummary:
    people = sorted((place.membership for place in row.principals.all()), key=lambda m: (m.user.name, m.user_id))
    return AgentSummary(
        id=str(row.id),
        name=row.name,
        version=row.version,
        client_id=row.client_id,
        scopes=tuple(row.scopes),
        owner_id=str(row.owner.user_id),
        owner=row.owner.user.name,
        owner_active=row.owner.is_active and row.owner.user.is_active,
        active=row.is_active,
        created_at=row.created_at,
        token_at=row.token_at,  # type: ignore[attr-defined]
        live_sessions=row.live if row.is_active else 0,  # type: ignore[attr-defined]
        acts_for=tuple((str(m.user_id), m.user.name, m.is_active and m.user.is_active) for m in people),
    )


def _token(row: TokenSession) -> TokenRow:
    return TokenRow(
        id=str(row.id),
        agent_id=str(row.agent_id),
        agent=row.agent.name,
        acting_for=row.acting_for.user.name if row.acting_for else "",
        scopes=tuple(row.scopes),
        created_at=row.created_at,
        token_at=row.token_at,  # type: ignore[attr-defined]
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        revoked_because=row.revoked_because,
        live=row.revoked_at is None and row.agent.is_active and row.expires_at > row.now,  # type: ignore[attr-defined]
    )
