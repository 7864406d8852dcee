"""runs/store/append.py: one append writes the events, the calls' rows, the rows of work and the hint, or nothing."""

import uuid
from datetime import timedelta

import psycopg
import pytest
from django.db import DatabaseError, connection, transaction

from audit.core.refusal import NotFound
from audit.store import clock
from runs.core.kinds import CallState, RunStatus
from runs.core.kinds import EventKind as K
from runs.core.reducer import IllegalTransition
from runs.core.replay import replay
from runs.models import Call, Checkpoint, Dispatch, Event, Run
from runs.selectors.history import facts, folded
from runs.signals import run_advanced
from runs.store import claims
from runs.store.append import FenceLost, SequenceLost, append, lock_run
from tests.support.histories import (
    SYSTEM,
    add,
    allowed,
    claimed,
    guard_of,
    new_run,
    propose,
    proposed,
    rows,
    started,
    succeeded,
)


@pytest.fixture(autouse=True)
def database(request):
    """A transaction that is rolled back, unless the test says that it commits."""
    return request.getfixturevalue("committed_db" if "committed_db" in request.fixturenames else "db")


def in_a_minute():
    return clock.now() + timedelta(minutes=1)


def test_events_follow_each_other_and_the_head_shows_where_the_run_stands():
    run_id = new_run()
    call = propose(run_id)
    run = Run.objects.get(pk=run_id)
    assert list(Event.objects.filter(run_id=run_id).order_by("seq").values_list("seq", "kind")) == [
        (1, "run_created"),
        (2, "run_admitted"),
        (3, "call_proposed"),
    ]
    assert (run.seq, run.status, run.detail) == (3, RunStatus.RUNNING, "1 being judged")
    assert (call.state, call.version) == ("new", 1)


def test_the_state_computed_while_appending_is_the_one_that_a_replay_gives():
    run_id = new_run()
    propose(run_id)
    appended = add(run_id, allowed())
    assert replay(fact for fact, _ in facts(run_id)) == appended.state
    assert folded(Run.objects.get(pk=run_id)) == appended.state


def test_a_proposed_call_gets_one_row_of_work_to_judge_it():
    run_id = new_run()
    propose(run_id)
    assert rows(run_id) == [("evaluate", "ready")]


def test_an_allowed_call_ends_its_judging_row_and_gets_one_to_send_it():
    run_id = new_run()
    propose(run_id)
    claim = claimed(run_id, "evaluate")
    add(run_id, allowed(), guard=guard_of(claim))
    assert rows(run_id) == [("evaluate", "done"), ("dispatch", "ready")]


def test_a_finished_call_has_its_answer_its_time_and_no_row_left():
    run_id = new_run()
    propose(run_id)
    add(run_id, allowed())
    claim = claimed(run_id, "dispatch")
    started(claim, in_a_minute())
    assert rows(run_id)[-1] == ("dispatch", "started")
    add(run_id, succeeded(claim), guard=guard_of(claim), answers={"call-1": {"outcome": "committed"}})
    call = Call.objects.get(run_id=run_id)
    assert (call.state, call.answer, call.settled_at is not None) == ("succeeded", {"outcome": "committed"}, True)
    assert {status for _, status in rows(run_id)} == {"done"}


def test_a_failure_before_the_effect_becomes_a_timer_and_then_a_new_row():
    run_id = new_run()
    propose(run_id)
    add(run_id, allowed())
    claim = claimed(run_id, "dispatch")
    started(claim, in_a_minute())
    failed = {
        "call_id": "call-1",
        "dispatch_id": str(claim.id),
        "fence": claim.fence,
        "error_class": "connect_refused",
        "code": "CONNECT_FAILED",
        "message": "Nothing was sent.",
        "before_effect": True,
        "retry_at": (clock.now() + timedelta(seconds=30)).isoformat(),
    }
    add(run_id, (K.DISPATCH_FAILED, failed), guard=guard_of(claim))
    assert rows(run_id)[1:] == [("dispatch", "done"), ("timer", "ready")]
    assert claims.claim_next(worker="w", run_id=run_id) is None  # not due yet
    add(run_id, (K.TIMER_DUE, {"call_id": "call-1"}))
    assert ("dispatch", "ready") in rows(run_id)


