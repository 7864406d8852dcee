"""runs/services/frozen.py: an approved call waits for a freeze to be over, and nothing is sent inside it (A5, S19)."""

from datetime import timedelta

from approvals.selectors.proposals import proposal_detail
from approvals.services.proposal import proposal_expire_due
from audit.store import clock
from runs.models import Dispatch
from runs.selectors.stops import stops_banner_of_proposal
from runs.services import frozen as holding
from runs.services.evaluate import evaluate_call
from runs.services.held_back import sweep_held_back
from runs.services.resolution import resolutions_consume
from runs.services.run import run_cancel
from runs.services.sending import dispatch_call
from tests.support.histories import claimed
from tests.support.world import POLICY, kinds, live_rows

WAITS = "expires_in_s: 7200"
RULES = POLICY.replace("expires_in_s: 900", WAITS).removeprefix("\nversion: 1\n")


def freeze(world, hours, *, rules=RULES):
    now = clock.now()
    times = f'from: "{(now - timedelta(hours=1)).isoformat()}", to: "{(now + timedelta(hours=hours)).isoformat()}"'
    world.publish(f'version: 1\nfreeze:\n  - {{id: audit, {times}, tools: ["*"]}}\n{rules}')


def held(world, order=""):
    world.publish(f"version: 1\n{RULES}")
    return world.held(order)


def later(stand_at, **ahead):
    stand_at(clock.now() + timedelta(**ahead))


def test_an_approved_call_is_held_back_by_a_freeze_and_goes_on_by_itself_after_it(world, stand_at):
    order = world.order()
    call = held(world, order)
    freeze(world, 1)
    world.decide(call)
    world.work(call)
    row = Dispatch.objects.get(call_id=call.id, kind="dispatch")
    assert (row.status, row.attempts, row.last_error) == ("ready", 0, "frozen")
    assert timedelta(0) < row.not_before - clock.now() <= holding.AGAIN
    later(stand_at, minutes=59)
    world.work(call)
    assert (world.look(call).state, "dispatch_started" in kinds(call.run_id), world.refunds(order)) == (
        "ready", False, [],
    )  # fmt: skip
    later(stand_at, minutes=2)
    world.work(call)
    assert (world.look(call).state, len(world.refunds(order))) == ("succeeded", 1)
    stand_at(None)


def test_a_freeze_that_begins_between_the_look_and_the_start_is_seen_by_the_start(world, monkeypatch):
    order = world.order()
    call = held(world, order)
    world.decide(call)
    resolutions_consume(run_id=call.run_id)
    claim = claimed(call.run_id, "dispatch")
    monkeypatch.setattr("runs.services.sending.dispatch_frozen", lambda **_: freeze(world, 1))
    dispatch_call(claim=claim)
    row = Dispatch.objects.get(pk=claim.id)
    assert (row.status, row.attempts, row.last_error) == ("ready", 0, "frozen")
    assert proposal_detail(world.reviewer.actor, call.proposal_id).status == "granted"
    assert ("dispatch_started" in kinds(call.run_id), world.refunds(order)) == (False, [])


def test_the_target_is_not_asked_for_anything_while_the_freeze_holds(world):
    """It may be away for the very reason of the freeze: no attempt is used up."""
    call = held(world)
    world.decide(call)
    freeze(world, 1)
    before = len(kinds(call.run_id))
    world.work(call)
    assert kinds(call.run_id)[before:] == ["resolution_consumed"]


def test_a_freeze_that_is_taken_out_of_the_policy_lets_it_go_on(world, stand_at):
    order = world.order()
    call = held(world, order)
    world.decide(call)
    freeze(world, 1)
    world.work(call)
    world.publish(f"version: 1\n{RULES}")
    later(stand_at, seconds=31)
    world.work(call)
    assert (world.look(call).state, len(world.refunds(order))) == ("succeeded", 1)
    stand_at(None)


def test_an_approval_that_runs_out_inside_the_freeze_is_told_and_nothing_is_sent(world, stand_at):
    order = world.order()
    call = held(world, order)
    world.decide(call)
    freeze(world, 24)
    world.work(call)
    assert sweep_held_back() == 0
    later(stand_at, hours=3)
    assert proposal_expire_due() == 1
    assert sweep_held_back() == 1
    looked = world.look(call)
    assert (looked.state, looked.answer["error"]["code"], live_rows(call)) == ("expired", "EXPIRED", [])
    assert world.refunds(order) == []
    stand_at(None)


def test_a_run_that_is_cancelled_inside_the_freeze_never_goes_on(world, stand_at):
    order = world.order()
    call = held(world, order)
    world.decide(call)
    freeze(world, 1)
    world.work(call)
    run_cancel(actor=world.agent_actor, run_id=call.run_id)
    later(stand_at, minutes=61)
    world.work(call)
    assert (world.look(call).state, live_rows(call), world.refunds(order)) == ("cancelled", [], [])
    stand_at(None)


def test_a_new_call_inside_the_freeze_is_refused(world):
    freeze(world, 1)
    run = world.run()
    call = world.refund(run, world.order())
    world.work(run)
    looked = world.look(call)
    assert (looked.state, looked.answer["error"]["code"]) == ("refused", "FROZEN")


def test_a_call_that_nobody_had_to_approve_is_refused_where_it_comes_to_be_started_inside_the_freeze(world):
    rules = "rules:\n  - {id: free, tool: refund_order, effect: allow}\n"
    world.publish(f"version: 1\n{rules}")
    order = world.order()
    run = world.run()
    call = world.refund(run, order)
    evaluate_call(claim=claimed(run.id, "evaluate"))
    freeze(world, 1, rules=rules)
    world.work(run)
    assert (world.look(call).state, world.refunds(order)) == ("refused", [])


def test_the_page_says_what_it_waits_for_and_until_when(world):
    call = held(world)
    actor = world.reviewer.actor
    assert stops_banner_of_proposal(actor, call.proposal_id) is None
    freeze(world, 1)
    banner = stops_banner_of_proposal(actor, call.proposal_id)
    assert (banner.call, banner.freeze.id, banner.over, banner.held_by) == (
        "pending", "audit", "the freeze is over", "frozen",
    )  # fmt: skip
    world.decide(call)
    world.work(call)
    assert stops_banner_of_proposal(actor, call.proposal_id).call == "granted"
