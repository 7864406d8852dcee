"""What the evaluator is told of a stored call and of who asks, beside the call's bytes and the target's state."""

from typing import Any

from access.selectors.actors import RequesterFacts
from approvals.core.policy import principal_of
from approvals.core.policy_names import run_facts
from approvals.models import Proposal
from audit.core.actor import Actor
from audit.core.jsondoor import Json


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
