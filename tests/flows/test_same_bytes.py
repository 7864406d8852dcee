"""What is shown, hashed and executed are the same bytes, defaults included (S3, data rule 14)."""

import json

from approvals.selectors.proposals import proposal_detail
from audit.core.canonical import sha256_hex
from tests.support.world import row


def test_a_default_is_shown_hashed_and_executed_alike(world):
    order = world.order()
    call = world.held(order)  # the agent says nothing of `notify`
    stored = row(call)
    bound = json.loads(bytes(stored.canonical))["arguments"]
    assert "notify" not in json.loads(bytes(stored.given))
    assert bound["notify"] is True
    detail = proposal_detail(world.reviewer.actor, call.proposal_id)
    shown = {line.path: line for line in detail.content.call.rows}
    assert (shown["/notify"].raw, shown["/notify"].default) == ("true", True)
    assert detail.digest == stored.digest == sha256_hex(bytes(stored.canonical))
    world.decide(call)
    world.work(call)
    [refund] = world.refunds(order)
    assert refund["metadata"]["notify"] == "true"
    assert (refund["amount"], refund["metadata"]["order"]) == (bound["amount"], bound["order_id"])


def test_a_default_that_a_later_contract_changes_does_not_reach_a_call_that_was_asked_before(world):
    """The call keeps the contract it was made for, or is refused; it is never filled anew."""
    order = world.order()
    call = world.held(order)
    world.decide(call)
    world.admit("refund_order", lambda document: document["input_schema"]["properties"]["notify"].update(default=False))
    world.work(call)
    assert json.loads(bytes(row(call).canonical))["arguments"]["notify"] is True
    assert world.look(call).state == "refused"
    assert world.refunds(order) == []
