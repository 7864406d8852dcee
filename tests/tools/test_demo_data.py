"""The demo's contracts and policies: admitted as they are, and saying what they are meant to say."""

import pytest

from approvals.core.contract import contract_findings
from approvals.core.policy import Policy, Request, Verdict, catalogue_findings, evaluate, parse_policy
from approvals.core.present import compare_rows, sentence_text
from audit.core.jsondoor import Json
from tests.support.contracts import FOLDER, PLACEHOLDER, demo_contract, demo_document
from tests.tools.conftest import arguments

TOOLS = ("get_order", "refund_order")
STATE: dict[str, Json] = {
    "amount": 2_000_00,
    "refunded": 0,
    "left": 2_000_00,
    "currency": "AUD",
    "charged_in": "aud",
    "status": "succeeded",
    "customer": "Mara Lindqvist",
    "items": ["Lamp"],
    "charge": "ch_1",
}


def policy(tenant: str) -> Policy:
    return parse_policy((FOLDER / "policies" / f"{tenant}.yaml").read_text(), "yaml", number=1)


def judged(tenant: str, amount: int, currency: str = "AUD", **state: Json) -> Verdict:
    """The verdict on a refund of an order that was paid in this currency, with parts of its state replaced."""
    args = arguments("ord_1029", amount, currency)
    known = STATE | {"currency": currency} | state
    return evaluate(policy(tenant), Request("refund_order", demo_contract("refund_order"), args, known, {}))


@pytest.mark.parametrize("name", TOOLS)
def test_a_contract_is_admitted_and_its_address_is_the_placeholder_in_both_places(name: str) -> None:
    assert contract_findings(demo_document(name)) == []
    contract = demo_contract(name, "127.0.0.1:4242")
    assert contract.adapter.base_url == "http://127.0.0.1:4242"
    assert contract.adapter.allowed_hosts == ("127.0.0.1:4242",)
    assert PLACEHOLDER in (FOLDER / "README.md").read_text()


@pytest.mark.parametrize("tenant", ["acme", "globex"])
def test_a_policy_speaks_only_of_tools_arguments_and_state_that_exist(tenant: str) -> None:
    contracts = {name: demo_contract(name) for name in TOOLS}
    assert catalogue_findings(policy(tenant), tools=contracts, groups={"finance": 1}) == []


@pytest.mark.parametrize("tenant", ["acme", "globex"])
def test_looking_up_an_order_is_allowed_and_an_unknown_tool_is_denied(tenant: str) -> None:
    look = Request("get_order", demo_contract("get_order"), {"order_id": "ord_1029"}, STATE, {})
    assert evaluate(policy(tenant), look).effect == "allow"
    other = Request("delete_order", demo_contract("get_order"), {"order_id": "ord_1029"}, STATE, {})
    assert (evaluate(policy(tenant), other).effect, evaluate(policy(tenant), other).code) == ("deny", "no_rule")


@pytest.mark.parametrize(
    ("amount", "currency", "effect", "rule", "seconds"),
    [
        (1, "AUD", "ask", "refund", 900),
        (5_00, "AUD", "ask", "refund", 900),
        (250_00, "AUD", "ask", "refund", 900),
        (250_01, "AUD", "ask", "refund-large", 600),
        (1_000_00, "AUD", "ask", "refund-large", 600),
        (1_000_01, "AUD", "deny", "refund-by-hand", 0),
        (150_01, "EUR", "ask", "refund-large", 600),
        (600_01, "EUR", "deny", "refund-by-hand", 0),
        (25_000, "JPY", "ask", "refund", 900),
        (100_001, "JPY", "deny", "refund-by-hand", 0),
    ],
)
def test_acme_asks_finance_for_every_refund_and_denies_large_ones(
    amount: int, currency: str, effect: str, rule: str, seconds: int
) -> None:
    verdict = judged("acme", amount, currency)
    assert (verdict.effect, verdict.rule_id, verdict.expires_in_s) == (effect, rule, seconds)
    assert [(item.group, item.count) for item in verdict.approvers] == ([("finance", 1)] if effect == "ask" else [])
    assert effect == "ask" or "A$1,000.00" in verdict.message


def test_globex_denies_more_than_half_of_an_order_counting_what_was_refunded_before() -> None:
    assert judged("globex", 1_000_00).effect == "ask"
    assert judged("globex", 1_000_01).rule_id == "refund-more-than-half"
    assert judged("globex", 100_00, refunded=950_00, left=1_050_00).rule_id == "refund-more-than-half"


@pytest.mark.parametrize(
    ("amount", "currency", "state", "code"),
    [
        (100_01, "AUD", {"left": 100_00}, "AMOUNT_EXCEEDS_LEFT"),
        (100_00, "AUD", {"left": 100_00}, "held"),
        (1, "AUD", {"left": 0}, "AMOUNT_EXCEEDS_LEFT"),
        (1, "AUD", {"left": -50_00}, "AMOUNT_EXCEEDS_LEFT"),
        (100, "AUD", {"status": "failed"}, "ORDER_NOT_PAID"),
    ],
)
def test_the_contracts_checks_refuse_what_the_target_would_take(
    amount: int, currency: str, state: dict[str, Json], code: str
) -> None:
    assert judged("acme", amount, currency, **state).code == code


def test_a_refund_in_another_currency_than_the_order_was_paid_in_is_refused() -> None:
    args = arguments("ord_1029", 100, "EUR")
    verdict = evaluate(policy("acme"), Request("refund_order", demo_contract("refund_order"), args, STATE, {}))
    assert verdict.code == "CURRENCY_MISMATCH"


def test_people_read_one_sentence_and_what_changes() -> None:
    contract = demo_contract("refund_order")
    args = arguments("ord_1029", 45_00)
    assert sentence_text(contract, args, STATE) == "Refund A$45.00 of A$2,000.00 to Mara Lindqvist for order ord_1029"
    rows = [
        (row.label, "".join(p.text for p in row.now), "".join(p.text for p in row.after), row.problem)
        for row in compare_rows(contract, args, STATE)
    ]
    assert rows == [("Refunded", "A$0.00", "A$45.00", ""), ("Left to refund", "A$2,000.00", "A$1,955.00", "")]
