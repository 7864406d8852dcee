"""Quorum, tiers and the number of rejections, from the policy to execution (A9, S8)."""

import pytest

from access.services import people
from approvals.selectors.proposals import proposal_detail
from approvals.services.permit import Redeemed, Refused
from audit.core.refusal import Conflict, Invalid
from tests.support.approvals import asking, edit_as_owner

TIERED = """\
version: 1
rules:
  - id: refund
    tool: refund_order
    effect: ask
    tiers:
      - {up_to: {AUD: 5000}, approvers: [{group: finance, count: 1}]}
      - {approvers: [{group: finance, count: 1}, {group: leads, count: 1}], rejections: 2}
"""


def page(held, person):
    return proposal_detail(person.actor, held.id).people


def test_two_of_a_group_are_two_people_and_nothing_runs_before(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    assert page(held, acme.mara).approve_does == "1 of 2, nothing runs yet"
    done = acme.decide(held, by=acme.mara)
    assert (done.status, done.message) == (
        "pending",
        "Your approval is recorded; nothing runs yet: it needs 2 of finance; 1 so far.",
    )
    seen = page(held, acme.noor)
    assert ([vote.name for vote in seen.votes], seen.approve_does) == (["Mara Lind"], "runs now")
    [missing] = seen.missing
    # Not Jon, for whom the agent acts, and not Ola, who owns it.
    assert (missing.words, missing.names) == ("1 of finance", ("Noor Aziz",))
    waits = acme.redeem(held)
    assert isinstance(waits, Refused)
    assert acme.decide(held, by=acme.noor).status == "granted"
    assert isinstance(acme.redeem(held), Redeemed)


@pytest.mark.parametrize(("amount", "first"), [(5_000, "granted"), (5_001, "pending")])
def test_the_amount_chooses_who_is_asked(acme, amount, first):
    acme.publish(TIERED)
    held = acme.hold(amount)
    assert acme.decide(held, by=acme.mara).status == first
    if first == "pending":
        assert [missing.words for missing in page(held, acme.noor).missing] == ["1 of leads"]
        assert acme.decide(held, by=acme.noor).status == "granted"
    assert isinstance(acme.redeem(held), Redeemed)


def test_below_the_number_of_rejections_others_may_still_approve(acme):
    acme.publish(TIERED.replace("count: 1}, {group: leads, count: 1}", "count: 1}"))
    held = acme.hold(9_000)
    assert page(held, acme.mara).reject_does == "1 of 2 rejections"
    done = acme.decide(held, "reject", by=acme.mara)
    assert (done.status, done.message) == (
        "pending",
        "Your rejection is recorded; nothing runs, and others may still decide: it needs 1 of finance; 0 so far; "
        "1 of 2 rejections.",
    )
    with pytest.raises(Conflict):
        acme.decide(held, by=acme.mara)
    assert acme.decide(held, by=acme.noor).status == "granted"
    assert isinstance(acme.redeem(held), Redeemed)


def test_the_last_of_so_many_rejections_rejects(acme):
    acme.publish(TIERED)
    held = acme.hold(9_000)
    acme.decide(held, "reject", by=acme.mara)
    assert acme.decide(held, "reject", by=acme.noor).status == "rejected"


def test_a_tier_that_asks_nobody_who_could_decide_is_refused_when_it_is_saved(acme):
    with pytest.raises(Invalid) as caught:
        acme.publish(TIERED.replace("group: leads, count: 1", "group: leads, count: 2"))
    assert [finding["path"] for finding in caught.value.detail["findings"]] == ["/rules/0/tiers/1/approvers/1/group"]


def test_terms_that_the_owner_loosened_in_the_row_are_noticed(acme_committed, owner_sql):
    """S84: the terms of a round are bound by the audit entry that opened it."""
    acme = acme_committed
    acme.publish(TIERED)
    held = acme.hold(9_000)
    changed = """why = jsonb_set(why, '{verdict,terms,rejections}', '20')"""
    edit_as_owner(owner_sql, "approvals_proposal", changed, f"id = '{held.id}'")
    with pytest.raises(Conflict) as caught:
        acme.decide(held, "reject", by=acme.mara)
    assert (caught.value.code, caught.value.detail["what"]) == ("PROPOSAL_ALTERED", "terms")


def test_stricter_terms_of_today_void_the_votes(acme):
    acme.publish(TIERED.replace("rejections: 2", "rejections: 3"))
    held = acme.hold(9_000)
    acme.decide(held, by=acme.mara)
    acme.decide(held, by=acme.noor)
    acme.publish(TIERED.replace("rejections: 2", "rejections: 1"))
    answer = acme.redeem(held)
    assert isinstance(answer, Refused)
    assert (answer.kind, answer.code) == ("ask_again", "POLICY_CHANGED")


def test_enough_approvals_that_count_only_since_a_right_came_back_are_completed_by_a_click_of_any_of_them(acme):
    """Mara is no reviewer while Noor approves, and one again afterwards: two of two count, and nobody was the last."""
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    admin = acme.tenant.admin.actor
    acme.decide(held, by=acme.mara)
    people.member_change(actor=admin, membership_id=acme.mara.membership_id, roles=["auditor"])
    assert acme.decide(held, by=acme.noor).status == "pending"
    assert acme.decide(held, by=acme.noor).repeated
    people.member_change(actor=admin, membership_id=acme.mara.membership_id, roles=["reviewer"])
    seen = page(held, acme.noor)
    assert ([vote.counts for vote in seen.votes], seen.may_decide, seen.approve_does) == ([True] * 2, True, "runs now")
    done = acme.decide(held, by=acme.noor)
    assert (done.status, done.repeated) == ("granted", False)
    assert acme.decide(held, by=acme.noor).repeated
    assert isinstance(acme.redeem(held), Redeemed)
