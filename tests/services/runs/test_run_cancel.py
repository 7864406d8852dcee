"""runs/services/run.py: cancelling and completing a run, and taking a call back."""

import uuid

import pytest

from approvals.selectors.proposals import proposal_detail
from audit.core.refusal import Conflict, Forbidden, NotFound
from audit.services.record import audit_pay_owed
from runs.core.kinds import RunStatus
from runs.models import Run
from runs.services.call import call_withdraw
from runs.services.evaluate import evaluate_call
from runs.services.resolution import resolutions_consume
from runs.services.run import run_cancel, run_complete
from tests.support import factories
from tests.support.histories import claimed
from tests.support.target import Target
from tests.support.world import break_audit, kinds, live_rows, mend_audit

# -- cancel -----------------------------------------------------------------------------------------------------------


def test_cancel_ends_what_waits_and_the_card_leaves_the_queue_as_cancelled(world):
    call = world.held()
    run = run_cancel(actor=world.agent_actor, run_id=call.run_id, reason="The customer took it back.")
    call = world.look(call)
    assert (run.status, run.detail) == (RunStatus.CANCELLED, "")
    assert (call.state, call.answer["error"]["code"]) == ("cancelled", "RUN_CANCELLED")
    assert "The customer took it back." in call.answer["error"]["message"]
    assert proposal_detail(world.reviewer.actor, call.proposal_id).status == "cancelled"
    assert kinds(call.run_id)[-3:] == ["cancel_asked", "cancel_acknowledged", "run_quiescent"]
    assert live_rows(call) == []


def test_the_cancelled_proposals_resolution_is_taken_up_and_moves_nothing(world):
    call = world.held()
    run_cancel(actor=world.agent_actor, run_id=call.run_id)
    before = world.look(call)
    assert resolutions_consume() == 1
    assert resolutions_consume() == 0
    after = world.look(call)
    assert (after.state, after.answer) == ("cancelled", before.answer)


def test_an_approved_call_that_was_cancelled_cannot_be_approved_back_to_life(world):
    order = world.order()
    call = world.held(order)
    run_cancel(actor=world.asker.actor, run_id=call.run_id)
    with pytest.raises(Conflict):
        world.decide(call)
    world.work(call)
    assert world.refunds(order) == []


def test_cancelling_twice_is_once(world, owner_sql):
    run = world.run()
    first = run_cancel(actor=world.agent_actor, run_id=run.id)
    again = run_cancel(actor=world.agent_actor, run_id=run.id)
    assert (first.seq, again.repeated) == (again.seq, True)
    assert owner_sql("SELECT count(*) FROM audit_entry WHERE action = 'run.cancelled'") == [(1,)]


def test_cancel_works_while_no_audit_entry_can_be_written_and_the_entry_is_owed_and_paid(world, owner_sql):
    """S69."""
    order = world.order()
    call = world.held(order)
    owner_sql("ALTER TABLE audit_entry RENAME TO audit_entry_away")
    try:
        run = run_cancel(actor=world.agent_actor, run_id=call.run_id)
    finally:
        owner_sql("ALTER TABLE audit_entry_away RENAME TO audit_entry")
    assert run.status == RunStatus.CANCELLED
    assert world.look(call).state == "cancelled"
    [(owed,)] = owner_sql("SELECT count(*) FROM audit_owed")
    assert owed >= 1
    assert audit_pay_owed() == owed
    assert owner_sql("SELECT count(*) FROM audit_entry WHERE action = 'run.cancelled' AND verdict = 'ok'") == [(1,)]


def test_cancel_leaves_what_was_sent_to_its_outcome_and_says_so(world):
    order = world.order()

    def behaviour(visit):
        if visit.line.startswith("POST"):
            from django.db import connections

            try:
                seen.append(run_cancel(actor=world.agent_actor, run_id=call.run_id))
            finally:
                connections.close_all()
            visit.answer_json({"id": "re_1", "amount": 4500, "currency": "aud", "status": "succeeded"})
        else:
            done = 4500 if seen else 0
            visit.answer_json({"amount": 18_900, "amount_refunded": done, "currency": "aud", "status": "succeeded"})

    seen = []
    with Target(behaviour) as target:
        world.admit("refund_order", host=target.host)
        call = world.held(order)
        world.decide(call)
        world.work(call)
    assert (seen[0].status, seen[0].detail) == (RunStatus.CANCELLING, "cancelling, 1 in flight")
    call = world.look(call)
    assert (call.state, call.answer["outcome"]) == ("succeeded", "committed")
    assert world.head(call).status == RunStatus.CANCELLED
    assert kinds(call.run_id)[-2:] == ["dispatch_succeeded", "run_quiescent"]


def test_who_may_cancel(world, payments):
    run = world.run()
    for person in (world.reviewer, factories.person(world.tenant, roles=["auditor"])):
        with pytest.raises(Forbidden) as caught:
            run_cancel(actor=person.actor, run_id=run.id)
        assert caught.value.missing == ["operator"]
    stranger = type(world)(payments)
    for actor in (stranger.asker.actor, stranger.agent_actor, factories.agent(world.tenant).actor()):
        with pytest.raises(NotFound):
            run_cancel(actor=actor, run_id=run.id)
    assert run_cancel(actor=world.asker.actor, run_id=run.id).status == RunStatus.CANCELLED


