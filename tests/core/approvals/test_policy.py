"""One evaluate(): first match decides, errors deny, nothing denies, floors raise (A5, S19, S63, S81)."""

import dataclasses
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.core.boundary import boundary_for
from approvals.core.contract import effective_arguments, parse_contract
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
from audit.core.actor import Actor
from audit.core.refusal import Forbidden, Invalid
from tests.core.approvals.documents import read_document, refund

FINANCE = [{"group": "finance", "count": 1}]
STATE: dict[str, Any] = {"amount": 12_000, "refunded": 0, "left": 12_000, "currency": "AUD", "customer": "Anna Berg"}
AGENT = Actor("agent", "a1", "Shop agent", "t1", frozenset(), frozenset(), frozenset({"refunds:write"}), via="token")


def policy(*rules, number=7):
    made = [{"id": f"rule-{n}", "tool": "refund_order", "effect": "allow", **rule} for n, rule in enumerate(rules)]
    return parse_policy(json.dumps({"version": 1, "rules": made}), "json", number=number)


def judge(rules, *, contract=None, state=STATE, principal=None, **arguments):
    contract = contract or refund()
    effective = effective_arguments(contract, {"order_id": "ord_1029", "amount": 4_500, **arguments})
    request = Request(contract.name, contract, effective, state, principal or principal_of(AGENT))
    return evaluate(policy(*rules), request)


def test_the_first_rule_that_matches_decides():
    rules = [
        {"when": "args.amount > 100000", "effect": "deny", "message": "Refunds over A$1,000 are made by hand."},
        {"when": "args.amount > 2000", "effect": "ask", "approvers": FINANCE, "expires_in_s": 600},
        {"effect": "allow"},
    ]
    held = judge(rules)
    assert (held.effect, held.code, held.rule_id, held.policy_number) == ("ask", "held", "rule-1", 7)
    assert (held.approvers, held.expires_in_s) == ((Approver("finance", 1),), 600)
    assert judge(rules, amount=100).effect == "allow"
    large = {**STATE, "amount": 900_000, "left": 900_000}
    denied = judge(rules, amount=200_000, state=large)
    assert (denied.effect, denied.code, denied.message) == ("deny", "denied", "Refunds over A$1,000 are made by hand.")


def test_a_rule_for_another_tool_does_not_match_and_a_star_matches_every_tool():
    assert judge([{"tool": "get_order"}]).code == "no_rule"
    assert judge([{"tool": "*", "effect": "deny"}]).code == "denied"


def test_nothing_that_matches_denies():
    verdict = judge([{"when": "args.amount > 100000"}])
    assert (verdict.effect, verdict.code, verdict.rule_id) == ("deny", "no_rule", "")


@pytest.mark.parametrize("note", [..., None, [], {}, "text", True])
def test_a_rule_on_a_missing_null_or_ill_typed_value_denies_and_is_named(note):
    schema = {
        "type": ["string", "null", "array", "object", "boolean"],
        "items": {"type": "string"},
        "additionalProperties": False,
    }
    contract = refund({"/input_schema/properties/note": schema})
    arguments = {} if note is ... else {"note": note}
    rules = [{"when": "args.note > 2000", "effect": "deny"}, {"effect": "allow"}]
    verdict = judge(rules, contract=contract, **arguments)
    assert (verdict.effect, verdict.code, verdict.rule_id) == ("deny", "policy_error", "rule-0")
    assert "rule-0" in verdict.message


@pytest.mark.parametrize("effect", ["allow", "ask", "deny"])
def test_an_error_in_any_rule_on_the_way_denies_whatever_the_rule_would_have_said(effect):
    approvers = FINANCE if effect != "deny" else []
    broken = {"when": "state.absent == 1", "effect": effect} | ({"approvers": approvers} if approvers else {})
    assert judge([broken, {"effect": "allow"}]).code == "policy_error"
    assert judge([broken, {"effect": "allow"}], state=None, contract=refund({"/checks": []})).code == "policy_error"


