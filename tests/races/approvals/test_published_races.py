"""A version that is published while people decide and workers redeem: nothing runs under the looser rule (A5)."""

from uuid import UUID

from approvals.models import Proposal
from approvals.services.permit import Redeemed
from approvals.services.published import open_judge
from audit.core.refusal import Conflict
from tests.support.approvals import asking

TRIES = 12


def test_publish_against_decide_against_redeem_against_judging(acme, race):
    """Each proposal ends in one of two ways: executed with its permit redeemed before the stricter version was
    published, or asked anew with no permit left and no vote that counts."""
    many = [acme.hold(1000 + number) for number in range(TRIES)]
    for held in many[::2]:
        acme.decide(held)

    def work(place: int):
        if place == 0:
            acme.publish(asking(("finance", 2)))
            return None
        if place == 1:
            while open_judge(tenant_id=UUID(acme.tenant.id), limit=3):
                pass
            return None
        held = many[place - 2]
        if place % 2:
            return acme.decide(held, round=1)
        return acme.redeem(held)

    answers = race(work, TRIES + 2)[2:]
    while open_judge(tenant_id=UUID(acme.tenant.id)):
        pass
    for held, answer in zip(many, answers, strict=True):
        found = Proposal.objects.get(pk=held.id)
        permits = list(found.permits.values_list("status", flat=True))
        if isinstance(answer, Redeemed):
            assert (found.status, found.round, permits) == ("granted", 1, ["redeemed"])
            continue
        assert (found.status, found.round) == ("pending", 2), (answer, found.status)
        assert set(permits) <= {"void"}
        assert not found.decisions.filter(round=2).exists()
        if isinstance(answer, Exception):
            assert isinstance(answer, Conflict), answer
            assert answer.code == "ROUND_CHANGED"


def test_an_approval_that_holds_the_policy_makes_the_publisher_wait_and_is_asked_anew_afterwards(acme, race):
    """Whatever the order of the two, one approval does not execute what needs two."""
    for number in range(4):
        acme.publish(asking(("finance", 1)))
        held = acme.hold(2000 + number)

        def work(place: int, held=held):
            return acme.publish(asking(("finance", 2))) if place else acme.decide(held, round=1)

        race(work, 2)
        answer = acme.redeem(held)
        assert not isinstance(answer, Redeemed)
        while open_judge(tenant_id=UUID(acme.tenant.id)):
            pass
        found = Proposal.objects.get(pk=held.id)
        assert (found.status, found.round) == ("pending", 2)
