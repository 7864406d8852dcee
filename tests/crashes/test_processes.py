"""Real workers and sweeps, killed and stopped at the worst moments, in front of a payment server that forgets nothing.

The server ignores idempotency keys: a doubled refund shows. The harm is done by a proxy in front of it (`Between`), so
nothing of the product is replaced.
"""

import os
import signal
import time
from datetime import timedelta

import pytest
from django.db import connections

from audit.store import clock
from runs.core.kinds import RunStatus
from runs.live import hints
from runs.models import Dispatch
from runs.services.sweep import sweep_expired_leases
from runs.store import claims
from tests.support.broker import freeze, kill, thaw
from tests.support.processes import Between, in_transactions, within

pytestmark = pytest.mark.stack


@pytest.fixture
def between(payments):
    with Between(payments) as proxy:
        yield proxy


def patient(world, between):
    """The refund tool at the proxy, with a time limit that a busy machine does not reach by itself: what happens in
    these tests shall happen because of the harm that is done."""
    world.admit("refund_order", lambda document: document.update(timeout_ms=3000), host=between.host)


def settled(world, running, call, *, seconds=45.0):
    return running.until(lambda: world.look(call).final and world.look(call), f"{call.call_id} ends", seconds=seconds)


def waiting(world, running, run, order, **kwargs):
    """A refund that a real worker has judged as to be held."""
    call = world.refund(run, order, **kwargs)
    running.until(lambda: world.look(call).state == "waiting", "the call waits for people")
    return world.look(call)


def test_a_worker_told_by_hints_alone_carries_a_refund_from_the_request_to_the_receipt(world, running):
    running.worker()
    order = world.order()
    call = waiting(world, running, world.run(), order)
    began = time.monotonic()
    world.decide(call)
    call = settled(world, running, call)
    assert time.monotonic() - began < within(2)
    assert (call.state, world.keys(order)) == ("succeeded", [call.key])


def test_killed_after_the_request_was_lost_the_run_needs_people_and_nothing_is_repeated(world, running, between):
    """The worker dies and the target never did it: no machine sends again."""
    patient(world, between)
    worker = running.worker()
    order = world.order()
    call = waiting(world, running, world.run(), order)

    def die(visit):
        os.kill(worker.pid, signal.SIGKILL)
        raise OSError("the request never arrives")

    between.before_refund = die
    world.decide(call)
    running.until(lambda: between.refunds == 1, "the refund is sent")
    running.end("worker")
    running.worker("second")
    running.sweep()
    running.until(
        lambda: Dispatch.objects.filter(kind="look_up", status="done").exists(), "the look-up has proven what it can"
    )
    assert world.look(call).state == "unknown"
    assert world.head(call).status == RunStatus.NEEDS_RECONCILIATION
    assert (world.refunds(order), between.refunds) == ([], 1)


def test_killed_before_anything_was_sent_it_is_done_by_the_next_worker_of_the_same_name(world, running, between):
    """S10: killed while it read the target's state for the dispatch. S39: reclaimed within its lease and two seconds,
    though a worker of the same name on the same host is there."""
    patient(world, between)
    worker = running.worker()
    order = world.order()
    call = waiting(world, running, world.run(), order)
    between.on_read = lambda visit: os.kill(worker.pid, signal.SIGKILL)
    world.decide(call)
    running.running["worker"].wait(10)
    between.on_read = lambda visit: None
    assert world.look(call).state == "ready"
    [lease_until] = Dispatch.objects.filter(call_id=call.id, kind="dispatch").values_list("lease_until", flat=True)
    running.end("worker")
    running.sweep()
    running.worker("worker")
    call = settled(world, running, call)
    assert (call.state, world.keys(order)) == ("succeeded", [call.key])
    [started_at] = Dispatch.objects.filter(call_id=call.id, kind="dispatch").values_list("started_at", flat=True)
    assert timedelta(0) < started_at - lease_until < timedelta(seconds=within(2))


