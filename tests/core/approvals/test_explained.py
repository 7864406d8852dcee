"""approvals/core/explained.py: every part of a judgement is told, and never another one than `evaluate` judged by."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.core.contract import effective_arguments
from approvals.core.explained import explain
from approvals.core.policy import Request, evaluate, parse_policy, principal_of
from tests.core.approvals.documents import refund
from tests.core.approvals.test_policy import AGENT, FINANCE, STATE

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def made(rules, **more):
    named = [{"id": f"rule-{n}", "tool": "refund_order", **rule} for n, rule in enumerate(rules)]
    return parse_policy(json.dumps({"version": 1, "rules": named, **more}), "json", number=7)


def asked(amount=4_500, state=STATE, exposure=None):
    contract = refund()
    effective = effective_arguments(contract, {"order_id": "ord_1029", "amount": amount})
    return Request(contract.name, contract, effective, state, principal_of(AGENT), exposure=exposure or {}, now=NOW)


def found(policy, request):
    return [(look.part, look.id, look.found) for look in explain(policy, request).looks]


def test_every_rule_is_told_with_its_values_until_one_decides():
    policy = made(
        [
            {"tool": "get_order", "effect": "allow"},
            {"effect": "deny", "when": "args.amount > 100000"},
            {"effect": "ask", "when": "args.amount > 2000", "approvers": FINANCE},
            {"effect": "allow"},
        ]
    )
    explained = explain(policy, asked())
    rules = explained.of("rule")
    assert [look.found for look in rules] == ["another tool", "no match", "matches", "not reached"]
    assert [match.text for match in rules[1].matched] == ["args.amount 4500 > 100000"]
    assert [match.text for match in rules[2].matched] == ["args.amount 4500 > 2000"]
    assert [look.decides for look in rules] == [False, False, True, False]
    assert explained.verdict == evaluate(policy, asked())


def test_a_check_that_fails_is_the_end_and_the_rest_was_not_reached():
    policy = made([{"effect": "allow"}])
    assert found(policy, asked(amount=20_000)) == [
        ("check", "same-currency", "holds"),
        ("check", "enough-left", "fails"),
        ("rule", "rule-0", "not reached"),
    ]


def test_without_the_state_a_check_errs_and_says_so():
    looks = explain(made([{"effect": "allow"}]), asked(state=None)).looks
    assert looks[0].found == "errs"
    assert "could not be judged" in looks[0].text.lower()


def test_a_freeze_a_limit_and_an_advisory_rule_are_told():
    freeze = {"id": "xmas", "from": "2026-11-29T10:00:00Z", "to": "2026-11-29T14:00:00Z", "tools": ["*"]}
    limit = {
        "id": "day", "tool": "refund_order", "per": "tool", "window": "24h", "amount": {"AUD": 5000}, "over": "deny",
    }  # fmt: skip
    rules = [{"effect": "deny", "level": "advisory", "when": "args.amount > 1"}, {"effect": "allow"}]
    frozen = made(rules, freeze=[freeze], limits=[limit])
    assert found(frozen, asked())[2:] == [
        ("freeze", "xmas", "matches"),
        ("rule", "rule-0", "not reached"),
        ("rule", "rule-1", "not reached"),
        ("limit", "day", "not reached"),
    ]
    limited = made(rules, limits=[limit])
    spent = {"tool": {"24h": {"AUD": {"amount": 4_000, "calls": 2}}}}
    assert found(limited, asked(exposure=spent))[2:] == [
        ("rule", "rule-0", "notes"),
        ("rule", "rule-1", "matches"),
        ("limit", "day", "matches"),
    ]
    assert found(limited, asked())[-1] == ("limit", "day", "holds")


WHEN = st.sampled_from(
    ["", "args.amount > 2000", "args.amount < 100", "state.left > 1", "args.nothing == 1", "principal.kind == 'agent'"]
)
RULE = st.fixed_dictionaries(
    {
        "when": WHEN,
        "effect": st.sampled_from(["allow", "ask", "deny"]),
        "tool": st.sampled_from(["refund_order", "*", "get_order"]),
        "level": st.sampled_from(["", "advisory", "absolute"]),
    }
)


@settings(max_examples=200, deadline=None)
@given(st.lists(RULE, min_size=1, max_size=6), st.sampled_from([1, 4_500, 20_000]), st.booleans())
def test_what_is_told_to_decide_is_what_decided(drawn, amount, with_state):
    rules = []
    for rule in drawn:
        kept = {name: value for name, value in rule.items() if value}
        if kept["effect"] != "deny":
            kept.pop("level", None)
        if kept["effect"] == "ask":
            kept["approvers"] = FINANCE
        rules.append(kept)
    policy, request = made(rules), asked(amount, STATE if with_state else None)
    explained = explain(policy, request)
    assert explained.verdict == evaluate(policy, request)
    deciding = [
        look.id if look.part == "rule" else f"{look.part}:{look.id}" for look in explained.looks if look.decides
    ]
    assert deciding == [explained.verdict.rule_id] * bool(explained.verdict.rule_id)
    assert [note.rule_id for note in explained.verdict.notes] == [
        look.id for look in explained.of("rule") if look.found == "notes" or (look.found == "errs" and not look.decides)
    ]


@pytest.mark.parametrize("number", [1, 3])
def test_the_parts_stand_in_the_order_of_judging(number):
    policy = made([{"effect": "allow"}] * number)
    parts = [look.part for look in explain(policy, asked()).looks]
    assert parts == ["check"] * 2 + ["rule"] * number
