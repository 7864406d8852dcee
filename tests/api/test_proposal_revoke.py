"""POST /api/v1/proposals/{proposal_id}/revoke: an approval is taken back until its call is started (S81)."""

import json

import pytest

from tests.api.client import browser, error
from tests.api.openapi import assert_described
from tests.support import factories

PATH = "/api/v1/proposals/{proposal_id}/revoke"


def revoke(client, call, reason="The customer kept the lamp."):
    response = client.post(
        f"/api/v1/proposals/{call.proposal_id}/revoke", json.dumps({"reason": reason}), content_type="application/json"
    )
    assert_described(response, "post", PATH)
    return response


@pytest.mark.parametrize("who", ["admin", "operator", "decider"])
def test_an_admin_an_operator_and_whoever_approved_it_take_it_back_and_nothing_runs(world, who):
    person = {
        "admin": world.tenant.admin,
        "operator": factories.person(world.tenant, roles=["operator"]),
        "decider": world.reviewer,
    }[who]
    order = world.order()
    call = world.held(order)
    world.decide(call)
    response = revoke(browser(person), call)
    assert (response.status_code, response.json()["state"], response.json()["round"]) == (200, "pending", 2)
    assert response.json()["message"] == "The approval was taken back; people are asked anew."
    world.work(call)
    assert (world.look(call).state, world.refunds(order)) == ("waiting", [])


def test_somebody_else_and_an_agent_do_not(world, agent):
    call = world.held()
    world.decide(call)
    response = revoke(browser(world.second_reviewer), call)
    assert (response.status_code, error(response)["code"]) == (403, "ROLE_MISSING")
    response = agent.post(f"proposals/{call.proposal_id}/revoke", {"reason": "Please."})
    assert (response.status_code, error(response)["code"]) == (403, "PERSON_REQUIRED")
    world.work(call)
    assert world.look(call).state == "succeeded"


def test_what_was_started_or_never_approved_is_a_conflict(world):
    admin = browser(world.tenant.admin)
    pending, done = world.held(), world.held()
    world.decide(done)
    world.work(done)
    for call, code in ((pending, "NOT_GRANTED"), (done, "ALREADY_STARTED")):
        response = revoke(admin, call)
        assert (response.status_code, error(response)["code"]) == (409, code)


def test_a_reason_is_required(world):
    call = world.held()
    world.decide(call)
    response = revoke(browser(world.tenant.admin), call, reason=" ")
    assert (response.status_code, error(response)["code"]) == (422, "REASON_REQUIRED")
    world.work(call)
    assert world.look(call).state == "succeeded"
