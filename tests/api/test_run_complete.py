"""POST /api/v1/runs/{run_id}/complete."""

from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.support import factories

PATH = "/api/v1/runs/{run_id}/complete"


def test_its_agent_completes_it_once(world, agent):
    run = world.run()
    for repeated in (False, True):
        response = agent.post(f"runs/{run.id}/complete", {"summary": "All done."})
        assert response.status_code == 200
        assert_described(response, "post", PATH)
        assert response.json()["state"] == "completed"
        assert response.json()["repeated"] is repeated
    assert response.json()["finished_at"]


def test_a_body_may_be_left_out(world, agent):
    assert agent.post(f"runs/{world.run().id}/complete").json()["state"] == "completed"


def test_while_a_call_is_open_it_is_refused(world, agent):
    call = world.held()
    response = agent.post(f"runs/{call.run_id}/complete", {})
    assert_described(response, "post", PATH)
    assert (response.status_code, error(response)["code"]) == (409, "NOT_IN_THIS_STATE")
    assert call.call_id in error(response)["message"]


def test_a_person_and_another_agent_may_not(world):
    run = world.run()
    operator = browser(factories.person(world.tenant, ["operator", "admin"]))
    response = operator.post(f"/api/v1/runs/{run.id}/complete", {}, content_type="application/json")
    assert (response.status_code, error(response)["code"]) == (403, "AGENT_REQUIRED")
    response = AgentClient(factories.agent(world.tenant)).post(f"runs/{run.id}/complete", {})
    assert (response.status_code, error(response)["code"]) == (404, "NOT_FOUND")


def test_unknown_members_are_named(world, agent):
    response = agent.post(f"runs/{world.run().id}/complete", {"sumary": "x"})
    assert (response.status_code, error(response)["detail"]["unknown"]) == (422, ["sumary"])
