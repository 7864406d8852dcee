"""GET /api/v1/runs/{run_id}."""

import pytest
from django.test import Client

from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.support import factories

PATH = "/api/v1/runs/{run_id}"


def test_its_agent_reads_it(world, agent):
    run = world.run()
    response = agent.get(f"runs/{run.id}")
    assert response.status_code == 200
    assert_described(response, "get", PATH)
    body = response.json()
    assert (body["id"], body["state"], body["seq"]) == (str(run.id), "ready", run.seq)
    assert body["meaning"]


def test_its_state_follows_what_happens(world, agent):
    call = world.held()
    body = agent.get(f"runs/{call.run_id}").json()
    assert body["state"] == "waiting_approval"
    world.decide(call, "reject")
    world.work(call)
    assert agent.get(f"runs/{call.run_id}").json()["state"] == "ready"


@pytest.mark.parametrize("roles", [["reviewer"], ["operator"], ["admin"], ["auditor"]])
def test_people_of_the_organisation_read_it(world, roles):
    run = world.run()
    response = browser(factories.person(world.tenant, roles)).get(f"/api/v1/runs/{run.id}")
    assert response.status_code == 200
    assert response.json()["id"] == str(run.id)


def test_another_agent_and_a_member_without_a_role_find_nothing(world):
    run = world.run()
    other = AgentClient(factories.agent(world.tenant))
    member = browser(factories.person(world.tenant, []))
    for response in (other.get(f"runs/{run.id}"), member.get(f"/api/v1/runs/{run.id}")):
        assert_described(response, "get", PATH)
        assert (response.status_code, error(response)["code"]) == (404, "NOT_FOUND")


def test_nobody_is_asked_for_a_token(world):
    response = Client().get(f"/api/v1/runs/{world.run().id}")
    assert (response.status_code, error(response)["code"]) == (401, "UNAUTHENTICATED")