def test_a_step_that_kills_each_of_its_workers_stops_at_its_limit(world, running, between):
    """S35. That a lease runs out by itself is shown above; here it is over at once."""
    patient(world, between)
    order, run = world.order(), world.run()
    call = world.refund(run, order)
    Dispatch.objects.update(max_attempts=2)
    names = []
    between.on_read = lambda visit: os.kill(running.running[names[-1]].pid, signal.SIGKILL)
    for number in range(2):
        names.append(f"worker{number}")
        running.worker(names[-1])
        hints.wake(run.id)
        running.running[names[-1]].wait(20)
        Dispatch.objects.filter(call_id=call.id, status="claimed").update(lease_until=clock.now())
        running.until(sweep_expired_leases, "its lease is over")
    running.worker("last")
    hints.wake(run.id)
    call = settled(world, running, call)
    assert (call.state, call.answer["error"]["code"]) == ("refused", "ATTEMPTS_EXHAUSTED")
    row = Dispatch.objects.get(call_id=call.id)
    assert (row.status, row.attempts, between.reads) == ("dead", 2, 2)


def test_a_lost_hint_costs_two_seconds(world, running):
    """S42: killed between commit and publish; here the hint is simply never handed over."""
    order = world.order()
    call = world.held(order)
    running.worker()
    running.sweep()
    time.sleep(1.5)
    hints._hints._failed_at = time.monotonic() + 60  # nothing of this process is sent
    try:
        began = time.monotonic()
        world.decide(call)
        call = settled(world, running, call)
        took = time.monotonic() - began
    finally:
        hints._hints._failed_at = None
    assert took < within(2)
    assert world.keys(order) == [call.key]


@pytest.mark.parametrize("harm", [kill, freeze])
def test_with_the_broker_gone_the_sweep_does_the_work_itself(world, running, harm):
    """S36: slower, not lost, not refused."""
    order = world.order()
    call = world.held(order)
    running.sweep()
    time.sleep(1.5)
    harm(running.valkey)
    began = time.monotonic()
    world.decide(call)
    assert time.monotonic() - began < within(1)  # nothing in the request waits for the broker
    call = settled(world, running, call)
    assert time.monotonic() - began < within(2)
    assert world.keys(order) == [call.key]
    if harm is freeze:
        thaw(running.valkey)


def test_without_any_worker_the_sweep_does_the_work_itself(world, running):
    running.sweep()
    order, run = world.order(), world.run()
    call = world.submit(run, "get_order", {"order_id": order})
    assert settled(world, running, call).state == "succeeded"


def test_one_message_delivered_five_times_and_one_effect(world, running):
    """S33."""
    running.worker("one")
    running.worker("two")
    order = world.order()
    call = waiting(world, running, world.run(), order)
    world.decide(call)
    for _ in range(5):
        hints.wake(call.run_id)
    call = settled(world, running, call)
    time.sleep(0.5)
    assert world.keys(order) == [call.key]


def test_two_workers_and_a_sweep_finish_thirty_runs_over_a_restart_of_the_broker(world, running):
    """S34."""
    running.worker("one")
    running.worker("two")
    running.sweep()
    orders = [world.order(1_000) for _ in range(30)]
    calls = []
    for number, order in enumerate(orders):
        run = world.run()
        calls.append(world.submit(run, "get_order", {"order_id": order}))
        if number == 10:
            kill(running.valkey)
        if number == 20:
            running.valkey.restart()
    states = {settled(world, running, call, seconds=60).state for call in calls}
    assert states == {"succeeded"}
    assert claims.claim_next(worker="nobody") is None


def test_a_worker_gives_its_connections_back(world, running):
    running.worker(threads=4)
    order, run = world.order(), world.run()
    calls = [world.submit(run, "get_order", {"order_id": order}) for _ in range(12)]
    for call in calls:
        settled(world, running, call)
    connections.close_all()
    assert running.until(lambda: in_transactions() == 0, "nobody stands in a transaction")
