"""Which of the four execution boundaries a call passes, and why (B1 to B5)."""

from dataclasses import dataclass
from typing import Literal

from approvals.core.contract_types import Contract
from approvals.core.policy_document import Effect

type BoundaryKind = Literal["direct", "gateway", "approval", "sandbox"]

_EFFECTS = {
    "idempotent": "has an effect, the same however often it is sent",
    "reversible": "has an effect that can be undone",
    "irreversible": "has an effect that cannot be undone",
}


@dataclass(frozen=True, slots=True)
class Boundary:
    """The boundary and one sentence for people saying why."""

    kind: BoundaryKind
    reason: str


def boundary_for(contract: Contract, effect: Effect) -> Boundary:
    """The boundary for a call of `contract` on which the policy said `effect`.

    An approved call goes out through the boundary that "allow" names (B5). Raises ValueError for "deny": a refused
    call passes none. A tool with side effects is never direct (B1), and one with a sandbox profile is never anything
    else (B3: no fallback).
    """
    if effect == "deny":
        raise ValueError("a refused call passes no boundary")
    if effect == "ask":
        return Boundary("approval", f"{contract.title}: held until people decide, since the policy asks for it.")
    if contract.sandbox_profile is not None:
        return Boundary("sandbox", f"{contract.title}: runs isolated, in the profile {contract.sandbox_profile}.")
    if contract.read_only:
        return Boundary("direct", f"{contract.title}: only reads, so it runs here with its own deadline and cap.")
    return Boundary("gateway", f"{contract.title}: {_EFFECTS[contract.side_effect]}, so it goes through the gateway.")
