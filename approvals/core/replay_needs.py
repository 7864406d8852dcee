"""What a policy has to know of a past call of one tool: the target's state, what was started before."""

from dataclasses import dataclass

from approvals.core.cel_text import references, tokens
from approvals.core.contract_types import Contract
from approvals.core.exposure import asked_about
from approvals.core.policy_document import Policy

_ROOTS = frozenset({"state"})


@dataclass(frozen=True, slots=True)
class Needs:
    """`state`: a rule or a check names it, and the tool reads one. `exposure`: a rule names it or a limit sums up."""

    state: bool
    exposure: bool

    def __or__(self, other: "Needs") -> "Needs":
        return Needs(self.state or other.state, self.exposure or other.exposure)


def needs_of(policy: Policy, contract: Contract) -> Needs:
    """What `evaluate` may look at for a call of this contract. Says too much rather than too little: a rule behind one
    that always decides is counted."""
    rules = [rule for rule in policy.rules if rule.tool in ("*", contract.name) and rule.when]
    expressions = [rule.when for rule in rules] + [check.when for check in contract.checks]
    named = {reference.path[0] for expression in expressions for reference in references(tokens(expression), _ROOTS)}
    asked = asked_about(policy, contract.name)
    # For whom it is counted may be named by the state.
    whose = "customer" in asked and "state." in contract.customer
    reads = contract.adapter.read_state is not None
    return Needs(state=reads and ("state" in named or whose), exposure=bool(asked))
