"""What a policy says of a tool before anybody calls it: allowed, asked, refused, or by which rules it depends (A8).

Rules are walked as `evaluate` walks them. A condition that only names what is known of the agent is judged; one that
asks for arguments, state, sums, time or the person acted for may or may not hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from approvals.core.cel import Bindings, CelError, evaluate_bool
from approvals.core.cel_text import references, tokens
from approvals.core.contract_types import Contract
from approvals.core.policy_document import Effect, Policy, Rule
from approvals.core.policy_names import POLICY_NAMES
from approvals.core.policy_words import people_words

_OF_THE_AGENT = frozenset({("kind",), ("id",), ("name",), ("scopes",), ("agent", "id"), ("agent", "name")})
"""Parts of `principal` that are the same for every call of an agent, and that are known without one."""


@dataclass(frozen=True, slots=True)
class Rung:
    """A rule that may decide. `sure`: it decides every call that comes to it. `rule_id` "" is that no rule matches.
    `asked` says who approves, "" where nobody is asked."""

    rule_id: str
    effect: Effect
    sure: bool
    asked: str = ""


@dataclass(frozen=True, slots=True)
class Cover:
    """What becomes of calls. `outcome` is allowed, asked, denied or depends; `rungs` are the rules that may decide, in
    their order; `limits` and `freezes` the ids of those that may hold or refuse them beside that."""

    outcome: str
    rungs: tuple[Rung, ...]
    limits: tuple[str, ...] = ()
    freezes: tuple[str, ...] = ()

    @property
    def unasked(self) -> bool:
        """Calls may be allowed, and whatever the case no rule asks anybody."""
        effects = {rung.effect for rung in self.rungs}
        return "allow" in effects and "ask" not in effects


class Coverage:
    """A policy that is asked about many tools and agents; each condition is looked at once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._own = {rule.id: _is_of_the_agent(rule) for rule in policy.rules if rule.when}

    def by_agent(self, tool: str) -> bool:
        """Whether what is said of the tool can differ from agent to agent."""
        return any(self._own.get(rule.id) for rule in self._policy.rules if rule.tool in ("*", tool))

    def of(self, contract: Contract, principal: Mapping[str, Any]) -> Cover:
        """What becomes of an agent's calls of a tool. `principal` as conditions read it; what it holds of the person
        acted for is not looked at."""
        rungs: list[Rung] = []
        for rule in self._policy.rules:
            if rule.tool not in ("*", contract.name) or rule.level == "advisory":
                continue
            held = self._holds(rule, principal)
            if held is False:
                continue
            rungs.append(_rung(rule, contract, sure=held is True))
            if held is True:
                break
        else:
            rungs.append(Rung("", "deny", True))
        effects = {rung.effect for rung in rungs}
        words = {"allow": "allowed", "ask": "asked", "deny": "denied"}
        outcome = words[effects.pop()] if len(effects) == 1 else "depends"
        limits = tuple(limit.id for limit in self._policy.limits if limit.tool == contract.name)
        freezes = tuple(
            freeze.id
            for freeze in self._policy.freezes
            if contract.name in freeze.tools or ("*" in freeze.tools and not contract.read_only)
        )
        return Cover(outcome, tuple(rungs), limits, freezes)

    def _holds(self, rule: Rule, principal: Mapping[str, Any]) -> bool | None:
        """True or False where every call of this agent gives the same, else None."""
        if rule.program is None:
            return True
        if not self._own[rule.id]:
            return None
        try:
            return evaluate_bool(rule.program, Bindings({"principal": principal}))
        except CelError:
            return None


def _rung(rule: Rule, contract: Contract, *, sure: bool) -> Rung:
    if rule.effect == "deny" and rule.level != "overridable":
        return Rung(rule.id, "deny", sure)
    if rule.effect == "allow" and contract.approval != "always":
        return Rung(rule.id, "allow", sure)
    groups = [approvers for _, approvers in rule.asked()]
    if not groups:
        return Rung(rule.id, "deny", sure)
    asked = " or ".join(dict.fromkeys(people_words(approvers) for approvers in groups))
    return Rung(rule.id, "ask", sure, asked)


def _is_of_the_agent(rule: Rule) -> bool:
    named = references(tokens(rule.when), frozenset(POLICY_NAMES))
    return bool(named) and all(
        reference.path[0] == "principal" and not _OF_THE_AGENT.isdisjoint({reference.path[1:2], reference.path[1:3]})
        for reference in named
    )
