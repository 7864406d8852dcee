"""runs/services/stop.py: what a stop holds back, until when, and what is told of it."""

from datetime import timedelta

import pytest
from django.db import connection

from approvals.selectors.proposals import proposal_detail
from approvals.services.proposal import proposal_expire_due
from approvals.services.revoking import permit_revoke
from audit.store import clock
from runs.core.kinds import CallState
from runs.models import Dispatch
from runs.selectors.stops import stop_of_call, stops_banner, stops_banner_of_run, stops_listed
from runs.services.held_back import sweep_held_back
from runs.services.resolution import resolutions_consume
from runs.services.run import run_cancel
from runs.services.sending import dispatch_call
from runs.services.stop import stop_lift, stop_set
from runs.services.sweep import sweep_ready
from runs.signals import work_waits
from runs.store.claims import system_actor
from tests.support import factories
from tests.support.histories import claimed
from tests.support.world import World, kinds, live_rows

REASON = "Refunds go to the wrong accounts."
COMMAND = system_actor("")


@pytest.fixture
def operator(world):
    """The actor of a person who runs this organisation's agents."""
    return factories.person(world.tenant, roles=["operator"], name="Olga Operator").actor


def subject_of(world, kind):
    return {"tool": "refund_order", "agent": world.agent.id}.get(kind, "")


def set_by(world, operator, kind):
    return stop_set(
        actor=COMMAND if kind == "installation" else operator,
        kind=kind,
        subject=subject_of(world, kind),
        reason=REASON,
    )


# -- what it holds back ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tool", "agent", "tenant", "installation"])
def test_an_approved_call_that_is_stopped_waits_and_goes_on_when_it_is_lifted(world, operator, kind):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    done = set_by(world, operator, kind)
    assert (done.repeated, done.settled) == (False, True)
    world.work(call)
    assert (world.look(call).state, live_rows(call), world.refunds(order)) == ("ready", [("dispatch", "ready")], [])
    stop_lift(actor=COMMAND if kind == "installation" else operator, stop_id=done.stop.id, reason="Mended.")
    world.work(call)
    assert (world.look(call).state, len(world.refunds(order))) == ("succeeded", 1)


@pytest.mark.parametrize("kind", ["tool", "agent", "tenant", "installation"])
def test_a_new_call_is_judged_held_and_decided_and_then_waits(world, operator, kind):
    set_by(world, operator, kind)
    call = world.held()
    world.decide(call)
    world.work(call)
    assert world.look(call).state == "ready"


def test_a_read_is_not_dispatched_either(world, operator):
    stop_set(actor=operator, kind="tool", subject="get_order", reason=REASON)
    run = world.run()
    call = world.submit(run, "get_order", {"order_id": world.order()})
    world.work(run)
    assert (world.look(call).state, live_rows(call)) == ("ready", [("dispatch", "ready")])


def test_other_tools_agents_and_organisations_go_on(world, operator, payments):
    stop_set(actor=operator, kind="tool", subject="get_order", reason=REASON)
    other = factories.agent(world.tenant, acts_for=[world.asker])
    stop_set(actor=operator, kind="agent", subject=other.id, reason=REASON)
    elsewhere = World(payments)
    stop_set(actor=elsewhere.admin, kind="tenant", reason=REASON)
    order = world.order()
    call = world.held(order)
    world.decide(call)
    world.work(call)
    assert (world.look(call).state, len(world.refunds(order))) == ("succeeded", 1)


def test_a_stop_between_claim_and_start_is_seen_by_the_start_and_no_attempt_is_counted(world, operator):
    """What the claim saw is not asked: the start's own look decides, and everything that it did is undone."""
    order = world.order()
    call = world.held(order)
    world.decide(call)
    resolutions_consume(run_id=call.run_id)
    claim = claimed(call.run_id, "dispatch")
    stop_set(actor=operator, kind="tool", subject="refund_order", reason=REASON)
    dispatch_call(claim=claim)
    row = Dispatch.objects.get(pk=claim.id)
    assert (row.status, row.attempts, row.last_error) == ("ready", 0, "stopped")
    assert "dispatch_started" not in kinds(call.run_id)
    assert world.refunds(order) == []
    assert proposal_detail(world.reviewer.actor, call.proposal_id).status == "granted"


