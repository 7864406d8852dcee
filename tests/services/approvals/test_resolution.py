"""approvals/services/resolution.py: the outbox that runs consume."""

from uuid import uuid4

import pytest
from django.db import transaction

from approvals.services.proposal import proposal_expire_due, proposal_withdraw
from approvals.services.resolution import resolution_consume, resolutions_open


def test_an_open_row_is_consumed_once(acme):
    held = acme.hold()
    acme.decide(held)
    [row] = resolutions_open(limit=10)
    assert resolution_consume(resolution_id=row.id) == row
    assert resolution_consume(resolution_id=row.id) is None
    assert resolutions_open(limit=10) == []


def test_a_row_that_does_not_exist_is_nobodys(acme):
    assert resolution_consume(resolution_id=0) is None


def test_rows_come_oldest_first_and_of_one_run_if_asked(acme):
    first, second = acme.hold(100), acme.hold(200)
    acme.decide(second)
    acme.decide(first)
    assert [row.call_id for row in resolutions_open()] == [second.call_id, first.call_id]
    assert [row.call_id for row in resolutions_open(run_id=first.run_id)] == [first.call_id]
    assert [row.call_id for row in resolutions_open(limit=1)] == [second.call_id]


def test_a_consumption_that_rolls_back_leaves_the_row_open(acme_committed):
    held = acme_committed.hold()
    acme_committed.decide(held)
    [row] = resolutions_open()
    with pytest.raises(RuntimeError), transaction.atomic():
        resolution_consume(resolution_id=row.id)
        raise RuntimeError("the run could not append its event")
    assert resolutions_open() == [row]


def test_a_grant_that_was_taken_up_stays_what_it_was(acme):
    held = acme.hold()
    acme.decide(held)
    [row] = resolutions_open()
    resolution_consume(resolution_id=row.id)
    proposal_withdraw(actor=acme.actor, run_id=held.run_id, call_id=held.call_id)
    assert resolutions_open() == []


def test_three_ends_of_three_calls_are_exactly_those(acme_committed, stand_at):
    """S9: approve, reject and let expire, in one run."""
    acme, run_id = acme_committed, uuid4()
    approved, rejected, forgotten = (acme.hold(amount, run_id=run_id) for amount in (100, 200, 300))
    acme.decide(approved)
    acme.decide(rejected, "reject")
    for row in resolutions_open(run_id=run_id)[:1]:
        with transaction.atomic():
            resolution_consume(resolution_id=row.id)
            acme.redeem(approved)
    stand_at(forgotten.row.expires_at)
    proposal_expire_due()
    assert {row.call_id: row.kind for row in resolutions_open(run_id=run_id)} == {
        rejected.call_id: "rejected",
        forgotten.call_id: "expired",
    }


def test_only_rows_whose_hint_is_lost_are_found_when_asked_for(acme_committed, stand_at):
    held = acme_committed.hold()
    acme_committed.decide(held)
    assert resolutions_open(older_than_s=5) == []
    stand_at(held.row.expires_at)
    assert [row.call_id for row in resolutions_open(older_than_s=5)] == [held.call_id]
