"""runs/services/reconcile.py: asking the target, and when its silence proves something."""

from datetime import timedelta

import pytest
from django.db import transaction

from approvals.selectors import catalogue
from audit.store import clock
from runs.models import Dispatch, ResourceLease
from runs.services.exhausted import dispatch_exhausted
from runs.services.wake import wake_claimed
from runs.services.work import Job
from runs.store.append import lock_run
from tests.support.contracts import demo_document
from tests.support.histories import claimed
from tests.support.target import Target
from tests.support.world import kinds, live_rows


@pytest.fixture
def shop():
    from tests.services.runs.test_outcomes import Shop

    made = Shop()
    with Target(made) as target:
        made.target = target
        yield made


def unknown(world, shop, **changes):
    """A refund whose answer was lost; the first look-up is still to come."""
    world.admit("refund_order", lambda document: document.update(changes), host=shop.target.host)
    call = world.held()
    world.decide(call)
    shop.refund = shop.drop
    first = shop.list_refunds
    shop.list_refunds = lambda visit: visit.answer_json({}, status="503 Service Unavailable")
    world.work(call)
    shop.list_refunds = first
    assert world.look(call).state == "unknown"
    return call


def ask(world, call):
    Dispatch.objects.filter(call_id=call.id, kind="look_up", status="ready").update(not_before=clock.now())
    wake_claimed(claim=claimed(call.run_id, "look_up"))
    return world.look(call)


def test_while_the_target_cannot_be_asked_it_is_asked_again_without_counting(world, shop, stand_at):
    call = unknown(world, shop)
    shop.list_refunds = lambda visit: visit.answer_json({}, status="503 Service Unavailable")
    stand_at(clock.now().replace(year=2031))
    for _ in range(7):
        ask(world, call)
    row = Dispatch.objects.get(call_id=call.id, kind="look_up")
    assert (row.status, row.attempts) == ("ready", 0)
    assert world.look(call).state == "unknown"
    assert ResourceLease.objects.count() == 1


def test_a_tool_without_a_look_up_is_left_to_people_once_nothing_can_arrive(world, shop, stand_at):
    document = demo_document("refund_order")
    document["adapter"]["look_up"] = None
    call = unknown(world, shop, adapter=_at(shop, document["adapter"]), side_effect="reversible")
    stand_at(clock.now().replace(year=2031))
    call = ask(world, call)
    assert (call.state, live_rows(call)) == ("unknown", [])
    assert "cannot be asked" in call.answer["error"]["message"]
    assert ResourceLease.objects.count() == 0


def test_it_asks_where_the_effect_was_sent_whatever_the_table_says_now(world, shop):
    """The reference table maps the order to another charge meanwhile; the refund was made on the first one."""
    call = unknown(world, shop)
    before = dict(next(iter(world.orders.values())))
    asked = []
    kept = shop.list_refunds
    shop.list_refunds = lambda visit: (asked.append(visit.line), kept(visit))
    next(iter(world.orders.values()))["charge"] = "ch_another"
    from pathlib import Path

    from django.conf import settings

    world.stripe.write_orders(Path(settings.REFERENCE_DIR), world.tenant.slug, world.orders)
    ask(world, call)
    assert before["charge"] in asked[0]
    assert "ch_another" not in asked[0]


def test_a_stored_call_that_was_edited_is_not_asked_about_and_left_to_people(world, shop, stand_at, owner_sql):
    call = unknown(world, shop)
    owner_sql("ALTER TABLE runs_call DISABLE TRIGGER runs_call_bound")
    owner_sql(
        "UPDATE runs_call SET canonical = convert_to(replace(convert_from(canonical, 'UTF8'), '4500', '9000'), 'UTF8')"
    )
    asked = []
    shop.list_refunds = lambda visit: asked.append(visit)
    call = ask(world, call)
    # The old request may still arrive, so the record stays with it, and an operator sees why it cannot be asked about.
    assert (live_rows(call), ResourceLease.objects.count()) == ([("look_up", "ready")], 1)
    row = Dispatch.objects.get(call_id=call.id, kind="look_up")
    assert row.observed["code"] == "DIGEST_MISMATCH"
    stand_at(row.not_before)
    call = ask(world, call)
    assert (call.state, asked, live_rows(call)) == ("unknown", [], [])
    assert call.answer["error"]["detail"]["code"] == "DIGEST_MISMATCH"
    assert ResourceLease.objects.count() == 0


def test_where_the_contract_itself_was_altered_the_record_stays_held_as_long_as_any_contract_may_take(
    world, shop, stand_at, owner_sql
):
    call = unknown(world, shop)
    owner_sql("ALTER TABLE approvals_toolversion DISABLE TRIGGER USER")
    owner_sql("UPDATE approvals_toolversion SET document = jsonb_set(document, '{settle_after_ms}', '1')")
    catalogue._contract.cache_clear()
    deadline = Dispatch.objects.get(call_id=call.id, kind="dispatch").request_deadline
    for since, held in ((timedelta(days=1, milliseconds=-1), 1), (timedelta(days=1), 0)):
        stand_at(deadline + since)
        assert ask(world, call).state == "unknown"
        assert ResourceLease.objects.count() == held


def test_a_look_up_that_fails_on_our_side_each_time_frees_no_record_that_a_request_may_still_reach(world, shop):
    call = unknown(world, shop, settle_after_ms=60_000)
    Dispatch.objects.filter(call_id=call.id, kind="look_up").update(not_before=clock.now())
    job = Job.of(claimed(call.run_id, "look_up"))
    with transaction.atomic():
        dispatch_exhausted(loaded=lock_run(call.run_id), job=job)
    assert "failed on our side" in world.look(call).answer["error"]["message"]
    assert ResourceLease.objects.count() == 1


def test_two_look_ups_at_once_reconcile_once(world, shop, race):
    call = unknown(world, shop)
    shop.refunds.append(
        {
            "id": "re_1",
            "amount": 4500,
            "currency": "aud",
            "status": "succeeded",
            "metadata": {"clearance_key": call.key},
        }
    )
    Dispatch.objects.filter(kind="look_up").update(not_before=clock.now())
    race(lambda _: world.work(call), 10)
    assert world.look(call).state == "succeeded"
    assert kinds(call.run_id).count("outcome_reconciled") == 1


def test_a_cancelled_run_is_settled_by_its_last_look_up(world, shop):
    from runs.services.run import run_cancel

    call = unknown(world, shop)
    run_cancel(actor=world.agent_actor, run_id=call.run_id)
    assert world.head(call).status == "needs_reconciliation"
    shop.refunds.append(
        {
            "id": "re_1",
            "amount": 4500,
            "currency": "aud",
            "status": "succeeded",
            "metadata": {"clearance_key": call.key},
        }
    )
    assert ask(world, call).state == "succeeded"
    assert world.head(call).status == "cancelled"


def _at(shop, adapter):
    adapter["base_url"] = f"http://{shop.target.host}"
    adapter["allowed_hosts"] = [shop.target.host]
    return adapter


def _made_for(call):
    return {
        "id": "re_1",
        "amount": 4500,
        "currency": "aud",
        "status": "succeeded",
        "metadata": {"clearance_key": call.key},
    }
