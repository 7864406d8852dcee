"""An owner who edits a call's row so that it fits itself: the run's history still names what was asked (S84)."""

import pytest

from tests.services.runs.test_sending import ALLOWING, unattended
from tests.support.approvals import edit_as_owner
from tests.support.world import row

EDITED = "convert_to(replace(convert_from(canonical, 'UTF8'), '4500', '4900'), 'UTF8')"
EDITS = {
    "bytes and digest": f"canonical = {EDITED}, digest = encode(sha256({EDITED}), 'hex')",
    "key": "key = 'clr_' || repeat('0', 40)",
    "tool": "tool = 'get_order'",
    "target": "target = 'payments/order/another'",
}


@pytest.fixture
def allowing(world):
    """A tenant whose policy lets small refunds through without people: no proposal keeps a copy of the call."""
    world.admit("refund_order", unattended)
    world.publish(ALLOWING)
    return world


@pytest.mark.parametrize("what", EDITS)
def test_what_was_edited_before_it_was_judged_is_refused(allowing, owner_sql, what):
    world, order = allowing, allowing.order()
    run = world.run()
    call = world.refund(run, order)
    edit_as_owner(owner_sql, "runs_call", EDITS[what], f"id = '{call.id}'")
    world.work(run)
    call = world.look(call)
    assert (call.state, call.answer["error"]["code"]) == ("refused", "CALL_ALTERED")
    assert call.answer["outcome"] == "none"
    assert world.refunds(order) == []


@pytest.mark.parametrize("what", EDITS)
def test_what_was_edited_after_it_was_approved_is_refused(world, owner_sql, what):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    edit_as_owner(owner_sql, "runs_call", EDITS[what], f"id = '{call.id}'")
    world.work(call)
    call = world.look(call)
    assert (call.state, call.answer["error"]["code"]) == ("refused", "CALL_ALTERED")
    assert world.refunds(order) == []


def test_what_nobody_edited_goes_through(allowing):
    order = allowing.order()
    run = allowing.run()
    call = allowing.refund(run, order)
    allowing.work(run)
    assert allowing.look(call).state == "succeeded"
    assert allowing.keys(order) == [row(call).key]
