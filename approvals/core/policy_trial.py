"""Running a policy's own test cases, by the code that judges real calls (A8)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from approvals.core.arguments import effective_arguments
from approvals.core.contract_types import Contract
from approvals.core.policy import Policy, Request, Verdict, evaluate
from approvals.core.policy_cases import Case, Expected
from audit.core.refusal import Refusal


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case went: what it wanted and what it got, in words; `why` holds what matched, with its values."""

    name: str
    tool: str
    passed: bool
    expected: str
    got: str
    message: str
    why: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON for a refusal."""
        return {
            "name": self.name,
            "tool": self.tool,
            "passed": self.passed,
            "expected": self.expected,
            "got": self.got,
            "message": self.message,
            "why": list(self.why),
        }


def run_cases(policy: Policy, tools: Mapping[str, Contract]) -> tuple[CaseResult, ...]:
    """The results of every case of `policy`, in its order. A call that the tool's own schema refuses, or of a tool
    that is not there, never reaches the policy: such a case does not pass, whatever it expects."""
    return tuple(_run(policy, case, tools.get(case.tool)) for case in policy.tests)


def principal_for(contract: Contract, given: Mapping[str, Any]) -> dict[str, Any]:
    """Whom a case means: an agent without a name that has every scope of the tool, with what is given over it."""
    agent = {"id": "", "name": "", "version": "", "owner_user_id": ""}
    plain: dict[str, Any] = {
        "kind": "agent",
        "id": "",
        "name": "",
        "roles": [],
        "groups": [],
        "scopes": sorted(contract.scopes),
        "on_behalf_of": "",
        "chain": [],
        "agent": agent,
        "user": None,
    }
    return plain | dict(given)


def _run(policy: Policy, case: Case, contract: Contract | None) -> CaseResult:
    expected = _expected(case.expect)
    if contract is None:
        return CaseResult(case.name, case.tool, False, expected, "no such tool", f"There is no tool {case.tool}.")
    try:
        arguments = effective_arguments(contract, dict(case.arguments))
    except Refusal as refusal:
        return CaseResult(case.name, case.tool, False, expected, "refused before the policy", refusal.message)
    verdict = evaluate(
        policy,
        Request(
            tool=case.tool,
            contract=contract,
            arguments=arguments,
            state=case.state,
            principal=principal_for(contract, case.principal),
            run=case.run,
            exposure=case.exposure,
            now=case.now,
        ),
    )
    why = tuple(match.text for match in verdict.matched)
    return CaseResult(case.name, case.tool, _fits(case.expect, verdict), expected, _got(verdict), verdict.message, why)


def _fits(expect: Expected, verdict: Verdict) -> bool:
    if verdict.effect != expect.effect or (expect.rule and expect.rule != verdict.rule_id):
        return False
    asked = sorted(approver.group for approver in verdict.approvers)
    return expect.approvers is None or sorted(expect.approvers) == asked


def _expected(expect: Expected) -> str:
    words: str = expect.effect
    if expect.approvers is not None:
        words += " " + " and ".join(sorted(expect.approvers))
    return words + (f", by {expect.rule}" if expect.rule else "")


def _got(verdict: Verdict) -> str:
    words: str = verdict.effect
    if verdict.effect == "ask":
        words += " " + " and ".join(f"{item.count} of {item.group}" for item in verdict.approvers)
    return words + (f", by {verdict.rule_id}" if verdict.rule_id else ", no rule matched")
