"""GET /api/v1/tools."""

from django.test import Client

from approvals.selectors.catalogue import contract_document
from approvals.services.contract import contract_retire, contract_sign
from approvals.services.publisher import publisher_key_add
from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.support import factories
from tests.support.publishers import Publisher

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


def test_each_tool_says_who_signed_its_contract(world, agent):
    team = Publisher()
    found_document = contract_document(world.tenant.id, "refund_order")
    assert found_document is not None
    publisher_key_add(actor=world.admin, publisher=team.name, public_key=team.public, at_console=True)
    contract_sign(actor=world.admin, tool="refund_order", number=1, signature=team.signed(found_document[1]))
    found = {tool["name"]: tool["signature"] for tool in agent.get("tools").json()["tools"]}
    assert found["get_order"] == {"state": "none", "words": "Not signed.", "publisher": "", "fingerprint": ""}
    signed = found["refund_order"]
    assert (signed["state"], signed["publisher"], signed["fingerprint"]) == ("valid", team.name, team.fingerprint)
    assert signed["words"].startswith("Signed by Payments Team")


def test_another_organisation_has_tools_of_its_own(world):
    assert names(AgentClient(factories.agent(factories.tenant()))) == []


def test_a_person_may_look_and_nobody_is_asked_for_a_token(world):
    response = browser(world.reviewer).get(PATH)
    assert_described(response, "get", PATH)
    assert response.status_code == 200
    assert error(Client().get(PATH))["code"] == "UNAUTHENTICATED"
