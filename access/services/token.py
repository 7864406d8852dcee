"""Session tokens: issued for an agent's secret, refreshed once each, verified at every call, revoked at the next (G1).

docs/decisions/0003-tokens.md gives the reasons.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import jwt
from django.conf import settings
from django.db import DatabaseError

from access.core.claims import (
    ACCESS_SECONDS,
    ALGORITHM,
    AUDIENCE,
    LONGEST_TOKEN,
    REQUIRED,
    TYPE,
    TokenClaims,
    read_claims,
    token_invalid,
)
from access.core.names import scopes_of
from access.core.rights import is_admin
from access.models import Agent, TokenSession
from access.store import secrets, tokens
from access.store.keys import key_ring
from audit.core.actor import Actor
from audit.core.refusal import Forbidden, NotFound, Refusal, Unauthenticated, Unavailable
from audit.services.record import audit_record, audit_record_or_owe, audit_refusals, audit_refused
from audit.store import clock

# A caller at the token door before it is known: it has no tenant, so only the installation's own log shows it.
_NOBODY = Actor(
    kind="agent", id="", name="unknown client", tenant_id="", roles=frozenset(), groups=frozenset(), scopes=frozenset(),
    via="token",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPair:
    """What an agent gets. `expires_in` is in seconds. The secrets are in no repr, so in no log line and traceback."""

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_in: int
    session_id: str
    scopes: tuple[str, ...]


def token_issue(
    *, client_id: str, client_secret: str, scopes: Sequence[str] | None = None, on_behalf_of: str | None = None
) -> TokenPair:
    """Exchange an agent's secret for a new session.

    `scopes` None asks for all the agent has; `on_behalf_of` is the e-mail address or user id of the person acted for.
    Raises Unauthenticated (CLIENT_REFUSED: unknown, wrong secret and deactivated are one answer at one cost),
    Forbidden (SCOPE_MISSING, ACTING_FOR_REFUSED), Unavailable (TOKEN_KEYS). Every refusal is recorded.
    """
    agent = tokens.agent_by_client_id(client_id)
    shown = secrets.matches(client_secret, agent.secret_hash if agent else secrets.NOBODY)
    if agent is None or not shown or not agent.is_active:
        refusal = Unauthenticated(
            "This client id and secret open nothing. Check both; an admin can see whether the agent is active and "
            "give it a new secret.",
            code="CLIENT_REFUSED",
        )
        caller = _agent_actor(agent) if agent else _NOBODY
        audit_refused(
            actor=caller, refusal=refusal, action="token.issued", object_type="agent",
            object_id=agent.id if agent else client_id,
        )  # fmt: skip
        raise refusal
    with audit_refusals(
        actor=_agent_actor(agent), action="token.issued", object_type="agent", object_id=agent.id,
        detail={"on_behalf_of": on_behalf_of or ""},
    ):  # fmt: skip
        wanted = _scopes_wanted(agent, scopes)
        acting_for = None
        if on_behalf_of is not None:
            acting_for = tokens.principal_of(agent, on_behalf_of)
            if acting_for is None:
                raise Forbidden(
                    "This agent may not act for that person. Ask an admin to allow it.",
                    code="ACTING_FOR_REFUSED",
                    missing=["on_behalf_of"],
                )
        now = clock.now()
        session = tokens.open_session(agent, acting_for, wanted, now)
        pair = _pair(session, now)
        audit_record(
            actor=_session_actor(session, pair.scopes), action="token.issued", object_type="session",
            object_id=session.id, detail={"scopes": wanted, "agent": agent.id},
        )  # fmt: skip
    return pair


def token_refresh(*, refresh_token: str) -> TokenPair:
    """Exchange a refresh token, once, for a new pair of the same session.

    A second use revokes the session, whoever came first: two parties hold one token, and which of them stole it cannot
    be told. That includes two uses that race: the one winner's pair dies with the session. A client refreshes from one
    place; if an answer was lost, it shows its secret again.
    Raises Unauthenticated (REFRESH_INVALID, REFRESH_EXPIRED, REFRESH_REUSED, SESSION_REVOKED, AGENT_INACTIVE,
    PRINCIPAL_REFUSED), Unavailable (TOKEN_KEYS).
    """
    token_hash = secrets.hash_of(refresh_token)
    row = tokens.refresh_token(token_hash)
    if row is None:
        raise Unauthenticated(
            "This refresh token is not valid. Show the client secret at /api/v1/token for a new session.",
            code="REFRESH_INVALID",
        )
    actor = _session_actor(row.session, ())
    with audit_refusals(actor=actor, action="token.refreshed", object_type="session", object_id=row.session_id):
        if tokens.use_refresh_token(token_hash):
            session = tokens.lock_session(row.session_id)
            now = clock.now()
            if row.expires_at <= now:
                raise Unauthenticated(
                    "This refresh token has expired. Show the client secret at /api/v1/token for a new session.",
                    code="REFRESH_EXPIRED",
                )
            _check_live(session, now)
            pair = _pair(session, now)
            audit_record(actor=actor, action="token.refreshed", object_type="session", object_id=session.id)
            return pair
        refusal = _reused(actor, row.session_id)
    # The revocation has committed; only the refusal is left.
    audit_refused(
        actor=actor, refusal=refusal, action="token.refreshed", object_type="session", object_id=row.session_id
    )
    raise refusal


def token_verify(*, raw: str) -> Actor:
    """The actor that an access token stands for, with the rights of this moment.

    Signature, `typ`, issuer, audience and claims first, without the database; then the session, the agent, the person
    acted for and the clock in one statement: a revocation is in force at the next call. Fails closed: if the rows
    cannot be read the answer is Unavailable (RIGHTS_UNREADABLE), never yes (S61).
    Raises Unauthenticated (TOKEN_INVALID, TOKEN_EXPIRED, SESSION_REVOKED, SESSION_EXPIRED, AGENT_INACTIVE,
    PRINCIPAL_REFUSED); the last four are recorded, because whoever holds our signature is known.
    """
    claims = _decode(raw)
    try:
        session = tokens.live_session(claims.session_id)
    except DatabaseError as error:
        raise Unavailable(
            "Whether this token was revoked cannot be checked now, so it is not accepted. Try again.",
            code="RIGHTS_UNREADABLE",
        ) from error
    if session is None or not _same(claims, session):
        raise token_invalid()
    now: datetime = session.now  # type: ignore[attr-defined]
    if claims.issued_at > now.timestamp():
        raise token_invalid()
    if claims.expires_at <= now.timestamp():
        raise Unauthenticated(
            "This access token has expired. Exchange the refresh token at /api/v1/token.", code="TOKEN_EXPIRED"
        )
    allowed = set(session.scopes) & set(session.agent.scopes) & set(claims.scopes)
    actor = _session_actor(session, tuple(sorted(allowed)))
    try:
        _check_live(session, now)
    except Unauthenticated as refusal:
        audit_refused(actor=actor, refusal=refusal, action="token.used", object_type="session", object_id=session.id)
        raise
    return actor


def token_revoke(*, actor: Actor, session_id: str | UUID, because: str = "") -> bool:
    """End a session at once: by the agent itself, its owner or an admin. False if it had ended already.

    Stopping works without the audit log (S69). Raises NotFound for a foreign or unknown id and, to an agent, for
    another agent's; Forbidden (ROLE_MISSING) to a person who is neither owner nor admin.
    """
    with audit_refusals(actor=actor, action="session.revoked", object_type="session", object_id=session_id):
        session = _session_in_reach(actor, session_id)
        revoked = tokens.revoke(TokenSession.objects.filter(id=session.id), because or f"by {actor.name}") == 1
        if revoked:
            audit_record_or_owe(
                actor=actor, action="session.revoked", object_type="session", object_id=session.id,
                detail={"because": because, "agent": session.agent_id},
            )  # fmt: skip
    return revoked


def _session_in_reach(actor: Actor, session_id: str | UUID) -> TokenSession:
    try:
        found = TokenSession.objects.select_related("agent__owner").get(
            id=UUID(str(session_id)), agent__tenant_id=actor.tenant_id
        )
    except (ValueError, TokenSession.DoesNotExist):
        raise NotFound from None
    if actor.kind == "agent":
        if str(found.agent_id) != actor.id:
            raise NotFound
    elif str(found.agent.owner.user_id) != actor.id and not is_admin(actor):
        raise Forbidden(
            "Only the agent's owner or an admin may end this session.", code="ROLE_MISSING", missing=["admin"]
        )
    return found


def _reused(actor: Actor, session_id: UUID) -> Refusal:
    """Revoke the session of a refresh token that was shown twice."""
    because = "a refresh token was used twice"
    if tokens.revoke(TokenSession.objects.filter(id=session_id), because):
        audit_record_or_owe(
            actor=actor, action="session.revoked", object_type="session", object_id=session_id,
            detail={"because": because},
        )  # fmt: skip
    return Unauthenticated(
        "This refresh token was used before, so the session has been revoked: somebody else may hold a copy. Show the "
        "client secret at /api/v1/token for a new session; if you did not refresh twice, rotate the secret.",
        code="REFRESH_REUSED",
    )


def _check_live(session: TokenSession, now: datetime) -> None:
    """Raise Unauthenticated unless session, agent and the right to act for the person all still stand."""
    if session.revoked_at is not None:
        raise Unauthenticated(
            "This session was revoked. Show the client secret at /api/v1/token for a new one.", code="SESSION_REVOKED"
        )
    if session.expires_at <= now:
        raise Unauthenticated(
            "This session has ended. Show the client secret at /api/v1/token for a new one.", code="SESSION_EXPIRED"
        )
    if not session.agent.is_active:
        raise Unauthenticated("This agent was deactivated. Ask its owner or an admin.", code="AGENT_INACTIVE")
    person = session.acting_for
    if person and not (session.may_act and person.is_active and person.user.is_active):  # type: ignore[attr-defined]
        raise Unauthenticated(
            "This agent may no longer act for that person. Ask an admin, or ask for a token without on_behalf_of.",
            code="PRINCIPAL_REFUSED",
        )


def _same(claims: TokenClaims, session: TokenSession) -> bool:
    """True if the token speaks of the session's own agent, person and tenant."""
    person = session.acting_for.user_id if session.acting_for else None
    return (claims.agent_id, claims.tenant_id, claims.acting_for) == (
        session.agent_id,
        session.agent.tenant_id,
        person,
    )


