"""approvals/services/settling.py and revoking.py: what runs tells of a call afterwards, and taking an approval back."""

from datetime import datetime, timedelta

import pytest

from approvals.selectors.proposals import proposal_detail
from approvals.services.permit import Redeemed
from approvals.services.revoking import permit_revoke
from approvals.services.settling import permit_settle
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.selectors.entries import entries_for_object
from tests.support import factories
from tests.support.approvals import world


def after(acme, held):
    return proposal_detail(acme.mara.actor, held.id).afterwards


@pytest.fixture
def granted(acme):
    held = acme.hold()
    acme.decide(held)
    return held


@pytest.fixture
def redeemed(acme, granted):
    assert isinstance(acme.redeem(granted), Redeemed)
    return granted


# Settling.


@pytest.mark.parametrize("path", [["succeeded"], ["unknown", "failed"], ["unknown", "succeeded"]])
def test_the_page_is_told_each_step(acme, redeemed, path):
    before = proposal_detail(acme.mara.actor, redeemed.id).version
    assert after(acme, redeemed).outcome == "started"
    assert datetime.fromisoformat(after(acme, redeemed).detail["deadline"]) > after(acme, redeemed).redeemed_at
    for outcome in path:
        permit_settle(proposal_id=redeemed.id, outcome=outcome, detail={"reference": f"re_{outcome}"})
    told = after(acme, redeemed)
    assert (told.outcome, told.detail) == (path[-1], {"reference": f"re_{path[-1]}"})
    assert proposal_detail(acme.mara.actor, redeemed.id).version == before + len(path)


@pytest.mark.parametrize("last", ["succeeded", "failed"])
@pytest.mark.parametrize("late", ["succeeded", "failed", "unknown", "retry"])
def test_a_late_word_moves_nothing(acme, redeemed, last, late):
    permit_settle(proposal_id=redeemed.id, outcome=last, detail={"reference": "re_1"})
    permit_settle(proposal_id=str(redeemed.id), outcome=late, detail={"reference": "re_2"})
    assert (after(acme, redeemed).outcome, after(acme, redeemed).detail) == (last, {"reference": "re_1"})
    assert after(acme, redeemed).permit == "redeemed"


def test_secrets_in_what_is_told_are_redacted(acme, redeemed):
    permit_settle(proposal_id=redeemed.id, outcome="failed", detail={"said": {"api_key": "abc"}})
    assert after(acme, redeemed).detail == {"said": {"api_key": "[redacted]"}}


def test_a_word_that_is_no_outcome_is_a_programming_error(acme, redeemed):
    with pytest.raises(ValueError, match="done is no outcome"):
        permit_settle(proposal_id=redeemed.id, outcome="done")


def test_a_proven_nothing_gives_the_permit_back_and_everything_is_checked_again(acme, redeemed):
    permit_settle(proposal_id=redeemed.id, outcome="retry", detail={"code": "NOT_SENT"})
    assert (after(acme, redeemed).permit, after(acme, redeemed).outcome) == ("ready", "")
    assert isinstance(acme.redeem(redeemed), Redeemed)
    assert acme.redeem(redeemed).kind == "taken"


def test_a_given_back_permit_still_expires(acme_committed, stand_at):
    held = acme_committed.hold()
    acme_committed.decide(held)
    acme_committed.redeem(held)
    permit_settle(proposal_id=held.id, outcome="retry")
    stand_at(held.row.expires_at)
    assert acme_committed.redeem(held).kind == "expired"


def test_a_permit_that_was_not_redeemed_has_nothing_to_give_back(acme, granted):
    permit_settle(proposal_id=granted.id, outcome="retry")
    assert after(acme, granted).permit == "ready"


