"""Tiers: who is asked by the amount, and what a document may not say about them (A9)."""

import json
from typing import Any

import pytest

from approvals.core.policy import Approver, Request, Verdict, catalogue_findings, evaluate, parse_policy, principal_of
from approvals.core.terms import Terms
from audit.core.actor import Actor
from audit.core.refusal import Invalid
from tests.core.approvals.documents import refund

AGENT = Actor("agent", "a1", "Shop agent", "t1", frozenset(), frozenset(), frozenset({"refunds:write"}), via="token")
FINANCE, LEADS = {"group": "finance", "count": 1}, {"group": "leads", "count": 1}
SMALL = {"up_to": {"AUD": 25_000}, "approvers": [FINANCE], "expires_in_s": 600}
LARGE = {"approvers": [FINANCE, LEADS], "rejections": 2}
RULE = {"id": "refund", "tool": "refund_order", "effect": "ask", "tiers": [SMALL, LARGE], "expires_in_s": 1_800}


def judged(amount: Any, *, currency: str = "AUD", rule: dict[str, Any] = RULE, contract=None) -> Verdict:
    policy = parse_policy(json.dumps({"version": 1, "rules": [rule]}), "json", number=1)
    contract = contract or refund({"/checks": [], "/money": [{"amount": "/amount", "currency": "/currency"}]})
    arguments = {"order_id": "ord_1", "amount": amount, "currency": currency}
    return evaluate(policy, Request("refund_order", contract, arguments, {}, principal_of(AGENT)))


def groups(verdict: Verdict) -> list[str]:
    return [approver.group for approver in verdict.approvers]


@pytest.mark.parametrize(
    ("amount", "currency", "asked"),
    [
        (0, "AUD", ["finance"]),
        (25_000, "AUD", ["finance"]),
        (25_000, "aud", ["finance"]),
        (25_001, "AUD", ["finance", "leads"]),
        (1, "JPY", ["finance", "leads"]),
        (-1, "AUD", ["finance", "leads"]),
        (None, "AUD", ["finance", "leads"]),
        (True, "AUD", ["finance", "leads"]),
        (1.0, "AUD", ["finance", "leads"]),
        ("1", "AUD", ["finance", "leads"]),
        (1, "", ["finance", "leads"]),
    ],
)
def test_the_first_tier_that_names_the_currency_with_at_least_the_amount_decides(amount, currency, asked):
    verdict = judged(amount, currency=currency)
    assert (verdict.effect, groups(verdict)) == ("ask", asked)


def test_a_tier_has_its_own_time_and_terms_and_else_those_of_the_rule():
    small, large = judged(100), judged(100_000)
    assert (small.expires_in_s, small.terms) == (600, Terms())
    assert (large.expires_in_s, large.terms) == (1_800, Terms(rejections=2))
    assert large.approvers == (Approver("finance", 1), Approver("leads", 1))


@pytest.mark.parametrize(
    ("amount", "currency", "words"),
    [
        (10_000, "AUD", "tier 1 of 2: 100.00 AUD (raw 10000) is at most 250.00 AUD (raw 25000)"),
        (30_000, "AUD", "tier 2 of 2: 300.00 AUD (raw 30000) is over 250.00 AUD (raw 25000)"),
        (30_000, "JPY", "tier 2 of 2: 30,000 JPY, a currency that no tier before it names"),
        (-5, "AUD", "tier 2 of 2: -0.05 AUD (raw -5) is below zero"),
        ("x", "AUD", "tier 2 of 2: the call names no amount"),
    ],
)
def test_the_verdict_says_in_words_which_tier_it_is_and_why(amount, currency, words):
    assert judged(amount, currency=currency).matched[-1].text == words


def test_a_tool_that_moves_no_money_is_asked_of_the_last_tier_and_the_admin_is_told():
    contract = refund({"/checks": [], "/money": []})
    assert groups(judged(1, contract=contract)) == ["finance", "leads"]
    policy = parse_policy(json.dumps({"version": 1, "rules": [RULE]}), "json")
    found = catalogue_findings(policy, tools={"refund_order": contract})
    assert [finding.code for finding in found] == ["TIERS_WITHOUT_MONEY"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"tiers": [SMALL]}, "TIER_OPEN"),
        ({"tiers": [LARGE, LARGE]}, "TIER_BOUND"),
        ({"tiers": [SMALL, SMALL, LARGE]}, "TIER_UNREACHABLE"),
        ({"tiers": [{**SMALL, "up_to": {"XXQ": 1}}, LARGE]}, "CURRENCY_UNKNOWN"),
        ({"approvers": [FINANCE]}, "APPROVERS_TWICE"),
        ({"effect": "deny"}, "TIERS_UNUSED"),
        ({"tiers": [{"up_to": {"AUD": 1}}, LARGE]}, "POLICY_SHAPE"),
        ({"tiers": [{**SMALL, "up_to": {"AUD": 1.5}}, LARGE]}, "POLICY_SHAPE"),
        ({"tiers": []}, "POLICY_SHAPE"),
        ({"tiers": [SMALL, {**LARGE, "approvers": [{"group": "finance", "count": 0}]}]}, "POLICY_SHAPE"),
        ({"tiers": [SMALL, {**LARGE, "approvers": [LEADS, LEADS]}]}, "DUPLICATE_GROUP"),
        ({"rejections": 0}, "POLICY_SHAPE"),
        ({"remind_at_percent": 100}, "POLICY_SHAPE"),
        ({"reasons": ["No\u202e."]}, "HIDDEN_CHARACTER"),
        ({"authentication": "notarised"}, "POLICY_SHAPE"),
    ],
)
def test_a_document_that_says_it_wrongly_is_refused_with_the_place(changes, code):
    with pytest.raises(Invalid) as caught:
        parse_policy(json.dumps({"version": 1, "rules": [{**RULE, **changes}]}), "json")
    assert code in [finding["code"] for finding in caught.value.detail["findings"]]


@pytest.mark.parametrize("asked", ["session", "fresh", "signed"])
def test_a_tier_may_ask_for_each_kind_of_authentication(asked):
    rule = {**RULE, "tiers": [SMALL, {**LARGE, "authentication": asked}]}
    policy = parse_policy(json.dumps({"version": 1, "rules": [rule]}), "json")
    assert policy.rules[0].tiers[1].terms.authentication == asked


def test_groups_of_tiers_and_of_escalations_that_hold_nobody_are_findings():
    rule = {**RULE, "escalate_to": ["board"]}
    policy = parse_policy(json.dumps({"version": 1, "rules": [rule]}), "json")
    found = catalogue_findings(policy, tools={"refund_order": refund()}, groups={"finance": 1, "leads": 0}, told={})
    places = {finding.path for finding in found if finding.code == "GROUP_TOO_SMALL"}
    assert places == {"/rules/0/tiers/1/approvers/1/group", "/rules/0/escalate_to"}
    assert "There is no group board." in [finding.message for finding in found]
    empty = catalogue_findings(policy, tools={"refund_order": refund()}, told={"board": 0})
    assert "board has no active members, so an escalation would tell nobody." in [one.message for one in empty]