def _decode(raw: str) -> TokenClaims:
    """Verify signature, type, issuer and audience. Times are judged later, by the database's clock (data rule 11)."""
    if len(raw) > LONGEST_TOKEN:
        raise token_invalid()
    try:
        header = jwt.get_unverified_header(raw)
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise token_invalid() from None
    # The header chooses among *our* keys and nothing else: the algorithm is pinned below.
    key = key_ring().public.get(str(header.get("kid")))
    if key is None or header.get("typ") != TYPE or "crit" in header:
        raise token_invalid()
    options: Any = {"require": list(REQUIRED), "verify_exp": False, "verify_iat": False, "verify_nbf": False}
    try:
        payload = jwt.decode(
            raw, key, algorithms=[ALGORITHM], audience=AUDIENCE, issuer=settings.BASE_URL, options=options
        )
    except (jwt.PyJWTError, ValueError):
        raise token_invalid() from None
    return read_claims(payload)


def _pair(session: TokenSession, now: datetime) -> TokenPair:
    scopes = tuple(sorted(set(session.scopes) & set(session.agent.scopes)))
    ring = key_ring()
    issued = int(now.timestamp())
    claims = TokenClaims(
        issuer=settings.BASE_URL,
        tenant_id=session.agent.tenant_id,
        agent_id=session.agent_id,
        acting_for=session.acting_for.user_id if session.acting_for else None,
        scopes=scopes,
        session_id=session.id,
        token_id=secrets.new_token_id(),
        issued_at=issued,
        expires_at=issued + ACCESS_SECONDS,
    )
    access = jwt.encode(
        claims.payload(), ring.private, algorithm=ALGORITHM, headers={"kid": ring.signing_kid, "typ": TYPE}
    )
    return TokenPair(
        access_token=access,
        refresh_token=tokens.add_refresh_token(session, now),
        expires_in=ACCESS_SECONDS,
        session_id=str(session.id),
        scopes=scopes,
    )


def _scopes_wanted(agent: Agent, scopes: Sequence[str] | None) -> list[str]:
    if scopes is None:
        return sorted(agent.scopes)
    wanted = scopes_of(scopes)
    missing = [scope for scope in wanted if scope not in agent.scopes]
    if missing:
        raise Forbidden(
            f"This agent does not have {', '.join(missing)}. Ask an admin for it, or ask for less.",
            code="SCOPE_MISSING",
            missing=missing,
        )
    return wanted


def _agent_actor(agent: Agent) -> Actor:
    return replace(_NOBODY, id=str(agent.id), name=agent.name, tenant_id=str(agent.tenant_id))


def _session_actor(session: TokenSession, scopes: tuple[str, ...]) -> Actor:
    person = session.acting_for
    return replace(
        _agent_actor(session.agent),
        scopes=frozenset(scopes),
        on_behalf_of=str(person.user_id) if person else "",
        session_id=str(session.id),
    )