def test_an_error_behind_the_deciding_rule_is_never_reached():
    assert judge([{"effect": "allow"}, {"when": "state.absent == 1"}]).effect == "allow"


def test_the_contracts_checks_come_first_and_refuse_in_their_own_words():
    verdict = judge([{"effect": "allow"}], amount=12_001)
    assert (verdict.effect, verdict.code, verdict.rule_id) == ("deny", "AMOUNT_EXCEEDS_LEFT", "check:enough-left")
    assert [match.text for match in verdict.matched] == ["args.amount 12001 <= state.left 12000"]
    assert judge([{"effect": "allow"}], amount=12_000).effect == "allow"
    assert judge([{"effect": "allow"}], currency="NZD").code == "CURRENCY_DIFFERS"


@pytest.mark.parametrize("state", [None, {}, {"currency": "AUD", "left": None}, {"currency": "AUD", "left": "12000"}])
def test_a_check_that_cannot_be_judged_denies_and_is_named(state):
    verdict = judge([{"effect": "allow"}], state=state)
    assert (verdict.effect, verdict.code) == ("deny", "policy_error")
    assert verdict.rule_id.startswith("check:")


def test_conditions_see_who_calls():
    rules = [{"when": "principal.kind == 'agent' && principal.scopes.exists(s, s == 'refunds:write')"}]
    assert judge(rules).effect == "allow"
    person = dataclasses.replace(AGENT, kind="person", scopes=frozenset())
    assert judge(rules, principal=principal_of(person)).code == "no_rule"


def test_a_tool_that_is_always_held_turns_an_allow_into_an_ask():
    contract = refund({"/approval": "always"})
    verdict = judge([{"effect": "allow", "approvers": FINANCE}], contract=contract)
    assert (verdict.effect, verdict.code, verdict.approvers) == ("ask", "held", (Approver("finance", 1),))
    assert verdict.expires_in_s == contract.expires_in_s == 900
    bare = judge([{"effect": "allow"}], contract=contract)
    assert (bare.effect, bare.code, bare.rule_id) == ("deny", "no_approvers", "rule-0")
    assert judge([{"effect": "deny"}], contract=contract).effect == "deny"


def test_a_tool_that_need_never_be_held_is_still_held_when_the_policy_asks():
    contract = parse_contract(read_document())
    made = policy({"tool": "get_order", "effect": "ask", "approvers": FINANCE})
    request = Request("get_order", contract, {"order_id": "ord_1"}, None, principal_of(AGENT))
    assert evaluate(made, request).effect == "ask"


def test_why_it_was_held_is_told_with_the_values_that_matched():
    customers = "state.customer == 'Bo' || state.customer == 'Anna Berg'"
    when = f"args.amount > 2000 && ({customers}) && !has(args.note)"
    rules = [{"when": when, "effect": "ask", "approvers": FINANCE}]
    matched = judge(rules).matched
    assert [match.text for match in matched] == [
        "args.amount 4500 > 2000",
        "state.customer \"Anna Berg\" == 'Anna Berg'",
        "!has(args.note (absent))",
    ]
    assert matched[0].values == (("args.amount", 4500),)
    assert matched[0].expression == "args.amount > 2000"
    assert [match.text for match in judge([{"effect": "allow"}]).matched] == ["every call of refund_order"]


def test_long_and_hiding_values_are_told_by_what_they_are():
    note = "x" * 500
    texts = [match.text for match in judge([{"when": "args.note != '' && args.notify != {}"}], note=note).matched]
    assert texts == ["args.note (a text of 500 characters) != ''", "args.notify (an object of 1) != {}"]
    assert "[U+202E]" in judge([{"when": "args.note != ''"}], note="a\u202eb").matched[0].text


def test_a_verdict_comes_back_from_its_stored_form():
    for verdict in (
        judge([{"effect": "ask", "approvers": FINANCE}]),
        judge([{"effect": "allow"}], amount=12_001),
        judge([{"tool": "x_y"}]),
    ):
        assert verdict_from(json.loads(json.dumps(verdict.as_dict()))) == verdict


