"""Tiers of a rule: who is asked by how much money the call moves (A9).

The amount is the contract's first money field, in minor units. The first tier that names its currency with at least
that much is the one. What cannot be compared (no amount, one below zero, a currency that a tier does not name) never
fits a tier with a bound, so that it ends in the last, which has none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from approvals.core.contract_types import Contract
from approvals.core.matched import Match
from approvals.core.money import exponent, money_exact
from approvals.core.policy_types import approvers_of
from approvals.core.present import primary_money
from approvals.core.terms import Approver, Terms, policy_terms


@dataclass(frozen=True, slots=True)
class Tier:
    """`up_to` maps a currency in capitals to minor units; None for the last tier. `expires_in_s` None means the
    rule's, else the contract's."""

    up_to: Mapping[str, int] | None
    approvers: tuple[Approver, ...]
    expires_in_s: int | None
    terms: Terms


def tiers_of(rule: Mapping[str, Any]) -> tuple[Tier, ...]:
    """The tiers of a rule of a document, each with the rule's terms where it gives none of its own."""
    terms = policy_terms(rule)
    return tuple(
        Tier(
            up_to=tier.get("up_to"),
            approvers=approvers_of(tier),
            expires_in_s=tier.get("expires_in_s", rule.get("expires_in_s")),
            terms=policy_terms(tier, under=terms),
        )
        for tier in rule.get("tiers", [])
    )


def tier_for(tiers: Sequence[Tier], contract: Contract, arguments: Mapping[str, Any]) -> tuple[Tier, Match] | None:
    """The tier of a call and, in words, why it is that one; None where the rule has no tiers."""
    if not tiers:
        return None
    amount, currency = primary_money(contract, arguments)
    number = next(at for at, tier in enumerate(tiers) if _fits(tier, amount, currency))
    named = f"tier {number + 1} of {len(tiers)}"
    if amount is None:
        return tiers[number], Match("", f"{named}: the call names no amount", ())
    text = f"{named}: {money_exact(amount, currency)}"
    bound = (tiers[number].up_to or {}).get(currency)
    below = [tier.up_to[currency] for tier in tiers[:number] if tier.up_to and currency in tier.up_to]
    if bound is not None:
        text += f" is at most {money_exact(bound, currency)}"
    elif amount < 0:
        text += " is below zero"
    elif below:
        text += f" is over {money_exact(max(below), currency)}"
    elif number:
        text += ", a currency that no tier before it names"
    return tiers[number], Match("", text, (("amount", amount), ("currency", currency)))


def _fits(tier: Tier, amount: int | None, currency: str) -> bool:
    if tier.up_to is None:
        return True
    return amount is not None and 0 <= amount <= tier.up_to.get(currency, -1)


def tier_findings(rule: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(path below the rule, code, message) of what stands against a rule's tiers."""
    tiers = rule.get("tiers", [])
    if tiers and rule["effect"] == "deny":
        yield "/tiers", "TIERS_UNUSED", "A rule that denies asks nobody, whatever the amount."
    if tiers and rule.get("approvers"):
        yield "/approvers", "APPROVERS_TWICE", "The tiers say who may approve. Remove the rule's own approvers."
    highest: dict[str, int] = {}
    for at, tier in enumerate(tiers):
        place = f"/tiers/{at}"
        last = at == len(tiers) - 1
        if last and "up_to" in tier:
            yield f"{place}/up_to", "TIER_OPEN", "The last tier has no up_to: larger amounts need somebody too."
        if not last and "up_to" not in tier:
            yield place, "TIER_BOUND", "Every tier but the last says up to which amount: up_to."
        for currency, amount in tier.get("up_to", {}).items():
            if exponent(currency) is None:
                yield f"{place}/up_to/{currency}", "CURRENCY_UNKNOWN", f"There is no currency {currency}."
            if amount <= highest.get(currency, -1):
                before = money_exact(highest[currency], currency)
                message = f"A tier before this goes up to {before}, so this one is never reached in {currency}."
                yield f"{place}/up_to/{currency}", "TIER_UNREACHABLE", message
            highest[currency] = max(amount, highest.get(currency, -1))
