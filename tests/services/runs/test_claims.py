"""runs/store/claims.py: one holder of a row, by fence and lease."""

from datetime import timedelta

import pytest

from audit.store import clock
from runs.models import Dispatch
from runs.store import claims
from tests.support.histories import add, allowed, claimed, new_run, propose, started


@pytest.fixture(autouse=True)
def database(request):
    """A transaction that is rolled back, unless the test says that it commits."""
    return request.getfixturevalue("committed_db" if "committed_db" in request.fixturenames else "db")


@pytest.fixture
def run_id():
    run_id = new_run()
    propose(run_id)
    return run_id


def row_of(claim):
    return Dispatch.objects.get(pk=claim.id)


def test_a_claim_has_a_fence_a_lease_and_counts_an_attempt(run_id):
    claim = claimed(run_id, "evaluate", worker="w1", lease_ms=5000)
    row = row_of(claim)
    assert (row.status, row.worker, row.fence, row.attempts) == ("claimed", "w1", claim.fence, 1)
    assert claim.lease_until - claim.claimed_at == timedelta(seconds=5)
    assert row.lease_until == claim.lease_until


def test_a_claimed_row_is_not_claimed_again(run_id):
    claimed(run_id, "evaluate")
    assert claims.claim_next(worker="w2", run_id=run_id) is None
    assert claims.claim_next(worker="w2") is None


def test_each_claim_gets_a_higher_fence(run_id):
    fences = []
    for _ in range(3):
        claim = claimed(run_id, "evaluate")
        fences.append(claim.fence)
        assert claims.give_back(claim, wait_ms=0, count_attempt=False)
    assert fences == sorted(set(fences))


def test_only_the_kinds_and_the_run_asked_for_are_claimed(run_id):
    other = new_run()
    propose(other)
    assert claims.claim_next(worker="w", run_id=run_id, kinds=["dispatch"]) is None
    claim = claims.claim_next(worker="w", run_id=other)
    assert claim is not None
    assert claim.run_id == other


def test_the_row_that_has_waited_longest_is_claimed_first(run_id):
    younger = new_run()
    propose(younger)
    assert claims.claim_next(worker="w").run_id == run_id


def test_a_row_is_not_claimed_before_its_time(committed_db, stand_at):
    run_id = new_run()
    propose(run_id)
    assert claims.give_back(claimed(run_id, "evaluate"), wait_ms=1000, count_attempt=True)
    due = Dispatch.objects.get(run_id=run_id).not_before
    stand_at(due - timedelta(milliseconds=1))
    assert claims.claim_next(worker="w", run_id=run_id) is None
    stand_at(due)
    assert claims.claim_next(worker="w", run_id=run_id) is not None


def test_a_row_given_back_untried_does_not_count_the_attempt(run_id):
    claim = claimed(run_id, "evaluate")
    assert claims.give_back(claim, wait_ms=0, count_attempt=False)
    assert row_of(claim).attempts == 0
    claim = claimed(run_id, "evaluate")
    assert claims.give_back(claim, wait_ms=0, count_attempt=True, error="the target was away")
    assert (row_of(claim).attempts, row_of(claim).last_error) == (1, "the target was away")


def test_nobody_but_the_holder_changes_a_claimed_row(run_id):
    old = claimed(run_id, "evaluate", worker="old")
    claims.give_back(old, wait_ms=0, count_attempt=True)
    new = claimed(run_id, "evaluate", worker="new")
    later = clock.now() + timedelta(minutes=1)
    assert not claims.give_back(old, wait_ms=0, count_attempt=True)
    assert not claims.close(old)
    assert not claims.extend(old, lease_until=later)
    assert not claims.mark_started(old, started_at=later, request_deadline=later, lease_until=later)
    assert (row_of(new).status, row_of(new).worker) == ("claimed", "new")


def test_a_lease_that_is_over_cannot_be_extended(committed_db, stand_at):
    run_id = new_run()
    propose(run_id)
    claim = claimed(run_id, "evaluate")
    stand_at(claim.lease_until)
    assert not claims.extend(claim, lease_until=claim.lease_until + timedelta(minutes=1))
    stand_at(claim.lease_until - timedelta(milliseconds=1))
    assert claims.extend(claim, lease_until=claim.lease_until + timedelta(minutes=1))


