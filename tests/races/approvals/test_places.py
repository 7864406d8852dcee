"""Giver and delegate at the same moment: one vote, whoever is first (A4, A9)."""

from datetime import timedelta

import pytest

from access.services.delegation import delegation_give, delegation_revoke
from approvals.models import Decision, Permit
from approvals.services.decision import DecisionRow
from audit.core.refusal import Conflict, Forbidden
from audit.store import clock
from tests.support import factories
from tests.support.approvals import asking, world


@pytest.fixture
def acme(committed_db):
    return world(asking(("finance", 2)))


def lend(acme, to):
    end = clock.now() + timedelta(hours=1)
    return delegation_give(actor=acme.mara.actor, to_user_id=to.user_id, ends_at=end)


def test_giver_and_delegates_who_click_together_give_one_vote(acme, race):
    people = [factories.person(acme.tenant, name=f"Delegate {number}") for number in range(5)]
    for person in people:
        lend(acme, person)
    held = acme.hold()
    clicks = [acme.mara, *people]
    answers = race(lambda number: acme.decide(held, by=clicks[number]), len(clicks))
    counted = [answer for answer in answers if isinstance(answer, DecisionRow)]
    refused = [answer for answer in answers if isinstance(answer, Conflict)]
    assert (len(counted), len(refused)) == (1, 5), answers
    assert {refusal.code for refusal in refused} == {"ALREADY_DECIDED"}
    assert Decision.objects.count() == 1
    assert not Permit.objects.exists(), "one of two"
    assert acme.decide(held, by=acme.noor).status == "granted"


def test_a_call_back_and_the_decision_come_one_after_the_other(acme, race):
    """Whichever was first: a vote that stands was given in time, and does not count once the place was called back."""
    anna = factories.person(acme.tenant, name="Anna Berg")
    given, held = lend(acme, anna), acme.hold()

    def act(number):
        if number:
            return delegation_revoke(actor=acme.mara.actor, delegation_id=given)
        return acme.decide(held, by=anna)

    decided, called_back = race(act, 2)
    assert called_back is None
    if isinstance(decided, Forbidden):
        assert not Decision.objects.exists()
    else:
        assert decided.status == "pending"
    done = acme.decide(held, by=acme.noor)
    assert done.status == "pending", "Anna's vote gives nothing any more"


def test_whoever_votes_after_a_call_back_gives_one_vote_that_counts(acme, race):
    """The giver in two browsers, a second delegate and the one who was called back, in their own right: all at once."""
    anna, dev = (factories.person(acme.tenant, name=name) for name in ("Anna Berg", "Dev Rao"))
    given, held = lend(acme, anna), acme.hold()
    lend(acme, dev)
    acme.decide(held, by=anna)
    delegation_revoke(actor=acme.mara.actor, delegation_id=given)
    clicks = [acme.mara, dev, acme.mara, anna]
    answers = race(lambda number: acme.decide(held, by=clicks[number]), len(clicks))
    new = [answer for answer in answers if isinstance(answer, DecisionRow) and not answer.repeated]
    assert len(new) == 1, answers
    assert isinstance(answers[3], Forbidden), "without the place Anna is of no group"
    assert Decision.objects.count() == 2
    assert not Permit.objects.exists(), "one of two"
    assert acme.decide(held, by=acme.noor).status == "granted"


def test_a_call_back_and_the_givers_own_vote_at_once_leave_one_vote_that_counts(acme, race):
    anna = factories.person(acme.tenant, name="Anna Berg")
    given, held = lend(acme, anna), acme.hold()
    acme.decide(held, by=anna)

    def act(number):
        if number:
            return delegation_revoke(actor=acme.mara.actor, delegation_id=given)
        return acme.decide(held, by=acme.mara)

    own, called_back = race(act, 2)
    assert called_back is None
    if isinstance(own, Conflict):
        assert own.code == "ALREADY_DECIDED"
        own = acme.decide(held, by=acme.mara)
    assert own.status == "pending"
    assert not Permit.objects.exists()
    assert acme.decide(held, by=acme.noor).status == "granted"
