"""The broker goes away, the web server dies before it says anything, a clock is wrong. Real processes.

S34, S36, S42, S82 and R7: a decision that was answered is never lost, nothing is done twice, everything comes to its
end.
"""

import os
import signal
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from audit.store import clock
from runs.models import Dispatch, Event, Run
from sdk.clearance_client import ClearanceError, Client
from tests.support.broker import freeze, kill, thaw
from tests.support.processes import within
from tests.support.sessions import signed_in
from tests.support.world import kinds

pytestmark = pytest.mark.stack


def patient(world, timeout_ms=2000):
    for name in ("get_order", "refund_order"):
        world.admit(name, lambda document: document.update(timeout_ms=timeout_ms))


def settled(world, running, call, *, seconds=60.0):
    return running.until(lambda: world.look(call).final and world.look(call), f"{call.call_id} ends", seconds=seconds)


# -- Valkey -----------------------------------------------------------------------------------------------------------

BROKEN = {
    "killed and started again": (kill, lambda valkey: valkey.restart()),
    "frozen and thawed": (freeze, thaw),
}


@pytest.mark.parametrize("how", BROKEN)
def test_the_broker_goes_and_comes_back_while_refunds_are_approved(world, running, how):
    """S34, S36."""
    patient(world)
    harm, heal = BROKEN[how]
    running.worker("one")
    running.sweep()
    orders = [world.order() for _ in range(9)]
    calls = [world.held(order) for order in orders]
    for number, call in enumerate(calls):
        if number == 3:
            harm(running.valkey)
        if number == 6:
            # Those decided meanwhile are carried out while the broker is away.
            for earlier in calls[3:6]:
                assert settled(world, running, earlier).state == "succeeded"
            heal(running.valkey)
        began = time.monotonic()
        world.decide(call)
        assert time.monotonic() - began < within(1)
    for order, call in zip(orders, calls, strict=True):
        assert settled(world, running, call).state == "succeeded"
        assert world.keys(order) == [call.key]


# -- between COMMIT and publish ---------------------------------------------------------------------------------------


def elsewhere(do):
    """Do it in a thread; nobody answers it."""

    def quietly():
        with suppress(httpx.HTTPError, ClearanceError):
            do()

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    return thread


def test_the_web_server_dies_between_the_commit_of_a_call_and_its_hint(world, running):
    """S42: what the agent asked for is there, and is judged by the sweep's second look."""
    running.web(staged=True)
    agent = Client(
        running.base_url,
        client_id=world.agent.client_id,
        client_secret=world.agent.secret,
        on_behalf_of=world.asker.user_id,
    )
    run, order = agent.open_run("Refund a customer"), world.order()
    arguments = {"order_id": order, "amount": 4_500, "currency": "AUD"}
    running.stage("web").arm("before_publish")
    asking = elsewhere(lambda: agent.call(run["id"], "step-1", "refund_order", arguments))
    told = running.arrived("web", "before_publish")
    assert told["run"] == run["id"]
    assert kinds(run["id"])[-1] == "call_proposed"
    assert list(Dispatch.objects.values_list("kind", "status")) == [("evaluate", "ready")]
    running.end("web")
    asking.join(30)
    began = time.monotonic()
    running.sweep()
    running.worker()
    running.until(lambda: Run.objects.get(pk=run["id"]).status == "waiting_approval", "the call is judged")
    assert time.monotonic() - began < within(10)  # most of it: two programs start
    running.web()
    again = agent.call(run["id"], "step-1", "refund_order", arguments)
    assert (again["repeated"], again["state"]) == (True, "waiting")


def test_the_web_server_dies_between_the_commit_of_a_decision_and_its_hint(world, running):
    """S10, S42: the reviewer got no answer; the decision is there, is carried out once, and clicking again says so."""
    patient(world)
    order = world.order()
    call = world.held(order)
    running.web(staged=True)
    reviewer = signed_in(running.base_url, world.reviewer.email, world.reviewer.password)
    click = {"verdict": "approve", "digest": call.digest}
    address = f"/api/v1/proposals/{call.proposal_id}/decide"
    running.stage("web").arm("before_publish")
    clicking = elsewhere(lambda: reviewer.post(address, json=click))
    running.arrived("web", "before_publish")
    assert kinds(call.run_id)[-1] == "call_held"
    running.end("web")
    clicking.join(30)
    running.sweep()
    running.worker()
    assert settled(world, running, call).state == "succeeded"
    running.web()
    answer = reviewer.post(address, json=click)
    assert (answer.status_code, answer.json()["repeated"]) == (200, True)
    assert world.keys(order) == [call.key]


# -- a wrong clock ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [60, -60])
def test_a_worker_whose_clock_is_a_minute_wrong_decides_by_the_database_s(world, running, seconds):
    """S82: neither runs what is over nor ends what is not; a lost worker's call is surfaced and settled once."""
    patient(world)
    wrong = {"STAGED_SKEW_S": str(seconds)}
    good, over, lost = world.order(), world.order(), world.order()
    in_time, doomed = world.held(good), world.held(lost)
    run = world.run()
    late = world.refund(run, over, deadline=clock.now() + timedelta(seconds=2))
    world.work(run)
    for call in (in_time, late):
        world.decide(world.look(call))
    running.until(lambda: clock.now() > late.deadline, "the call's time is over")
    running.worker("one", staged=True, **wrong)
    running.sweep(staged=True, **wrong)
    assert settled(world, running, late).state == "expired"
    assert settled(world, running, in_time).state == "succeeded"
    assert (world.keys(over), world.keys(good)) == ([], [in_time.key])
    stages = [running.stage("one"), running.stage("sweep")]
    for stage in stages:
        stage.arm("after_answer", call=doomed.id)
    world.decide(doomed)
    told = running.until(
        lambda: next(filter(None, (each.reached("after_answer") for each in stages)), None), "it is sent"
    )
    off = datetime.fromisoformat(told["datetime"]) - datetime.now(UTC)
    assert abs(off.total_seconds() - seconds) < 30
    assert abs(told["wall"] - time.time() - seconds) < 30
    [lease_until] = Dispatch.objects.filter(call_id=doomed.id, kind="dispatch").values_list("lease_until", flat=True)
    os.kill(told["pid"], signal.SIGKILL)
    running.worker("two", staged=True, **wrong)
    running.sweep("another", staged=True, **wrong)
    assert settled(world, running, doomed).answer["receipt"]["found_by"] == "look-up"
    assert world.keys(lost) == [doomed.key]
    told_at = Event.objects.get(run_id=doomed.run_id, kind="outcome_unknown").at
    assert timedelta(0) <= told_at - lease_until < timedelta(seconds=within(8))  # two programs start meanwhile


def first(found):
    return next(filter(None, found), None)