@pytest.mark.parametrize("decided", [False, True])
def test_a_call_that_ended_before_it_was_sent_closes_its_proposal(acme, decided):
    held = acme.hold()
    if decided:
        acme.decide(held)
    permit_settle(proposal_id=held.id, outcome="refused", detail={"code": "DEADLINE_PASSED", "message": "Too late."})
    page = proposal_detail(acme.mara.actor, held.id)
    assert (page.status, page.afterwards.permit) == ("refused", "void" if decided else "")
    assert page.afterwards.detail == {"code": "DEADLINE_PASSED", "message": "Too late.", "by": ""}
    assert acme.redeem(held).kind == "refused"


def test_nobody_is_told_that_nothing_ran_once_a_permit_was_redeemed(acme, redeemed):
    permit_settle(proposal_id=redeemed.id, outcome="refused", detail={"code": "REFUSED"})
    page = proposal_detail(acme.mara.actor, redeemed.id)
    assert (page.status, page.afterwards.outcome) == ("granted", "started")


# Revoking (S81).


@pytest.mark.parametrize("who", ["admin", "operator", "approver"])
def test_an_approval_is_taken_back_before_it_is_executed(acme, granted, who):
    person = {"admin": acme.tenant.admin, "approver": acme.mara}.get(who) or factories.person(acme.tenant, roles=[who])
    row = permit_revoke(actor=person.actor, proposal_id=granted.id, reason="The customer called.")
    assert (row.status, row.round) == ("pending", 2)
    assert acme.redeem(granted).kind == "ask_again"
    page = proposal_detail(acme.mara.actor, granted.id)
    assert page.content.held.opened_code == "REVOKED"
    assert "The customer called." in page.content.held.opened_because
    entry = entries_for_object(acme.tenant.id, "proposal", str(granted.id))[-1]
    assert (entry.action, entry.detail["code"], entry.actor_id) == ("proposal.asked_again", "REVOKED", person.user_id)


def test_what_was_redeemed_is_not_called_back(acme, redeemed):
    with pytest.raises(Conflict) as caught:
        permit_revoke(actor=acme.mara.actor, proposal_id=redeemed.id, reason="Stop.")
    assert caught.value.code == "ALREADY_STARTED"
    assert after(acme, redeemed).permit == "redeemed"


def test_there_is_nothing_to_take_back_where_nothing_was_granted(acme):
    held = acme.hold()
    with pytest.raises(Conflict) as caught:
        permit_revoke(actor=acme.tenant.admin.actor, proposal_id=held.id, reason="Stop.")
    assert caught.value.code == "NOT_GRANTED"


def test_revoking_needs_a_reason_and_a_right(acme, granted):
    with pytest.raises(Invalid) as invalid:
        permit_revoke(actor=acme.mara.actor, proposal_id=granted.id, reason=" ")
    assert invalid.value.code == "REASON_REQUIRED"
    for actor, code in ((acme.noor.actor, "ROLE_MISSING"), (acme.actor, "PERSON_REQUIRED")):
        with pytest.raises(Forbidden) as caught:
            permit_revoke(actor=actor, proposal_id=granted.id, reason="Stop.")
        assert caught.value.code == code
    with pytest.raises(NotFound):
        permit_revoke(actor=world().tenant.admin.actor, proposal_id=granted.id, reason="Stop.")
    assert after(acme, granted).permit == "ready"


def test_an_expired_approval_needs_no_revoking(acme_committed, stand_at):
    held = acme_committed.hold()
    acme_committed.decide(held)
    stand_at(held.row.expires_at + timedelta(milliseconds=1))
    with pytest.raises(Conflict) as caught:
        permit_revoke(actor=acme_committed.mara.actor, proposal_id=held.id, reason="Stop.")
    assert caught.value.code == "EXPIRED"


def test_revoking_works_while_the_audit_log_does_not(acme_committed, owner_sql):
    """S69."""
    held = acme_committed.hold()
    acme_committed.decide(held)
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    row = permit_revoke(actor=acme_committed.mara.actor, proposal_id=held.id, reason="Stop.")
    assert row.status == "pending"
    assert owner_sql("SELECT entry->>'action' FROM audit_owed") == [("proposal.asked_again",)]
