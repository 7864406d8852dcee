"""approvals/services/proposal.py: withdrawn, cancelled, expired."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import transaction

from approvals.selectors.proposals import inbox, proposal_detail, rows_by_id
from approvals.services.proposal import proposal_cancel_for_run, proposal_expire_due, proposal_withdraw
from approvals.services.resolution import resolutions_open
from approvals.store.rows import overdue
from audit.core.refusal import Conflict
from audit.selectors.entries import EntryFilters, entries_for_object, entries_page
from tests.support.approvals import edit_as_owner


def last_entry(acme, held):
    return entries_for_object(acme.tenant.id, "proposal", str(held.id))[-1]


def kinds(held):
    return [row.kind for row in resolutions_open(run_id=held.run_id)]


# Withdrawn.


@pytest.mark.parametrize("decided", [False, True])
def test_a_withdrawn_call_leaves_the_queue_and_its_permit_is_void(acme, decided):
    held = acme.hold()
    if decided:
        acme.decide(held)
    row = proposal_withdraw(actor=acme.actor, run_id=held.run_id, call_id=held.call_id, reason="Found another way.")
    assert row.status == "withdrawn"
    assert kinds(held) == ["withdrawn"]  # a grant that the run has not taken up is replaced
    page = proposal_detail(acme.mara.actor, held.id)
    assert (page.status, page.afterwards.permit) == ("withdrawn", "void" if decided else "")
    assert page.afterwards.detail["message"] == "Found another way."
    assert acme.redeem(held).code == "WITHDRAWN"
    assert last_entry(acme, held).detail["because"] == "Found another way."


def test_what_was_redeemed_cannot_be_withdrawn(acme):
    held = acme.hold()
    acme.decide(held)
    acme.redeem(held)
    with pytest.raises(Conflict) as caught:
        proposal_withdraw(actor=acme.actor, run_id=held.run_id, call_id=held.call_id)
    assert caught.value.code == "ALREADY_STARTED"


def test_withdrawing_what_has_ended_or_was_never_held_changes_nothing(acme):
    held = acme.hold()
    acme.decide(held, "reject")
    assert proposal_withdraw(actor=acme.actor, run_id=held.run_id, call_id=held.call_id).status == "rejected"
    assert proposal_withdraw(actor=acme.actor, run_id=uuid4(), call_id="none") is None


# Cancelled (S18).


def test_a_cancelled_run_takes_its_cards_out_of_the_queue(acme):
    run_id = uuid4()
    waiting, granted, redeemed, rejected = (acme.hold(amount, run_id=run_id) for amount in (100, 200, 300, 400))
    other = acme.hold()
    acme.decide(granted)
    acme.decide(redeemed)
    acme.redeem(redeemed)
    acme.decide(rejected, "reject")
    closed = proposal_cancel_for_run(actor=acme.actor, run_id=run_id, reason="")
    assert {row.id for row in closed} == {waiting.id, granted.id}
    status = {
        row.id: row.status for row in rows_by_id(acme.mara.actor, [waiting.id, granted.id, redeemed.id, other.id])
    }
    assert status == {
        waiting.id: "cancelled", granted.id: "cancelled", redeemed.id: "granted", other.id: "pending"
    }  # fmt: skip
    assert "never ran" in proposal_detail(acme.mara.actor, waiting.id).status_words
    assert [row.id for row in inbox(acme.mara.actor, view="all").rows] == [other.id]


def test_cancelling_works_while_the_audit_log_does_not(acme_committed, owner_sql):
    """S69."""
    held = acme_committed.hold()
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    with transaction.atomic():
        assert len(proposal_cancel_for_run(actor=acme_committed.actor, run_id=held.run_id)) == 1
    assert owner_sql("SELECT entry->>'action' FROM audit_owed") == [("proposal.cancelled",)]
    assert owner_sql("SELECT status FROM approvals_proposal") == [("cancelled",)]


# Expired (A3, S6, S82).


def test_an_overdue_one_reads_as_expired_everywhere_although_no_sweep_runs(acme_committed, stand_at):
    acme = acme_committed
    held = acme.hold()
    stand_at(held.row.expires_at)
    assert proposal_detail(acme.mara.actor, held.id).status == "expired"
    assert not proposal_detail(acme.mara.actor, held.id).people.may_decide
    assert [row.status for row in rows_by_id(acme.mara.actor, [held.id])] == ["expired"]
    assert inbox(acme.mara.actor, view="mine").rows == inbox(acme.mara.actor, view="all").rows == []
    assert [row.status for row in inbox(acme.mara.actor, view="decided").rows] == ["expired"]
    stand_at(held.row.expires_at - timedelta(milliseconds=1))
    assert proposal_detail(acme.mara.actor, held.id).status == "pending"
    assert len(inbox(acme.mara.actor, view="mine").rows) == 1


@pytest.mark.parametrize("decided", [False, True])
def test_the_sweep_writes_down_what_is_overdue_and_tells_the_run(acme_committed, stand_at, decided):
    acme = acme_committed
    held = acme.hold()
    if decided:
        acme.decide(held)
    stand_at(held.row.expires_at - timedelta(milliseconds=1))
    assert proposal_expire_due() == 0
    stand_at(held.row.expires_at)
    assert proposal_expire_due() == 1
    assert proposal_expire_due() == 0
    assert kinds(held) == ["expired"]
    page = proposal_detail(acme.mara.actor, held.id)
    assert (page.status, page.afterwards.permit) == ("expired", "void" if decided else "")
    assert ("not executed in time" if decided else "nobody decided") in page.status_words
    assert last_entry(acme, held).actor_id == "system:sweep"


def test_a_grant_that_was_never_executed_does_not_stay_granted(acme_committed, stand_at):
    """S82."""
    acme = acme_committed
    held = acme.hold()
    acme.decide(held)
    stand_at(held.row.expires_at)
    assert proposal_detail(acme.mara.actor, held.id).status == "expired"
    answer = acme.redeem(held)
    assert (answer.kind, answer.code, answer.proposal.status) == ("expired", "EXPIRED", "expired")


def test_what_was_redeemed_in_time_never_expires(acme_committed, stand_at):
    acme = acme_committed
    held = acme.hold()
    acme.decide(held)
    acme.redeem(held)
    stand_at(held.row.expires_at + timedelta(days=1))
    assert proposal_expire_due() == 0
    assert proposal_detail(acme.mara.actor, held.id).status == "granted"


def test_what_is_redeemed_between_the_sweeps_look_and_its_lock_does_not_expire(acme_committed, stand_at, monkeypatch):
    acme = acme_committed
    held = acme.hold()
    acme.decide(held)

    def look_then_lose_the_race(limit):
        found = overdue(limit)
        stand_at(held.row.expires_at - timedelta(milliseconds=1))
        acme.redeem(held)
        stand_at(held.row.expires_at)
        return found

    monkeypatch.setattr("approvals.services.proposal.overdue", look_then_lose_the_race)
    stand_at(held.row.expires_at)
    assert proposal_expire_due() == 0
    assert proposal_detail(acme.mara.actor, held.id).status == "granted"


def test_a_row_that_cannot_be_closed_hides_no_other(acme_committed, stand_at, owner_sql):
    acme = acme_committed
    bad, good = acme.hold(100), acme.hold(200)
    # An owner's constraint stands for whatever may be wrong with one row.
    owner_sql(f"ALTER TABLE approvals_resolution ADD CHECK (proposal_id <> '{bad.id}')")
    stand_at(max(bad.row.expires_at, good.row.expires_at))
    assert proposal_expire_due() == 1
    assert dict(owner_sql("SELECT id, status FROM approvals_proposal")) == {bad.id: "pending", good.id: "expired"}
    assert proposal_detail(acme.mara.actor, bad.id).status == "expired"


def test_an_altered_one_expires_all_the_same(acme_committed, stand_at, owner_sql):
    held = acme_committed.hold()
    edit_as_owner(owner_sql, "approvals_proposal", "canonical = 'x'", f"id = '{held.id}'")
    stand_at(held.row.expires_at)
    assert proposal_expire_due() == 1


def test_withdrawing_an_overdue_one_gives_the_true_word(acme_committed, stand_at):
    held = acme_committed.hold()
    stand_at(held.row.expires_at)
    with transaction.atomic():
        row = proposal_withdraw(actor=acme_committed.actor, run_id=held.run_id, call_id=held.call_id)
    assert row.status == "expired"
    entries = entries_page(acme_committed.tenant.id, EntryFilters(action="proposal.expired"))
    assert len(entries) == 1
