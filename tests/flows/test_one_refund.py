"""The walking skeleton on real processes: an agent asks over HTTP, a person decides, one refund exists."""

import pytest

from sdk.clearance_client import Refused
from tests.support.stack import Stack, eventually

pytestmark = pytest.mark.stack


def ask(stack: Stack, agent, order: str, **arguments):
    """An open run and its refund call, as the API answered it once it was judged."""
    run = agent.open_run(f"refund {order}")
    call = agent.call(run["id"], "refund", "refund_order", {"order_id": order, **arguments})
    if call["state"] == "new":
        call = eventually(lambda: (c := agent.get_call(run["id"], "refund", wait=1))["state"] != "new" and c)
    return run, call


def test_an_approved_refund_happens_once_and_every_record_tells_the_same(stack):
    agent, reviewer = stack.agent(), stack.browser_session("reviewer")
    run, call = ask(stack, agent, "ord_1032", amount=650, currency="AUD", note="chipped mug")
    assert call["state"] == "waiting"
    assert stack.charge_refunds("ord_1032") == []
    proposal = call["proposal"]
    path = f"/api/v1/proposals/{proposal['id']}/decide"
    decided = reviewer.post(path, json={"verdict": "approve", "digest": proposal["digest"], "reason": ""})
    assert decided.status_code == 200, decided.text
    final = agent.wait_for_call(run["id"], "refund", seconds=20)
    assert final["state"] == "succeeded"
    [refund] = stack.charge_refunds("ord_1032")
    assert refund["amount"] == 650
    page = reviewer.get(f"/proposals/{proposal['id']}/").text
    assert refund["id"] in page
    assert refund["id"] in reviewer.get(f"/runs/{run['id']}/").text
    kinds = [event["kind"] for event in agent.events(run["id"])["events"]]
    assert kinds.index("call_held") < kinds.index("resolution_consumed") < kinds.index("dispatch_started")
    assert kinds.count("dispatch_started") == kinds.count("dispatch_succeeded") == 1
    actions = [row[0] for row in stack.sql("SELECT action FROM audit_entry WHERE run_id = %s", [run["id"]])]
    for action in ("call.started", "call.succeeded"):
        assert actions.count(action) == 1, actions
    assert agent.complete(run["id"])["state"] == "completed"


def test_a_rejected_refund_never_reaches_the_payment_server_and_the_agent_is_told_why(stack):
    agent, reviewer = stack.agent(), stack.browser_session("reviewer")
    run, call = ask(stack, agent, "ord_1036", amount=100, currency="AUD")
    path = f"/api/v1/proposals/{call['proposal']['id']}/decide"
    body = {"verdict": "reject", "digest": call["proposal"]["digest"], "reason": "The cushions were on sale."}
    assert reviewer.post(path, json=body).status_code == 200
    final = agent.wait_for_call(run["id"], "refund", seconds=20)
    assert final["state"] == "rejected"
    assert "The cushions were on sale." in str(final)
    assert stack.charge_refunds("ord_1036") == []


def test_more_than_is_left_is_refused_before_anybody_is_asked(stack):
    agent = stack.agent()
    run = agent.open_run("too much")
    with pytest.raises(Refused) as caught:
        call = agent.call(
            run["id"], "refund", "refund_order", {"order_id": "ord_1037", "amount": 1841, "currency": "AUD"}
        )
        assert call["state"] == "new"
        agent.get_call(run["id"], "refund", wait=10)
    assert caught.value.code == "AMOUNT_EXCEEDS_LEFT"
    assert stack.charge_refunds("ord_1037") == []


def test_an_agents_token_never_decides(stack):
    agent = stack.agent()
    _, call = ask(stack, agent, "ord_1039", amount=300, currency="AUD")
    with pytest.raises(Refused) as caught:
        agent._request(
            "POST",
            f"proposals/{call['proposal']['id']}/decide",
            json={"verdict": "approve", "digest": call["proposal"]["digest"], "reason": ""},
        )
    assert caught.value.status == 403
    assert stack.charge_refunds("ord_1039") == []


def test_a_withdrawn_call_leaves_the_queue_and_cannot_be_approved(stack):
    agent, reviewer = stack.agent(), stack.browser_session("reviewer")
    run, call = ask(stack, agent, "ord_1042", amount=300, currency="AUD")
    agent.withdraw(run["id"], "refund")
    path = f"/api/v1/proposals/{call['proposal']['id']}/decide"
    late = reviewer.post(path, json={"verdict": "approve", "digest": call["proposal"]["digest"], "reason": ""})
    assert late.status_code == 409
    assert "took this back" in late.json()["error"]["message"]
    assert call["proposal"]["id"] not in reviewer.get("/").text
    assert stack.charge_refunds("ord_1042") == []
