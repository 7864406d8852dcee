"""Agents: programs that ask. Who registers one answers for it; what it may do is named scope by scope (G1)."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction

from access.core.names import name_of, scopes_of
from access.core.rights import is_admin, require_admin
from access.models import Agent, AgentPrincipal, Membership, TokenSession
from access.store import secrets, tokens
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Forbidden, NotFound
from audit.services.record import audit_record, audit_record_or_owe, audit_refusals
from audit.store import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRow:
    """One agent; never its secret."""

    id: str
    name: str
    version: str
    client_id: str
    scopes: tuple[str, ...]
    owner_user_id: str
    active: bool


def agent_create(
    *,
    actor: Actor,
    name: str,
    scopes: Iterable[str],
    owner_user_id: str | UUID | None = None,
    principals: Iterable[str | UUID] = (),
    version: str = "1",
) -> tuple[AgentRow, str]:
    """Register an agent; an admin's right. Returns it with its secret, which is shown this once and kept as a hash.

    The owner answers for the agent and never approves its calls (A9); None makes it the actor. `principals` are the
    user ids of people it may act for. Raises Forbidden, Invalid (NAME_INVALID, SCOPE_INVALID), NotFound (a person who
    is no active member), Conflict (AGENT_EXISTS).
    """
    with audit_refusals(actor=actor, action="agent.created", object_type="agent", object_id=""):
        require_admin(actor)
        owner = _member(actor, owner_user_id or actor.id)
        people = [_member(actor, person) for person in principals]
        secret = secrets.new_secret()
        try:
            with transaction.atomic():
                agent = Agent.objects.create(
                    id=uuid4(),
                    tenant_id=UUID(actor.tenant_id),
                    name=name_of(name),
                    version=name_of(version)[:64],
                    client_id=secrets.new_client_id(),
                    secret_hash=secrets.hash_of(secret),
                    scopes=scopes_of(scopes),
                    owner=owner,
                    created_at=clock.now(),
                )
        except IntegrityError:
            raise Conflict(f"There is an agent called {name} already.", code="AGENT_EXISTS") from None
        AgentPrincipal.objects.bulk_create(AgentPrincipal(agent=agent, membership=person) for person in set(people))
        audit_record(
            actor=actor, action="agent.created", object_type="agent", object_id=agent.id,
            detail={"name": agent.name, "scopes": agent.scopes, "owner": owner.user_id,
                    "may_act_for": [person.user_id for person in people]},
        )  # fmt: skip
    return _row(agent), secret


def agent_secret_rotate(*, actor: Actor, agent_id: str | UUID, end_sessions: bool = True) -> str:
    """A new secret, shown this once; the old one opens nothing from now on. The owner's and an admin's right.

    Sessions begun with the old secret end too unless `end_sessions` is false: whoever else had a copy may be in one.
    Raises Forbidden, NotFound.
    """
    with audit_refusals(actor=actor, action="agent.secret_rotated", object_type="agent", object_id=agent_id):
        agent = _agent(actor, agent_id, owner_may=True)
        secret = secrets.new_secret()
        agent.secret_hash = secrets.hash_of(secret)
        agent.save(update_fields=["secret_hash"])
        ended = tokens.revoke(TokenSession.objects.filter(agent=agent), "the secret was rotated") if end_sessions else 0
        audit_record(
            actor=actor, action="agent.secret_rotated", object_type="agent", object_id=agent.id,
            detail={"sessions_ended": ended},
        )  # fmt: skip
    return secret


def agent_deactivate(*, actor: Actor, agent_id: str | UUID, because: str = "") -> bool:
    """Stop an agent: no token of it is accepted from the next call on. The owner's and an admin's right.

    False if it was stopped already. Works while the audit log does not (S69). Raises Forbidden, NotFound.
    """
    with audit_refusals(actor=actor, action="agent.deactivated", object_type="agent", object_id=agent_id):
        agent = _agent(actor, agent_id, owner_may=True)
        stopped = Agent.objects.filter(id=agent.id, is_active=True).update(is_active=False) == 1
        if stopped:
            ended = tokens.revoke(TokenSession.objects.filter(agent=agent), "the agent was deactivated")
            audit_record_or_owe(
                actor=actor, action="agent.deactivated", object_type="agent", object_id=agent.id,
                detail={"because": because, "sessions_ended": ended},
            )  # fmt: skip
    return stopped


def agent_activate(*, actor: Actor, agent_id: str | UUID) -> bool:
    """Let a stopped agent work again with the secret it had; an admin's right, because its owner may have been stopped
    with it. Its earlier sessions stay ended. False if it was active. Raises Forbidden, NotFound."""
    with audit_refusals(actor=actor, action="agent.activated", object_type="agent", object_id=agent_id):
        agent = _agent(actor, agent_id, owner_may=False)
        started = not agent.is_active
        if started:
            agent.is_active = True
            agent.save(update_fields=["is_active"])
            audit_record(actor=actor, action="agent.activated", object_type="agent", object_id=agent.id)
    return started


def agent_owner_set(*, actor: Actor, agent_id: str | UUID, user_id: str | UUID) -> AgentRow:
    """Make somebody else answer for the agent; an admin's right. The owner never approves its calls (A9).

    Raises Forbidden, NotFound (agent, or a person who is no active member).
    """
    with audit_refusals(actor=actor, action="agent.owner_set", object_type="agent", object_id=agent_id):
        agent = _agent(actor, agent_id, owner_may=False)
        before, agent.owner = agent.owner.user_id, _member(actor, user_id)
        agent.save(update_fields=["owner"])
        audit_record(
            actor=actor, action="agent.owner_set", object_type="agent", object_id=agent.id,
            detail={"owner": agent.owner.user_id, "before": before},
        )  # fmt: skip
    return _row(agent)


def agent_scopes_set(*, actor: Actor, agent_id: str | UUID, scopes: Iterable[str]) -> AgentRow:
    """Give the agent exactly these scopes; an admin's right. Live tokens lose what is taken at their next call.

    Raises Forbidden, NotFound, Invalid (SCOPE_INVALID).
    """
    with audit_refusals(actor=actor, action="agent.scopes_set", object_type="agent", object_id=agent_id):
        agent = _agent(actor, agent_id, owner_may=False)
        before, agent.scopes = agent.scopes, scopes_of(scopes)
        agent.save(update_fields=["scopes"])
        takes_away = set(agent.scopes) <= set(before)
        (audit_record_or_owe if takes_away else audit_record)(
            actor=actor, action="agent.scopes_set", object_type="agent", object_id=agent.id,
            detail={"scopes": agent.scopes, "before": before},
        )  # fmt: skip
    return _row(agent)


def agent_principal_add(*, actor: Actor, agent_id: str | UUID, user_id: str | UUID) -> bool:
    """Let the agent act for a person; an admin's right. False if it might already. Raises Forbidden, NotFound."""
    with audit_refusals(actor=actor, action="agent.principal_added", object_type="agent", object_id=agent_id):
        agent = _agent(actor, agent_id, owner_may=False)
        _, added = AgentPrincipal.objects.get_or_create(agent=agent, membership=_member(actor, user_id))
        if added:
            audit_record(
                actor=actor, action="agent.principal_added", object_type="agent", object_id=agent.id,
                detail={"user": user_id},
            )  # fmt: skip
    return added


