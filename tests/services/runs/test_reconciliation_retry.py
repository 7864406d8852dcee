"""Sending an unknown call once more: same key, today's rules, and people anew where their approval is over."""

from datetime import timedelta

import pytest

from approvals.selectors.proposals import proposal_detail
from audit.core.refusal import Conflict
from audit.store import clock
from runs.services.run import run_cancel
from tests.services.runs.test_reconciliation import (
    decide,
    look_up,
    lose,
    operator,
    proven,
    shop,
    unknown,
)
from tests.support.world import kinds

__all__ = ["operator", "shop"]


def test_a_retry_sends_it_again_with_the_same_key_on_the_same_approval(world, shop, operator, stand_at):
    call = proven(world, shop, stand_at)
    assert decide(operator, call, "retry").state == "ready"
    told = world.look(call)
    assert (told.final, told.answer["error"]["code"], told.answer["retry_safe"]) == (False, "SENT_AGAIN", False)
    world.work(call)
    assert world.look(call).state == "succeeded"
    assert [refund["metadata"]["clearance_key"] for refund in shop.refunds] == [call.key]
    assert kinds(call.run_id).count("dispatch_started") == 2
    assert kinds(call.run_id).count("call_held") == 1


def test_a_retry_whose_approval_is_over_is_asked_anew_in_a_round_of_its_own(world, shop, operator, stand_at):
    call = unknown(world, shop)
    later = clock.now() + timedelta(hours=2)
    stand_at(later)
    look_up(world, call)
    assert decide(operator, call, "retry").state == "waiting"
    detail = proposal_detail(world.reviewer.actor, call.proposal_id)
    assert (detail.status, detail.round, detail.tampered) == ("pending", 2, "")
    assert detail.expires_at == later + timedelta(seconds=900)
    assert "outcome was unknown" in detail.content.held.opened_because
    world.work(call)
    assert shop.refunds == [], "nothing is sent before people have approved it again"
    world.decide(call, by=world.second_reviewer)
    world.work(call)
    told = world.look(call)
    assert (told.state, [refund["metadata"]["clearance_key"] for refund in shop.refunds]) == ("succeeded", [call.key])


def test_a_record_that_changed_meanwhile_is_put_before_people_again(world, shop, operator, stand_at):
    call = unknown(world, shop)
    stand_at(clock.now() + timedelta(hours=2))
    look_up(world, call)
    decide(operator, call, "retry")
    world.decide(call)
    shop.refunds.append({"id": "re_other", "amount": 100, "currency": "aud", "status": "succeeded", "metadata": {}})
    world.work(call)
    detail = proposal_detail(world.reviewer.actor, call.proposal_id)
    assert (detail.status, detail.round, detail.tampered) == ("pending", 3, "")
    assert world.look(call).state == "waiting"


def test_the_policy_of_today_judges_a_retry(world, shop, operator, stand_at):
    call = proven(world, shop, stand_at)
    decide(operator, call, "retry")
    world.publish("version: 1\nrules:\n  - {id: stop, tool: refund_order, effect: deny, message: Stopped.}\n")
    world.work(call)
    assert world.look(call).state == "refused"
    assert shop.refunds == []


def test_a_retry_after_the_calls_own_deadline_is_refused(world, shop, operator, stand_at):
    world.admit("refund_order", host=shop.target.host)
    call = world.held(deadline=clock.now() + timedelta(minutes=5))
    world.decide(call)
    lose(world, shop, call)
    stand_at(clock.now() + timedelta(minutes=6))
    look_up(world, call)
    with pytest.raises(Conflict) as refused:
        decide(operator, call, "retry")
    assert refused.value.code == "DEADLINE_PASSED"
    assert decide(operator, call, "did_not_happen").state == "failed"


def test_nothing_is_sent_again_in_a_run_that_was_stopped(world, shop, operator, stand_at):
    call = proven(world, shop, stand_at)
    run_cancel(actor=operator.actor, run_id=call.run_id)
    with pytest.raises(Conflict) as refused:
        decide(operator, call, "retry")
    assert refused.value.code == "RUN_STOPPED"
    decide(operator, call, "did_not_happen")
    assert world.head(call).status == "cancelled"


def test_a_call_whose_stored_bytes_were_edited_is_not_sent_again(world, shop, operator, stand_at, owner_sql):
    call = proven(world, shop, stand_at)
    owner_sql("ALTER TABLE runs_call DISABLE TRIGGER runs_call_bound")
    owner_sql(
        "UPDATE runs_call SET canonical = convert_to(replace(convert_from(canonical, 'UTF8'), '4500', '9000'), 'UTF8')"
    )
    with pytest.raises(Conflict) as refused:
        decide(operator, call, "retry")
    assert refused.value.code == "DIGEST_MISMATCH"
    assert decide(operator, call, "did_not_happen").state == "failed"
