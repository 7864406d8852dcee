"""Freezes, limits and levels of a denial: the stricter answer wins, what cannot be judged denies (A5, A8, S63)."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from approvals.core.contract import effective_arguments, parse_contract
from approvals.core.contract_types import Contract
from approvals.core.policy import (
    Approver,
    Request,
    Verdict,
    evaluate,
    parse_policy,
    principal_of,
    same_or_looser,
    verdict_from,
)
from approvals.core.policy_names import run_facts
from approvals.core.rounds import both_hold
from audit.core.actor import Actor
from tests.core.approvals.documents import GONE, read_document, refund

FINANCE = [{"group": "finance", "count": 1}]
LEADS = [{"group": "leads", "count": 1}]
STATE: dict[str, Any] = {"amount": 12_000, "refunded": 0, "left": 12_000, "currency": "AUD", "customer": "Anna Berg"}
AGENT = Actor("agent", "a1", "Shop agent", "t1", frozenset(), frozenset(), frozenset({"refunds:write"}), via="token")
NOW = datetime(2026, 12, 25, 3, 0, tzinfo=UTC)
FREEZE = {"id": "christmas", "from": "2026-12-24T18:00:00+11:00", "to": "2026-12-27T08:00:00+11:00", "tools": ["*"]}
DAY = {"id": "customer-day", "tool": "refund_order", "per": "customer", "window": "24h", "amount": {"AUD": 50_000},
       "over": "deny"}  # fmt: skip
ALLOW = {"id": "all", "tool": "*", "effect": "allow"}
ASK = {"id": "ask", "tool": "*", "effect": "ask", "approvers": FINANCE, "expires_in_s": 600}


def started(amount=0, calls=0, *, whose="customer", window="24h", currency="AUD"):
    return {whose: {window: {currency: {"amount": amount, "calls": calls}}}}


def judge(
    *rules: dict[str, Any],
    freeze: list[dict[str, Any]] | None = None,
    limits: list[dict[str, Any]] | None = None,
    contract: Contract | None = None,
    exposure: dict[str, Any] | None = None,
    now: datetime | None = NOW,
    **arguments: Any,
) -> Verdict:
    document: dict[str, Any] = {"version": 1, "rules": list(rules) or [ALLOW]}
    if freeze:
        document["freeze"] = freeze
    if limits:
        document["limits"] = limits
    contract = contract or refund()
    given = arguments or ({"order_id": "ord_1029"} if contract.read_only else {"order_id": "ord_1029", "amount": 4_500})
    return evaluate(
        parse_policy(json.dumps(document), "json", number=7),
        Request(
            tool=contract.name,
            contract=contract,
            arguments=effective_arguments(contract, given),
            state=STATE,
            principal=principal_of(AGENT),
            run=run_facts(run_id="r1", title="Returns", agent_version="3", reason="broken"),
            exposure=exposure or {},
            now=now,
        ),
    )


def test_a_freeze_refuses_whatever_the_rules_say_and_tells_from_when_until_when():
    verdict = judge(ALLOW, freeze=[FREEZE])
    assert (verdict.effect, verdict.code, verdict.rule_id) == ("deny", "frozen", "freeze:christmas")
    assert verdict.matched[0].text == (
        "from 2026-12-24 18:00 +11:00 until 2026-12-27 08:00 +11:00, now 2026-12-25 14:00 +11:00"
    )
    assert "Ask again after that" in verdict.message
    assert judge(ALLOW, freeze=[{**FREEZE, "message": "Closed."}]).message == "Closed."


@pytest.mark.parametrize(
    ("now", "effect"),
    [
        (datetime(2026, 12, 24, 6, 59, 59, 999_999, tzinfo=UTC), "allow"),
        (datetime(2026, 12, 24, 7, 0, tzinfo=UTC), "deny"),
        (datetime(2026, 12, 26, 20, 59, 59, 999_999, tzinfo=UTC), "deny"),
        (datetime(2026, 12, 26, 21, 0, tzinfo=UTC), "allow"),
    ],
)
def test_a_freeze_begins_and_ends_to_the_moment_in_its_own_zone(now, effect):
    assert judge(ALLOW, freeze=[FREEZE], now=now).effect == effect


def test_a_freeze_of_every_tool_spares_those_that_only_read_and_one_by_name_spares_none():
    reads = parse_contract(read_document())
    assert judge(ALLOW, freeze=[FREEZE], contract=reads).effect == "allow"
    assert judge(ALLOW, freeze=[{**FREEZE, "tools": [reads.name]}], contract=reads).code == "frozen"
    assert judge(ALLOW, freeze=[{**FREEZE, "tools": [reads.name]}]).effect == "allow"


def test_a_time_that_is_not_known_may_be_inside_a_freeze_and_is_refused():
    verdict = judge(ALLOW, freeze=[FREEZE], now=None)
    assert (verdict.effect, verdict.code, verdict.rule_id) == ("deny", "policy_error", "freeze:christmas")
    assert judge(ALLOW, now=None).effect == "allow"


@pytest.mark.parametrize(("before", "effect"), [(45_500, "allow"), (45_501, "deny")])
def test_a_limit_counts_the_call_itself_and_holds_to_the_cent(before, effect):
    verdict = judge(ALLOW, limits=[DAY], exposure=started(before))
    assert verdict.effect == effect
    if effect == "deny":
        assert (verdict.code, verdict.rule_id) == ("over_limit", "limit:customer-day")
        assert verdict.matched[0].text == (
            "A$455.01 for this customer in 24 hours and this A$45.00 come to A$500.01, over A$500.00"
        )
        assert dict(verdict.matched[0].values) == {
            "amount": 4_500, "before": 45_501, "currency": "AUD", "limit": 50_000,
        }  # fmt: skip


def test_what_another_window_dimension_or_currency_counts_is_not_the_limits():
    for other in (
        started(49_999, window="30d"),
        started(49_999, whose="agent"),
        started(49_999, whose="tool"),
        started(49_999, currency="USD"),
    ):
        assert judge(ALLOW, limits=[DAY], exposure=other).effect == "allow", other


@pytest.mark.parametrize(("calls", "effect"), [(9, "allow"), (10, "deny")])
def test_a_limit_of_calls_counts_those_of_every_currency(calls, effect):
    limit = {"id": "busy", "tool": "refund_order", "per": "agent", "window": "30d", "calls": 10, "over": "deny"}
    exposure = {"agent": {"30d": {"AUD": {"amount": 1, "calls": calls - 4}, "USD": {"amount": 1, "calls": 4}}}}
    verdict = judge(ALLOW, limits=[limit], exposure=exposure)
    assert verdict.effect == effect
    if effect == "deny":
        assert verdict.matched[0].text == "11 calls for this agent in 30 days with this one, over 10"


def test_a_limit_of_one_call_needs_no_history():
    limit = {"id": "one", "tool": "refund_order", "window": "call", "amount": {"AUD": 4_499}, "over": "deny"}
    verdict = judge(ALLOW, limits=[limit], exposure={"tool": None})
    assert verdict.matched[0].text == "this A$45.00, over A$44.99"
    assert judge(ALLOW, limits=[{**limit, "amount": {"AUD": 4_500}}]).effect == "allow"


def test_a_currency_that_a_limit_does_not_name_has_no_allowance():
    limit = {**DAY, "amount": {"USD": 1_000_000}}
    verdict = judge(ALLOW, limits=[limit])
    assert verdict.effect == "deny"
    assert verdict.matched[0].text.endswith("; the limit names nothing in AUD")


def test_a_negative_amount_makes_no_room_under_a_limit():
    contract = refund({"/input_schema/properties/amount": {"type": "integer"}, "/checks": []})
    arguments = {"order_id": "ord_1029", "amount": -100_000}
    assert judge(ALLOW, limits=[DAY], contract=contract, exposure=started(50_001), **arguments).effect == "deny"


@pytest.mark.parametrize(
    "exposure",
    [{"customer": None}, {"customer": []}, {"customer": {"24h": 3}}, {"customer": {"24h": {"AUD": {"amount": "9"}}}}],
)
def test_a_limit_on_what_is_not_known_denies_and_is_named(exposure):
    verdict = judge(ALLOW, limits=[DAY], exposure=exposure)
    assert (verdict.effect, verdict.code, verdict.rule_id) == ("deny", "policy_error", "limit:customer-day")


def test_a_limit_of_money_on_a_call_that_names_none_denies():
    contract = refund({"/money": GONE, "/presentation/sentence": "Refund {order_id}"})
    verdict = judge(ALLOW, limits=[DAY], contract=contract)
    assert (verdict.effect, verdict.code) == ("deny", "policy_error")
    assert "names no amount" in verdict.message


def test_a_limit_that_asks_holds_what_a_rule_allows():
    limit = {**DAY, "over": "ask", "approvers": LEADS, "message": "More than usual for one customer."}
    verdict = judge(ALLOW, limits=[limit], exposure=started(50_000))
    assert (verdict.effect, verdict.code, verdict.rule_id) == ("ask", "held", "limit:customer-day")
    assert verdict.message == "More than usual for one customer."
    assert (verdict.approvers, verdict.expires_in_s) == ((Approver("leads", 1),), refund().expires_in_s)
    assert len(verdict.matched) == 2


def test_where_a_rule_and_limits_ask_everybody_is_asked_and_of_each_group_the_larger_number():
    limits = [
        {**DAY, "id": "a", "over": "ask", "approvers": [{"group": "finance", "count": 2}]},
        {**DAY, "id": "b", "over": "ask", "approvers": LEADS},
    ]
    verdict = judge(ASK, limits=limits, exposure=started(50_000))
    assert (verdict.rule_id, verdict.expires_in_s) == ("ask", 600)
    assert verdict.approvers == (Approver("finance", 2), Approver("leads", 1))
    assert [match.expression for match in verdict.matched] == ["", "a", "b"]


def test_a_limit_that_denies_wins_over_one_that_asks_in_any_order():
    asks = {**DAY, "id": "asks", "over": "ask", "approvers": LEADS}
    for limits in ([asks, DAY], [DAY, asks]):
        assert judge(ASK, limits=limits, exposure=started(50_000)).rule_id == "limit:customer-day"


def test_a_rule_that_denies_is_told_before_any_limit():
    deny = {"id": "no", "tool": "*", "effect": "deny"}
    assert judge(deny, limits=[DAY], exposure=started(50_000)).rule_id == "no"


def test_a_limit_of_another_tool_is_not_judged():
    assert judge(ALLOW, limits=[{**DAY, "tool": "get_order"}], exposure={"customer": None}).effect == "allow"


def test_votes_under_a_limit_hold_until_the_limit_asks_for_more():
    limit = {**DAY, "over": "ask", "approvers": LEADS}
    plain, over = judge(ASK, limits=[limit]), judge(ASK, limits=[limit], exposure=started(50_000))
    assert not same_or_looser(plain, over)
    assert same_or_looser(over, plain)
    assert same_or_looser(over, over)
    assert both_hold(plain, over).approvers == (Approver("finance", 1), Approver("leads", 1))
    assert both_hold(over, plain).approvers == (Approver("finance", 1), Approver("leads", 1))


def test_an_advisory_rule_is_noted_and_judging_goes_on():
    advice = {"id": "advice", "tool": "*", "when": "args.amount > 4000", "effect": "deny", "level": "advisory",
              "message": "Rather large."}  # fmt: skip
    verdict = judge(advice, ASK)
    assert (verdict.effect, verdict.rule_id) == ("ask", "ask")
    assert [(note.rule_id, note.message, note.matched[0].text) for note in verdict.notes] == [
        ("advice", "Rather large.", "args.amount 4500 > 4000")
    ]
    assert verdict_from(verdict.as_dict()) == verdict
    assert both_hold(verdict, verdict).notes == verdict.notes
    assert same_or_looser(judge(ASK), verdict)
    assert judge(advice).notes == verdict.notes  # beside "no rule" too
    assert judge(advice).code == "no_rule"


def test_an_advisory_rule_that_errs_neither_allows_nor_denies():
    verdict = judge({"id": "advice", "tool": "*", "when": "args.nope > 1", "effect": "deny", "level": "advisory"}, ASK)
    assert (verdict.effect, verdict.rule_id) == ("ask", "ask")
    assert verdict.notes[0].message.startswith("The rule advice could not be judged")


def test_an_overridable_denial_asks_the_people_named_and_they_have_to_say_why():
    rule = {"id": "large", "tool": "*", "effect": "deny", "level": "overridable", "approvers": LEADS,
            "expires_in_s": 60}  # fmt: skip
    verdict = judge(rule)
    assert (verdict.effect, verdict.code, verdict.rule_id) == ("ask", "held", "large")
    assert (verdict.approvers, verdict.expires_in_s) == ((Approver("leads", 1),), 60)
    assert verdict.terms.reason_to_approve
    assert not judge(ASK).terms.reason_to_approve
    absolute = {name: value for name, value in rule.items() if name not in ("approvers", "level")}
    for level in ({}, {"level": "absolute"}):
        assert judge({**absolute, **level}).code == "denied"


def test_an_old_verdict_without_notes_and_terms_is_read_with_none():
    stored = judge(ASK).as_dict()
    del stored["notes"], stored["terms"]
    assert verdict_from(stored) == judge(ASK)


@pytest.mark.parametrize(
    ("when", "exposure", "effect"),
    [
        ("exposure.customer_24h.amount + args.amount <= 6000", {}, "allow"),
        ("exposure.customer_24h.amount + args.amount <= 6000", started(1_501), "deny"),
        ("exposure.customer_24h.amount + args.amount <= 6000", started(9_999, currency="USD"), "allow"),
        ("exposure.agent_30d.calls < 3", started(0, 3, whose="agent", window="30d", currency="USD"), "deny"),
        ("exposure.tool_24h.calls < 3", started(0, 2, whose="tool"), "allow"),
        ("exposure.customer_30d.amount < 6000", {"customer": None}, "deny"),
        ("run.title == 'Returns' && run.reason == 'broken' && run.agent_version == '3'", {}, "allow"),
        ("now.getHours('Australia/Sydney') == 14", {}, "allow"),
        ("now < timestamp('2026-12-25T00:00:00Z')", {}, "deny"),
    ],
)
def test_conditions_may_ask_for_exposure_run_and_time(when, exposure, effect):
    verdict = judge({"id": "r", "tool": "*", "when": when, "effect": "allow"}, exposure=exposure)
    assert verdict.effect == effect
    assert (verdict.code == "policy_error") == (exposure == {"customer": None})


@pytest.mark.parametrize(
    "when", ["exposure.customer_24h.nope > 1", "exposure.customer_7d.amount > 1", "run.nope == ''"]
)
@pytest.mark.parametrize("effect", ["allow", "deny"])
def test_a_name_below_exposure_or_run_that_is_not_there_denies_and_is_named(when, effect):
    verdict = judge({"id": "r", "tool": "*", "when": when, "effect": effect})
    assert (verdict.effect, verdict.code, verdict.rule_id) == ("deny", "policy_error", "r")


def test_the_money_of_exposure_is_not_known_for_a_call_without_any():
    contract = refund({"/money": GONE, "/presentation/sentence": "Refund {order_id}"})
    rule = {"id": "r", "tool": "*", "when": "exposure.tool_24h.amount >= 0", "effect": "allow"}
    assert judge(rule, contract=contract).code == "policy_error"
    assert judge({**rule, "when": "exposure.tool_24h.calls >= 0"}, contract=contract).effect == "allow"


def test_the_time_that_matched_is_told():
    rule = {"id": "r", "tool": "*", "when": "now.getHours() == 3", "effect": "allow"}
    assert judge(rule, now=NOW + timedelta(minutes=1)).matched[0].text.startswith('now "2026-12-25T03:01:00+00:00"')
    assert judge(rule, now=None).code == "policy_error"
