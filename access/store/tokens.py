"""Rows of token sessions and refresh tokens. Statuses change by conditional UPDATE; the caller looks at the count."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from access.core.claims import REFRESH_SECONDS, SESSION_SECONDS
from access.models import Agent, AgentPrincipal, Membership, RefreshToken, TokenSession
from access.store import secrets
from audit.store.clock import ClearanceNow


def agent_by_client_id(client_id: str) -> Agent | None:
    """The agent, active or not."""
    return Agent.objects.filter(client_id=client_id).first()


def principal_of(agent: Agent, person: str) -> Membership | None:
    """The active member whom `person` (e-mail or user id) names, if the agent may act for them.

    One query for all: nobody, somebody of another tenant and somebody it may not act for are one answer (S62).
    """
    found = Membership.objects.filter(
        tenant_id=agent.tenant_id, is_active=True, user__is_active=True, agents_acting__agent=agent
    ).select_related("user")
    try:
        return found.filter(user_id=UUID(person)).first()
    except ValueError:
        return found.filter(user__email=person.strip().lower()).first()


def open_session(agent: Agent, acting_for: Membership | None, scopes: list[str], now: datetime) -> TokenSession:
    """A new session row."""
    return TokenSession.objects.create(
        agent=agent,
        acting_for=acting_for,
        scopes=scopes,
        created_at=now,
        expires_at=now + timedelta(seconds=SESSION_SECONDS),
    )


def add_refresh_token(session: TokenSession, now: datetime) -> str:
    """A new refresh token of the session; only its hash is kept. It never outlives the session."""
    token = secrets.new_refresh_token()
    RefreshToken.objects.create(
        session=session,
        token_hash=secrets.hash_of(token),
        created_at=now,
        expires_at=min(now + timedelta(seconds=REFRESH_SECONDS), session.expires_at),
    )
    return token


def use_refresh_token(token_hash: str) -> bool:
    """Mark it used if it was not: the one moment in which twenty racers become one winner (G1).

    Does not judge expiry: this statement waits for the row's lock, so its clock may be old (data rule 11).
    """
    return RefreshToken.objects.filter(token_hash=token_hash, used_at=None).update(used_at=ClearanceNow()) == 1


def refresh_token(token_hash: str) -> RefreshToken | None:
    """The row with its session, agent and person."""
    return (
        RefreshToken.objects.filter(token_hash=token_hash)
        .select_related("session__agent", "session__acting_for__user")
        .first()
    )


def live_session(session_id: UUID) -> TokenSession | None:
    """The session with its agent and person, the facts that can end it, and the instant: all from one statement.

    `now` is the database's clock; `may_act` says whether the agent still may act for the person.
    """
    return _with_facts(TokenSession.objects.filter(id=session_id)).first()


def lock_session(session_id: UUID) -> TokenSession:
    """`live_session` read again under the session's lock, so that a revocation that came first is seen."""
    TokenSession.objects.select_for_update().get(id=session_id)
    return _with_facts(TokenSession.objects.filter(id=session_id)).get()


def revoke(sessions: "QuerySet[TokenSession]", because: str) -> int:
    """End those that still live; how many did."""
    return sessions.filter(revoked_at=None).update(revoked_at=ClearanceNow(), revoked_because=because[:200])


def _with_facts(sessions: "QuerySet[TokenSession]") -> "QuerySet[TokenSession]":
    may_act = AgentPrincipal.objects.filter(agent=OuterRef("agent"), membership=OuterRef("acting_for"))
    return sessions.select_related("agent", "acting_for__user").annotate(now=ClearanceNow(), may_act=Exists(may_act))