def test_a_completed_run_is_not_cancelled(world):
    run = world.run()
    run_complete(actor=world.agent_actor, run_id=run.id)
    with pytest.raises(Conflict) as caught:
        run_cancel(actor=world.agent_actor, run_id=run.id)
    assert "completed" in caught.value.message


def test_cancel_races_with_the_dispatch_and_either_nothing_was_sent_or_its_outcome_is_kept(world, race):
    orders = [world.order() for _ in range(6)]
    calls = [world.held(order) for order in orders]
    for call in calls:
        world.decide(call)
    actor = world.agent_actor

    def one(n):
        call = calls[n // 2]
        return world.work(call) if n % 2 else run_cancel(actor=actor, run_id=call.run_id).status

    race(one, 12)
    for call, order in zip(calls, orders, strict=True):
        call = world.look(call)
        assert (call.state, len(world.refunds(order))) in (("cancelled", 0), ("succeeded", 1))
        assert world.head(call).status == RunStatus.CANCELLED


# -- complete ---------------------------------------------------------------------------------------------------------


def test_an_agent_completes_its_run_once(world):
    run = world.run()
    done = run_complete(actor=world.agent_actor, run_id=run.id, summary="Answered the customer.")
    again = run_complete(actor=world.agent_actor, run_id=run.id)
    assert (done.status, done.finished_at is not None, again.repeated) == ("completed", True, True)
    assert kinds(run.id)[-1] == "run_completed"


def test_a_run_with_an_open_call_is_not_completed_and_the_call_is_named(world):
    call = world.held(call_id="refund-1")
    with pytest.raises(Conflict) as caught:
        run_complete(actor=world.agent_actor, run_id=call.run_id)
    assert caught.value.code == "NOT_IN_THIS_STATE"
    assert "refund-1" in caught.value.message
    assert world.head(call).finished_at is None


def test_a_person_or_another_agent_does_not_complete_a_run(world):
    run = world.run()
    with pytest.raises(Forbidden):
        run_complete(actor=world.asker.actor, run_id=run.id)
    with pytest.raises(NotFound):
        run_complete(actor=factories.agent(world.tenant).actor(), run_id=run.id)
    with pytest.raises(NotFound):
        run_complete(actor=world.agent_actor, run_id=uuid.uuid4())


def test_a_completed_run_emits_nothing_more(world):
    """R2."""
    run = world.run()
    run_complete(actor=world.agent_actor, run_id=run.id)
    assert world.work(run) == 0
    assert Run.objects.get(pk=run.id).status == "completed"


# -- withdraw ---------------------------------------------------------------------------------------------------------


def test_a_withdrawn_call_leaves_the_queue_as_withdrawn(world):
    order = world.order()
    call = world.held(order)
    gone = call_withdraw(actor=world.agent_actor, run_id=call.run_id, call_id=call.call_id, reason="Wrong order.")
    assert (gone.state, gone.answer["error"]["code"], gone.answer["error"]["outcome"]) == (
        "withdrawn", "WITHDRAWN", "none",
    )  # fmt: skip
    assert proposal_detail(world.reviewer.actor, call.proposal_id).status == "withdrawn"
    with pytest.raises(Conflict):
        world.decide(call)
    world.work(call)
    assert (world.look(call).state, world.refunds(order)) == ("withdrawn", [])


def test_withdrawing_twice_is_once_and_an_unknown_call_is_not_found(world):
    call = world.held()
    call_withdraw(actor=world.agent_actor, run_id=call.run_id, call_id=call.call_id)
    assert call_withdraw(actor=world.agent_actor, run_id=call.run_id, call_id=call.call_id).repeated
    with pytest.raises(NotFound):
        call_withdraw(actor=world.agent_actor, run_id=call.run_id, call_id="nothing")


def test_an_approved_call_that_was_not_sent_can_still_be_withdrawn(world):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    resolutions_consume()
    assert world.look(call).state == "ready"
    call_withdraw(actor=world.agent_actor, run_id=call.run_id, call_id=call.call_id)
    world.work(call)
    assert (world.look(call).state, world.refunds(order)) == ("withdrawn", [])


def test_a_call_that_was_carried_out_cannot_be_withdrawn(world):
    call = world.held()
    world.decide(call)
    world.work(call)
    with pytest.raises(Conflict):
        call_withdraw(actor=world.agent_actor, run_id=call.run_id, call_id=call.call_id)
    assert world.look(call).state == "succeeded"


def test_a_call_withdrawn_while_it_is_judged_is_left_alone(world):
    run = world.run()
    call = world.refund(run, world.order())
    claim = claimed(run.id, "evaluate")
    call_withdraw(actor=world.agent_actor, run_id=run.id, call_id=call.call_id)
    evaluate_call(claim=claim)
    assert world.look(call).state == "withdrawn"
    assert live_rows(call) == []


def test_no_withdrawal_without_its_audit_entry(world, owner_sql):
    call = world.held()
    break_audit(owner_sql, "call.withdrawn")
    with pytest.raises(Exception, match="log is full"):
        call_withdraw(actor=world.agent_actor, run_id=call.run_id, call_id=call.call_id)
    assert world.look(call).state == "waiting"
    assert proposal_detail(world.reviewer.actor, call.proposal_id).status == "pending"
    mend_audit(owner_sql)