def test_what_was_started_before_is_finished_and_counted_as_in_flight(world, operator):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    resolutions_consume(run_id=call.run_id)
    claim = claimed(call.run_id, "dispatch")
    seen = []

    def stop_in_the_middle(execute, statement, parameters, many, context):
        # The first statement behind the commit of the intent: the request is about to be written.
        if not seen and "SELECT clearance_now(), status, fence" in statement:
            seen.append(stop_set(actor=operator, kind="tenant", reason=REASON))
            seen.append(stops_listed(operator))
        return execute(statement, parameters, many, context)

    with connection.execute_wrapper(stop_in_the_middle):
        dispatch_call(claim=claim)
    listing = seen[1]
    assert (listing.held, listing.in_flight, listing.in_force[0].in_flight) == (0, 1, 1)
    assert (world.look(call).state, len(world.refunds(order))) == ("succeeded", 1)


def test_the_sweep_does_not_work_on_what_is_stopped(world, operator):
    call = world.held()
    world.decide(call)
    resolutions_consume(run_id=call.run_id)
    Dispatch.objects.filter(call_id=call.id, status="ready").update(not_before=clock.now() - timedelta(minutes=1))
    assert sweep_ready() == [call.run_id]
    done = stop_set(actor=operator, kind="tenant", reason=REASON)
    assert sweep_ready() == []
    stop_lift(actor=operator, stop_id=done.stop.id, reason="Mended.")
    assert sweep_ready() == [call.run_id]


def test_a_stopped_approval_runs_out_and_the_agent_is_told(world, operator, owner_sql, stand_at):
    call = world.held()
    world.decide(call)
    resolutions_consume(run_id=call.run_id)
    stop_set(actor=operator, kind="tool", subject="refund_order", reason=REASON)
    [(expires_at,)] = owner_sql("SELECT expires_at FROM approvals_proposal")
    stand_at(expires_at)
    assert sweep_held_back() == 0  # nobody has written it down yet
    assert proposal_expire_due(limit=10) == 1
    world.work(call)
    assert world.look(call).state == "ready"
    assert sweep_held_back() == 1
    now = world.look(call)
    assert (now.state, now.answer["error"]["code"]) == ("expired", "EXPIRED")
    assert (live_rows(call), sweep_held_back()) == ([], 0)


def test_an_approval_that_is_taken_back_under_a_stop_is_asked_anew_and_runs_after_both(world, operator):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    resolutions_consume(run_id=call.run_id)
    done = stop_set(actor=operator, kind="tool", subject="refund_order", reason=REASON)
    permit_revoke(actor=operator, proposal_id=call.proposal_id, reason="Look again.")
    assert sweep_held_back() == 1
    assert (world.look(call).state, live_rows(call)) == ("waiting", [])
    world.decide(call, by=world.second_reviewer)
    world.work(call)
    assert (world.look(call).state, world.refunds(order)) == ("ready", [])
    stop_lift(actor=operator, stop_id=done.stop.id, reason="Mended.")
    world.work(call)
    assert (world.look(call).state, world.keys(order)) == ("succeeded", [call.key])


def test_a_stopped_call_whose_own_deadline_passes_is_told_so_without_asking_the_target(world, operator, stand_at):
    order = world.order()
    deadline = clock.now() + timedelta(minutes=5)
    call = world.held(order, deadline=deadline)
    world.decide(call)
    resolutions_consume(run_id=call.run_id)
    stop_set(actor=operator, kind="tool", subject="refund_order", reason=REASON)
    stand_at(deadline)
    observed = kinds(call.run_id).count("state_observed")
    world.work(call)
    now = world.look(call)
    assert (now.state, now.answer["error"]["code"]) == ("expired", "DEADLINE_PASSED")
    assert kinds(call.run_id).count("state_observed") == observed
    assert world.refunds(order) == []


