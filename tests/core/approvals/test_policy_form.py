"""approvals/core/policy_form.py: what people type into the form of a rule or limit, and what the document then says."""

from typing import Any

import pytest

from approvals.core.policy_form import changes_of, fields_of, item_of, tier_count

ASK: dict[str, Any] = {
    "id": "refund", "tool": "refund_order", "effect": "ask", "when": "args.amount > 1",
    "approvers": [{"group": "finance", "count": 1}, {"group": "leads", "count": 2}], "expires_in_s": 900,
    "rejections": 2,
}  # fmt: skip
TIERED: dict[str, Any] = {
    "id": "refund", "tool": "refund_order", "effect": "ask",
    "tiers": [
        {"up_to": {"AUD": 25000, "JPY": 25000}, "approvers": [{"group": "finance", "count": 1}], "reasons": ["No."]},
        {"approvers": [{"group": "leads", "count": 1}], "expires_in_s": 5400},
    ],
}  # fmt: skip
LIMIT: dict[str, Any] = {
    "id": "day", "tool": "refund_order", "per": "customer", "window": "24h", "amount": {"AUD": 50005}, "calls": 10,
    "over": "ask", "approvers": [{"group": "finance", "count": 1}],
}  # fmt: skip


OVERRIDABLE: dict[str, Any] = {
    "id": "late", "tool": "refund_order", "effect": "deny", "level": "overridable",
    "approvers": [{"group": "r-and-d", "count": 1}, {"group": "and", "count": 2}], "expires_in_s": 300,
}  # fmt: skip
MOST_CALLS: dict[str, Any] = {
    "id": "many", "tool": "refund_order", "window": "30d", "calls": 1_000_000_000, "over": "deny",
}  # fmt: skip
SPACED = ASK | {"when": "args.amount > 1\n", "message": " Ask. "}


@pytest.mark.parametrize(
    ("part", "item"),
    [("rules", ASK), ("rules", TIERED), ("limits", LIMIT), ("rules", OVERRIDABLE), ("limits", MOST_CALLS),
     ("rules", SPACED)],
)  # fmt: skip
def test_what_is_shown_and_sent_back_changes_nothing(part, item):
    said, wrong = item_of(part, fields_of(part, item), item)
    assert wrong == {}
    assert changes_of(said, item) == {}


def test_people_times_and_money_are_shown_as_they_are_typed():
    assert fields_of("rules", ASK)["approvers"] == "1 of finance and 2 of leads"
    assert fields_of("rules", ASK)["expires_in_s"] == "15 min"
    assert fields_of("rules", TIERED)["tier-0-up_to"] == "AUD 250.00, JPY 25000"
    assert fields_of("limits", LIMIT)["amount"] == "AUD 500.05"


def test_only_what_was_changed_is_written():
    fields = fields_of("rules", ASK) | {"approvers": "finance, 3 of leads", "expires_in_s": "2 h", "when": ""}
    said, wrong = item_of("rules", fields, ASK)
    assert wrong == {}
    assert changes_of(said, ASK) == {
        "approvers": [{"group": "finance", "count": 1}, {"group": "leads", "count": 3}],
        "expires_in_s": 7200,
        "when": None,
    }


def test_an_emptied_tier_is_taken_out_and_a_new_row_is_one_more_and_other_terms_stay():
    fields = fields_of("rules", TIERED)
    assert tier_count(fields) == 2
    fields |= {"tier-0-up_to": "AUD 300", "tier-2-approvers": "2 of leads"}
    said, wrong = item_of("rules", fields, TIERED)
    assert wrong == {}
    assert said["tiers"][0] == TIERED["tiers"][0] | {"up_to": {"AUD": 30000}}
    assert said["tiers"][2] == {"approvers": [{"group": "leads", "count": 2}]}
    emptied = {name: "" for name in fields if name.startswith("tier-1")}
    assert len(item_of("rules", fields | emptied, TIERED)[0]["tiers"]) == 2


def test_a_rule_that_denies_asks_nobody():
    said, _ = item_of("rules", fields_of("rules", TIERED) | {"effect": "deny"}, TIERED)
    assert (said["tiers"], said["approvers"], said["expires_in_s"]) == (None, None, None)
    overridable = {"id": "a", "tool": "b", "effect": "deny", "level": "overridable", "approvers": ASK["approvers"]}
    said, _ = item_of("rules", fields_of("rules", overridable), overridable)
    assert changes_of(said, overridable) == {}


@pytest.mark.parametrize(
    ("field", "text", "sentence"),
    [
        ("approvers", "some of finance!", "how many of which group"),
        ("expires_in_s", "soon", "15 min"),
        ("expires_in_s", "-5", "15 min"),
        ("id", " ", "needed"),
        ("tool", "", "needed"),
        ("tier-0-up_to", "250", "currency and the amount"),
        ("tier-0-up_to", "AUD 250.005", "2 digits"),
        ("tier-0-up_to", "JPY 1.5", "0 digits"),
        ("tier-0-up_to", "AUD 99999999999999999", "no amount"),
        ("tier-0-up_to", "XQQ 1", "no currency XQQ"),
        ("tier-0-approvers", "", "who approves"),
    ],
)
def test_what_cannot_be_understood_is_said_at_its_field(field, text, sentence):
    _, wrong = item_of("rules", fields_of("rules", TIERED) | {field: text}, TIERED)
    assert set(wrong) == {field}
    assert sentence in wrong[field]


def test_a_limit_of_a_word_instead_of_a_number_is_refused():
    _, wrong = item_of("limits", fields_of("limits", LIMIT) | {"calls": "ten"}, LIMIT)
    assert wrong == {"calls": "Write a whole number."}


def test_a_limit_that_denies_asks_nobody():
    said, _ = item_of("limits", fields_of("limits", LIMIT) | {"over": "deny"}, LIMIT)
    assert changes_of(said, LIMIT) == {"over": "deny", "approvers": None}
