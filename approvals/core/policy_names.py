"""What a policy's conditions may name, and the values that stand behind the names."""

from collections.abc import Mapping
from typing import Any

from approvals.core.cel import Bindings
from approvals.core.contract_types import Contract
from approvals.core.present import primary_money
from audit.core.jsondoor import Json

POLICY_NAMES = ("args", "state", "principal", "run", "exposure", "now")
"""Roots of a condition. `args`, `state` and `principal` are those of a contract's checks too."""
PRINCIPAL_NAMES = frozenset(
    {"kind", "id", "name", "roles", "groups", "scopes", "on_behalf_of", "chain", "agent", "user"}
)
RUN_NAMES = frozenset({"id", "title", "agent_version", "reason"})
DIMENSIONS = ("customer", "agent", "tool")
WINDOWS = ("24h", "30d")
EXPOSURE_NAMES = frozenset(f"{dimension}_{window}" for dimension in DIMENSIONS for window in WINDOWS)
EXPOSURE_FIELDS = frozenset({"amount", "calls"})


def run_facts(*, run_id: object, title: str, agent_version: str, reason: str) -> dict[str, Json]:
    """What `run.…` names: facts that stay the same for as long as the call is judged again and again. `title`,
    `agent_version` and the call's `reason` are the agent's own words."""
    return {"id": str(run_id), "title": title, "agent_version": agent_version, "reason": reason}


def call_money(contract: Contract, arguments: Mapping[str, Any]) -> tuple[int | None, str]:
    """What a call moves, for sums: minor units, none below zero, and the currency; (None, "") where it is not known."""
    amount, currency = primary_money(contract, arguments)
    if amount is None or len(currency) != 3:
        return None, ""
    return max(amount, 0), currency


class ExposureError(ValueError):
    """What was started before is not known, or is not in the shape that `Request.exposure` names."""


def spent(exposure: Mapping[str, Any], dimension: str, window: str, currency: str) -> tuple[int, int]:
    """(minor units in `currency`, calls of any currency) of a window; what is missing is zero. Raises ExposureError."""
    windows = exposure.get(dimension, {})
    if windows is None:
        raise ExposureError(f"the {dimension} is not known")
    try:
        by_currency = windows.get(window, {})
        amount = by_currency.get(currency, {}).get("amount", 0)
        calls = sum(entry.get("calls", 0) for entry in by_currency.values())
        if type(amount) is not int or type(calls) is not int:
            raise TypeError
    except (AttributeError, TypeError):
        raise ExposureError("exposure is written {customer: {24h: {AUD: {amount: 0, calls: 0}}}}") from None
    return amount, calls


def exposure_values(exposure: Mapping[str, Any], currency: str) -> dict[str, Json]:
    """`exposure.customer_24h.amount` and the like, in the currency of the call. What is not known is left out, so that
    naming it is an error: `amount` where the call carries no money, all of a customer who is not known."""
    if not exposure:
        return _NOTHING_STARTED[bool(currency)]
    found: dict[str, Json] = {}
    for dimension in DIMENSIONS:
        for window in WINDOWS:
            try:
                amount, calls = spent(exposure, dimension, window, currency)
            except ExposureError:
                continue
            found[f"{dimension}_{window}"] = {"calls": calls, **({"amount": amount} if currency else {})}
    return found


# By far most calls are judged by a policy that asks for no sums of them; nobody writes into these.
_NOTHING_STARTED: Mapping[bool, dict[str, Json]] = {
    True: {name: {"calls": 0, "amount": 0} for name in sorted(EXPOSURE_NAMES)},
    False: {name: {"calls": 0} for name in sorted(EXPOSURE_NAMES)},
}


def policy_bindings(
    contract: Contract,
    *,
    arguments: Mapping[str, Any],
    state: Mapping[str, Any] | None,
    principal: Mapping[str, Any],
    run: Mapping[str, Any],
    exposure: Mapping[str, Any],
    now: Any,
) -> Bindings:
    """The values for the conditions of a policy and for the contract's checks, for one call."""
    return Bindings(
        {
            "args": arguments,
            "state": state,
            "principal": principal,
            "run": run,
            "exposure": exposure_values(exposure, call_money(contract, arguments)[1]),
            "now": now,
        }
    )
