"""Who may decide, by any door, and when enough have (A4, A9, S7, S8, S17, S85)."""

import dataclasses
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from access.core.delegation import Giver
from approvals.core.eligibility import (
    Asked,
    Decider,
    Vote,
    can_be_met,
    decider_of,
    may_decide,
    still_possible,
    tally,
)
from approvals.core.policy import Approver
from audit.core.actor import Actor

ANNA = Decider("anna", "person", "session", "t1", True, frozenset({"reviewer"}), frozenset({"finance", "legal"}))
ASKED = Asked(
    tenant_id="t1",
    requires=(Approver("finance", 1),),
    requester_id="rita",
    acting_for_id="carl",
    token_owner_id="otto",
    editor_ids=frozenset({"ed"}),
)


def test_a_reviewer_of_an_asked_group_who_had_no_part_in_it_may_decide():
    answer = may_decide(decider=ANNA, asked=ASKED)
    assert (answer.ok, answer.code, answer.reason) == (True, "", "You may decide for finance.")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"tenant_id": "t2"}, "NOT_FOUND"),
        ({"kind": "agent", "via": "token"}, "NEEDS_PERSON"),
        ({"kind": "system", "via": "system"}, "NEEDS_PERSON"),
        ({"via": "token"}, "NEEDS_SESSION"),
        ({"active": False}, "INACTIVE"),
        ({"roles": frozenset()}, "ROLE_MISSING"),
        ({"roles": frozenset({"admin", "operator", "auditor"})}, "ROLE_MISSING"),
        ({"groups": frozenset({"support"})}, "GROUP_MISSING"),
        ({"groups": frozenset()}, "GROUP_MISSING"),
        ({"id": "rita"}, "SELF_APPROVAL"),
        ({"id": "carl"}, "SELF_APPROVAL"),
        ({"id": "otto"}, "SELF_APPROVAL"),
        ({"id": "ed"}, "SELF_APPROVAL"),
        ({"id": ""}, "SELF_APPROVAL"),
    ],
)
def test_everybody_else_may_not_and_is_told_why(change, code):
    answer = may_decide(decider=dataclasses.replace(ANNA, **change), asked=ASKED)
    assert (answer.ok, answer.code) == (False, code)
    assert answer.reason.endswith(".")


def test_an_admin_who_asked_for_it_still_may_not():
    admin = dataclasses.replace(ANNA, id="rita", roles=frozenset({"reviewer", "admin"}))
    assert may_decide(decider=admin, asked=ASKED).code == "SELF_APPROVAL"


def test_missing_rights_are_named():
    assert may_decide(decider=dataclasses.replace(ANNA, roles=frozenset()), asked=ASKED).missing == ("reviewer",)
    assert may_decide(decider=dataclasses.replace(ANNA, groups=frozenset()), asked=ASKED).missing == ("finance",)


def test_where_nobody_is_asked_nobody_may_decide():
    assert may_decide(decider=ANNA, asked=dataclasses.replace(ASKED, requires=())).code == "GROUP_MISSING"


def test_a_call_without_people_behind_it_excludes_nobody_by_its_empty_ids():
    assert may_decide(decider=ANNA, asked=Asked("t1", (Approver("finance", 1),))).ok


def test_the_facts_about_a_decider_come_from_the_actor():
    actor = Actor("person", "anna", "Anna", "t1", ANNA.roles, ANNA.groups, frozenset(), via="session")
    assert decider_of(actor, active=True) == ANNA


def vote(person, *groups, verdict="approve"):
    return Vote(person, verdict, frozenset(groups))


ONE = [Approver("finance", 1)]
BOTH = [Approver("finance", 1), Approver("legal", 1)]


