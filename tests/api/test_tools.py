"""GET /api/v1/tools."""

from django.test import Client

from approvals.services.contract import contract_retire
from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.support import factories

PATH = "/api/v1/tools"


def names(agent: AgentClient) -> list[str]:
    response = agent.get("tools")
    assert response.status_code == 200
    assert_described(response, "get", PATH)
    return [tool["name"] for tool in response.json()["tools"]]


def test_a_token_sees_the_tools_that_its_scopes_cover(world, agent):
    assert names(agent) == ["get_order", "refund_order"]
    assert names(AgentClient(factories.agent(world.tenant, scopes=["orders:read"]))) == ["get_order"]
    assert names(AgentClient(factories.agent(world.tenant, scopes=[]))) == []


def test_a_retired_tool_is_gone_at_once(world, agent):
    contract_retire(actor=world.admin, tool="refund_order")
    assert names(agent) == ["get_order"]


def test_another_organisation_has_tools_of_its_own(world):
    assert names(AgentClient(factories.agent(factories.tenant()))) == []


def test_a_person_may_look_and_nobody_is_asked_for_a_token(world):
    response = browser(world.reviewer).get(PATH)
    assert_described(response, "get", PATH)
    assert response.status_code == 200
    assert error(Client().get(PATH))["code"] == "UNAUTHENTICATED"
