"""runs/services/evaluate.py: a worker judges a call on what the target says now and the policy of now."""

from datetime import timedelta

import pytest

from access.services.agents import agent_deactivate
from audit.store import clock
from runs.core.kinds import RunStatus
from runs.models import Dispatch
from tests.support.target import Target, closed_port
from tests.support.world import break_audit, kinds, live_rows, row


def test_a_refund_is_held_for_people_and_the_run_waits_and_holds_nothing(world):
    order = world.order(18_900)
    call = world.held(order)
    run = world.head(call)
    assert (run.status, run.detail) == (RunStatus.WAITING_APPROVAL, "1 for people")
    assert call.proposal_id is not None
    assert call.told
    assert live_rows(call) == []
    assert kinds(run.id)[-2:] == ["state_observed", "call_held"]
    assert world.refunds(order) == []


def test_a_read_is_allowed_and_done_in_the_same_turn_of_the_worker(world):
    run, order = world.run(), world.order(18_900)
    call = world.submit(run, "get_order", {"order_id": order})
    world.work(run)
    call = world.look(call)
    assert (call.state, call.answer["outcome"]) == ("succeeded", "none")
    assert call.answer["result"]["value"]["left"] == 18_900
    assert call.answer["result"]["untrusted"] is True
    assert call.answer["result"]["source"].startswith("get_order at 127.0.0.1")
    assert kinds(run.id)[2:] == [
        "call_proposed", "state_observed", "call_allowed", "state_observed", "dispatch_started", "dispatch_succeeded",
    ]  # fmt: skip


def test_a_denied_call_is_refused_with_the_rule_and_what_may_be_used_instead(world, owner_sql):
    run = world.run()
    call = world.refund(run, world.order(500_000), 200_000)
    world.work(run)
    call = world.look(call)
    error = call.answer["error"]
    assert (call.state, error["code"], error["outcome"], error["retry_safe"]) == ("refused", "DENIED", "none", False)
    assert error["detail"]["rule"] == "refund-by-hand"
    assert error["alternatives"] == ["get_order"]
    assert world.head(call).status == RunStatus.READY
    assert owner_sql("SELECT verdict, tool FROM audit_entry WHERE action = 'call.refused'") == [
        ("refused", "refund_order")
    ]


def test_a_call_that_means_nonsense_is_refused_by_the_contracts_check(world):
    run = world.run()
    call = world.refund(run, world.order(1_000), 1_001)
    world.work(run)
    assert world.look(call).answer["error"]["code"] == "AMOUNT_EXCEEDS_LEFT"


def test_an_order_that_is_not_there_is_refused_and_no_rule_is_asked(world):
    run = world.run()
    world.order()
    call = world.refund(run, "ord_404")
    world.work(run)
    call = world.look(call)
    assert (call.state, call.answer["error"]["code"]) == ("refused", "NOT_FOUND")


def test_a_target_out_of_reach_is_asked_again_and_the_call_is_then_refused_as_not_happened(world):
    world.admit("refund_order", host=f"127.0.0.1:{closed_port()}")
    run = world.run()
    call = world.refund(run, world.order())
    world.work(run)
    assert world.look(call).state == "new"
    waiting = Dispatch.objects.get(call_id=call.id, status="ready")
    assert (waiting.attempts, "TARGET_UNREADABLE" in waiting.last_error) == (1, True)
    _until(lambda: world.work(run) >= 0 and world.look(call).final)
    error = world.look(call).answer["error"]
    assert (error["code"], error["outcome"], error["retry_safe"]) == ("TARGET_UNAVAILABLE", "none", True)
    assert Dispatch.objects.get(call_id=call.id).attempts == 3


def test_a_target_that_comes_back_in_time_is_judged_as_if_nothing_had_been(world):
    order = world.order()
    run = world.run()
    answers = iter([b"503", b"ok"])

    def behaviour(visit):
        if next(answers) == b"503":
            visit.answer(b"{}", status="503 Service Unavailable")
        else:
            visit.answer_json({"amount": 18_900, "amount_refunded": 0, "currency": "aud", "status": "succeeded"})

    with Target(behaviour) as target:
        world.admit("refund_order", host=target.host)
        call = world.refund(run, order)
        _until(lambda: world.work(run) >= 0 and world.look(call).state != "new")
    assert world.look(call).state == "waiting"


