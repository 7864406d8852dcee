"""approvals/services/claim.py: a word to colleagues that ends by itself and keeps nobody from deciding."""

from datetime import timedelta

import pytest

from approvals.models import Claim, Proposal
from approvals.services.claim import LASTS, proposal_claim, proposal_release
from audit.core.refusal import Conflict, Forbidden, NotFound
from audit.models import Entry
from audit.store import clock
from tests.support import factories
from tests.support.approvals import asking


def test_a_claim_lasts_ten_minutes_and_is_seen_by_live_lists(acme):
    held = acme.hold()
    row = proposal_claim(actor=acme.mara.actor, proposal_id=held.id)
    assert timedelta(minutes=9) < row.until - clock.now() <= LASTS
    assert Proposal.objects.get(pk=held.id).version == held.row.version + 1


def test_a_claim_keeps_nobody_from_deciding(acme):
    held = acme.hold()
    proposal_claim(actor=acme.mara.actor, proposal_id=held.id)
    assert acme.decide(held, by=acme.noor).status == "granted"


def test_a_colleague_who_claims_it_too_is_told_who_has_and_that_deciding_is_possible(acme):
    held = acme.hold()
    proposal_claim(actor=acme.mara.actor, proposal_id=held.id)
    with pytest.raises(Conflict, match="Mara Lind is looking at it until") as caught:
        proposal_claim(actor=acme.noor.actor, proposal_id=held.id)
    assert caught.value.code == "CLAIMED"


def test_a_claim_that_has_ended_is_anybodys_by_the_databases_clock(acme_committed, stand_at):
    acme, now = acme_committed, clock.now()
    stand_at(now)
    held = acme.hold()
    proposal_claim(actor=acme.mara.actor, proposal_id=held.id)
    stand_at(now + LASTS - timedelta(milliseconds=1))
    with pytest.raises(Conflict):
        proposal_claim(actor=acme.noor.actor, proposal_id=held.id)
    stand_at(now + LASTS)
    assert proposal_claim(actor=acme.noor.actor, proposal_id=held.id).person_name == "Noor Aziz"
    assert Claim.objects.count() == 1


def test_ones_own_word_is_taken_back_and_nobody_elses(acme):
    held = acme.hold()
    proposal_claim(actor=acme.mara.actor, proposal_id=held.id)
    assert not proposal_release(actor=acme.noor.actor, proposal_id=held.id)
    assert proposal_release(actor=acme.mara.actor, proposal_id=held.id)
    assert not proposal_release(actor=acme.mara.actor, proposal_id=held.id)
    assert [entry.action for entry in Entry.objects.filter(action__in=["proposal.claimed", "proposal.released"])] == [
        "proposal.claimed", "proposal.released",
    ]  # fmt: skip


def test_a_decision_releases_it(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    proposal_claim(actor=acme.mara.actor, proposal_id=held.id)
    acme.decide(held, by=acme.noor)
    assert Claim.objects.count() == 1
    acme.decide(held, by=acme.mara)
    assert Claim.objects.count() == 0


@pytest.mark.parametrize("who", ["customer_care", "owner"])
def test_whoever_may_not_decide_it_claims_nothing(acme, who):
    with pytest.raises(Forbidden):
        proposal_claim(actor=getattr(acme, who).actor, proposal_id=acme.hold().id)


def test_what_is_decided_is_not_claimed_and_what_is_foreign_not_found(acme):
    held = acme.hold()
    stranger = factories.person(factories.tenant(), groups=["finance"])
    for verb in (proposal_claim, proposal_release):
        with pytest.raises(NotFound):
            verb(actor=stranger.actor, proposal_id=held.id)
    acme.decide(held)
    with pytest.raises(Conflict):
        proposal_claim(actor=acme.noor.actor, proposal_id=held.id)
