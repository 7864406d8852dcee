"""GET /api/v1/runs/{run}/tools, and runs that are opened with fewer tools (R10: exposure per turn)."""

from uuid import UUID

from approvals.services.shown_tools import shown_tools_set
from tests.api.openapi import assert_described


def opened(agent, **more):
    response = agent.post("runs", {"title": "Refund", **more})
    assert_described(response, "post", "/api/v1/runs")
    return response


def names(agent, run_id):
    response = agent.get(f"runs/{run_id}/tools")
    assert_described(response, "get", "/api/v1/runs/{run_id}/tools")
    return [tool["name"] for tool in response.json()["tools"]]


def refund(agent, run_id):
    body = {"call_id": "call-1", "tool": "refund_order"}
    return agent.post(
        f"runs/{run_id}/calls", {**body, "arguments": {"order_id": "ord_1029", "amount": 4500, "currency": "AUD"}}
    )


def test_a_run_may_call_what_it_was_opened_with_and_nothing_else(agent):
    run_id = opened(agent, tools=["get_order"]).json()["id"]
    assert names(agent, run_id) == ["get_order"]
    response = refund(agent, run_id)
    assert response.status_code == 403
    assert_described(response, "post", "/api/v1/runs/{run_id}/calls")
    error = response.json()["error"]
    assert (error["code"], error["alternatives"]) == ("NOT_EXPOSED", ["get_order"])
    assert agent.get(f"runs/{run_id}/calls/call-1").status_code == 404


def test_a_run_without_a_list_has_all_tools_of_its_agent(agent):
    run_id = opened(agent).json()["id"]
    assert names(agent, run_id) == ["get_order", "refund_order"]


def test_a_run_narrows_and_never_widens(world, agent):
    shown_tools_set(actor=world.admin, agent_id=UUID(world.agent.id), tools=["get_order"])
    response = opened(agent, tools=["get_order", "refund_order"])
    assert (response.status_code, response.json()["error"]["code"]) == (422, "TOOLS_INVALID")


def test_what_an_admin_takes_from_the_agent_is_gone_from_its_open_runs(world, agent):
    run_id = opened(agent, tools=["get_order", "refund_order"]).json()["id"]
    shown_tools_set(actor=world.admin, agent_id=UUID(world.agent.id), tools=["get_order"])
    assert names(agent, run_id) == ["get_order"]
    assert refund(agent, run_id).json()["error"]["code"] == "NOT_EXPOSED"
