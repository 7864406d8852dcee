"""approvals/core/asked_anew.py: what a new version changed for a call that waits, in words (A5)."""

from dataclasses import replace

import pytest

from approvals.core.asked_anew import spoken, what_changed
from approvals.core.policy import HELD, Approver, Verdict
from approvals.core.terms import Terms

ASKED = Verdict("ask", HELD, "", "refund", 8, approvers=(Approver("finance", 1),), expires_in_s=900)
TODAY = replace(ASKED, policy_number=9)


def test_more_people_are_named_with_how_many_it_was():
    today = replace(TODAY, approvers=(Approver("finance", 2),))
    assert what_changed(ASKED, today) == "Policy 9 asks 2 of finance, 8 asked 1 of finance (rule refund)"


def test_other_deciders_are_named():
    today = replace(TODAY, approvers=(Approver("leads", 1),), rule_id="refund-large")
    assert what_changed(ASKED, today) == "Policy 9 asks 1 of leads, 8 asked 1 of finance (rule refund-large)"


def test_less_time_and_more_people_are_both_said():
    today = replace(TODAY, approvers=(Approver("finance", 3),), expires_in_s=60)
    assert what_changed(ASKED, today) == (
        "Policy 9 asks 3 of finance, 8 asked 1 of finance; it gives 1 minute to decide, 8 gave 15 minutes (rule refund)"
    )


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (Terms(), Terms(authentication="fresh"), "asks for a password that was given again just now"),
        (Terms(authentication="fresh"), Terms(authentication="signed"), "asks for a passkey"),
        (Terms(), Terms(reason_to_approve=True), "asks for a reason to approve"),
        (Terms(rejections=3), Terms(), "says that one rejection rejects, before it took 3"),
        (Terms(rejections=3), Terms(rejections=2), "says that 2 rejections reject, before it took 3"),
    ],
)
def test_stricter_terms_are_named(before, now, words):
    assert what_changed(replace(ASKED, terms=before), replace(TODAY, terms=now)) == f"Policy 9 {words} (rule refund)"


def test_what_cannot_be_named_names_the_rule():
    assert what_changed(ASKED, replace(TODAY, rule_id="other")) == "Policy 9 asks for more by its rule other"


def test_the_same_version_is_not_compared_with_itself():
    today = replace(ASKED, approvers=(Approver("finance", 2),))
    assert what_changed(ASKED, today) == "Policy 8 asks 2 of finance, it asked 1 of finance (rule refund)"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (900, "15 minutes"),
        (3600, "1 hour"),
        (7200, "2 hours"),
        (90, "90 seconds"),
        (1, "1 second"),
        (5400, "90 minutes"),
    ],
)
def test_a_time_is_said_in_the_largest_unit_that_divides_it(seconds, words):
    assert spoken(seconds) == words