def test_an_unknown_outcome_gets_a_row_to_look_it_up_and_the_started_one_never_becomes_ready():
    run_id = new_run()
    propose(run_id)
    add(run_id, allowed())
    claim = claimed(run_id, "dispatch")
    started(claim, in_a_minute())
    unknown = {"call_id": "call-1", "dispatch_id": str(claim.id), "reason": "the answer was lost"}
    appended = add(run_id, (K.OUTCOME_UNKNOWN, unknown))
    assert appended.loaded.run.status == RunStatus.NEEDS_RECONCILIATION
    assert rows(run_id)[1:] == [("dispatch", "done"), ("look_up", "ready")]


def test_an_event_that_the_history_does_not_allow_writes_nothing():
    run_id = new_run()
    propose(run_id)
    before = Run.objects.get(pk=run_id).seq
    with pytest.raises(IllegalTransition):
        add(run_id, allowed("a call that nobody proposed"))
    assert Run.objects.get(pk=run_id).seq == before
    assert Event.objects.filter(run_id=run_id).count() == before


def test_an_unknown_run_is_not_found():
    with pytest.raises(NotFound), transaction.atomic():
        lock_run(uuid.uuid4())


def test_what_was_loaded_before_another_append_is_refused():
    run_id = new_run()
    with transaction.atomic():
        stale = lock_run(run_id)
    propose(run_id, "first")
    with pytest.raises(SequenceLost), transaction.atomic():
        append(stale, [(K.USER_STEERED, {"text": "from an old look"})], actor=SYSTEM)


def test_a_worker_whose_fence_was_taken_over_may_append_nothing():
    run_id = new_run()
    propose(run_id)
    old = claimed(run_id, "evaluate", worker="old")
    claims.give_back(old, wait_ms=0, count_attempt=True)
    new = claimed(run_id, "evaluate", worker="new")
    assert new.fence > old.fence
    with pytest.raises(FenceLost):
        add(run_id, allowed(), guard=guard_of(old))
    add(run_id, allowed(), guard=guard_of(new))


def test_a_worker_may_not_append_with_a_fence_of_another_runs_dispatch():
    first, second = new_run(), new_run()
    propose(first)
    propose(second)
    claim = claimed(first, "evaluate")
    with pytest.raises(FenceLost):
        add(second, allowed(), guard=guard_of(claim))


@pytest.mark.parametrize("past_ms", [0, 1])
def test_a_worker_whose_lease_is_over_may_append_nothing(stand_at, committed_db, past_ms):
    run_id = new_run()
    propose(run_id)
    claim = claimed(run_id, "evaluate")
    stand_at(claim.lease_until + timedelta(milliseconds=past_ms))
    with pytest.raises(FenceLost):
        add(run_id, allowed(), guard=guard_of(claim))


def test_a_worker_may_append_until_the_last_millisecond_of_its_lease(stand_at, committed_db):
    run_id = new_run()
    propose(run_id)
    claim = claimed(run_id, "evaluate")
    stand_at(claim.lease_until - timedelta(milliseconds=1))
    assert add(run_id, allowed(), guard=guard_of(claim)).state.calls["call-1"].state is CallState.READY


def test_the_same_order_given_twice_is_one_live_row():
    run_id = new_run()
    propose(run_id)
    add(run_id, (K.PAUSE_ASKED, {}))
    add(run_id, (K.RESUME_ASKED, {}))
    assert rows(run_id) == [("evaluate", "ready")]


def test_a_paused_run_with_nothing_in_flight_is_drained_by_the_same_append():
    run_id = new_run()
    appended = add(run_id, (K.PAUSE_ASKED, {}))
    assert (appended.loaded.run.status, appended.loaded.run.detail) == ("paused", "drained")


def test_cancel_ends_what_was_not_sent_and_its_rows_and_the_run_is_quiet_at_once():
    run_id = new_run()
    for call_id in ("a", "b"):
        propose(run_id, call_id)
    answer = {"error": {"code": "CANCELLED"}}
    appended = add(run_id, (K.CANCEL_ASKED, {}), (K.CANCEL_ACKNOWLEDGED, {}), answers={"a": answer, "b": answer})
    assert appended.loaded.run.status == RunStatus.CANCELLED
    assert {status for _, status in rows(run_id)} == {"done"}
    assert [c.answer for c in Call.objects.filter(run_id=run_id)] == [answer, answer]
    assert Run.objects.get(pk=run_id).finished_at is not None