def test_a_deny_is_told_in_the_form_of_a_refusal():
    by_policy = judge([{"effect": "deny"}]).refusal()
    assert isinstance(by_policy, Forbidden)
    assert (by_policy.code, by_policy.detail["rule"], by_policy.detail["policy"]) == ("DENIED", "rule-0", 7)
    by_check = judge([{"effect": "allow"}], amount=12_001).refusal()
    assert isinstance(by_check, Invalid)
    assert by_check.code == "AMOUNT_EXCEEDS_LEFT"
    assert judge([{"when": "state.absent == 1"}]).refusal().code == "POLICY_ERROR"


def ask(*approvers, expires=900):
    return Verdict(
        "ask",
        "held",
        "",
        "r",
        1,
        approvers=tuple(Approver(group, count) for group, count in approvers),
        expires_in_s=expires,
    )


ALLOW = Verdict("allow", "allowed", "", "r", 1)
DENY = Verdict("deny", "denied", "", "r", 1)
ONE = ask(("finance", 1))


@pytest.mark.parametrize(
    ("old", "new", "holds"),
    [
        (ONE, ONE, True),
        (ONE, dataclasses.replace(ONE, rule_id="renamed", policy_number=2), True),
        (ONE, ALLOW, True),
        (ALLOW, ALLOW, True),
        (ask(("finance", 2)), ONE, True),
        (ask(("finance", 1), ("legal", 1)), ONE, True),
        (ONE, ask(("finance", 1), expires=1_800), True),
        (ONE, DENY, False),
        (ALLOW, DENY, False),
        (DENY, ALLOW, False),
        (ALLOW, ONE, False),
        (ONE, ask(("finance", 2)), False),
        (ONE, ask(("legal", 1)), False),
        (ONE, ask(("finance", 1), ("legal", 1)), False),
        (ONE, ask(("finance", 1), expires=600), False),
    ],
)
def test_votes_hold_at_dispatch_only_if_today_asks_no_more_and_no_others(old, new, holds):
    assert same_or_looser(old, new) is holds


requirements = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(1, 3), min_size=1).map(
    lambda groups: ask(*groups.items())
)


@given(requirements, requirements)
def test_both_directions_hold_only_for_equal_requirements(first, second):
    assert same_or_looser(first, first)
    both = same_or_looser(first, second) and same_or_looser(second, first)
    assert both == (set(first.approvers) == set(second.approvers))


def test_a_thousand_rules_are_judged_quickly():
    made = policy(*[{"when": f"args.amount == {n} && state.left > 0"} for n in range(1_000)])
    contract = refund()
    request = Request(
        "refund_order",
        contract,
        effective_arguments(contract, {"order_id": "ord_1", "amount": 4_500}),
        STATE,
        principal_of(AGENT),
    )
    start = time.perf_counter()
    assert evaluate(made, request).code == "no_rule"
    assert time.perf_counter() - start < 0.5


@pytest.mark.parametrize(
    ("contract", "effect", "kind", "word"),
    [
        (refund(), "ask", "approval", "decide"),
        (refund(), "allow", "gateway", "cannot be undone"),
        (refund({"/side_effect": "reversible"}), "allow", "gateway", "can be undone"),
        (parse_contract(read_document()), "allow", "direct", "only reads"),
        (parse_contract(read_document()), "ask", "approval", "decide"),
        (
            dataclasses.replace(parse_contract(read_document()), sandbox_profile="python-small"),
            "allow",
            "sandbox",
            "isolated",
        ),
    ],
)
def test_each_call_has_one_boundary_and_a_sentence_why(contract, effect, kind, word):
    boundary = boundary_for(contract, effect)
    assert boundary.kind == kind
    assert word in boundary.reason
    assert boundary.reason.endswith(".")


def test_a_refused_call_has_no_boundary():
    with pytest.raises(ValueError, match="refused"):
        boundary_for(refund(), "deny")
