"""runs/services/sweep.py and `manage.py sweep`: what was left behind is found and finished."""

import logging
import threading
import time
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connections, transaction

from approvals.selectors.proposals import proposal_detail
from approvals.services.proposal import proposal_refresh_ask
from audit.store import clock
from runs.core.kinds import RunStatus
from runs.management.commands.sweep import Chore, Sweep
from runs.models import Dispatch
from runs.services import sweep
from runs.services.patience import Patience
from runs.services.sweep import sweep_expired_leases, sweep_ready, sweep_refresh, sweep_wishes
from runs.signals import work_waits
from runs.store import claims
from runs.store.append import lock_run
from tests.support.histories import claimed
from tests.support.world import kinds, live_rows


def later(stand_at, seconds):
    stand_at(clock.now() + timedelta(seconds=seconds))


def test_a_claim_of_a_dead_worker_is_ready_again_after_its_lease(world, stand_at):
    run = world.run()
    call = world.refund(run, world.order())
    claim = claimed(run.id, "evaluate", worker="dead")
    assert sweep_expired_leases() == 0
    stand_at(claim.lease_until)
    assert sweep_expired_leases() == 1
    assert live_rows(call) == [("evaluate", "ready")]
    stand_at(None)


def test_the_last_attempt_of_a_dead_worker_ends_the_call(world, stand_at):
    run = world.run()
    call = world.refund(run, world.order())
    Dispatch.objects.update(max_attempts=1)
    stand_at(claimed(run.id, "evaluate").lease_until)
    assert sweep_expired_leases() == 1
    call = world.look(call)
    error = call.answer["error"]
    assert (call.state, error["code"], error["outcome"]) == ("refused", "ATTEMPTS_EXHAUSTED", "none")
    assert live_rows(call) == [("evaluate", "dead")]


def test_the_last_attempt_at_an_approved_call_closes_its_proposal_too(world, stand_at):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    from runs.services.resolution import resolutions_consume

    resolutions_consume()
    Dispatch.objects.filter(kind="dispatch").update(max_attempts=1)
    stand_at(claimed(call.run_id, "dispatch").lease_until)
    assert sweep_expired_leases() == 1
    assert world.look(call).state == "refused"
    assert proposal_detail(world.reviewer.actor, call.proposal_id).status == "refused"


def test_two_sweeps_take_a_row_over_once(world, stand_at, race):
    run = world.run()
    call = world.refund(run, world.order())
    stand_at(claimed(run.id, "evaluate").lease_until)
    assert sum(race(lambda _: sweep_expired_leases(), 10)) == 1
    assert Dispatch.objects.get(call_id=call.id).attempts == 1


def test_a_run_that_waits_for_people_is_never_reaped(world, stand_at):
    """S38."""
    call = world.held()
    stand_at(clock.now() + timedelta(seconds=800))
    assert sweep_expired_leases() == 0
    assert sweep_ready() == []
    assert world.look(call).state == "waiting"


def test_a_head_that_a_frozen_process_holds_does_not_hold_the_sweep(world, stand_at):
    """S37: it is taken over when the server has ended that transaction."""
    frozen, free = world.run(), world.run()
    calls = [world.refund(run, world.order()) for run in (frozen, free)]
    leases = [claimed(run.id, "evaluate").lease_until for run in (frozen, free)]
    stand_at(max(leases))
    locked, done = threading.Event(), threading.Event()

    def freeze():
        try:
            with transaction.atomic():
                lock_run(frozen.id)
                locked.set()
                done.wait(20)
        except Exception:
            ended.append(True)
        finally:
            connections.close_all()

    ended = []
    thread = threading.Thread(target=freeze)
    thread.start()
    assert locked.wait(5)
    began = time.monotonic()
    assert sweep_expired_leases() == 1
    assert time.monotonic() - began < 1
    assert [live_rows(call)[0][1] for call in calls] == ["claimed", "ready"]
    time.sleep(5.5)  # idle_in_transaction_session_timeout of the application's connections
    assert sweep_expired_leases() == 1
    done.set()
    thread.join(10)
    assert ended == [True]


