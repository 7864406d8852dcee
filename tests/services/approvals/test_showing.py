"""Who was shown a proposal, in which state, and that a decision says what was seen (U1, S13)."""

from datetime import timedelta
from uuid import uuid4

import pytest

from approvals.services import showing
from approvals.services.proposal import proposal_observe
from approvals.services.showing import proposal_show
from audit.core.filters import EntryFilters
from audit.core.refusal import NotFound
from audit.selectors.entries import entries_for_object, entries_page
from audit.store import clock
from tests.support import factories
from tests.support.approvals import STATE, asking, world


@pytest.fixture
def acme(db):
    return world()


@pytest.fixture
def held(acme):
    return acme.hold()


def show(person, held, **changes):
    proposal_show(actor=person.actor, proposal_id=held.id, **({"long_texts": 0, "readable": True} | changes))


def shown(acme):
    return entries_page(acme.tenant.id, EntryFilters(action="proposal.shown"))


def test_a_showing_binds_what_was_seen(acme, held):
    show(acme.mara, held, long_texts=2)
    [entry] = shown(acme)
    assert (entry.actor_name, entry.run_id, entry.call_id, entry.tool) == (
        "Mara Lind", str(held.run_id), held.call_id, "refund_order",
    )  # fmt: skip
    assert entry.detail["digest"] == held.digest
    assert entry.detail["round"] == 1
    assert entry.detail["long_texts"] == 2
    assert entry.detail["snapshot"]
    assert entry.detail["seen"] is None


def test_the_same_again_within_a_minute_is_one_entry_and_anything_new_another(acme, held):
    acme.publish(asking(("finance", 2)))
    show(acme.mara, held)
    show(acme.mara, held)
    assert len(shown(acme)) == 1
    show(acme.noor, held)
    assert len(shown(acme)) == 2
    changed = STATE | {"refunded": 2000, "left": 10000}
    proposal_observe(proposal_id=held.id, state=changed, read_at=clock.now() + timedelta(seconds=1))
    show(acme.mara, held)
    newest, *_ = shown(acme)
    assert newest.detail["round"] == 2


def test_after_the_minute_it_is_recorded_again(acme, held, monkeypatch):
    show(acme.mara, held)
    monkeypatch.setattr(showing, "AGAIN_AFTER", timedelta(0))
    show(acme.mara, held)
    assert len(shown(acme)) == 2


def test_a_proposal_of_others_is_not_there(acme, held):
    stranger = factories.person(factories.tenant(), roles=["reviewer"])
    with pytest.raises(NotFound):
        show(stranger, held)
    with pytest.raises(NotFound):
        proposal_show(actor=acme.mara.actor, proposal_id=uuid4(), long_texts=0, readable=True)
    assert shown(acme) == []


@pytest.mark.parametrize("said", [True, False])
def test_a_decision_says_whether_it_was_read_to_the_end(acme, held, said):
    acme.decide(held, read_to_end=said)
    assert entries_for_object(acme.tenant.id, "proposal", str(held.id))[-1].detail["read_to_end"] is said


def test_a_decision_on_what_has_no_long_text_says_nothing_of_it(acme, held):
    acme.decide(held)
    assert "read_to_end" not in entries_for_object(acme.tenant.id, "proposal", str(held.id))[-1].detail


def test_a_redeemed_permit_says_what_was_checked_again(acme, held):
    acme.decide(held)
    acme.redeem(held)
    entry = entries_for_object(acme.tenant.id, "proposal", str(held.id))[-1]
    assert entry.action == "permit.redeemed"
    assert (entry.detail["rule"], entry.detail["policy"]) == ("refund", acme.policy_number)
    assert entry.detail["snapshot"]
    assert entry.detail["state_read_at"]
