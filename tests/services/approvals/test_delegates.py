"""Deciding in another's place: the giver's one vote, every ban of the giver, judged at each look (A5, A9, S7, S17)."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from access.selectors.actors import actor_for_session
from access.services import people
from access.services.delegation import delegation_give, delegation_revoke
from approvals.models import Decision
from approvals.selectors.proposals import inbox, inbox_counts, proposal_detail
from approvals.services.permit import Redeemed, Refused
from audit.core.refusal import Conflict, Forbidden
from audit.selectors.entries import entries_for_object
from audit.store import clock
from tests.support import factories
from tests.support.approvals import asking


@pytest.fixture
def anna(acme):
    """A reviewer of no group: whatever she decides, she decides for somebody."""
    return factories.person(acme.tenant, name="Anna Berg")


def lend(acme, giver, to, **changes):
    click = {"actor": giver.actor, "to_user_id": to.user_id, "ends_at": clock.now() + timedelta(hours=1)}
    return delegation_give(**(click | changes))


def page(held, person):
    return proposal_detail(person.actor, held.id).people


def test_a_delegate_gives_the_givers_vote_and_it_reads_so_everywhere(acme, anna):
    held = acme.hold()
    lend(acme, acme.mara, anna)
    assert (page(held, anna).may_decide, page(held, anna).reason) == (True, "You may decide for Mara Lind (finance).")
    assert acme.decide(held, by=anna).status == "granted"
    [vote] = page(held, anna).votes
    assert (vote.name, vote.counts) == ("Anna Berg for Mara Lind", True)
    entry = entries_for_object(acme.tenant.id, "proposal", str(held.id))[-1]
    assert (entry.action, entry.actor_name) == ("proposal.decided", "Anna Berg")
    assert entry.detail["for"] == {"id": acme.mara.user_id, "name": "Mara Lind"}
    assert isinstance(acme.redeem(held), Redeemed)


def test_without_a_delegation_the_same_person_is_refused(acme, anna):
    held = acme.hold()
    with pytest.raises(Forbidden) as caught:
        acme.decide(held, by=anna)
    assert caught.value.code == "GROUP_MISSING"


@pytest.mark.parametrize("giver", ["customer_care", "owner"])
def test_a_delegate_of_whoever_asked_is_banned_like_them_and_that_is_recorded(acme, anna, giver):
    """S7: {the person acted for, the token's owner} x delegate."""
    held = acme.hold()
    lend(acme, getattr(acme, giver), anna)
    assert page(held, anna).may_decide is False
    for wanted in ("", getattr(acme, giver).user_id):
        with pytest.raises(Forbidden) as caught:
            acme.decide(held, by=anna, in_place_of=wanted)
        assert caught.value.code == "SELF_APPROVAL"
    entry = entries_for_object(acme.tenant.id, "proposal", str(held.id))[-1]
    assert (entry.action, entry.verdict) == ("proposal.decided", "refused")
    assert not Decision.objects.exists()


def test_whoever_asked_does_not_decide_in_somebody_elses_place_either(acme):
    held = acme.hold()
    lend(acme, acme.mara, acme.customer_care)
    with pytest.raises(Forbidden) as caught:
        acme.decide(held, by=acme.customer_care, in_place_of=acme.mara.user_id)
    assert caught.value.code == "SELF_APPROVAL"


def test_a_delegation_never_leads_to_a_third_person(acme, anna):
    """Mara gives to Noor, Noor gives to Anna: Anna has Noor's place, and nothing of Mara's."""
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    lend(acme, acme.mara, acme.noor)
    lend(acme, acme.noor, anna)
    acme.decide(held, by=acme.noor, in_place_of="self")
    with pytest.raises(Forbidden) as caught:
        acme.decide(held, by=anna, in_place_of=acme.mara.user_id)
    assert caught.value.code == "DELEGATION_OVER"
    assert page(held, anna).may_decide is False


@pytest.mark.parametrize("first", ["giver", "delegate"])
def test_giver_and_delegate_have_one_vote_and_the_first_counts(acme, anna, first):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    lend(acme, acme.mara, anna)
    one, two = (acme.mara, anna) if first == "giver" else (anna, acme.mara)
    assert acme.decide(held, by=one).status == "pending"
    with pytest.raises(Conflict) as caught:
        acme.decide(held, by=two, in_place_of=acme.mara.user_id if two is anna else "self")
    assert caught.value.code == "ALREADY_DECIDED"
    assert page(held, two).may_decide is False
    assert (page(held, two).left, page(held, acme.noor).may_decide) == (1, True)


def test_the_database_keeps_giver_and_delegate_to_one_vote(acme, anna):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    lend(acme, acme.mara, anna)
    acme.decide(held, by=anna)
    own = Decision.objects.get()
    own.pk, own.reviewer_id, own.for_user_id = None, acme.mara.user_id, None
    with pytest.raises(IntegrityError, match="seat_once"), transaction.atomic():
        own.save(force_insert=True)


def test_a_person_gives_one_vote_whoever_lends_them_a_place(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    lend(acme, acme.mara, acme.noor)
    acme.decide(held, by=acme.noor)
    assert acme.decide(held, by=acme.noor, in_place_of=acme.mara.user_id).repeated
    with pytest.raises(Conflict) as caught:
        acme.decide(held, "reject", by=acme.noor, in_place_of=acme.mara.user_id)
    assert caught.value.code == "ALREADY_DECIDED"
    assert Decision.objects.count() == 1


def test_somebody_with_a_right_of_their_own_may_choose_as_whom(acme):
    acme.publish(asking(("finance", 1), ("leads", 1)))
    held = acme.hold()
    lend(acme, acme.noor, acme.mara)
    assert [place.name for place in page(held, acme.mara).places] == ["", "Noor Aziz"]
    acme.decide(held, by=acme.mara, in_place_of=acme.noor.user_id)
    assert [vote.name for vote in page(held, acme.mara).votes] == ["Mara Lind for Noor Aziz"]
    assert Decision.objects.get().for_user_id is not None


def test_a_delegation_for_other_groups_gives_no_right_here(acme, anna):
    held = acme.hold()
    lend(acme, acme.noor, anna, groups=["leads"])
    with pytest.raises(Forbidden) as caught:
        acme.decide(held, by=anna)
    assert caught.value.code == "GROUP_MISSING"


@pytest.mark.parametrize("what", ["revoked", "giver deactivated", "giver left the group", "delegate deactivated"])
def test_a_vote_given_in_anothers_place_is_checked_again_at_execution(acme, anna, what):
    """S17 for delegates: the call is asked anew, and nothing ran."""
    held = acme.hold()
    given = lend(acme, acme.mara, anna)
    acme.decide(held, by=anna)
    admin = acme.tenant.admin.actor
    if what == "revoked":
        delegation_revoke(actor=acme.mara.actor, delegation_id=given)
    elif what == "giver left the group":
        people.group_remove(actor=admin, group="finance", user_id=acme.mara.user_id)
    else:
        who = acme.mara if what.startswith("giver") else anna
        people.member_change(actor=admin, membership_id=who.membership_id, active=False)
    answer = acme.redeem(held)
    assert isinstance(answer, Refused)
    assert (answer.kind, answer.code) == ("ask_again", "DECIDER_CHANGED")
    assert "Anna Berg for Mara Lind" in answer.message


def test_a_delegation_ends_exactly_by_the_databases_clock(acme_committed, stand_at):
    acme, noon = acme_committed, clock.now().replace(microsecond=0) + timedelta(minutes=5)
    anna = factories.person(acme.tenant, name="Anna Berg")
    lend(acme, acme.mara, anna, ends_at=noon)
    late, in_time = acme.hold(call_id="late"), acme.hold(call_id="in-time")
    stand_at(noon - timedelta(milliseconds=1))
    assert acme.decide(in_time, by=anna).status == "granted"
    stand_at(noon)
    with pytest.raises(Forbidden) as caught:
        acme.decide(late, by=anna, in_place_of=acme.mara.user_id)
    assert caught.value.code == "DELEGATION_OVER"
    # What was given in time stays given: coming to its end takes nothing back, calling back does.
    assert isinstance(acme.redeem(in_time), Redeemed)


def test_a_giver_who_was_deactivated_lends_nothing(acme, anna):
    held = acme.hold()
    lend(acme, acme.mara, anna)
    people.member_change(actor=acme.tenant.admin.actor, membership_id=acme.mara.membership_id, active=False)
    with pytest.raises(Forbidden) as caught:
        acme.decide(held, by=anna, in_place_of=acme.mara.user_id)
    assert caught.value.code == "GIVER_INACTIVE"


def test_a_delegate_finds_in_the_inbox_what_waits_for_the_giver(acme, anna):
    """Only while the giver's vote is open, and never the giver's own call."""

    def mine(person):
        actor = actor_for_session(person.user_id, acme.tenant.id)
        assert inbox_counts(actor).mine == len(inbox(actor).rows)
        return [row.id for row in inbox(actor).rows]

    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    assert mine(anna) == []
    given = lend(acme, acme.mara, anna)
    assert mine(anna) == [held.id]
    acme.decide(held, by=acme.mara)
    assert mine(anna) == []
    other = acme.hold(order_id="ord_2")
    assert mine(anna) == [other.id]
    acme.decide(other, by=anna)
    assert (mine(anna), mine(acme.mara)) == ([], [])
    third = acme.hold(order_id="ord_3")
    delegation_revoke(actor=acme.mara.actor, delegation_id=given)
    lend(acme, acme.customer_care, anna)
    assert mine(anna) == []
    assert third.id in mine(acme.mara)


def test_a_giver_votes_themselves_once_the_vote_in_their_place_counts_no_more(acme, anna):
    """The vote that was called back stays in the record, and never counts again beside the giver's own."""
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    given = lend(acme, acme.mara, anna)
    acme.decide(held, by=anna)
    assert (page(held, acme.mara).may_decide, inbox(acme.mara.actor, view="mine").rows) == (False, [])
    delegation_revoke(actor=acme.mara.actor, delegation_id=given)
    assert page(held, acme.mara).may_decide
    [row] = inbox(acme.mara.actor, view="mine").rows
    assert (row.may_decide, inbox_counts(acme.mara.actor).mine) == (True, 1)
    done = acme.decide(held, by=acme.mara)
    assert (done.repeated, done.status) == (False, "pending"), "Anna's vote and hers are one"
    assert [(vote.name, vote.counts) for vote in page(held, acme.mara).votes] == [
        ("Anna Berg for Mara Lind", False),
        ("Mara Lind", True),
    ]
    assert inbox(acme.mara.actor, view="mine").rows == []
    assert [row.progress for row in inbox(acme.mara.actor, view="all").rows] == ["1 of 2"]
    assert acme.decide(held, by=acme.mara).repeated
    assert acme.decide(held, by=acme.noor).status == "granted"
    assert isinstance(acme.redeem(held), Redeemed)


@pytest.mark.parametrize("change", [{"roles": ["auditor"]}, {"active": False}])
def test_a_giver_finds_in_the_inbox_what_a_delegate_decided_who_may_not_decide_any_more(acme, anna, change):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    lend(acme, acme.mara, anna)
    acme.decide(held, by=anna)
    people.member_change(actor=acme.tenant.admin.actor, membership_id=anna.membership_id, **change)
    assert page(held, acme.mara).may_decide
    assert [row.id for row in inbox(acme.mara.actor, view="mine").rows] == [held.id]
    assert inbox_counts(acme.mara.actor).mine == 1


def test_of_a_vote_that_was_replaced_and_its_right_that_comes_back_only_the_later_counts(acme, anna):
    """The delegate loses her role, the giver rejects, the delegate is a reviewer again."""
    acme.publish(asking(("finance", 2)).replace("expires_in_s", "rejections: 2, expires_in_s"))
    held = acme.hold()
    lend(acme, acme.mara, anna)
    acme.decide(held, by=anna)
    admin = acme.tenant.admin.actor
    people.member_change(actor=admin, membership_id=anna.membership_id, roles=["operator"])
    acme.decide(held, "reject", by=acme.mara)
    people.member_change(actor=admin, membership_id=anna.membership_id, roles=["reviewer"])
    assert [vote.counts for vote in page(held, acme.noor).votes] == [False, True]
    assert acme.decide(held, "reject", by=acme.noor).status == "rejected"


def test_a_delegate_whose_place_was_called_back_decides_in_another_that_they_hold(acme, anna):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    given = lend(acme, acme.mara, anna)
    lend(acme, acme.noor, anna)
    acme.decide(held, by=anna, in_place_of=acme.mara.user_id)
    with pytest.raises(Conflict):
        acme.decide(held, "reject", by=anna, in_place_of=acme.noor.user_id)
    assert inbox(anna.actor, view="mine").rows == []
    delegation_revoke(actor=acme.mara.actor, delegation_id=given)
    assert [row.id for row in inbox(anna.actor, view="mine").rows] == [held.id]
    acme.decide(held, by=anna, in_place_of=acme.noor.user_id)
    assert acme.decide(held, by=acme.mara).status == "granted"
    assert Decision.objects.count() == 3
