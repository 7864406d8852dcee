"""approvals/core/contract_diff.py: what got looser stands out, and nothing that changed is passed over in silence."""

import pytest

from approvals.core.contract_diff import contract_changes, diff_lines, loosened
from tests.core.approvals.documents import GONE, read_document, refund_document

SCHEMA = "/input_schema/properties"
COMPARE = refund_document()["presentation"]["compare"]


def changes(old=None, new=None):
    return contract_changes(refund_document(old), refund_document(new))


def only(old=None, new=None):
    (change,) = changes(old, new)
    return change


LOOSER = {
    "an approval that is asked less": ({"/approval": "always"}, {}),
    "a risk that is claimed less": ({}, {"/side_effect": "reversible"}),
    "a scope that is needed no more": ({"/scopes": ["refunds:write", "money:out"]}, {}),
    "a larger amount": ({}, {f"{SCHEMA}/amount/maximum": 200000000}),
    "an amount without a ceiling": ({}, {f"{SCHEMA}/amount/maximum": GONE}),
    "a smaller least amount": ({f"{SCHEMA}/amount/minimum": 5}, {}),
    "one more currency": ({f"{SCHEMA}/currency/enum": ["AUD"]}, {f"{SCHEMA}/currency/enum": ["USD", "AUD"]}),
    "any currency": ({f"{SCHEMA}/currency/enum": ["AUD"]}, {}),
    "a new argument": ({}, {f"{SCHEMA}/extra": {"type": "string"}}),
    "an argument that may be left out": ({}, {"/input_schema/required": ["order_id"]}),
    "a text of any form": ({}, {f"{SCHEMA}/order_id/pattern": GONE}),
    "longer text": ({}, {f"{SCHEMA}/note/maxLength": 5000}),
    "another type too": ({}, {f"{SCHEMA}/amount/type": ["integer", "string"]}),
    "unknown fields": ({}, {"/input_schema/additionalProperties": True}),
    "money that is none any more": ({}, {"/money": []}),
    "a longer request": ({}, {"/timeout_ms": 9000}),
    "a look-up that is believed sooner": ({}, {"/settle_after_ms": 10}),
    "more that is read of an answer": ({}, {"/output_cap_bytes": 1048576}),
    "a retry in more cases": ({}, {"/retry/class": "safe"}),
    "more attempts": ({}, {"/retry/attempts": 9}),
    "a target that is said to know repeats": ({}, {"/idempotency/enforced_by_target": True}),
    "a field that is no longer kept out of the log": ({}, {"/redaction": ["/note"]}),
    "an approval that holds longer": ({}, {"/expires_in_s": 9000}),
    "a check that is gone": ({}, {"/checks": refund_document()["checks"][:1]}),
    "no reading of the state": ({}, {"/adapter/read_state": None}),
    "no look-up": ({}, {"/adapter/look_up": None}),
    "no postcondition": ({}, {"/adapter/postcondition": None}),
    "no condition of success": ({}, {"/adapter/execute/success": GONE}),
    "one more host": ({}, {"/adapter/allowed_hosts": ["127.0.0.1:12111", "evil.example"]}),
    "a row that reviewers no longer see": (
        {},
        {"/presentation/compare": refund_document()["presentation"]["compare"][:1]},
    ),
    "no note on the effect": ({}, {"/presentation/effect_note": GONE}),
    "a better origin": ({"/origin/kind": "mcp"}, {}),
    "a breaker that opens later": ({}, {"/breaker/failure_percent": 90}),
    "a breaker that closes sooner": ({}, {"/breaker/open_s": 1}),
    "no sandbox": ({"/sandbox_profile": "python"}, {}),
}


@pytest.mark.parametrize("what", LOOSER)
def test_looser(what):
    old, new = LOOSER[what]
    found = changes(old, new)
    assert [change.direction for change in found] == ["looser"], found
    assert found[0].text
    assert loosened(found) == 1


@pytest.mark.parametrize("what", LOOSER)
def test_the_other_way_round_nothing_is_looser(what):
    new, old = LOOSER[what]
    found = changes(old, new)
    assert found
    assert not loosened(found), found


def test_what_loses_its_money_or_customer_says_that_limits_refuse_it_and_that_sums_leave_it_out():
    """A limit on the tool itself refuses such calls (limits.py); the sums that other tools' limits go by are less."""
    money = only({}, {"/money": []})
    assert (money.direction, "limits by amount refuse" in money.text, "sums leave it out" in money.text) == (
        "looser", True, True,
    )  # fmt: skip
    customer = only({"/customer": "${state.customer}"}, {"/customer": GONE})
    assert (customer.direction, "refuses them" in customer.text, "no longer count" in customer.text) == (
        "looser", True, True,
    )  # fmt: skip


def test_gaining_money_or_a_customer_is_not_called_stricter_since_limits_refused_before():
    assert only({"/money": []}, {}).direction == "other"
    assert only({"/customer": GONE}, {"/customer": "${state.customer}"}).direction == "other"
    assert only({"/customer": "${state.customer}"}, {"/customer": "${args.order_id}"}).direction == "other"


READ = {
    "another description": {"/description": "Something else."},
    "another title": {"/title": "Pay back"},
    "another sentence": {"/presentation/sentence": "Refund {amount}"},
    "another address": {"/adapter/base_url": "http://127.0.0.1:12111/v2"},
    "another request": {"/adapter/execute/request/path": "/v1/payouts"},
    "another credential": {"/adapter/credential": "admin"},
    "another condition": {"/checks/1/when": "true"},
    "another resource": {"/resource": "order:all"},
    "another target": {"/target": "payments"},
    "another default": {f"{SCHEMA}/currency/default": "EUR"},
    "another pattern": {f"{SCHEMA}/order_id/pattern": "^o"},
    "another reviewer": {"/origin/reviewed_by": "Nobody"},
    "another way to read the state": {"/adapter/read_state/derived/left": "state.amount"},
}


@pytest.mark.parametrize("what", READ)
def test_what_cannot_be_ordered_is_told_and_called_neither(what):
    change = only({}, READ[what])
    assert change.direction == "other"
    assert change.new


@pytest.mark.parametrize("pointer", [f"/{name}" for name in refund_document() if name != "name"])
def test_a_field_that_is_gone_is_never_passed_over(pointer):
    """Whatever a document may hold: one that differs has at least one difference, wherever it is."""
    if refund_document()[pointer[1:]] is None:
        return
    assert changes({}, {pointer: GONE})


def test_a_member_that_this_code_does_not_know_is_told():
    assert only({}, {"/something_new": {"a": 1}}).field == "something new"


def test_looser_ones_come_first():
    found = changes({}, {"/description": "Else.", "/timeout_ms": 1, "/expires_in_s": 9000})
    assert [change.direction for change in found] == ["looser", "other", "stricter"]


def test_the_same_document_has_no_differences():
    assert changes() == []
    assert changes({"/sandbox_profile": None}, {"/sandbox_profile": GONE}) == []


def test_another_tool_altogether_differs_everywhere_and_breaks_nothing():
    assert len(contract_changes(refund_document(), read_document())) > 10


def test_the_raw_difference_marks_what_came_and_went():
    lines = diff_lines("a\nb\nc", "a\nB\nc", names=("1", "2"))
    assert [kind for kind, _ in lines] == ["note", "", "del", "add", ""]
    assert lines[2] == ("del", "b")


def test_a_raw_difference_of_very_many_lines_is_left_out_in_words():
    ((kind, text),) = diff_lines("a\n" * 9000, "b\n" * 9000, names=("1", "2"))
    assert kind == "note"
    assert "too many" in text
