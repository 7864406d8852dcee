"""The look between the intent and the write: whoever lost the call in that moment sends nothing (R7, S37)."""

import pytest

from tests.support.world import kinds

LOST = {
    "another worker has it": "NEW.fence := NEW.fence + 1",
    "the lease is over": "NEW.lease_until := clearance_now()",
}


@pytest.mark.parametrize("how", LOST)
def test_a_call_that_was_lost_right_after_its_intent_is_not_sent(world, owner_sql, how):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    owner_sql(
        "CREATE FUNCTION test_taken_over() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN {LOST[how]}; RETURN NEW; END $$"
    )
    owner_sql(
        "CREATE TRIGGER test_taken_over BEFORE UPDATE ON runs_dispatch FOR EACH ROW "
        "WHEN (NEW.status = 'started' AND OLD.status = 'claimed' AND NEW.kind = 'dispatch') "
        "EXECUTE FUNCTION test_taken_over()"
    )
    world.work(call)
    assert world.refunds(order) == []
    assert kinds(call.run_id)[-2:] == ["dispatch_started", "late_result_kept"]
    assert world.look(call).state == "started"  # whoever has it now settles it; this worker says nothing of it