@pytest.mark.parametrize(
    ("requires", "votes", "outcome", "words"),
    [
        (ONE, [], "pending", "needs 1 of finance; 0 so far"),
        (ONE, [vote("a", "finance")], "granted", "needs 1 of finance; complete"),
        (ONE, [vote("a", "legal")], "pending", "needs 1 of finance; 0 so far"),
        ([Approver("finance", 2)], [vote("a", "finance")], "pending", "needs 2 of finance; 1 so far"),
        (
            BOTH,
            [vote("a", "finance")],
            "pending",
            "needs 1 of finance and 1 of legal; so far 1 of finance and 0 of legal",
        ),
        (BOTH, [vote("a", "finance"), vote("b", "legal")], "granted", "needs 1 of finance and 1 of legal; complete"),
        (ONE, [vote("a", "finance"), vote("b", verdict="reject")], "rejected", "rejected: one rejection decides"),
    ],
)
def test_a_round_is_counted_and_told_in_words(requires, votes, outcome, words):
    counted = tally(requires, votes)
    assert (counted.outcome, counted.words) == (outcome, words)


def test_one_person_in_two_groups_counts_once():
    counted = tally(BOTH, [vote("a", "finance", "legal")])
    assert counted.outcome == "pending"
    assert sum(approver.count for approver in counted.missing) == 1


def test_the_same_person_twice_counts_once():
    assert tally([Approver("finance", 2)], [vote("a", "finance"), vote("a", "finance")]).outcome == "pending"


def test_a_person_in_two_groups_stands_for_the_one_where_it_helps():
    for order in permutations([vote("a", "finance", "legal"), vote("b", "finance")]):
        assert tally(BOTH, order).outcome == "granted"


@pytest.mark.parametrize("requires", [[], [Approver("finance", 0)], [Approver("finance", 1), Approver("legal", 0)]])
def test_a_quorum_of_nobody_is_never_reached(requires):
    votes = [vote("a", "finance"), vote("b", "finance", "legal")]
    assert tally(requires, votes).outcome == "pending"
    assert not can_be_met(requires, {"a": frozenset({"finance"})})


def test_whether_enough_people_are_left_counts_each_once():
    assert can_be_met(BOTH, {"a": frozenset({"finance", "legal"}), "b": frozenset({"finance"})})
    assert not can_be_met(BOTH, {"a": frozenset({"finance", "legal"})})
    assert not can_be_met(ONE, {})
    assert not can_be_met(ONE, {"a": frozenset({"legal"})})


people = st.dictionaries(st.integers(0, 6).map(str), st.frozensets(st.sampled_from("abc"), max_size=3), max_size=6)
quorums = st.dictionaries(st.sampled_from("abc"), st.integers(1, 2), min_size=1).map(
    lambda groups: [Approver(group, count) for group, count in groups.items()]
)


@given(quorums, people)
def test_a_round_is_granted_exactly_when_some_way_of_seating_people_meets_every_need(requires, voters):
    seats = [approver.group for approver in requires for _ in range(approver.count)]
    possible = any(
        all(group in voters[person] for person, group in zip(order, seats, strict=True))
        for order in permutations(voters, len(seats))
    )
    counted = tally(requires, [Vote(person, "approve", groups) for person, groups in voters.items()])
    assert (counted.outcome == "granted") == possible == can_be_met(requires, voters)
    assert (counted.missing == ()) == possible


def test_so_many_rejections_reject_and_one_fewer_only_counts():
    needs = (Approver("finance", 2),)
    votes = [Vote("p1", "approve", frozenset({"finance"})), Vote("p2", "reject", frozenset({"finance"}))]
    stand = tally(needs, votes, rejections=2)
    assert (stand.outcome, stand.words) == ("pending", "needs 2 of finance; 1 so far; 1 of 2 rejections")
    twice = [*votes, Vote("p2", "reject", frozenset({"finance"}))]
    assert tally(needs, twice, rejections=2).outcome == "pending", "one person rejects once"
    third = [*votes, Vote("p3", "reject", frozenset({"finance"}))]
    assert tally(needs, third, rejections=2).outcome == "rejected"
    assert tally(needs, votes).outcome == "rejected"


def test_who_rejects_takes_no_seat_of_those_who_approve():
    votes = [Vote("p1", "reject", frozenset({"finance"}))]
    assert tally((Approver("finance", 1),), votes, rejections=2).outcome == "pending"


BERTA = Giver("berta", "Berta Cole", True, frozenset({"reviewer"}), frozenset({"finance"}))
OUTSIDE = dataclasses.replace(ANNA, groups=frozenset())


