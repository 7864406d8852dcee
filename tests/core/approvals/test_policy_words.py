"""approvals/core/policy_words.py and policy_compare.py: a policy in words, and two of them beside each other."""

import json
import time
from typing import Any

import pytest

from approvals.core.policy import Policy, parse_policy
from approvals.core.policy_compare import around, compare_lines, compare_parts
from approvals.core.policy_words import Said, policy_said, time_words

FINANCE = [{"group": "finance", "count": 1}]


def policy(*rules: dict[str, Any], **more: Any) -> Policy:
    given = [{"id": f"r{at}", "tool": "refund_order", "effect": "deny"} | rule for at, rule in enumerate(rules)]
    return parse_policy(
        json.dumps({"version": 1, "rules": given or [{"id": "z", "tool": "*", "effect": "deny"}]} | more), "json"
    )


def said(rule: dict[str, Any]) -> Said:
    return policy_said(policy(rule))[0]


@pytest.mark.parametrize(
    ("rule", "effect", "tone"),
    [
        ({"effect": "allow"}, "allow", "good"),
        ({"effect": "deny"}, "deny", "bad"),
        ({"effect": "ask", "approvers": FINANCE}, "ask 1 of finance", "wait"),
        (
            {"effect": "ask", "approvers": [*FINANCE, {"group": "leads", "count": 2}]},
            "ask 1 of finance and 2 of leads",
            "wait",
        ),
        ({"effect": "ask", "tiers": [{"approvers": FINANCE}]}, "ask by amount", "wait"),
        ({"level": "overridable", "approvers": FINANCE}, "deny, unless 1 of finance override it", "wait"),
        ({"level": "advisory", "message": "Look."}, "note", "still"),
    ],
)
def test_an_effect_is_a_word_with_who_is_asked(rule, effect, tone):
    assert (said(rule).effect, said(rule).tone) == (effect, tone)


def test_tiers_are_told_in_money_that_people_read():
    tiers = [
        {"up_to": {"AUD": 25000, "JPY": 25000}, "approvers": FINANCE, "expires_in_s": 600},
        {"approvers": [*FINANCE, {"group": "leads", "count": 1}], "expires_in_s": 900},
    ]
    assert said({"effect": "ask", "tiers": tiers, "expires_in_s": 900}).words == (
        "up to A$250.00 or ¥25,000: 1 of finance, 10 min",
        "above: 1 of finance and 1 of leads",
        "time to decide 15 min",
    )


def test_a_condition_stands_as_it_is_written():
    told = said({"when": "args.amount > 1", "message": "No."})
    assert (told.about, told.when, told.words) == ("calls of refund_order", "args.amount > 1", ("says: No.",))
    assert said({"tool": "*"}).about == "every call of any tool"


def test_limits_and_freezes_are_told_before_and_behind_the_rules():
    limits = [
        {"id": "day", "tool": "refund_order", "per": "customer", "window": "24h", "amount": {"AUD": 50000}, "calls": 1,
         "over": "ask", "approvers": FINANCE},
        {"id": "one", "tool": "refund_order", "window": "call", "amount": {"AUD": 5}, "over": "deny"},
    ]  # fmt: skip
    freeze = [{"id": "xmas", "from": "2026-12-24T18:00:00+11:00", "to": "2026-12-27T08:00:00+11:00", "tools": ["*"]}]
    frozen, rule, day, one = policy_said(policy({}, limits=limits, freeze=freeze))
    assert (frozen.part, rule.part) == ("freeze", "rules")
    assert frozen.words == ("from 2026-12-24 18:00 +1100 until 2026-12-27 08:00 +1100",)
    assert (day.about, day.effect) == (
        "calls of refund_order over A$500.00 or 1 call for one customer in 24 hours", "ask 1 of finance"
    )  # fmt: skip
    assert one.about == "calls of refund_order over A$0.05 in one call"


def test_how_it_is_decided_is_told_where_it_is_not_the_usual():
    terms = {
        "rejections": 2,
        "question_clock": "stops",
        "escalate_to": ["leads"],
        "editable": False,
        "reasons": ["Wrong."],
    }
    words = said({"effect": "ask", "approvers": FINANCE} | terms).words
    assert words == (
        "2 rejections reject",
        "reasons offered: Wrong.",
        "a question to the agent stops the clock",
        "leads told after 80% of the time",
        "cannot be edited",
    )


@pytest.mark.parametrize(
    ("seconds", "words"), [(900, "15 min"), (7200, "2 h"), (90, "90 s"), (86400, "1 day"), (259200, "3 days")]
)
def test_times_are_told_in_their_largest_whole_unit(seconds, words):
    assert time_words(seconds) == words


def changes(left: Policy, right: Policy) -> list[tuple[str, str, bool]]:
    return [(part.change, (part.right or part.left).id, part.moved) for part in compare_parts(left, right)]  # type: ignore[union-attr]


def test_what_was_added_removed_changed_and_moved_is_told_by_its_name():
    left = policy({"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"})
    right = policy({"id": "d"}, {"id": "a"}, {"id": "n"}, {"id": "c", "effect": "allow"})
    assert changes(left, right) == [
        ("same", "d", True),
        ("same", "a", False),
        ("removed", "b", False),
        ("added", "n", False),
        ("changed", "c", False),
    ]


def test_the_same_policy_differs_nowhere_whatever_its_text():
    assert {change for change, _, _ in changes(policy({"id": "a"}), policy({"id": "a"}))} == {"same"}


def test_a_limit_and_a_rule_of_one_name_are_two_things():
    limit = [{"id": "r0", "tool": "refund_order", "window": "call", "amount": {"AUD": 5}, "over": "deny"}]
    assert changes(policy({}), policy({}, limits=limit)) == [("same", "r0", False), ("added", "r0", False)]


def rows(left: str, right: str) -> list[tuple[str, int, str, int, str]]:
    return [(row.change, row.left_number, row.left, row.right_number, row.right) for row in compare_lines(left, right)]


def test_lines_stand_beside_each_other_with_their_numbers():
    assert rows("a\nb\nc\nx\n", "a\nB\nc\nd\nx\n") == [
        ("same", 1, "a", 1, "a"),
        ("changed", 2, "b", 2, "B"),
        ("same", 3, "c", 3, "c"),
        ("added", 0, "", 4, "d"),
        ("same", 4, "x", 5, "x"),
    ]
    assert rows("a\nb\n", "b\n") == [("removed", 1, "a", 0, ""), ("same", 2, "b", 1, "b")]
    assert rows("", "") == []


def test_only_the_neighbourhood_of_what_differs_is_kept():
    text = "\n".join(str(at) for at in range(40))
    kept = around(compare_lines(text, text.replace("\n20\n", "\ntwenty\n")), 2)
    assert kept[0] is None
    assert kept[-1] is None
    assert [row.left for row in kept if row] == ["18", "19", "20", "21", "22"]


def test_two_large_texts_are_compared_in_a_moment():
    left = "\n".join(f"- {at}" for at in range(60_000))
    right = "\n".join(f"- {at}" for at in reversed(range(60_000)))
    begun = time.process_time()
    found = compare_lines(left, right)
    assert time.process_time() - begun < 1
    assert len(found) == 60_000
