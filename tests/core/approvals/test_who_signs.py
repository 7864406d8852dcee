"""Who can give a signed approval, and where a policy asks for more of them than there are (A9, S8)."""

import json

import pytest

from approvals.core.policy import catalogue_findings, parse_policy
from approvals.core.who_signs import who_can_sign

A, B = frozenset({"a"}), frozenset({"b"})
AB = A | B


@pytest.mark.parametrize(
    ("own", "through", "used", "able"),
    [
        ("", {}, "", {}),
        ("ada", {}, "", {"ada": A}),
        ("", {"ada": [("dev", frozenset())]}, "", {"ada": A}),
        ("", {"ada": [("dev", A)], "ben": [("dev", A)]}, "", {"ada": A}),
        ("", {"ada": [("dev", A)], "ben": [("dev", A), ("eve", B)]}, "", {"ada": A, "ben": B}),
        ("ben", {"ada": [("ben", A)]}, "", {"ben": AB}),
        ("", {"ada": [("dev", A)]}, "dev", {}),
        ("", {"ada": [("dev", B)]}, "", {}),
    ],
    ids=["nobody", "their own", "a delegate's", "a delegate gives one vote", "two delegates, and what was lent",
         "whoever votes for themselves stands for nobody", "a delegate who has voted", "nothing lent that is asked"],
)  # fmt: skip
def test_a_vote_is_signed_by_its_owners_passkey_or_by_one_delegates(own, through, used, able):
    people = {"ada": A, "ben": AB}
    assert who_can_sign(people, own=own.split(), through=through, used=used.split()) == able


ONE = [{"group": "a", "count": 1}]
TWO = [{"group": "a", "count": 2}]
EACH = [{"group": "a", "count": 1}, {"group": "b", "count": 1}]
PEOPLE = {"ada": AB, "ben": A, "col": B}


def told(rule, own, *limits, people=PEOPLE):
    given = {"id": "r", "tool": "refund_order", "effect": "ask", **rule}
    policy = parse_policy(json.dumps({"version": 1, "rules": [given], "limits": list(limits)}), "json")
    found = catalogue_findings(policy, tools={}, people=people, signers=own.split())
    return {one.path: one.message for one in found if one.code == "PASSKEYS_MISSING"}


@pytest.mark.parametrize("authentication", ["session", "fresh"])
def test_a_rule_that_everybodys_password_is_enough_for_is_told_nothing(authentication):
    assert told({"approvers": ONE, "authentication": authentication}, "") == {}


@pytest.mark.parametrize(
    ("approvers", "own", "places"),
    [
        (ONE, "", {"/rules/0/approvers/0/group"}),
        (ONE, "ben", set()),
        (ONE, "col", {"/rules/0/approvers/0/group"}),
        (TWO, "ben", {"/rules/0/approvers/0/group"}),
        (TWO, "ada ben", set()),
        (EACH, "ben", {"/rules/0/approvers/1/group"}),
        (EACH, "ada", {"/rules/0/approvers"}),
        (EACH, "ada col", set()),
        ([{"group": "a", "count": 3}], "", set()),
    ],
)  # fmt: skip
def test_a_signed_rule_is_told_of_each_group_that_too_few_can_sign_for(approvers, own, places):
    """The last one holds too few people anyway, which is another finding."""
    assert set(told({"approvers": approvers, "authentication": "signed"}, own)) == places


def test_the_words_say_how_many_there_are_and_what_mends_it():
    [message] = told({"approvers": TWO, "authentication": "signed"}, "ben").values()
    assert message == (
        "2 of a sign an approval by their passkey here, and 1 member has one that works. Members add one under "
        "Account, Passkeys and codes; without it nobody can approve this, only reject it."
    )


def test_only_the_tier_that_is_signed_is_told():
    tiers = [{"up_to": {"AUD": 100}, "approvers": ONE}, {"approvers": TWO, "authentication": "signed"}]
    assert set(told({"tiers": tiers}, "")) == {"/rules/0/tiers/1/approvers/0/group"}


def test_a_limits_groups_sign_too_where_the_rule_is_signed():
    limit = {"id": "l", "tool": "refund_order", "per": "agent", "window": "24h", "calls": 3, "over": "ask",
             "approvers": [{"group": "b", "count": 1}]}  # fmt: skip
    assert set(told({"approvers": ONE, "authentication": "signed"}, "ben", limit)) == {"/limits/0/approvers/0/group"}
    assert told({"approvers": ONE, "authentication": "signed"}, "ben col", limit) == {}
    assert told({"approvers": ONE}, "ben", limit) == {}