def test_a_delegate_decides_in_the_group_of_the_giver_and_in_no_other():
    answer = may_decide(decider=OUTSIDE, asked=ASKED, giver=BERTA)
    assert (answer.ok, answer.reason) == (True, "You may decide for Berta Cole (finance).")
    elsewhere = dataclasses.replace(BERTA, groups=frozenset({"legal"}))
    # Anna is in finance herself; that is no right of Berta's.
    assert may_decide(decider=ANNA, asked=ASKED, giver=elsewhere).code == "GROUP_MISSING"


@pytest.mark.parametrize(
    ("giver", "words"),
    [
        ("rita", "Berta Cole asked for it"),
        ("carl", "the agent acts for Berta Cole"),
        ("otto", "the agent that asked is owned by Berta Cole"),
        ("ed", "Berta Cole edited it"),
    ],
)
def test_every_ban_of_the_giver_holds_for_the_delegate(giver, words):
    answer = may_decide(decider=OUTSIDE, asked=ASKED, giver=dataclasses.replace(BERTA, id=giver))
    assert (answer.ok, answer.code) == (False, "SELF_APPROVAL")
    assert answer.reason == f"You may not decide this for Berta Cole, because {words}."


@pytest.mark.parametrize("banned", ["rita", "carl", "otto", "ed"])
def test_a_delegate_who_has_a_part_in_it_decides_it_for_nobody(banned):
    answer = may_decide(decider=dataclasses.replace(OUTSIDE, id=banned), asked=ASKED, giver=BERTA)
    assert answer.code == "SELF_APPROVAL"


@pytest.mark.parametrize(
    ("decider", "giver", "code"),
    [
        ({"roles": frozenset()}, {}, "ROLE_MISSING"),
        ({"active": False}, {}, "INACTIVE"),
        ({"via": "token"}, {}, "NEEDS_SESSION"),
        ({"kind": "agent"}, {}, "NEEDS_PERSON"),
        ({"tenant_id": "t2"}, {}, "NOT_FOUND"),
        ({}, {"active": False}, "GIVER_INACTIVE"),
        ({}, {"roles": frozenset({"admin"})}, "ROLE_MISSING"),
        ({}, {"groups": frozenset()}, "GROUP_MISSING"),
    ],
)
def test_giver_and_delegate_must_both_be_fit_to_decide(decider, giver, code):
    answer = may_decide(
        decider=dataclasses.replace(OUTSIDE, **decider), asked=ASKED, giver=dataclasses.replace(BERTA, **giver)
    )
    assert (answer.ok, answer.code) == (False, code)


FINANCE = frozenset({"finance"})


def approves(person: str, *, place: str = "") -> Vote:
    return Vote(person, "approve", FINANCE, place)


@pytest.mark.parametrize(
    "votes",
    [
        [approves("anna", place="berta"), approves("berta")],
        [approves("berta"), approves("anna", place="berta")],
        [approves("anna", place="berta"), approves("carl", place="berta")],
        [approves("anna"), approves("anna", place="berta")],
    ],
)
def test_giver_and_delegate_count_once_and_a_person_gives_one_vote(votes):
    assert tally((Approver("finance", 2),), votes).missing == (Approver("finance", 1),)
    both = [*votes, approves("dora")]
    assert tally((Approver("finance", 2),), both).outcome == "granted"


def test_a_rejection_for_a_giver_and_the_givers_own_are_one():
    votes = [Vote("anna", "reject", FINANCE, "berta"), Vote("berta", "reject", FINANCE)]
    assert tally((Approver("finance", 1),), votes, rejections=2).outcome == "pending"


def test_whoever_voted_or_was_voted_for_gives_no_second_vote():
    needs = (Approver("finance", 2),)
    people = {"anna": FINANCE, "berta": FINANCE}
    assert still_possible(needs, [], people)
    assert still_possible(needs, [approves("anna")], people)
    assert not still_possible(needs, [approves("anna", place="berta")], people)
    assert not still_possible(needs, [Vote("anna", "reject", FINANCE)], people)
    assert still_possible(needs, [approves("anna", place="berta")], people | {"carl": FINANCE})
