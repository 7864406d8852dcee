"""POST and GET /api/v1/runs/{run_id}/turns, and calls that name a turn (R10: exposure per turn)."""

import json
from datetime import timedelta
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest

from approvals.services.shown_tools import shown_tools_set
from audit.core.jsondoor import BODY_LIMIT
from audit.store import clock
from runs.models import Event
from tests.api.client import AgentClient, bearer, browser, error
from tests.api.openapi import assert_described
from tests.support import factories

PATH = "/api/v1/runs/{run_id}/turns"


@pytest.fixture
def run(world):
    return world.run()


def opened(agent, run, **body):
    response = agent.post(f"runs/{run.id}/turns", body)
    assert_described(response, "post", PATH)
    return response


def refund(agent, run, call_id="c1", **more):
    arguments = {"order_id": "ord_1029", "amount": 4500, "currency": "AUD"}
    response = agent.post(
        f"runs/{run.id}/calls", {"call_id": call_id, "tool": "refund_order", "arguments": arguments, **more}
    )
    assert_described(response, "post", "/api/v1/runs/{run_id}/calls")
    return response


def test_a_turn_answers_with_what_to_give_the_model(agent, run):
    response = opened(agent, run, turn_id="msg-1", tools=["get_order"])
    assert response.status_code == 201
    turn = response.json()
    assert (turn["run_id"], turn["turn_id"], turn["number"]) == (str(run.id), "msg-1", 1)
    assert (turn["narrowed"], turn["repeated"]) == (True, False)
    [tool] = turn["tools"]
    assert set(tool) == {"name", "title", "description", "side_effect", "scopes", "version", "input_schema"}
    assert (tool["name"], tool["version"]) == ("get_order", 1)
    assert tool["input_schema"]["properties"].keys() == {"order_id"}
    again = opened(agent, run, turn_id="msg-1", tools=["get_order"])
    assert (again.status_code, again.json()) == (200, turn | {"repeated": True})
    *_, event = agent.get(f"runs/{run.id}/events").json()["events"]
    assert (event["kind"], event["body"]["tools"]) == ("turn_opened", ["get_order"])


def test_a_call_outside_its_turn_is_refused_in_words_and_is_not_there(agent, run):
    opened(agent, run, turn_id="msg-1", tools=["get_order"])
    response = refund(agent, run)
    assert response.status_code == 403
    found = error(response)
    assert (found["code"], found["alternatives"], found["outcome"]) == ("NOT_EXPOSED", ["get_order"], "none")
    assert found["message"] == (
        "refund_order is not among the tools that turn msg-1 shows. Use one of the alternatives, or open the next turn "
        "with it."
    )
    assert agent.get(f"runs/{run.id}/calls/c1").status_code == 404


def test_a_call_of_an_earlier_turn_is_refused_and_its_repetition_is_not(agent, run):
    opened(agent, run, turn_id="msg-1")
    assert refund(agent, run, turn="msg-1").status_code == 202
    assert opened(agent, run, turn_id="msg-2", tools=[]).json()["tools"] == []
    late = refund(agent, run, "c2", turn="msg-1")
    assert (late.status_code, error(late)["code"]) == (409, "TURN_NOT_OPEN")
    assert error(late)["detail"] == {"open": {"turn_id": "msg-2", "number": 2}}
    again = refund(agent, run, turn="msg-1")
    assert (again.status_code, again.json()["repeated"]) == (202, True)


def test_the_other_refusals_have_codes_of_their_own(agent, run):
    unknown = opened(agent, run, turn_id="msg-1", tools=["erase_all"])
    assert (unknown.status_code, error(unknown)["code"]) == (422, "TOOLS_INVALID")
    opened(agent, run, turn_id="msg-1")
    other = opened(agent, run, turn_id="msg-1", tools=["get_order"])
    assert (other.status_code, error(other)["code"]) == (409, "TURN_ID_REUSED")
    agent.post(f"runs/{run.id}/complete", {})
    over = opened(agent, run, turn_id="msg-2")
    assert (over.status_code, error(over)["code"]) == (409, "NOT_IN_THIS_STATE")


def test_another_shape_is_refused_by_name(agent, run, subtests):
    cases = [
        ({}, ["turn_id"], [], []),
        ({"turn_id": 7}, [], [], ["turn_id"]),
        ({"turn_id": ""}, [], [], ["turn_id"]),
        ({"turn_id": "a b"}, [], [], ["turn_id"]),
        ({"turn_id": "t\u200b1"}, [], [], ["turn_id"]),
        ({"turn_id": "t\u202e1"}, [], [], ["turn_id"]),
        ({"turn_id": "t1\n"}, [], [], ["turn_id"]),
        ({"turn_id": "x" * 129}, [], [], ["turn_id"]),
        ({"turn_id": None}, [], [], ["turn_id"]),
        ({"turn_id": "t1", "number": 2}, [], ["number"], []),
        ({"turn_id": "t1", "tools": "get_order"}, [], [], ["tools"]),
        ({"turn_id": "t1", "tools": None}, [], [], ["tools"]),
        ({"turn_id": "t1", "tools": [""]}, [], [], ["tools"]),
        ({"turn_id": "t1", "tools": [7]}, [], [], ["tools"]),
        ({"turn_id": "t1", "tools": ["x" * 65]}, [], [], ["tools"]),
        ({"turn_id": "t1", "tools": ["get_order"] * 101}, [], [], ["tools"]),
    ]
    for body, missing, unknown, wrong in cases:
        with subtests.test(case=repr(body)[:80]):
            response = opened(agent, run, **body)
            found = error(response)
            assert (response.status_code, found["code"]) == (422, "BODY_INVALID")
            assert (found["missing"], found["detail"]["unknown"]) == (missing, unknown)
            assert sorted({name.split(".")[0] for name in found["detail"]["wrong"]}) == wrong
    response = refund(agent, run, turn="t\u200b1")
    assert (response.status_code, list(error(response)["detail"]["wrong"])) == (422, ["turn"])
    assert not Event.objects.filter(run_id=run.id, kind="turn_opened").exists()