def test_a_stopped_call_can_still_be_cancelled(world, operator):
    call = world.held()
    world.decide(call)
    resolutions_consume(run_id=call.run_id)
    done = stop_set(actor=operator, kind="tenant", reason=REASON)
    run_cancel(actor=operator, run_id=call.run_id, reason="Not wanted any more.")
    stop_lift(actor=operator, stop_id=done.stop.id, reason="Mended.")
    world.work(call)
    assert world.look(call).state == "cancelled"


def test_two_stops_cover_one_call_and_lifting_one_lets_nothing_go(world, operator):
    call = world.held()
    world.decide(call)
    first = stop_set(actor=operator, kind="tool", subject="refund_order", reason=REASON)
    stop_set(actor=operator, kind="agent", subject=world.agent.id, reason=REASON)
    stop_lift(actor=operator, stop_id=first.stop.id, reason="Mended.")
    world.work(call)
    assert world.look(call).state == "ready"
    assert stop_of_call(operator, run_id=call.run_id, tool="refund_order").kind == "agent"


def test_lifting_tells_workers_of_the_runs_that_waited(world, operator):
    calls = [world.held() for _ in range(2)]
    for call in calls:
        world.decide(call)
    resolutions_consume()
    done = stop_set(actor=operator, kind="tool", subject="refund_order", reason=REASON)
    told = []

    def listen(*, run_id, **_):
        told.append(run_id)

    work_waits.connect(listen, weak=False)
    try:
        stop_lift(actor=operator, stop_id=done.stop.id, reason="Mended.")
    finally:
        work_waits.disconnect(listen)
    assert sorted(told) == sorted(call.run_id for call in calls)


# -- what is read ------------------------------------------------------------------------------------------------------


def test_the_listing_counts_what_is_held_back_by_each_and_in_all(world, operator):
    calls = [world.held() for _ in range(3)]
    for call in calls[:2]:
        world.decide(call)
    resolutions_consume()
    stop_set(actor=operator, kind="tool", subject="refund_order", reason=REASON)
    stop_set(actor=operator, kind="agent", subject=world.agent.id, reason=REASON)
    stop_set(actor=operator, kind="tool", subject="get_order", reason=REASON)
    listing = stops_listed(operator)
    assert (listing.held, listing.in_flight) == (2, 0)
    assert {row.stop.subject_name: row.held for row in listing.in_force} == {
        "Support agent": 2,
        "refund_order": 2,
        "get_order": 0,
    }
    assert [(choice.name, choice.stopped) for choice in listing.tools] == [("get_order", True), ("refund_order", True)]


def test_a_reviewer_reads_the_stops_and_is_told_why_there_is_no_form(world, operator):
    stop_set(actor=operator, kind="tenant", reason=REASON)
    listing = stops_listed(world.reviewer.actor)
    assert [row.may_lift for row in listing.in_force] == [False]
    assert (listing.may_change, listing.why_not) == (False, "Setting and lifting stops takes the role operator.")


def test_a_run_is_told_of_the_stops_that_concern_it_alone(world, operator):
    call = world.held()
    assert stops_banner_of_run(operator, call.run_id) is None
    stop_set(actor=operator, kind="tool", subject="get_order", reason=REASON)
    assert stops_banner_of_run(operator, call.run_id) is None
    assert [row.subject for row in stops_banner(operator).stops] == ["get_order"]
    stop_set(actor=operator, kind="tool", subject="refund_order", reason=REASON)
    assert [row.subject for row in stops_banner_of_run(operator, call.run_id).stops] == ["refund_order"]
    run_cancel(actor=operator, run_id=call.run_id)
    assert stops_banner_of_run(operator, call.run_id) is None
    assert CallState(world.look(call).state) is CallState.CANCELLED