def test_a_deactivated_agents_call_is_refused_before_its_target_is_asked(world):
    with Target(lambda visit: visit.answer_json({})) as target:
        world.admit("refund_order", host=target.host)
        run = world.run()
        call = world.refund(run, world.order())
        agent_deactivate(actor=world.admin, agent_id=world.agent.id)
        world.work(run)
        assert target.settled() == []
    stored = row(call)
    assert (stored.state, stored.answer["error"]["code"]) == ("refused", "AGENT_INACTIVE")


def test_a_call_whose_deadline_passed_while_it_waited_for_a_worker_is_expired(world, stand_at):
    run, now = world.run(), clock.now()
    call = world.refund(run, world.order(), deadline=now + timedelta(seconds=30))
    stand_at(now + timedelta(seconds=30))
    world.work(run)
    call = world.look(call)
    assert (call.state, call.answer["error"]["code"]) == ("expired", "DEADLINE_PASSED")


def test_people_are_never_given_longer_than_the_calls_own_deadline(world, owner_sql):
    deadline = clock.now() + timedelta(minutes=2)
    call = world.held(deadline=deadline)
    assert owner_sql("SELECT expires_at FROM approvals_proposal WHERE id = %s", [call.proposal_id]) == [(deadline,)]


def test_the_same_digest_rejected_before_in_this_run_disturbs_nobody_again(world):
    """S16."""
    order = world.order()
    first = world.held(order)
    world.decide(first, "reject", reason="Already refunded by post.")
    world.work(first)
    again = world.refund(_run_of(world, first), order)
    world.work(again)
    again = world.look(again)
    assert (again.state, again.answer["error"]["code"]) == ("refused", "REJECTED_BEFORE")


def test_a_call_that_was_cancelled_while_its_target_was_read_is_left_alone(world):
    from runs.services.run import run_cancel

    run, order = world.run(), world.order()

    def behaviour(visit):
        run_cancel(actor=world.agent_actor, run_id=run.id)
        visit.answer_json({"amount": 18_900, "amount_refunded": 0, "currency": "aud", "status": "succeeded"})

    with Target(_closing(behaviour)) as target:
        world.admit("refund_order", host=target.host)
        call = world.refund(run, order)
        world.work(run)
    assert world.look(call).state == "cancelled"
    assert live_rows(call) == []


def test_a_stored_call_that_was_edited_is_refused_by_its_digest(world, owner_sql):
    """S84."""
    run = world.run()
    call = world.refund(run, world.order(), 4_500)
    owner_sql("ALTER TABLE runs_call DISABLE TRIGGER runs_call_bound")
    owner_sql(
        "UPDATE runs_call SET canonical = convert_to(replace(convert_from(canonical, 'UTF8'), '4500', '45000'), 'UTF8')"
    )
    world.work(run)
    call = world.look(call)
    assert (call.state, call.answer["error"]["code"]) == ("refused", "DIGEST_MISMATCH")


def test_without_a_policy_everything_is_refused(world, payments, owner_sql):
    """S63: default deny."""
    run = world.run()
    call = world.refund(run, world.order())
    owner_sql("UPDATE approvals_policyhead SET active_number = 0")
    world.work(run)
    assert world.look(call).answer["error"]["code"] in ("NO_RULE", "POLICY_ALTERED")


@pytest.mark.parametrize("action", ["call.refused", "proposal.held", "call.allowed"])
def test_no_verdict_without_its_audit_entry(world, owner_sql, action):
    break_audit(owner_sql, action)
    run, order = world.run(), world.order(500_000)
    if action == "call.allowed":
        call = world.submit(run, "get_order", {"order_id": order})
    else:
        call = world.refund(run, order, 200_000 if action == "call.refused" else 4_500)
    before = kinds(run.id)
    world.work(run)
    assert kinds(run.id) == before
    assert world.look(call).state == "new"


def _run_of(world, call):
    from runs.selectors.runs import run_get

    return run_get(world.agent_actor, call.run_id)


def _closing(behaviour):
    """A behaviour that uses the database from the target's thread."""
    from django.db import connections

    def wrapped(visit):
        try:
            behaviour(visit)
        finally:
            connections.close_all()

    return wrapped


def _until(check, seconds=15.0):
    import time

    until = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < until
        time.sleep(0.02)