def test_a_started_call_keeps_a_cancelled_run_cancelling_until_its_answer_comes():
    run_id = new_run()
    propose(run_id)
    add(run_id, allowed())
    claim = claimed(run_id, "dispatch")
    started(claim, in_a_minute())
    appended = add(run_id, (K.CANCEL_ASKED, {}), (K.CANCEL_ACKNOWLEDGED, {}))
    assert appended.loaded.run.status == RunStatus.CANCELLING
    assert rows(run_id)[-1] == ("dispatch", "started")
    appended = add(run_id, succeeded(claim), guard=guard_of(claim))
    assert appended.loaded.run.status == RunStatus.CANCELLED
    assert appended.state.calls["call-1"].state is CallState.SUCCEEDED


def test_a_long_history_is_checkpointed_and_reads_back_the_same_with_and_without():
    run_id = new_run()
    for n in range(60):
        add(run_id, (K.USER_STEERED, {"text": f"{n}"}))
    run = Run.objects.get(pk=run_id)
    assert Checkpoint.objects.filter(run=run).count() >= 1
    assert folded(run) == replay(fact for fact, _ in facts(run_id))


def test_a_checkpoint_that_cannot_be_read_costs_time_and_nothing_else():
    run_id = new_run()
    run = Run.objects.get(pk=run_id)
    Checkpoint.objects.create(run=run, seq=run.seq, reducer_version=1, state={"version": 99}, at=clock.now())
    assert folded(run) == replay(fact for fact, _ in facts(run_id))


def test_a_run_that_waits_is_checkpointed_less_often_than_it_waits():
    """Write volume stays linear: a run of many short waits is not written out whole at each of them."""
    run_id = new_run()
    for _ in range(40):
        add(run_id, (K.PAUSE_ASKED, {}))
        add(run_id, (K.RESUME_ASKED, {}))
    assert Checkpoint.objects.filter(run_id=run_id).count() < 30


def test_the_hint_is_given_after_the_commit_with_numbers_only(committed_db):
    told = []

    def listen(**kwargs):
        told.append((connection.in_atomic_block, {k: v for k, v in kwargs.items() if k not in ("signal", "sender")}))

    run_advanced.connect(listen)
    try:
        run_id = new_run()
        told.clear()
        with transaction.atomic():
            call = propose(run_id)
            assert told == []
    finally:
        run_advanced.disconnect(listen)
    [(in_transaction, said)] = told
    assert not in_transaction
    assert said["run_id"] == run_id
    assert said["seq"] == 3
    assert said["calls"] == [(call.id, 1)]
    assert said["work"] is True


def test_a_listener_that_fails_does_not_make_the_commit_look_failed(committed_db):
    def broken(**kwargs):
        raise RuntimeError("the live side is down")

    run_advanced.connect(broken)
    try:
        run_id = new_run()
        propose(run_id)
    finally:
        run_advanced.disconnect(broken)
    assert Call.objects.filter(run_id=run_id).exists()


def test_what_a_call_asks_for_can_never_be_changed(committed_db, owner_sql):
    call = propose(new_run())
    for column, value in (("canonical", b"other"), ("digest", "e" * 64), ("key", "clr_other"), ("tool", "x")):
        with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
            Call.objects.filter(pk=call.pk).update(**{column: value})
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        owner_sql("UPDATE runs_call SET digest = repeat('e', 64)")


def test_a_dispatch_row_outside_its_words_is_refused_by_the_database():
    run_id = new_run()
    propose(run_id)
    with pytest.raises(DatabaseError), transaction.atomic():
        Dispatch.objects.filter(run_id=run_id).update(status="somewhere")


def test_proposing_a_call_id_again_is_refused_by_the_history():
    run_id = new_run()
    propose(run_id, "same")
    with pytest.raises(IllegalTransition, match="taken"):
        add(run_id, *proposed("same"))
