"""What the evaluator is told of a stored call and of who asks, beside the call's bytes and the target's state."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from access.selectors.actors import RequesterFacts
from approvals.core.policy import principal_of
from approvals.core.policy_names import run_facts
from approvals.models import Proposal
from audit.core.actor import Actor
from audit.core.jsondoor import Json

_GROUND = """
SELECT (SELECT v.number = t.active_version FROM approvals_toolversion v JOIN approvals_tool t ON t.id = v.tool_id
         WHERE v.id = %s),
       (SELECT id FROM approvals_policyversion WHERE tenant_id = %s AND number = %s),
       clearance_now()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a verdict is given on: whether the contract is the admitted one, the row of the policy's version, the time.

    `policy_version` is None where there is no such row.
    """

    admitted: bool
    policy_version: UUID | None
    at: datetime


def ground_of(*, tenant_id: UUID | str, tool_version_id: UUID, policy_number: int) -> Ground:
    """One statement, for whoever holds the policy's number already: it waits for no lock, so its time is that of the
    judgement."""
    with connection.cursor() as cursor:
        cursor.execute(_GROUND, [tool_version_id, str(tenant_id), policy_number])
        [(admitted, version, at)] = cursor.fetchall()
    return Ground(admitted=bool(admitted), policy_version=version, at=at)


def facts_of(proposal: Proposal) -> dict[str, Any]:
    """What `call_judge` has to be told of a proposal's call beside its bytes: `run` and `key`."""
    run = run_facts(
        run_id=proposal.run_id,
        title=proposal.run_title,
        agent_version=proposal.agent_version,
        reason=proposal.reason,
    )
    return {"run": run, "key": proposal.key}


def principal_of_requester(requester: RequesterFacts, tenant_id: str) -> dict[str, Json]:
    """The agent with its rights of now, as conditions read it; `principal.user` is the person it acts for, or null."""
    user = requester.user
    agent = Actor(
        kind="agent",
        id=str(requester.agent.get("id", "")),
        name=str(requester.agent.get("name", "")),
        tenant_id=tenant_id,
        roles=frozenset(),
        groups=frozenset(),
        scopes=requester.scopes,
        on_behalf_of=str(user["id"]) if user else "",
        via="token",
    )
    return {**principal_of(agent), "agent": dict(requester.agent), "user": dict(user) if user else None}
