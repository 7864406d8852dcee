"""approvals/core/policy_cases.py and policy_trial.py: test cases in a policy, run by the evaluator of real calls."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from approvals.core.contract import parse_contract
from approvals.core.policy import Policy, parse_policy
from approvals.core.policy_trial import CaseResult, run_cases
from audit.core.refusal import Invalid
from tests.core.approvals.documents import read_document, refund_document
from tests.support.contracts import demo_document

TOOLS = {"refund_order": parse_contract(refund_document()), "get_order": parse_contract(read_document())}
STATE = {"amount": 12000, "refunded": 0, "currency": "AUD", "customer": "Anna Berg", "left": 12000}
RULES: list[dict[str, Any]] = [
    {"id": "reads", "tool": "get_order", "effect": "allow"},
    {"id": "large", "tool": "refund_order", "when": "args.amount > 10000", "effect": "deny"},
    {"id": "refund", "tool": "refund_order", "effect": "ask",
     "approvers": [{"group": "finance", "count": 1}, {"group": "leads", "count": 2}]},
]  # fmt: skip
CALL = {"order_id": "ord_1029", "amount": 4500, "currency": "AUD"}


def policy(*tests: dict[str, Any], rules: list[dict[str, Any]] | None = None) -> Policy:
    return parse_policy(json.dumps({"version": 1, "rules": rules or RULES, "tests": list(tests)}), "json")


def case(expect: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"name": "a case", "tool": "refund_order", "arguments": CALL, "state": STATE, "expect": expect} | changes


def run(*tests: dict[str, Any], **kwargs: Any) -> CaseResult:
    [result] = run_cases(policy(*tests, **kwargs), TOOLS)
    return result


def codes(*tests: dict[str, Any]) -> set[str]:
    with pytest.raises(Invalid) as caught:
        policy(*tests)
    return {finding["code"] for finding in caught.value.detail["findings"]}


@pytest.mark.parametrize(
    "expect",
    [
        {"effect": "ask"},
        {"effect": "ask", "rule": "refund"},
        {"effect": "ask", "rule": "refund", "approvers": ["leads", "finance"]},
    ],
)
def test_a_case_that_the_rules_agree_with_passes(expect):
    result = run(case(expect))
    assert result.passed
    assert result.got == "ask 1 of finance and 2 of leads, by refund"


@pytest.mark.parametrize(
    "expect",
    [
        {"effect": "allow"},
        {"effect": "deny"},
        {"effect": "ask", "rule": "large"},
        {"effect": "ask", "approvers": ["finance"]},
        {"effect": "ask", "approvers": ["finance", "leads", "legal"]},
    ],
)
def test_a_case_that_the_rules_do_not_agree_with_fails_and_says_what_came_instead(expect):
    result = run(case(expect))
    assert not result.passed
    assert result.got == "ask 1 of finance and 2 of leads, by refund"


def test_a_result_says_what_was_expected_and_the_values_that_matched():
    result = run(case({"effect": "allow", "rule": "reads"}, arguments=CALL | {"amount": 10001}))
    assert (result.expected, result.got) == ("allow, by reads", "deny, by large")
    assert result.why == ("args.amount 10001 > 10000",)


def test_a_check_of_the_contract_judges_a_case_before_the_rules():
    result = run(case({"effect": "deny", "rule": "check:enough-left"}, state=STATE | {"left": 100}))
    assert result.passed, result


def test_a_condition_that_errs_denies_in_a_case_as_in_a_call():
    """S63: a case without the state that a rule reads."""
    rules = [{"id": "few", "tool": "get_order", "when": "state.left > 1", "effect": "allow"}]
    result = run(
        case({"effect": "allow"}, tool="get_order", arguments={"order_id": "ord_1029"}, state=None), rules=rules
    )
    assert not result.passed
    assert result.got == "deny, by few"


def test_a_tool_that_is_not_there_passes_no_case():
    result = run(case({"effect": "deny"}, tool="send_mail"))
    assert not result.passed
    assert result.got == "no such tool"


def test_arguments_that_the_tool_would_refuse_pass_no_case():
    """They never reach the policy, so a deny would prove nothing of it."""
    result = run(case({"effect": "deny"}, arguments={"order_id": "ord_1029", "amount": "much"}))
    assert not result.passed
    assert result.got == "refused before the policy"


def test_defaults_are_filled_in_as_for_a_call():
    rules = [{"id": "filled", "tool": "refund_order", "when": "has(args.currency)", "effect": "deny"}]
    given = {"order_id": "ord_1029", "amount": 4500}
    assert run(case({"effect": "deny", "rule": "filled"}, arguments=given), rules=rules).passed


def test_whom_a_case_means_can_be_said_and_is_an_agent_with_the_scopes_otherwise():
    rules = [
        {"id": "finance-bot", "tool": "refund_order", "when": "principal.name == 'finance-bot'", "effect": "deny"},
        {"id": "may", "tool": "refund_order", "when": "'refunds:write' in principal.scopes", "effect": "allow"},
    ]
    assert run(case({"effect": "allow", "rule": "may"}), rules=rules).passed
    assert run(case({"effect": "deny"}, principal={"name": "finance-bot"}), rules=rules).passed


def test_two_cases_of_one_name_are_refused():
    assert codes(case({"effect": "ask"}), case({"effect": "deny"})) == {"DUPLICATE_TEST"}


def test_people_expected_where_nobody_is_asked_are_refused():
    assert codes(case({"effect": "deny", "approvers": ["finance"]})) == {"APPROVERS_UNUSED"}


def test_a_name_that_hides_something_is_refused():
    assert codes(case({"effect": "ask"}, name="refund\u202etxt")) == {"HIDDEN_CHARACTER"}


@pytest.mark.parametrize("now", ["tomorrow", "2026-12-24", "2026-12-24T18:00:00", "24.12.2026"])
def test_a_moment_without_a_zone_is_refused(now):
    assert codes(case({"effect": "ask"}, now=now)) == {"NO_MOMENT"}


def test_a_moment_with_its_zone_is_taken():
    [taken] = policy(case({"effect": "ask"}, now="2026-12-24T18:00:00+11:00")).tests
    assert taken.now is not None
    assert taken.now.isoformat() == "2026-12-24T18:00:00+11:00"


def test_a_case_without_what_it_expects_is_refused():
    assert codes({"name": "no", "tool": "get_order"}) == {"POLICY_SHAPE"}


def test_cases_are_part_of_what_a_version_is_told_apart_by():
    assert policy().digest != policy(case({"effect": "ask"})).digest


def test_a_finding_about_a_case_names_its_line():
    source = (
        "version: 1\nrules:\n  - {id: a, tool: get_order, effect: allow}\ntests:\n"
        "  - {name: one, tool: get_order, expect: {effect: allow}}\n"
        "  - {name: one, tool: get_order, expect: {effect: deny}}\n"
    )
    with pytest.raises(Invalid) as caught:
        parse_policy(source, "yaml")
    assert [finding["line"] for finding in caught.value.detail["findings"]] == [6]


def test_the_example_of_the_admins_page_passes_its_own_test():
    page = (Path(__file__).parents[3] / "docs" / "roles" / "admin.md").read_text()
    [example] = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    tools = {name: parse_contract(demo_document(name, "127.0.0.1:1")) for name in ("get_order", "refund_order")}
    [result] = run_cases(parse_policy(example, "yaml"), tools)
    assert result.passed, result
