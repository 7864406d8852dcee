"""A test case for a policy made of a call that really was (W3).

A policy's text is kept for ever, handed out as a file and read by people who see calls redacted only: what the tool
redacts and what looks like a secret stands in no test (E5, S71).
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from approvals.core.digest import parse_snapshot
from approvals.core.policy import Verdict
from approvals.core.present import sentence_text
from approvals.models import Judgement
from approvals.selectors.bound import read_bound
from approvals.selectors.catalogue import contract_version
from approvals.selectors.policies import rules_of
from approvals.selectors.proposals import proposal_row
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.redact import redact, redact_for_audit, redact_text
from audit.core.refusal import Invalid, Refusal


def case_of_proposal(actor: Actor, proposal_id: UUID) -> dict[str, Any]:
    """The call of a proposal as a test: its verified arguments as they were sent, the state it was judged on, and what
    the policy said of it. Who asked is part of it only where a rule of that policy looks at the principal.

    Raises NotFound, also for a foreign id (S62), and Conflict for a row that is not what was made (S84).
    """
    proposal = proposal_row(actor, proposal_id)
    bound = read_bound(proposal, decisions=(), permit=None)
    verdict, redaction = bound.requirement, bound.contract.redaction
    name = sentence_text(bound.contract, redact(bound.facts.arguments, redaction), bound.state)
    case = _case(redact_text(name)[:200], bound.facts.tool, bound.given, bound.state, redaction)
    if _asks_who(actor, verdict.policy_number):
        judged = Judgement.objects.filter(run_id=proposal.run_id, call_id=proposal.call_id).first()
        case["principal"] = judged.principal if judged else {"name": proposal.agent_name}
    return case | {"expect": expected_of(verdict)}


def case_of_judged(actor: Actor, *, run_id: UUID, call_id: str, tool: str, number: int, given: Json) -> dict[str, Any]:
    """The same of a call that was not held: it was allowed or refused. `number` is its contract's version, `given` are
    its arguments as they were sent.

    Raises Invalid (NEVER_JUDGED) for a call that the policy was never asked about, and Conflict for a state that is
    not what was written.
    """
    judged = Judgement.objects.filter(tenant_id=actor.tenant_id, run_id=run_id, call_id=call_id).first()
    if judged is None:
        raise Invalid(
            "The policy was never asked about this call, or it is older than what is kept of judgements: there is "
            "nothing to make a test of. Write one in the text of a draft.",
            code="NEVER_JUDGED",
        )
    state = None if judged.state is None else parse_snapshot(bytes(judged.state))
    made_for = contract_version(actor.tenant_id, tool, number)
    # Without its contract nobody knows what is to be kept back: then all of it.
    redaction = made_for.contract.redaction if made_for else ("/**",)
    case = _case(f"{tool} {call_id}"[:200], tool, given, state, redaction)
    if _asks_who(actor, judged.policy_number):
        case["principal"] = judged.principal
    expect = {"effect": judged.effect} | ({"rule": judged.rule_id} if judged.rule_id else {})
    return case | {"expect": expect}


def _case(name: str, tool: str, given: Json, state: dict[str, Json] | None, redaction: Sequence[str]) -> dict[str, Any]:
    case: dict[str, Any] = {"name": name, "tool": tool, "arguments": redact_for_audit(given, redaction)}
    return case if state is None else case | {"state": redact_for_audit(state, ())}


def expected_of(verdict: Verdict) -> dict[str, Any]:
    """What a test of a call must expect so that it stays as it was judged."""
    expect: dict[str, Any] = {"effect": verdict.effect}
    if verdict.rule_id:
        expect["rule"] = verdict.rule_id
    if verdict.effect == "ask":
        expect["approvers"] = sorted({approver.group for approver in verdict.approvers})
    return expect


def _asks_who(actor: Actor, number: int) -> bool:
    try:
        policy = rules_of(actor.tenant_id, number)
    except Refusal:
        return True
    return any("principal" in rule.when for rule in policy.rules)
