"""Processes that are told to end: what is started is finished within a bound, the rest is given back at once."""

import json
import signal
import threading
import time

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from runs.models import Dispatch, Event
from tests.api.client import bearer, browser
from tests.support.processes import Between, within

pytestmark = pytest.mark.stack


@pytest.fixture
def between(payments):
    with Between(payments) as proxy:
        yield proxy


def waiting(world, running, order):
    call = world.refund(world.run(), order)
    running.until(lambda: world.look(call).state == "waiting", "the call waits for people")
    return world.look(call)


def ended(running, name, seconds):
    """The exit code; fails when it is not there in time."""
    running.until(lambda: running.running[name].poll() is not None, f"{name} ends", seconds=seconds)
    return running.running[name].returncode


def patient(world, between):
    world.admit("refund_order", lambda document: document.update(timeout_ms=8000), host=between.host)


@pytest.mark.parametrize("kind", ["worker", "sweep"])
def test_told_to_end_while_a_slow_target_works_it_records_the_outcome_and_ends_well(world, running, between, kind):
    patient(world, between)
    getattr(running, kind)()
    order = world.order()
    call = waiting(world, running, order)
    go = threading.Event()
    between.on_refund = lambda visit: go.wait(20)
    world.decide(call)
    running.until(lambda: between.refunds == 1, "the refund is sent")
    told_at = time.monotonic()
    running.running[kind].send_signal(signal.SIGTERM)
    other = world.refund(world.run(), order)
    time.sleep(0.5)
    assert running.running[kind].poll() is None, "it does not leave what it has started"
    go.set()
    assert ended(running, kind, within(20)) == 0
    assert time.monotonic() - told_at < within(20)
    call = world.look(call)
    assert (call.state, world.keys(order)) == ("succeeded", [call.key])
    assert world.look(other).state == "new", "it claims nothing more"


def test_a_target_that_hangs_over_the_bound_leaves_an_unknown_outcome_and_is_never_asked_twice(world, running, between):
    patient(world, between)
    running.worker(CLEARANCE_DRAIN_SECONDS="2")
    order = world.order()
    call = waiting(world, running, order)
    between.before_refund = lambda visit: time.sleep(12)
    world.decide(call)
    running.until(lambda: between.refunds == 1, "the refund is sent")
    told_at = time.monotonic()
    running.running["worker"].send_signal(signal.SIGTERM)
    assert ended(running, "worker", within(7)) == 1
    assert time.monotonic() - told_at < within(7)
    assert world.look(call).state == "started"
    running.worker("second")
    running.sweep()
    running.until(lambda: world.look(call).state in ("unknown", "succeeded"), "it is looked up", seconds=60)
    assert between.refunds == 1
    assert Event.objects.filter(run_id=call.run_id, kind="dispatch_started").count() == 1


def test_what_is_claimed_and_not_started_is_given_back_at_once_and_done_by_another(world, running, between):
    """Told while it reads the target's state before the dispatch."""
    patient(world, between)
    running.worker()
    order = world.order()
    call = waiting(world, running, order)
    reading, go = threading.Event(), threading.Event()

    def hang(visit):
        reading.set()
        go.wait(20)

    between.on_read = hang
    world.decide(call)
    assert reading.wait(within(20))
    rows = Dispatch.objects.filter(call_id=call.id, kind="dispatch")
    assert rows.get().status == "claimed"
    running.running["worker"].send_signal(signal.SIGTERM)
    running.until(lambda: rows.get().status == "ready", "the row is given back", seconds=within(5))
    assert (rows.get().attempts, running.running["worker"].poll()) == (0, None)
    between.on_read = lambda visit: None
    running.worker("second")
    running.sweep()
    running.until(lambda: world.look(call).final, "another one does it", seconds=60)
    go.set()
    assert ended(running, "worker", within(20)) == 0
    call = world.look(call)
    assert (call.state, world.keys(order)) == ("succeeded", [call.key])
    assert Event.objects.filter(run_id=call.run_id, kind="dispatch_started").count() == 1


def test_the_web_server_answers_long_polls_and_closes_sockets(world, running):
    process = running.web()
    call = world.refund(world.run(), world.order())
    token = world.agent.token(on_behalf_of=world.asker.user_id)
    got = []

    def poll():
        address = f"{running.base_url}/api/v1/runs/{call.run_id}/calls/{call.call_id}?wait=55"
        got.append((httpx.get(address, headers=bearer(token), timeout=90, trust_env=False), time.monotonic()))

    waiter = threading.Thread(target=poll, daemon=True)
    waiter.start()
    cookie = browser(world.reviewer).cookies["sessionid"].value
    headers = {"Cookie": f"sessionid={cookie}"}
    origin = running.base_url
    with connect(f"ws{origin[4:]}/ws/runs/{call.run_id}/", additional_headers=headers, origin=origin) as socket:
        socket.send(json.dumps({"after": 0}))
        assert "run-head" in socket.recv(timeout=within(20))
        time.sleep(1)  # the long-poll is at its wait by now, or will be answered as it comes
        told_at = time.monotonic()
        process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                socket.recv(timeout=within(20))
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code in (1001, 1012)
    waiter.join(90)
    [(answer, answered_at)] = got
    assert answer.status_code == 202
    assert answered_at - told_at < 40, "it did not wait for its own end"
    ended(running, "web", within(20))
