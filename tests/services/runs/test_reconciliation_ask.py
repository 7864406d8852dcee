"""Asking the target again about an unknown call, and what nobody does meanwhile."""

from datetime import timedelta

import pytest

from audit.core.refusal import Conflict, Refusal
from audit.store import clock
from runs.models import Call, Dispatch
from runs.services.reconciliation import reconciliation_ask
from tests.services.runs.test_reconciliation import entries, look_up, operator, proven, shop, unknown
from tests.support.contracts import demo_document
from tests.support.world import kinds, live_rows

__all__ = ["operator", "shop"]


# -- asking ----------------------------------------------------------------------------------------------------------


def test_asking_now_makes_the_waiting_look_up_due_and_calls_nobody_itself(world, shop, operator):
    call = unknown(world, shop)
    Dispatch.objects.filter(call_id=call.id, kind="look_up").update(not_before=clock.now() + timedelta(hours=1))
    visits = len(shop.target.visits)
    assert "asked now" in reconciliation_ask(actor=operator.actor, unresolved_id=call.id).message
    assert len(shop.target.visits) == visits
    assert Dispatch.objects.get(call_id=call.id, kind="look_up").not_before <= clock.now()
    assert [entry.actor_name for entry in entries(world, "call.look_up_asked")] == ["Ola Brandt"]


def test_asking_again_after_the_last_answer_makes_one_row_and_finds_what_is_there_now(
    world, shop, operator, stand_at, race
):
    call = proven(world, shop, stand_at)
    assert "a moment ago" in reconciliation_ask(actor=operator.actor, unresolved_id=call.id).message
    stand_at(clock.now() + timedelta(seconds=30))
    actor = operator.actor
    race(lambda _: reconciliation_ask(actor=actor, unresolved_id=call.id), 8)
    assert live_rows(call) == [("look_up", "ready")]
    shop.refunds.append(
        {
            "id": "re_1",
            "amount": 4500,
            "currency": "aud",
            "status": "succeeded",
            "metadata": {"clearance_key": call.key},
        }
    )
    assert look_up(world, call).state == "succeeded"


def test_a_target_without_a_look_up_cannot_be_asked(world, shop, operator):
    document = demo_document("refund_order", shop.target.host)
    document["adapter"]["look_up"] = None
    call = unknown(world, shop, adapter=document["adapter"], side_effect="reversible")
    with pytest.raises(Refusal) as refused:
        reconciliation_ask(actor=operator.actor, unresolved_id=call.id)
    assert refused.value.code == "CANNOT_BE_ASKED"


# -- nothing decides in place of this --------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_nobody_approves_or_rejects_while_the_outcome_is_unknown(world, shop, verdict):
    call = unknown(world, shop)
    with pytest.raises(Conflict) as refused:
        world.decide(call, verdict, by=world.second_reviewer)
    assert refused.value.code == "ALREADY_DECIDED"
    assert world.look(call).state == "unknown"


def test_no_second_dispatch_starts_while_the_outcome_is_unknown(world, shop):
    call = unknown(world, shop)
    shop.list_refunds = lambda visit: visit.answer_json({}, status="503 Service Unavailable")
    Dispatch.objects.create(
        run_id=call.run_id, call_id=call.id, kind="dispatch", not_before=clock.now(), created_at=clock.now()
    )
    world.work(call)
    assert kinds(call.run_id).count("dispatch_started") == 1
    assert shop.refunds == []
    assert Call.objects.get(pk=call.id).state == "unknown"
