"""What is counted while calls are really sent: on both paths, once, and not what is proven not to have happened."""

import pytest

from approvals.models import ExposureBucket, ExposureEntry
from approvals.services.exposure import exposure_count, exposure_take_back
from tests.core.approvals.documents import refund
from tests.services.runs.test_outcomes import work_until_final
from tests.services.runs.test_reconciliation import decide, operator, proven, shop, unknown
from tests.support.world import POLICY, kinds, row

__all__ = ["operator", "shop"]

LIMITS = """
version: 1
limits:
  - {id: day, tool: refund_order, per: customer, window: 24h, amount: {AUD: 10000}, over: deny, message: Enough.}
"""
FREE = LIMITS + "rules:\n  - {id: free, tool: '*', effect: allow}\n"
HELD = LIMITS + POLICY.replace("version: 1\n", "").lstrip()


def free(world, host="", **changes):
    """Refunds that nobody has to be asked for, but for the limit."""
    world.publish(FREE)
    world.admit("refund_order", lambda document: document.update({"approval": "policy", **changes}), host=host)


def sums():
    """(calls, minor units) of the tool today."""
    return list(ExposureBucket.objects.filter(dimension="tool", unit="d").values_list("calls", "amount"))


def test_an_allowed_call_is_counted_and_the_next_one_over_the_limit_is_refused_in_words(world):
    free(world)
    run, order = world.run(), world.order()
    first, second = world.refund(run, order, 6_000), world.refund(run, order, 4_001)
    read = world.submit(run, "get_order", {"order_id": order})
    for _ in range(3):
        world.work(run)
    assert [world.look(call).state for call in (first, second, read)] == ["succeeded", "refused", "succeeded"]
    assert (sums(), len(world.refunds(order))) == ([(1, 6_000)], 1)
    error = world.look(second).answer["error"]
    assert (error["code"], error["message"], error["detail"]["rule"]) == ("OVER_LIMIT", "Enough.", "limit:day")
    assert "A$60.00 for this customer in 24 hours and this A$40.01 come to A$100.01" in error["detail"]["why"][0]
    assert [entry.key for entry in ExposureEntry.objects.all()] == [row(first).key]


def test_an_approved_call_is_counted_when_it_is_started_and_another_approved_one_is_refused_at_its_start(world):
    world.publish(HELD)
    order = world.order()
    first, second = world.held(order, 6_000), world.held(order, 6_000)
    assert sums() == []
    for call in (first, second):
        world.decide(call)
        world.work(call)
    assert [world.look(call).state for call in (first, second)] == ["succeeded", "refused"]
    assert (sums(), len(world.refunds(order))) == ([(1, 6_000)], 1)


def test_what_failed_is_taken_back_and_another_attempt_is_counted_once(world, shop):
    free(world, shop.target.host)
    run, order = world.run(), world.order()
    shop.refund = shop.refuse
    refused = world.refund(run, order, 6_000)
    world.work(run)
    assert (world.look(refused).state, sums()) == ("failed", [(0, 0)])
    seen = []
    turns = iter([shop.turn_away, shop.give])
    shop.refund = lambda visit: (seen.append(sums()), next(turns)(visit))
    call = work_until_final(world, world.refund(run, order, 6_000))
    # Both times it stood in the sum while it was under way.
    assert (call.state, seen, sums()) == ("succeeded", [[(1, 6_000)], [(1, 6_000)]], [(1, 6_000)])


def test_what_may_have_happened_stays_counted_until_it_is_proven_that_it_did_not(world, shop, operator, stand_at):
    call = proven(world, shop, stand_at)
    assert sums() == [(1, 4_500)]
    decide(operator, call, "did_not_happen")
    assert (world.look(call).state, sums()) == ("failed", [(0, 0)])


def test_an_operators_retry_takes_back_and_the_start_counts_again(world, shop, operator, stand_at):
    call = proven(world, shop, stand_at)
    decide(operator, call, "retry")
    assert sums() == [(0, 0)]
    world.work(call)
    assert (world.look(call).state, sums()) == ("succeeded", [(1, 4_500)])


def test_what_an_operator_finds_to_have_happened_stays_counted(world, shop, operator):
    call = unknown(world, shop)
    decide(operator, call, "happened", reference="re_881")
    assert sums() == [(1, 4_500)]


def test_an_idempotent_call_that_is_sent_again_without_an_answer_stays_counted_meanwhile(world, shop):
    safe = {"side_effect": "idempotent", "idempotency": {"enforced_by_target": True},
            "retry": {"class": "safe", "attempts": 3, "base_ms": 60_000, "factor": 1}}  # fmt: skip
    free(world, shop.target.host, **safe)
    run, order = world.run(), world.order()
    shop.refund = shop.lose
    call = world.refund(run, order, 6_000)
    world.work(run)
    assert (kinds(call.run_id)[-1], sums()) == ("dispatch_failed", [(1, 6_000)])


def test_counting_belongs_into_the_transaction_that_starts(world):
    with pytest.raises(RuntimeError):
        exposure_count(
            tenant_id=world.tenant.id, key="k", contract=refund(), arguments={}, state=None, agent_id=world.agent.id
        )
    with pytest.raises(RuntimeError):
        exposure_take_back(tenant_id=world.tenant.id, key="k")