def test_a_damaged_run_with_a_leased_row_is_told_ever_more_seldom_and_keeps_no_other_waiting(
    world, stand_at, owner_sql, caplog, monkeypatch
):
    now = [0.0]
    monkeypatch.setattr(sweep, "_damaged", Patience(lambda: now[0]))
    damaged, sound = world.run(), world.run()
    for run in (damaged, sound):
        world.refund(run, world.order())
    first = claimed(damaged.id, "evaluate")
    stand_at(claimed(sound.id, "evaluate").lease_until)
    owner_sql("UPDATE runs_run SET seq = seq + 5 WHERE id = %s", [damaged.id])
    told = []
    for second in range(16):
        now[0] = float(second)
        caplog.clear()
        # One row at a time: the damaged one is the oldest, and the sound one's turn comes all the same.
        sweep_expired_leases(limit=1)
        if [record for record in caplog.records if str(first.id) in record.getMessage()]:
            told.append(second)
    assert told == [0, 1, 3, 7, 15]
    assert Dispatch.objects.get(run_id=sound.id).status == "ready"
    owner_sql("ALTER TABLE runs_run DISABLE TRIGGER USER")
    owner_sql("UPDATE runs_run SET seq = seq - 5 WHERE id = %s", [damaged.id])
    now[0] = 31.0
    assert sweep_expired_leases() == 1


def test_rows_that_wait_are_told_of_again_and_done_here_only_when_nobody_comes(world, stand_at):
    told = []

    def told_to_workers(*, run_id, **_):
        told.append(run_id)
        return True

    run = world.run()
    world.refund(run, world.order())
    work_waits.connect(told_to_workers)
    try:
        assert sweep_ready() == []
        later(stand_at, 1)
        assert sweep_ready() == []
        assert told == [run.id]
        later(stand_at, 3)
        assert sweep_ready() == [run.id]
    finally:
        work_waits.disconnect(told_to_workers)


def test_rows_of_which_nobody_could_be_told_are_done_here_at_once(world, stand_at, monkeypatch):
    from runs.live import hints

    run = world.run()
    world.refund(run, world.order())
    later(stand_at, 1)
    # Of its own: the process's may still send what an earlier test said, and would find that it gets through.
    silent = hints.Hints()
    silent._failed_at = time.monotonic()
    monkeypatch.setattr(hints, "wake", silent.wake)
    assert sweep_ready() == [run.id]


def test_one_turn_of_the_command_expires_consumes_and_works(world, stand_at, owner_sql):
    order = world.order()
    decided, late = world.held(order), world.held()
    now = clock.now()
    stand_at(now)
    world.decide(decided)
    owner_sql("UPDATE approvals_proposal SET expires_at = clearance_now() WHERE id = %s", [late.proposal_id])
    stand_at(now + timedelta(seconds=0.2))
    call_command("sweep", "--once")
    assert world.look(decided).state == "waiting"  # a worker may still be on its way to it
    for turn in (1, 2):
        stand_at(now + timedelta(seconds=turn))
        call_command("sweep", "--once")
    assert world.look(late).state == "expired"
    assert (world.look(decided).state, world.keys(order)) == ("succeeded", [decided.key])


def test_one_failing_chore_is_told_in_words_and_stops_no_other(caplog):
    done = []

    def broken():
        raise RuntimeError("the disk is gone")

    sweep = Sweep()
    sweep.chores = [Chore("count the stars", 0, broken), Chore("do the rest", 0, lambda: done.append(1))]
    with caplog.at_level(logging.INFO):
        sweep.run(once=True)
        sweep.chores[0].turn()
    assert done == [1]
    assert caplog.text.count("could not count the stars (RuntimeError)") == 1  # not again every second
    caplog.clear()
    sweep.chores[0].do = lambda: None
    with caplog.at_level(logging.INFO):
        sweep.chores[0].turn()
    assert "can count the stars again" in caplog.text


def test_a_chore_is_done_when_it_is_due_and_not_before():
    done = []
    chore = Chore("wait", 0.2, lambda: done.append(1))
    chore.turn()
    chore.turn()
    assert done == [1]
    time.sleep(0.25)
    chore.turn()
    assert done == [1, 1]


def test_the_state_that_somebody_looks_at_is_read_anew(world, stand_at, owner_sql):
    order = world.order(18_900)
    call = world.held(order)
    world.stripe.refund(world.orders[order]["charge"], 1_000)
    later(stand_at, 10)
    assert proposal_refresh_ask(actor=world.reviewer.actor, proposal_id=call.proposal_id)
    [wish] = sweep_wishes()
    assert sweep_refresh(wish=wish)
    assert sweep_wishes() == []
    assert owner_sql("SELECT count(*) FROM approvals_proposal WHERE refresh_asked_at IS NOT NULL") == [(0,)]


