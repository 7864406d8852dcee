"""approvals/core/coverage.py: what a policy says of a tool before anybody calls it (A8)."""

import pytest

from approvals.core.contract import parse_contract
from approvals.core.coverage import Coverage
from approvals.core.policy import parse_policy
from tests.core.approvals.documents import read_document, refund_document

AGENT = {"kind": "agent", "id": "a1", "name": "night", "scopes": ["x"], "agent": {"id": "a1", "name": "night"}}
ASK = "{id: ask, tool: refund_order, effect: ask, approvers: [{group: finance, count: 2}]}"

BIG = "{id: big, tool: refund_order, when: 'args.amount > 5', effect: deny}"


def cover(*rules, more="", principal=AGENT, contract=None):
    source = "version: 1\nrules:\n" + "".join(f"  - {rule}\n" for rule in rules) + more
    return Coverage(parse_policy(source, "yaml")).of(
        contract or parse_contract(refund_document({"/approval": "policy"})), principal
    )


def said(found):
    return found.outcome, [(rung.rule_id, rung.effect, rung.sure) for rung in found.rungs]


def test_the_first_rule_without_a_condition_decides_and_the_others_are_not_reached():
    found = cover(ASK, "{id: late, tool: '*', effect: deny}")
    assert said(found) == ("asked", [("ask", "ask", True)])
    assert found.rungs[0].asked == "2 of finance"


def test_a_condition_on_the_call_may_decide_so_it_depends():
    found = cover("{id: small, tool: refund_order, when: 'args.amount < 5', effect: allow}", ASK)
    assert said(found) == ("depends", [("small", "allow", False), ("ask", "ask", True)])


def test_rules_that_all_say_the_same_make_it_sure():
    found = cover(BIG, "{id: no, tool: '*', effect: deny}")
    assert found.outcome == "denied"


def test_what_no_rule_speaks_of_is_denied_without_one():
    assert said(cover("{id: read, tool: get_order, effect: allow}")) == ("denied", [("", "deny", True)])


@pytest.mark.parametrize(
    ("when", "outcome"),
    [
        ("principal.name == 'night'", "allowed"),
        ("principal.agent.name == 'night' && 'x' in principal.scopes", "allowed"),
        ("principal.name == 'day'", "asked"),
        ("principal.user.email == 'a@b.example'", "depends"),
        ("principal.agent.version == '2'", "depends"),
        ("principal.name == 'night' && args.amount < 5", "depends"),
        ("now < timestamp('2027-01-01T00:00:00Z')", "depends"),
        ("has(principal.nonsense)", "depends"),
    ],
)
def test_a_condition_on_the_agent_alone_is_judged_and_every_other_is_not(when, outcome):
    rule = f'{{id: own, tool: refund_order, when: "{when}", effect: allow}}'
    assert cover(rule, ASK).outcome == outcome


def test_by_agent_says_whether_agents_can_differ():
    source = "version: 1\nrules:\n  - {id: own, tool: refund_order, when: \"principal.name == 'x'\", effect: allow}\n"
    coverage = Coverage(parse_policy(source, "yaml"))
    assert (coverage.by_agent("refund_order"), coverage.by_agent("get_order")) == (True, False)


def test_a_contract_that_always_asks_raises_an_allow_and_refuses_one_without_people():
    always = parse_contract(refund_document({"/approval": "always"}))
    assert cover("{id: free, tool: refund_order, effect: allow}", contract=always).outcome == "denied"
    asking = "{id: free, tool: refund_order, effect: allow, approvers: [{group: finance, count: 1}]}"
    assert cover(asking, contract=always).outcome == "asked"


def test_a_deny_that_people_may_override_asks_them_and_an_advisory_one_decides_nothing():
    over = "{id: over, tool: refund_order, effect: deny, level: overridable, approvers: [{group: leads, count: 1}]}"
    advice = "{id: advice, tool: refund_order, effect: deny, level: advisory}"
    assert said(cover(advice, over)) == ("asked", [("over", "ask", True)])


def test_every_tier_is_named():
    found = cover(
        "{id: tiered, tool: refund_order, effect: ask, tiers: [{up_to: {AUD: 100}, approvers: [{group: finance, "
        "count: 1}]}, {approvers: [{group: leads, count: 2}]}]}"
    )
    assert found.rungs[0].asked == "1 of finance or 2 of leads"


@pytest.mark.parametrize(
    ("rules", "unasked"),
    [
        (["{id: free, tool: refund_order, effect: allow}"], True),
        ([BIG, "{id: f, tool: '*', effect: allow}"], True),
        (["{id: small, tool: refund_order, when: 'args.amount < 5', effect: allow}", ASK], False),
        (["{id: no, tool: refund_order, effect: deny}"], False),
        ([ASK], False),
    ],
)  # fmt: skip
def test_what_may_be_allowed_and_is_never_asked_about_stands_out(rules, unasked):
    assert cover(*rules).unasked is unasked


def test_limits_and_freezes_of_the_tool_are_named_beside_it():
    more = (
        "limits: [{id: day, tool: refund_order, per: tool, window: 24h, calls: 5, over: deny}, "
        "{id: other, tool: get_order, per: tool, window: 24h, calls: 5, over: deny}]\n"
        "freeze: [{id: xmas, from: '2026-12-24T18:00:00+11:00', to: '2026-12-27T08:00:00+11:00', tools: ['*']}]\n"
    )
    found = cover(ASK, "{id: r, tool: get_order, effect: allow}", more=more)
    assert (found.limits, found.freezes) == (("day",), ("xmas",))
    read = cover(ASK, "{id: r, tool: get_order, effect: allow}", more=more, contract=parse_contract(read_document()))
    assert (read.limits, read.freezes, read.outcome) == (("other",), (), "allowed")
