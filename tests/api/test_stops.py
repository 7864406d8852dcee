"""/api/v1/stops: listing, setting and lifting; and what the agent reads on its own call."""

import json
import uuid

import pytest

from runs.services.resolution import resolutions_consume
from runs.services.stop import stop_set
from tests.api.client import browser, error
from tests.api.openapi import assert_described
from tests.support import factories

STOPS = "/api/v1/stops"
LIFT = "/api/v1/stops/{stop_id}/lift"
REASON = "Refunds go to the wrong accounts."


def post(client, path, body):
    return client.post(path, json.dumps(body), content_type="application/json")


@pytest.fixture
def operator(world):
    return browser(factories.person(world.tenant, roles=["operator"], name="Olga Operator"))


def test_a_tool_is_stopped_listed_and_lifted(world, operator):
    call = world.held()
    world.decide(call)
    resolutions_consume()
    body = {"kind": "tool", "subject": "refund_order", "reason": REASON}
    first = post(operator, STOPS, body)
    assert_described(first, "post", STOPS)
    assert (first.status_code, first.json()["repeated"], first.json()["settled"]) == (201, False, True)
    again = post(operator, STOPS, body)
    assert_described(again, "post", STOPS)
    assert (again.status_code, again.json()["repeated"]) == (200, True)
    listing = operator.get(STOPS)
    assert_described(listing, "get", STOPS)
    [row] = listing.json()["in_force"]
    assert (row["what"], row["set_by"], row["held"], row["in_flight"]) == (
        "The tool refund_order",
        "Olga Operator",
        1,
        0,
    )
    stop_id = row["id"]
    for repeated in (False, True):
        lifted = post(operator, f"/api/v1/stops/{stop_id}/lift", {"reason": "Mended."})
        assert_described(lifted, "post", LIFT)
        assert (lifted.status_code, lifted.json()["repeated"]) == (200, repeated)
    assert [row["lifted_reason"] for row in operator.get(STOPS).json()["lifted"]] == ["Mended."]
    world.work(call)
    assert world.look(call).state == "succeeded"


def test_the_agent_reads_that_its_call_is_stopped_by_whom_since_when_and_why(world, agent, operator):
    call = world.held()
    path = f"runs/{call.run_id}/calls/{call.call_id}"
    assert agent.get(path).json()["stopped"] is None
    post(operator, STOPS, {"kind": "agent", "subject": world.agent.id, "reason": REASON})
    waiting = agent.get(path)
    assert_described(waiting, "get", "/api/v1/runs/{run_id}/calls/{call_id}")
    assert (waiting.status_code, waiting.json()["state"]) == (202, "waiting")
    world.decide(call)
    resolutions_consume()
    told = agent.get(path).json()
    assert (told["state"], told["final"], told["error"]) == ("ready", False, None)
    stopped = told["stopped"]
    assert (stopped["kind"], stopped["by"], stopped["reason"]) == ("agent", "Olga Operator", REASON)
    assert stopped["message"].startswith("The agent Support agent is stopped by Olga Operator since 20")
    assert REASON in stopped["message"]


def test_the_agent_reads_that_its_call_waits_for_a_freeze_and_until_when(world, agent):
    call = world.held()
    path = f"runs/{call.run_id}/calls/{call.call_id}"
    assert agent.get(path).json()["frozen"] is None
    freeze = '{id: audit, from: "2026-01-01T00:00:00Z", to: "2999-01-01T00:00:00Z", tools: ["*"]}'
    world.publish(world.policy.replace("rules:", f"freeze: [{freeze}]\nrules:"))
    world.decide(call)
    world.work(call)
    waiting = agent.get(path)
    assert_described(waiting, "get", "/api/v1/runs/{run_id}/calls/{call_id}")
    told = waiting.json()
    assert (told["state"], told["final"], told["error"]) == ("ready", False, None)
    assert (told["frozen"]["rule"], told["frozen"]["until"][:10]) == ("freeze:audit", "2999-01-01")
    assert "The call is not refused" in told["frozen"]["message"]
    page = browser(world.reviewer)
    read = page.get("/guards/banner/", {"proposal_id": str(call.proposal_id)}).content.decode()
    assert "A freeze of the policy starts nothing like this" in read
    assert "Its time runs out before the freeze is over" in read
    assert "Approved, frozen" in page.get(f"/proposals/{call.proposal_id}/").content.decode()


def test_no_token_lists_sets_or_lifts(world, agent):
    done = stop_set(actor=world.admin, kind="tool", subject="get_order", reason=REASON)
    for response in (
        agent.get("stops"),
        agent.post("stops", {"kind": "tenant", "reason": REASON}),
        agent.post(f"stops/{done.stop.id}/lift", {"reason": REASON}),
    ):
        assert (response.status_code, error(response)["code"]) == (403, "PERSON_REQUIRED")


def test_a_reviewer_reads_and_changes_nothing(world):
    reviewer = browser(world.reviewer)
    assert reviewer.get(STOPS).status_code == 200
    response = post(reviewer, STOPS, {"kind": "tenant", "reason": REASON})
    assert_described(response, "post", STOPS)
    assert (response.status_code, error(response)["code"]) == (403, "ROLE_MISSING")


def test_a_change_needs_the_csrf_token(world):
    operator = browser(factories.person(world.tenant, roles=["operator"]), csrf=True)
    response = post(operator, STOPS, {"kind": "tenant", "reason": REASON})
    assert (response.status_code, error(response)["code"]) == (403, "CSRF_FAILED")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"kind": "installation", "reason": REASON}, 422, "BODY_INVALID"),
        ({"kind": "tenant", "subject": "x", "reason": REASON}, 422, "KIND_INVALID"),
        ({"kind": "tenant", "reason": "\u200b"}, 422, "REASON_REQUIRED"),
        ({"kind": "tenant"}, 422, "BODY_INVALID"),
        ({"kind": "tool", "subject": "launch_rocket", "reason": REASON}, 404, "NOT_FOUND"),
        ({"kind": "agent", "subject": str(uuid.uuid4()), "reason": REASON}, 404, "NOT_FOUND"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(world, operator, body, status, code):
    response = post(operator, STOPS, body)
    assert_described(response, "post", STOPS)
    assert (response.status_code, error(response)["code"]) == (status, code)
    assert operator.get(STOPS).json()["in_force"] == []


def test_the_installations_stop_is_seen_and_not_lifted_here(world, operator):
    from runs.store.claims import system_actor

    done = stop_set(actor=system_actor(""), kind="installation", reason=REASON)
    assert [row["kind"] for row in operator.get(STOPS).json()["in_force"]] == ["installation"]
    response = post(operator, f"/api/v1/stops/{done.stop.id}/lift", {"reason": REASON})
    assert_described(response, "post", LIFT)
    assert (response.status_code, error(response)["code"]) == (403, "INSTALLATION")