def test_a_target_that_does_not_answer_ends_the_wish_and_changes_nothing_else(world, stand_at):
    call = world.held()
    world.admit("get_order")
    later(stand_at, 10)
    proposal_refresh_ask(actor=world.reviewer.actor, proposal_id=call.proposal_id)
    [wish] = sweep_wishes()
    world.stripe.stop()
    try:
        assert not sweep_refresh(wish=wish)
    finally:
        world.stripe.start()
    assert sweep_wishes() == []
    assert world.look(call).state == "waiting"


def test_a_started_call_whose_worker_died_needs_reconciliation(world, stand_at):
    from runs.services.dispatch import dispatch_read_state
    from runs.services.resolution import resolutions_consume
    from runs.services.sending import _start
    from runs.services.work import Job, Work

    order = world.order()
    call = world.held(order)
    world.decide(call)
    resolutions_consume()
    claim = claimed(call.run_id, "dispatch")
    work = Work.verified(Job.of(claim))
    assert _start(work, dispatch_read_state(work=work), since=claim.claimed_at) is not None
    stand_at(Dispatch.objects.get(pk=claim.id).lease_until)
    assert sweep_expired_leases() == 1
    call = world.look(call)
    assert (call.state, call.answer["outcome"], call.answer["retry_safe"]) == ("unknown", "unknown", False)
    assert world.head(call).status == RunStatus.NEEDS_RECONCILIATION
    assert proposal_detail(world.reviewer.actor, call.proposal_id).afterwards.outcome == "unknown"
    assert kinds(call.run_id)[-1] == "outcome_unknown"
    assert live_rows(call) == [("look_up", "ready")]


def test_a_started_reads_dead_worker_is_simply_replaced(world, stand_at):
    """A read has no effect in doubt: its contract's retry class says *safe*."""
    from runs.services.dispatch import dispatch_read_state
    from runs.services.evaluate import evaluate_call
    from runs.services.sending import _start
    from runs.services.work import Job, Work

    order, run = world.order(), world.run()
    call = world.submit(run, "get_order", {"order_id": order})
    evaluate_call(claim=claimed(run.id, "evaluate"))
    claim = claimed(run.id, "dispatch")
    work = Work.verified(Job.of(claim))
    _start(work, dispatch_read_state(work=work), since=claim.claimed_at)
    stand_at(Dispatch.objects.get(pk=claim.id).lease_until)
    assert sweep_expired_leases() == 1
    assert live_rows(call) == [("timer", "ready")]
    later(stand_at, 2)
    world.work(run)
    assert world.look(call).state == "succeeded"


@pytest.mark.parametrize("kind", ["evaluate", "dispatch"])
def test_a_fault_of_ours_counts_an_attempt_and_ends_the_call_at_the_limit(world, owner_sql, kind):
    """Every worker fails at this call: the reference table's folder is unreadable to us in a way nobody foresaw."""
    from runs.services.wake import wake_claimed

    order = world.order()
    call = world.held(order) if kind == "dispatch" else world.refund(world.run(), order)
    if kind == "dispatch":
        world.decide(call)
        from runs.services.resolution import resolutions_consume

        resolutions_consume()
    # An action that our own code writes and cannot write now: an error that no boundary turns into a refusal.
    from tests.support.world import break_audit, mend_audit

    break_audit(owner_sql, {"evaluate": "proposal.held", "dispatch": "call.started"}[kind])
    row = Dispatch.objects.get(call_id=call.id, kind=kind)
    for attempt in range(1, row.max_attempts):
        Dispatch.objects.filter(pk=row.pk).update(not_before=clock.now())
        wake_claimed(claim=claimed(call.run_id, kind))
        row.refresh_from_db()
        assert (row.status, row.attempts) == ("ready", attempt)
        assert "log is full" in row.last_error
    Dispatch.objects.filter(pk=row.pk).update(not_before=clock.now())
    wake_claimed(claim=claimed(call.run_id, kind))
    call = world.look(call)
    assert (call.state, call.answer["error"]["code"]) == ("refused", "ATTEMPTS_EXHAUSTED")
    assert world.refunds(order) == []
    mend_audit(owner_sql)
    assert claims.claim_next(worker="w", run_id=call.run_id) is None