def agent_principal_remove(*, actor: Actor, agent_id: str | UUID, user_id: str | UUID) -> bool:
    """Stop the agent acting for a person, at its next call; an admin's right and that person's own.

    False if it could not anyway. Works while the audit log does not (S69). Raises Forbidden, NotFound.
    """
    with audit_refusals(actor=actor, action="agent.principal_removed", object_type="agent", object_id=agent_id):
        oneself = actor.kind == "person" and actor.via == "session" and str(user_id) == actor.id
        agent = _agent(actor, agent_id, owner_may=False, anybody=oneself)
        try:
            places = AgentPrincipal.objects.filter(agent=agent, membership__user_id=UUID(str(user_id)))
        except ValueError:
            raise NotFound from None
        removed, _ = places.delete()
        if removed:
            audit_record_or_owe(
                actor=actor, action="agent.principal_removed", object_type="agent", object_id=agent.id,
                detail={"user": user_id},
            )  # fmt: skip
    return bool(removed)


def _agent(actor: Actor, agent_id: str | UUID, *, owner_may: bool, anybody: bool = False) -> Agent:
    """The agent, locked, if the actor may change it."""
    try:
        agent = (
            Agent.objects.select_for_update(of=("self",))
            .select_related("owner")
            .get(id=UUID(str(agent_id)), tenant_id=actor.tenant_id)
        )
    except (ValueError, Agent.DoesNotExist):
        raise NotFound from None
    is_owner = actor.kind == "person" and actor.via == "session" and str(agent.owner.user_id) == actor.id
    if not (anybody or (owner_may and is_owner) or is_admin(actor)):
        raise Forbidden(
            "Only an admin may do this" + (", or the agent's owner." if owner_may else "."),
            code="ROLE_MISSING",
            missing=["admin"],
        )
    return agent


def _member(actor: Actor, user_id: str | UUID) -> Membership:
    try:
        return Membership.objects.get(
            tenant_id=actor.tenant_id, user_id=UUID(str(user_id)), is_active=True, user__is_active=True
        )
    except (ValueError, Membership.DoesNotExist):
        raise NotFound(
            "This person is no active member of this organisation. Add them first.", missing=["member"]
        ) from None


def _row(agent: Agent) -> AgentRow:
    return AgentRow(
        id=str(agent.id),
        name=agent.name,
        version=agent.version,
        client_id=agent.client_id,
        scopes=tuple(agent.scopes),
        owner_user_id=str(agent.owner.user_id),
        active=agent.is_active,
    )
