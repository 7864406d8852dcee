"""Whose exposure a call belongs to, and which of it a policy asks about."""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from approvals.core.cel_text import CelTextError, references, tokens
from approvals.core.contract_types import Contract
from approvals.core.policy_document import Policy
from approvals.core.policy_names import DIMENSIONS
from approvals.core.template import render_text
from audit.core.canonical import sha256_hex
from audit.core.refusal import Refusal
from audit.core.visible import without_hidden

type Subjects = Mapping[str, str | None]
"""By dimension who it is in the counters; None where it is not known."""


def subjects_of(
    contract: Contract, *, arguments: Mapping[str, Any], state: Mapping[str, Any] | None, agent_id: str
) -> Subjects:
    """Who the counters of this call belong to: the customer as a digest of what the contract's template gives, so that
    no name stands in a counter (customer_key)."""
    return {"customer": customer_key(customer_of(contract, arguments, state)), "agent": agent_id, "tool": ""}


def customer_of(contract: Contract, arguments: Mapping[str, Any], state: Mapping[str, Any] | None) -> str:
    """The customer in words; "" where the contract names none, or what it names is not there."""
    if not contract.customer:
        return ""
    try:
        return render_text(contract.customer, {"args": dict(arguments), "state": dict(state or {})}).strip()
    except Refusal:
        return ""


def customer_key(customer: str) -> str | None:
    """The subject of a customer's counters; None for nobody.

    Two names that read alike are one customer, or a limit could be passed by with a character that shows nothing: such
    characters are left out, width, case and spaces are evened out. Letters of another alphabet that look alike name
    somebody else, to the target too. What hides nothing has the subject that it always had, so counters go on.
    """
    shown = unicodedata.normalize("NFKC", without_hidden(customer))
    plain = re.sub(r"\s+", " ", shown).strip().casefold()
    return sha256_hex(plain.encode("utf-8", "replace")) if plain else None


def asked_about(policy: Policy, tool: str) -> frozenset[str]:
    """The dimensions whose exposure the verdict on a call of `tool` depends on."""
    found: set[str] = {limit.per for limit in policy.limits if limit.tool == tool and limit.window != "call"}
    for rule in policy.rules:
        if rule.tool in ("*", tool) and "exposure" in rule.when:
            found |= _named(rule.when)
    return frozenset(found)


@lru_cache(maxsize=2_048)
def _named(when: str) -> frozenset[str]:
    try:
        named = references(tokens(when), frozenset({"exposure"}))
    except CelTextError:
        return frozenset(DIMENSIONS)
    found: set[str] = set()
    for reference in named:
        # `exposure` by itself may be asked for anything.
        found |= {reference.path[1].partition("_")[0]} if len(reference.path) > 1 else set(DIMENSIONS)
    return frozenset(found) & frozenset(DIMENSIONS)
