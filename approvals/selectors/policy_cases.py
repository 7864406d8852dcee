"""A test case for a policy made of a call that really was (W3)."""

from typing import Any
from uuid import UUID

from approvals.core.policy import Verdict
from approvals.models import Judgement
from approvals.selectors.bound import read_bound
from approvals.selectors.policies import rules_of
from approvals.selectors.proposals import proposal_row
from audit.core.actor import Actor
from audit.core.refusal import Refusal


def case_of_proposal(actor: Actor, proposal_id: UUID) -> dict[str, Any]:
    """The call of a proposal as a test: its verified arguments as they were sent, the state it was judged on, and what
    the policy said of it. Who asked is part of it only where a rule of that policy looks at the principal.

    Raises NotFound, also for a foreign id (S62), and Conflict for a row that is not what was made (S84).
    """
    proposal = proposal_row(actor, proposal_id)
    bound = read_bound(proposal, decisions=(), permit=None)
    verdict = bound.requirement
    case: dict[str, Any] = {
        "name": proposal.sentence[:200],
        "tool": bound.facts.tool,
        "arguments": bound.given,
    }
    if bound.state is not None:
        case["state"] = bound.state
    if _asks_who(actor, verdict):
        judged = Judgement.objects.filter(run_id=proposal.run_id, call_id=proposal.call_id).first()
        case["principal"] = judged.principal if judged else {"name": proposal.agent_name}
    case["expect"] = expected_of(verdict)
    return case


def expected_of(verdict: Verdict) -> dict[str, Any]:
    """What a test of a call must expect so that it stays as it was judged."""
    expect: dict[str, Any] = {"effect": verdict.effect}
    if verdict.rule_id:
        expect["rule"] = verdict.rule_id
    if verdict.effect == "ask":
        expect["approvers"] = sorted({approver.group for approver in verdict.approvers})
    return expect


def _asks_who(actor: Actor, verdict: Verdict) -> bool:
    try:
        policy = rules_of(actor.tenant_id, verdict.policy_number)
    except Refusal:
        return True
    return any("principal" in rule.when for rule in policy.rules)