def test_a_body_over_a_mebibyte_is_not_taken_and_one_of_that_size_is_read(agent, run):
    body = json.dumps({"turn_id": "msg-1"}).encode()
    for data, status in ((body + b" " * (BODY_LIMIT + 1 - len(body)), 413), (body.ljust(BODY_LIMIT), 201)):
        response = agent.http.post(
            f"/api/v1/runs/{run.id}/turns", data, content_type="application/json", headers=bearer(agent.token)
        )
        assert_described(response, "post", PATH)
        assert response.status_code == status


def test_nobody_else_opens_a_turn(world, agent, run):
    """A foreign run is an unknown one: tests/flows/test_foreign_ids.py."""
    asked = {"data": {"turn_id": "t1"}, "content_type": "application/json"}
    person = browser(world.asker)
    response = person.post(f"/api/v1/runs/{run.id}/turns", **asked)
    assert (response.status_code, error(response)["code"]) == (403, "AGENT_REQUIRED")
    foreign = AgentClient(factories.agent(factories.tenant()))
    assert opened(foreign, run, turn_id="t1").status_code == 404


# -- reading which one is open -----------------------------------------------------------------------------------------


def read(client, run):
    response = client.get(f"runs/{run.id}/turns")
    assert_described(response, "get", PATH)
    return response


NO_TURN: dict[str, object] = {"turn": None, "shown": [], "until": None}


def test_the_open_turn_is_read_with_its_tools_and_its_latest_end(world, agent, stand_at):
    end = clock.now() + timedelta(minutes=1)
    run = agent.post("runs", {"title": "Refund", "deadline": end.isoformat()}).json()
    run = SimpleNamespace(**run)
    assert read(agent, run).json() == NO_TURN, "none was opened yet"
    opened(agent, run, turn_id="msg-1")
    second = opened(agent, run, turn_id="msg-2", tools=["get_order"]).json()
    found = read(agent, run)
    assert found.status_code == 200
    assert found.json() == {
        "turn": second | {"repeated": True},
        "shown": ["get_order"],
        "until": run.deadline,
    }
    stand_at(end - timedelta(milliseconds=1))
    assert read(agent, run).json()["turn"], "to the last moment"
    stand_at(end)
    assert read(agent, run).json() == NO_TURN, "no call is taken any more"


def test_a_turn_of_a_run_without_a_deadline_has_no_latest_end(agent, run):
    opened(agent, run, turn_id="msg-1", tools=[])
    assert (read(agent, run).json()["until"], read(agent, run).json()["shown"]) == (None, [])


def test_what_was_taken_away_since_is_shown_no_more_and_told(world, agent, run):
    opened(agent, run, turn_id="msg-1")
    shown_tools_set(actor=world.admin, agent_id=UUID(world.agent.id), tools=["get_order"])
    found = read(agent, run).json()
    assert [tool["name"] for tool in found["turn"]["tools"]] == ["get_order"]
    assert found["shown"] == ["get_order", "refund_order"]


def test_a_run_that_is_over_has_no_open_turn(agent, run):
    opened(agent, run, turn_id="msg-1")
    agent.post(f"runs/{run.id}/complete", {})
    assert read(agent, run).json() == NO_TURN


def test_reading_changes_nothing(agent, run):
    opened(agent, run, turn_id="msg-1")
    before = agent.get(f"runs/{run.id}").json()["seq"]
    read(agent, run)
    assert agent.get(f"runs/{run.id}").json()["seq"] == before


def test_whoever_may_read_the_run_reads_its_turn_and_nobody_else(world, agent, run):
    opened(agent, run, turn_id="msg-1", tools=["get_order"])
    person = browser(world.asker).get(f"/api/v1/runs/{run.id}/turns")
    assert person.status_code == browser(world.asker).get(f"/api/v1/runs/{run.id}").status_code == 200
    assert (person.json()["shown"], person.json()["turn"]["tools"]) == (["get_order"], []), "people call no tools"
    foreign, another = (
        AgentClient(made) for made in (factories.agent(factories.tenant()), factories.agent(world.tenant))
    )
    unknown = error(read(agent, SimpleNamespace(id=uuid4())))
    for client in (foreign, another):
        refused = read(client, run)
        assert (refused.status_code, error(refused)) == (404, unknown)
    assert agent.http.get(f"/api/v1/runs/{run.id}/turns").status_code == 401
