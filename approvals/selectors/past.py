"""What went before a call: the last 30 days of customer, agent and tool, earlier rejections, split amounts.

For whoever decides (screens.md, Proposal 7). It is told to help a decision and decides nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from access.selectors.actors import requester_facts
from approvals.core.contract_types import Contract
from approvals.core.digest import parse_call_bytes, parse_snapshot
from approvals.core.exposure import customer_of
from approvals.core.money import money_text
from approvals.core.policy import Request, Verdict, evaluate, same_or_looser, verdict_from
from approvals.models import Decision, Proposal
from approvals.selectors.catalogue import contract_of
from approvals.selectors.deciders import needs_words
from approvals.selectors.exposure import exposure_of
from approvals.selectors.policies import policy_head, rules_of
from audit.core.pointers import split_pointer
from audit.core.refusal import Refusal
from audit.core.visible import Piece, as_line, visible
from audit.store.clock import now

SPLIT_WITHIN = timedelta(hours=24)
MOST = 50
"""Calls of one customer that are looked at for split amounts."""
REJECTIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What was started of this tool: for whom in words, and per window the calls and sums in words."""

    who: str
    name: str
    month: str
    day: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """An earlier rejection of the same digest, in any run of the organisation."""

    proposal_id: UUID
    by: str
    reason: tuple[Piece, ...]
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Calls for the same customer within a day that one call of their sum would be judged stricter for."""

    calls: int
    total: str
    would: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """All of it. `customer_known` is false where the contract names no customer, or the state does not have it."""

    started: tuple[Started, ...]
    rejections: tuple[Rejection, ...]
    split: Split | None
    customer_known: bool


def past_in(proposal: Proposal) -> Past | None:
    """What went before a call, of a row that was read for somebody who may see it: for all of them it is one and the
    same. None where its bytes cannot be read. A bounded number of queries, however long the history is."""
    try:
        contract = contract_of(proposal.tool_version_id)
        arguments = parse_call_bytes(proposal.canonical).arguments
        state = parse_snapshot(proposal.snapshot)
    except Refusal:
        return None
    subjects = {"customer": proposal.customer or None, "agent": str(proposal.agent_id), "tool": ""}
    exposure = exposure_of(tenant_id=proposal.tenant_id, tool=proposal.tool, subjects=subjects, key=proposal.key)
    names = {
        "customer": as_line(customer_of(contract, arguments, state)),
        "agent": as_line(proposal.agent_name),
        "tool": as_line(proposal.tool),
    }
    return Past(
        started=tuple(
            Started(
                who=dimension,
                name=names[dimension],
                month=_sums(exposure[dimension]["30d"]),
                day=_sums(exposure[dimension]["24h"]),
            )
            for dimension in ("customer", "agent", "tool")
            if exposure.get(dimension) is not None
        ),
        rejections=_rejections(proposal),
        split=_split(proposal, contract, arguments, state, exposure),
        customer_known=bool(proposal.customer),
    )


def _sums(window: Mapping[str, Mapping[str, int]]) -> str:
    calls = sum(found["calls"] for found in window.values())
    if not calls:
        return "none"
    amounts = [money_text(found["amount"], code) for code, found in sorted(window.items()) if code and found["amount"]]
    return f"{calls:,} call{'s' if calls > 1 else ''}" + (f", {' and '.join(amounts)}" if amounts else "")


def _rejections(proposal: Proposal) -> tuple[Rejection, ...]:
    votes = (
        Decision.objects.filter(
            verdict="reject",
            proposal__tenant_id=proposal.tenant_id,
            proposal__digest=proposal.digest,
            proposal__status="rejected",
        )
        .exclude(proposal_id=proposal.pk)
        .order_by("-at")[:REJECTIONS]
    )
    return tuple(
        Rejection(
            proposal_id=vote.proposal_id, by=as_line(vote.reviewer_name), reason=tuple(visible(vote.reason)), at=vote.at
        )
        for vote in votes
    )


def _split(
    proposal: Proposal,
    contract: Contract,
    arguments: Mapping[str, Any],
    state: Mapping[str, Any] | None,
    exposure: Mapping[str, Any],
) -> Split | None:
    """A hint, never a verdict: what the policy would say of one call with the sum of these amounts."""
    if not proposal.customer or proposal.amount_minor is None or not contract.money:
        return None
    coming = Proposal.objects.filter(
        tenant_id=proposal.tenant_id,
        tool=proposal.tool,
        customer=proposal.customer,
        currency=proposal.currency,
        created_at__gt=now() - SPLIT_WITHIN,
        status__in=["pending", "granted"],
        outcome="",
        expires_at__gt=now(),
    ).exclude(pk=proposal.pk)
    waiting = list(coming.order_by("-created_at").values_list("amount_minor", flat=True)[:MOST])
    started = (exposure["customer"] or {}).get("24h", {}).get(proposal.currency, {"amount": 0, "calls": 0})
    others = len(waiting) + started["calls"]
    total = proposal.amount_minor + sum(amount or 0 for amount in waiting) + started["amount"]
    if not others or total <= proposal.amount_minor:
        return None
    would = _judged(proposal, contract, _with_amount(contract, arguments, total), state)
    asked = verdict_from(proposal.why["verdict"])
    if would is None or same_or_looser(asked, would):
        return None
    words = f"would be refused ({would.message.rstrip('.')})" if would.effect == "deny" else _asks(would)
    return Split(calls=others + 1, total=money_text(total, proposal.currency), would=words)


def _asks(verdict: Verdict) -> str:
    return f"would need {needs_words(verdict.approvers)} (rule {verdict.rule_id})"


def _with_amount(contract: Contract, arguments: Mapping[str, Any], total: int) -> dict[str, Any]:
    *path, last = split_pointer(contract.money[0].amount)
    return _put(dict(arguments), path, last, total)


def _put(holder: dict[str, Any], path: list[str], last: str, value: int) -> dict[str, Any]:
    if not path:
        return {**holder, last: value}
    inner = holder.get(path[0])
    return {**holder, path[0]: _put(dict(inner), path[1:], last, value)} if isinstance(inner, dict) else holder


def _judged(
    proposal: Proposal, contract: Contract, arguments: dict[str, Any], state: Mapping[str, Any] | None
) -> Verdict | None:
    requester = requester_facts(
        tenant_id=proposal.tenant_id,
        agent_id=proposal.agent_id,
        acting_user_id=proposal.acting_user_id,
        token_session_id=proposal.token_session_id,
    )
    number = policy_head(proposal.tenant_id).active_number
    request = Request(
        tool=contract.name,
        # The contract's own checks are about one call: a sum over several may well be more than one order has left.
        contract=replace(contract, checks=()),
        arguments=arguments,
        state=state,
        principal={"agent": dict(requester.agent), "user": dict(requester.user) if requester.user else None},
        now=now(),
    )
    try:
        found = evaluate(rules_of(proposal.tenant_id, number), request)
    except Refusal:
        return None
    # What cannot be judged for a call that nobody asked for says nothing about the one that somebody did.
    return None if found.code == "policy_error" else found
