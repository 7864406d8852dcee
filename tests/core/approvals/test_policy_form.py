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
TERMED: dict[str, Any] = {
    "id": "refund", "tool": "refund_order", "effect": "ask", "approvers": [{"group": "finance", "count": 1}],
    "rejections": 2, "authentication": "signed", "reasons": ["The order does not fit.", "No, thanks"],
    "question_clock": "stops", "remind_at_percent": 50, "escalate_to": ["leads", "r-and-d"], "editable": False,
}  # fmt: skip
SAID_ANYWAY = ASK | {"authentication": "session", "question_clock": "runs", "editable": True, "reasons": []}
ADVISORY: dict[str, Any] = {"id": "large", "tool": "*", "effect": "deny", "level": "advisory", "expires_in_s": 60}
ABSOLUTE: dict[str, Any] = {"id": "no", "tool": "*", "effect": "deny", "level": "absolute", "rejections": 1}
FREEZE: dict[str, Any] = {
    "id": "xmas", "from": "2026-12-24T18:00:00+11:00", "to": "2026-12-27 08:00:00Z", "tools": ["*", "get_order"],
}  # fmt: skip
SPACED = ASK | {"when": "args.amount > 1\n", "message": " Ask. "}


@pytest.mark.parametrize(
    ("part", "item"),
    [("rules", ASK), ("rules", TIERED), ("limits", LIMIT), ("rules", OVERRIDABLE), ("limits", MOST_CALLS),
     ("rules", SPACED), ("rules", TERMED), ("rules", SAID_ANYWAY), ("rules", ADVISORY), ("rules", ABSOLUTE),
     ("freeze", FREEZE)],
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


def test_terms_are_written_and_what_holds_anyway_is_taken_out():
    fields = fields_of("rules", ASK)
    assert (fields["authentication"], fields["editable"], fields["level"]) == ("session", "yes", "absolute")
    fields |= {"authentication": "fresh", "reasons": "Too late.\n\n Wrong order. \nToo late.", "editable": "no",
               "question_clock": "stops", "remind_at_percent": "60 %", "escalate_to": "leads r-and-d"}  # fmt: skip
    said, wrong = item_of("rules", fields, ASK)
    assert wrong == {}
    assert changes_of(said, ASK) == {
        "authentication": "fresh", "reasons": ["Too late.", "Wrong order."], "editable": False,
        "question_clock": "stops", "remind_at_percent": 60, "escalate_to": ["leads", "r-and-d"],
    }  # fmt: skip
    back = fields_of("rules", TERMED) | {"authentication": "session", "editable": "yes", "question_clock": "runs"}
    said, wrong = item_of("rules", back | {"reasons": " ", "rejections": ""}, TERMED)
    assert changes_of(said, TERMED) == dict.fromkeys(
        ("authentication", "editable", "question_clock", "reasons", "rejections")
    )


def test_a_tier_has_terms_of_its_own_or_those_of_its_rule():
    fields = fields_of("rules", TIERED)
    assert (fields["tier-0-reasons"], fields["tier-1-authentication"], fields["tier-1-editable"]) == ("No.", "", "")
    said, wrong = item_of(
        "rules", fields | {"tier-1-authentication": "session", "tier-1-editable": "no", "tier-0-reasons": ""}, TIERED
    )
    assert wrong == {}
    first = {name: value for name, value in TIERED["tiers"][0].items() if name != "reasons"}
    assert said["tiers"] == [first, TIERED["tiers"][1] | {"authentication": "session", "editable": False}]


def test_a_new_row_of_terms_alone_wants_to_know_who_approves():
    _, wrong = item_of("rules", fields_of("rules", TIERED) | {"tier-2-rejections": "2"}, TIERED)
    assert set(wrong) == {"tier-2-approvers"}


def test_a_level_is_written_where_it_denies_and_nowhere_else():
    said, _ = item_of("rules", fields_of("rules", ASK) | {"effect": "deny", "level": "overridable"}, ASK)
    assert changes_of(said, ASK) == {"effect": "deny", "level": "overridable"}
    said, _ = item_of("rules", fields_of("rules", ASK) | {"effect": "deny", "level": "advisory"}, ASK)
    assert changes_of(said, ASK) == {
        "effect": "deny", "level": "advisory", "approvers": None, "expires_in_s": None, "rejections": None,
    }  # fmt: skip
    said, _ = item_of("rules", fields_of("rules", OVERRIDABLE) | {"level": "absolute"}, OVERRIDABLE)
    assert changes_of(said, OVERRIDABLE) == {"level": None, "approvers": None, "expires_in_s": None}
    said, _ = item_of("rules", fields_of("rules", ADVISORY) | {"effect": "allow"}, ADVISORY)
    assert changes_of(said, ADVISORY) == {"effect": "allow", "level": None}


def test_a_freeze_is_typed_with_its_times_and_tools():
    typed = {"id": "eofy", "from": "2027-06-30 18:00 +10:00", "to": "2027-07-01T08:00:00Z", "tools": "refund_order,*"}
    said, wrong = item_of("freeze", typed, {})
    assert wrong == {}
    assert {name: value for name, value in said.items() if value is not None} == {
        "id": "eofy", "from": "2027-06-30T18:00:00+10:00", "to": "2027-07-01T08:00:00+00:00",
        "tools": ["refund_order", "*"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("field", "text", "sentence"),
    [
        ("from", "2026-12-24 18:00", "with its zone"),
        ("from", "Christmas", "with its zone"),
        ("from", "", "needed"),
        ("to", "2026-12-24T18:00:00+11:00", "before it begins"),
        ("tools", " ", "needed"),
    ],
)
def test_what_is_wrong_with_a_freeze_is_said_at_its_field(field, text, sentence):
    _, wrong = item_of("freeze", fields_of("freeze", FREEZE) | {field: text}, FREEZE)
    assert set(wrong) == {field}
    assert sentence in wrong[field]


def test_a_field_that_was_not_sent_changes_nothing():
    said, wrong = item_of("rules", {"message": "Ask."}, TIERED | {"level": "absolute"})
    assert (wrong, changes_of(said, TIERED)) == ({}, {"message": "Ask."})


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
        ("rejections", "two", "whole number"),
        ("remind_at_percent", "half", "whole number"),
        ("editable", "maybe", "yes or no"),
        ("tier-1-editable", "maybe", "yes or no"),
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
