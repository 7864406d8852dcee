"""S18: a run is cancelled; its card leaves the queue as "cancelled, never ran", and the client that waits is told."""

import threading
import time

import pytest

from approvals.selectors.proposals import inbox, proposal_detail
from runs.selectors.pages import run_shown
from runs.services.resolution import resolutions_consume
from runs.services.run import run_cancel
from runs.services.stop import stop_set
from tests.api.client import AgentClient
from tests.support import factories
from tests.support.processes import processes


@pytest.mark.parametrize("stand", ["waiting", "approved and stopped"])
def test_its_card_leaves_the_queue_as_cancelled_and_never_ran(world, stand):
    order = world.order()
    call = world.held(order)
    if stand != "waiting":
        stop_set(actor=world.admin, kind="tool", subject="refund_order", reason="Wait.")
        world.decide(call)
        resolutions_consume()
    reviewer = world.reviewer.actor
    operator = factories.person(world.tenant, roles=["operator"], name="Ola Brandt").actor
    run_cancel(actor=operator, run_id=call.run_id, reason="Wrong ticket")
    assert [row.id for row in inbox(reviewer, view="mine").rows] == []
    detail = proposal_detail(reviewer, call.proposal_id)
    assert (detail.status, detail.status_words) == ("cancelled", "Cancelled with its run; it never ran.")
    told = AgentClient(world.agent, on_behalf_of=world.asker.user_id).get(f"runs/{call.run_id}/calls/{call.call_id}")
    assert (told.status_code, told.json()["state"], told.json()["stopped"]) == (200, "cancelled", None)
    assert "was cancelled by Ola Brandt (Wrong ticket) before this call was sent" in told.json()["error"]["message"]
    world.work(call)
    assert world.refunds(order) == []
    shown = run_shown(operator, call.run_id)
    assert shown.cancel_asked == shown.cancel_acknowledged
    assert shown.quiescent, "nothing of it runs any more"
    assert (shown.unresolved, shown.may_cancel) == ("nothing", False)


def test_a_cancel_with_a_call_in_flight_is_acknowledged_and_not_quiescent_until_its_outcome_is_there(world):
    call = world.held()
    world.decide(call)
    operator = factories.person(world.tenant, roles=["operator"]).actor
    seen = []

    def cancel_in_the_middle(execute, statement, parameters, many, context):
        if not seen and "SELECT clearance_now(), status, fence" in statement:
            run_cancel(actor=operator, run_id=call.run_id, reason="Too late")
            seen.append(run_shown(operator, call.run_id))
        return execute(statement, parameters, many, context)

    from django.db import connection

    with connection.execute_wrapper(cancel_in_the_middle):
        world.work(call)
    [meanwhile] = seen
    assert meanwhile.cancel_acknowledged
    assert (meanwhile.quiescent, meanwhile.run.status) == ("", "cancelling")
    after = run_shown(operator, call.run_id)
    assert after.quiescent
    assert world.look(call).state == "succeeded"


@pytest.mark.stack
def test_the_client_that_waits_is_told_at_once(world, tmp_path):
    import httpx

    call = world.held()
    token = world.agent.token(on_behalf_of=world.asker.user_id)
    answers = []
    with processes(tmp_path) as running:
        running.web()
        address = f"{running.base_url}/api/v1/runs/{call.run_id}/calls/{call.call_id}"

        def wait():
            response = httpx.get(
                address, params={"wait": 55}, headers={"Authorization": f"Bearer {token}"}, timeout=90, trust_env=False
            )
            answers.append((response, time.monotonic()))

        waiter = threading.Thread(target=wait, daemon=True)
        waiter.start()
        time.sleep(1)  # it waits by now; if it came later it would be told as it comes
        cancelled_at = time.monotonic()
        run_cancel(actor=world.asker.actor, run_id=call.run_id, reason="Wrong ticket")
        waiter.join(90)
    [(response, told_at)] = answers
    assert (response.status_code, response.json()["state"]) == (200, "cancelled")
    assert told_at - cancelled_at < 40, "not at the end of its wait"
