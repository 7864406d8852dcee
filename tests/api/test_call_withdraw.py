"""POST /api/v1/runs/{run_id}/calls/{call_id}/withdraw."""

from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.support import factories

PATH = "/api/v1/runs/{run_id}/calls/{call_id}/withdraw"


def test_a_call_that_waits_is_taken_back_and_leaves_the_queue(world, agent):
    call = world.held()
    for _ in range(2):
        response = agent.post(f"runs/{call.run_id}/calls/{call.call_id}/withdraw", {"reason": "Found another way."})
        assert response.status_code == 200
        assert_described(response, "post", PATH)
        assert response.json()["state"] == "withdrawn"
    assert response.json()["proposal"]["state"] == "withdrawn"
    assert response.json()["repeated"]


def test_what_was_carried_out_cannot_be_taken_back(world, agent):
    call = world.held()
    world.decide(call)
    world.work(call)
    response = agent.post(f"runs/{call.run_id}/calls/{call.call_id}/withdraw")
    assert_described(response, "post", PATH)
    assert (response.status_code, error(response)["code"]) == (409, "NOT_IN_THIS_STATE")
    assert agent.get(f"runs/{call.run_id}/calls/{call.call_id}").json()["state"] == "succeeded"


def test_only_its_agent_takes_it_back(world):
    call = world.held()
    path = f"runs/{call.run_id}/calls/{call.call_id}/withdraw"
    response = AgentClient(factories.agent(world.tenant)).post(path, {})
    assert (response.status_code, error(response)["code"]) == (404, "NOT_FOUND")
    response = browser(world.reviewer).post(f"/api/v1/{path}", {}, content_type="application/json")
    assert (response.status_code, error(response)["code"]) == (403, "AGENT_REQUIRED")


def test_an_unknown_call_is_not_found(world, agent):
    response = agent.post(f"runs/{world.run().id}/calls/unknown/withdraw", {})
    assert (response.status_code, error(response)["code"]) == (404, "NOT_FOUND")
