"""Calls that together pass a limit, started at the same time: as many as fit are started, on either path."""

import pytest

from approvals.models import ExposureBucket
from runs.models import Event
from runs.services.resolution import resolutions_consume

LIMIT = """
version: 1
limits:
  - {id: day, tool: refund_order, per: customer, window: 24h, amount: {AUD: 10000}, over: deny}
rules:
"""
FREE = LIMIT + "  - {id: free, tool: refund_order, effect: allow}\n"
HELD = LIMIT + "  - {id: held, tool: refund_order, effect: ask, approvers: [{group: finance, count: 1}]}\n"


@pytest.mark.parametrize("source", [FREE, HELD], ids=["allowed", "approved"])
def test_of_calls_that_together_pass_a_limit_exactly_those_that_fit_are_started(world, race, source):
    """Each on an order of its own, so that nothing but the limit keeps them apart."""
    world.admit("refund_order", lambda document: document.update(timeout_ms=15_000, approval="policy"))
    world.publish(source)
    orders = [world.order() for _ in range(6)]
    if source is HELD:
        calls = [world.held(order, 4_500) for order in orders]
        for call in calls:
            world.decide(call)
        resolutions_consume(limit=100)
    else:
        calls = [world.refund(world.run(), order, 4_500) for order in orders]
    answers = race(lambda n: [world.work(calls[n]) for _ in range(2)], 6)
    assert [answer for answer in answers if isinstance(answer, Exception)] == []
    states = sorted(world.look(call).state for call in calls)
    assert states == ["refused"] * 4 + ["succeeded"] * 2
    assert sum(len(world.refunds(order)) for order in orders) == 2
    assert Event.objects.filter(kind="dispatch_started").count() == 2
    assert list(ExposureBucket.objects.filter(dimension="customer", unit="h").values_list("calls", "amount")) == [
        (2, 9_000)
    ]
