"""runs/services/in_doubt.py: what may have happened is neither refused nor held, whatever today's policy says (S80)."""

from datetime import timedelta

import pytest

from approvals.models import Proposal
from audit.store import clock
from runs.models import Dispatch
from tests.services.runs.test_outcomes import Shop, work_until_final
from tests.support.approvals import ALLOWING, DENYING, asking
from tests.support.target import Target
from tests.support.world import kinds

SAFE = {
    "approval": "policy", "side_effect": "idempotent", "idempotency": {"enforced_by_target": True},
    "retry": {"class": "safe", "attempts": 3, "base_ms": 60_000, "factor": 1},
}  # fmt: skip


@pytest.mark.parametrize("obstacle", [DENYING, asking(("finance", 1)), "late"], ids=["denied", "asked", "late"])
def test_a_call_whose_answer_was_lost_is_looked_up_where_it_may_not_be_sent_again(world, stand_at, obstacle):
    shop = Shop()
    with Target(shop) as target:
        shop.target, shop.refund = target, shop.lose
        world.admit("refund_order", lambda document: document.update(SAFE), host=target.host)
        world.publish(ALLOWING)
        run, order = world.run(), world.order()
        soon = clock.now() + timedelta(seconds=90)  # later than the retry is due
        call = world.refund(run, order, deadline=soon if obstacle == "late" else None)
        world.work(run)
        assert kinds(run.id)[-1] == "dispatch_failed"
        if obstacle == "late":
            stand_at(soon)
        else:
            world.publish(obstacle)
        Dispatch.objects.filter(call_id=call.id, status="ready").update(not_before=clock.now())
        work_until_final(world, call)
    after = world.look(call)
    assert (after.state, len(shop.refunds)) == ("succeeded", 1)
    assert "outcome_unknown" in kinds(run.id)
    assert not Proposal.objects.exists()