def test_a_row_closed_dead_says_why(run_id):
    claim = claimed(run_id, "evaluate")
    assert claims.close(claim, dead=True, error="tried five times")
    row = row_of(claim)
    assert (row.status, row.last_error, row.lease_until) == ("dead", "tried five times", None)
    assert row.finished_at is not None


def test_only_rows_whose_lease_is_over_are_found_expired(committed_db, stand_at):
    run_id = new_run()
    propose(run_id)
    claim = claimed(run_id, "evaluate")
    stand_at(claim.lease_until - timedelta(milliseconds=1))
    assert claims.expired(limit=10) == []
    stand_at(claim.lease_until)
    [row] = claims.expired(limit=10)
    assert (row.id, row.fence, row.status) == (claim.id, claim.fence, "claimed")


def test_a_dead_workers_claim_is_ready_again_and_its_attempts_are_counted_out(committed_db, stand_at):
    run_id = new_run()
    propose(run_id)
    Dispatch.objects.update(max_attempts=2)
    for attempt, status in ((1, "ready"), (2, "dead")):
        claim = claimed(run_id, "evaluate")
        stand_at(claim.lease_until)
        [row] = claims.expired(limit=10)
        assert row.attempts == attempt
        assert claims.take_from_dead_worker(row)
        assert row_of(claim).status == status


def test_a_worker_that_finished_meanwhile_keeps_its_result(committed_db, stand_at):
    """The sweep stalled between reading and writing (S38)."""
    run_id = new_run()
    propose(run_id)
    claim = claimed(run_id, "evaluate")
    stand_at(claim.lease_until)
    [row] = claims.expired(limit=10)
    stand_at(claim.lease_until - timedelta(milliseconds=1))
    add(run_id, allowed())
    stand_at(claim.lease_until + timedelta(seconds=1))
    assert not claims.is_still_expired(row)
    assert not claims.take_from_dead_worker(row)
    assert row_of(claim).status == "done"


def test_a_started_row_is_never_made_ready_again(run_id):
    add(run_id, allowed())
    claim = claimed(run_id, "dispatch")
    started(claim, clock.now() + timedelta(minutes=1))
    assert not claims.give_back(claim, wait_ms=0, count_attempt=True)
    identity = (claim.id, run_id, claim.call_pk, "dispatch", "started", claim.fence)
    row = claims.Expired(*identity, 1, 5, "w1", claim.lease_until)
    with pytest.raises(ValueError, match="claimed"):
        claims.take_from_dead_worker(row)
    assert row_of(claim).status == "started"


def test_the_last_look_shows_the_row_and_the_databases_time(run_id):
    add(run_id, allowed())
    claim = claimed(run_id, "dispatch")
    deadline = clock.now() + timedelta(minutes=1)
    started(claim, deadline)
    seen = claims.look(claim.id)
    assert (seen.status, seen.fence, seen.request_deadline) == ("started", claim.fence, deadline)
    assert clock.now() - seen.now < timedelta(seconds=10)


def test_runs_that_wait_are_listed_once_with_how_long_they_have(committed_db, stand_at):
    run_id = new_run()
    propose(run_id, "a")
    propose(run_id, "b")
    assert claims.waiting(older_than_s=1.0, limit=10) == []
    stand_at(clock.now() + timedelta(seconds=5))
    [waiting] = claims.waiting(older_than_s=1.0, limit=10)
    assert waiting.run_id == run_id
    assert 4.5 < waiting.age_s < 6


def test_a_row_that_was_put_off_is_listed_the_moment_it_is_due(committed_db, stand_at):
    """Nobody was told when that moment came, so it is not the lost hint's grace that it waits for."""
    run_id = new_run()
    propose(run_id)
    claims.give_back(claimed(run_id, "evaluate"), wait_ms=2000, count_attempt=True)
    due = Dispatch.objects.get(run_id=run_id).not_before
    stand_at(due - timedelta(milliseconds=1))
    assert claims.waiting(older_than_s=1.0, limit=10) == []
    stand_at(due)
    assert [waiting.run_id for waiting in claims.waiting(older_than_s=1.0, limit=10)] == [run_id]


def test_a_workers_identity_is_random_and_not_its_host():
    import socket

    assert socket.gethostname() not in claims.boot_id()
    assert len(claims.boot_id()) == 32
