"""POST /api/v1/runs/{run_id}/cancel."""

from runs.models import Event
from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.support import factories

PATH = "/api/v1/runs/{run_id}/cancel"


def test_its_agent_cancels_it_and_what_waits_leaves_the_queue(world, agent):
    call = world.held()
    for repeated in (False, True):
        response = agent.post(f"runs/{call.run_id}/cancel", {"reason": "called off"})
        assert response.status_code == 200
        assert_described(response, "post", PATH)
        assert (response.json()["state"], response.json()["repeated"]) == ("cancelled", repeated)
    told = agent.get(f"runs/{call.run_id}/calls/{call.call_id}").json()
    assert (told["state"], told["proposal"]["state"]) == ("cancelled", "cancelled")
    assert told["error"]["code"] == "RUN_CANCELLED"


def test_an_operator_cancels_it_from_the_browser(world):
    run = world.run()
    operator = browser(factories.person(world.tenant, ["operator"]))
    response = operator.post(f"/api/v1/runs/{run.id}/cancel", {}, content_type="application/json")
    assert (response.status_code, response.json()["state"]) == (200, "cancelled")


def test_a_reason_that_no_database_keeps_stops_nobody_from_stopping(world):
    run = world.run()
    operator = browser(factories.person(world.tenant, ["operator"]))
    response = operator.post(f"/runs/{run.id}/cancel/", {"reason": "wrong\0 order"})
    assert response.status_code == 302
    [asked] = Event.objects.filter(run_id=run.id, kind="cancel_asked")
    assert asked.body["reason"] == "wrong order"


def test_a_reviewer_may_not_and_another_agent_finds_nothing(world):
    run = world.run()
    response = browser(world.reviewer).post(f"/api/v1/runs/{run.id}/cancel", {}, content_type="application/json")
    assert_described(response, "post", PATH)
    assert (response.status_code, error(response)["missing"]) == (403, ["operator"])
    response = AgentClient(factories.agent(world.tenant)).post(f"runs/{run.id}/cancel", {})
    assert (response.status_code, error(response)["code"]) == (404, "NOT_FOUND")


def test_stopping_works_while_the_audit_log_does_not(world, agent, owner_sql):
    run = world.run()
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    response = agent.post(f"runs/{run.id}/cancel", {})
    assert (response.status_code, response.json()["state"]) == (200, "cancelled")
    assert owner_sql("SELECT count(*) FROM audit_owed") == [(1,)]


def test_a_run_that_completed_is_a_conflict(world, agent):
    run = world.run()
    agent.post(f"runs/{run.id}/complete")
    response = agent.post(f"runs/{run.id}/cancel", {})
    assert (response.status_code, error(response)["code"]) == (409, "NOT_IN_THIS_STATE")
