"""Many at once at one approved call: one effect at a payment server that would happily make twenty (S4, S33, S41)."""

from approvals.services.resolution import resolutions_open
from runs.models import Dispatch
from runs.services.resolution import resolution_take, resolutions_consume
from runs.services.sending import dispatch_call
from runs.signals import run_advanced
from runs.store import claims
from runs.store.append import FenceLost
from tests.support.histories import claimed
from tests.support.world import kinds


def test_twenty_workers_wake_for_one_approved_call_and_one_refund_is_made(world, race):
    world.be_patient()
    order = world.order()
    call = world.held(order)
    world.decide(call)
    answers = race(lambda _: world.work(call))
    assert [answer for answer in answers if isinstance(answer, Exception)] == []
    assert world.keys(order) == [call.key]
    events = kinds(call.run_id)
    assert (events.count("resolution_consumed"), events.count("dispatch_started")) == (1, 1)


def test_twenty_take_up_one_decision_and_one_event_is_written(world, race):
    call = world.held()
    world.decide(call)
    [row] = resolutions_open(run_id=call.run_id)
    assert sorted(race(lambda _: resolution_take(row=row))) == [False] * 19 + [True]
    assert kinds(call.run_id).count("resolution_consumed") == 1


def test_twenty_stale_claims_of_one_row_send_once(world, race):
    """Nineteen workers were believed dead and come back together with the one that holds the row."""
    world.be_patient()
    order = world.order()
    call = world.held(order)
    world.decide(call)
    resolutions_consume(run_id=call.run_id)
    held = []
    for _ in range(20):
        claim = claimed(call.run_id, "dispatch")
        held.append(claim)
        Dispatch.objects.filter(pk=claim.id).update(status="ready", attempts=0)
    Dispatch.objects.filter(pk=held[-1].id).update(status="claimed")

    def one(n):
        try:
            dispatch_call(claim=held[n])
        except FenceLost:
            return "lost"
        return "done"

    race(one)
    assert world.keys(order) == [call.key]
    assert kinds(call.run_id).count("dispatch_started") == 1


def test_forty_requests_and_twenty_workers_and_every_refund_is_made_once(world, race):
    """S33: each call is hinted at many times, by everybody."""
    world.be_patient()
    orders = [world.order(1_000 + n) for n in range(10)]
    run = world.run()
    calls = [world.refund(run, order, 500) for order in orders]
    race(lambda _: world.work(run))
    calls = [world.look(call) for call in calls]
    assert {call.state for call in calls} == {"waiting"}
    race(lambda n: world.decide(calls[n % 10], by=world.reviewer))
    race(lambda _: world.work(run))
    while world.work(run):
        pass
    assert [world.keys(order) for order in orders] == [[call.key] for call in calls]
    assert {world.look(call).state for call in calls} == {"succeeded"}


def test_an_approval_at_the_very_commit_of_the_wait_is_not_lost(world):
    """S41: the reviewer decides while the worker has committed the wait and has not gone back to look yet."""
    order, run = world.order(), world.run()
    call = world.refund(run, order)

    def decide_at_once(**hint):
        now = world.look(call)
        if now.state == "waiting":
            run_advanced.disconnect(decide_at_once)
            world.decide(now)

    run_advanced.connect(decide_at_once, weak=False)
    try:
        world.work(run)
    finally:
        run_advanced.disconnect(decide_at_once)
    assert (world.look(call).state, len(world.refunds(order))) == ("succeeded", 1)


def test_an_approval_after_the_worker_has_gone_is_found_without_any_hint(world):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    assert resolutions_consume() == 1  # what the sweep does
    assert claims.claim_next(worker="sweep", kinds=["dispatch"]) is not None


def test_approve_reject_and_let_expire_give_exactly_those_three(world, stand_at, owner_sql):
    """S9."""
    run = world.run()
    orders = [world.order() for _ in range(3)]
    calls = [world.refund(run, order) for order in orders]
    world.work(run)
    calls = [world.look(call) for call in calls]
    world.decide(calls[0])
    world.decide(calls[1], "reject", reason="No.")
    world.work(run)
    [(deadline,)] = owner_sql("SELECT max(expires_at) FROM approvals_proposal")
    stand_at(deadline)
    from approvals.services.proposal import proposal_expire_due

    assert proposal_expire_due(limit=10) == 1
    world.work(run)
    assert [world.look(call).state for call in calls] == ["succeeded", "rejected", "expired"]
    assert [len(world.refunds(order)) for order in orders] == [1, 0, 0]
    assert world.head(calls[0]).status == "ready"
