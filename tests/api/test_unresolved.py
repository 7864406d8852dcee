"""Unknown outcomes over HTTP: read, asked about and decided by people, and what the agent reads afterwards."""

import json

import pytest

from audit.store import clock
from runs.models import Dispatch
from tests.api.client import browser, error
from tests.api.openapi import assert_described
from tests.services.runs.test_reconciliation import lose, machine, operator, proven, shop, unknown
from tests.support import factories
from tests.support.unknown import lost

__all__ = ["operator", "shop"]

LIST = "/api/v1/unresolved"
ONE = "/api/v1/unresolved/{unresolved_id}"


@pytest.fixture
def ola(operator):
    return browser(operator)


def decide(client, call, choice, **more):
    body = {"choice": choice, "attempt": 1, "reason": "Looked at the provider's page."} | more
    return client.post(f"{LIST}/{call.id}/decide", json.dumps(body), content_type="application/json")


def test_the_list_and_a_call_are_read_by_people(world, ola):
    call = lost(world)
    response = ola.get(LIST)
    assert_described(response, "get", LIST)
    [row] = response.json()["calls"]
    assert (row["id"], row["amount"], response.json()["total"]) == (str(call.id), "A$45.00", 1)
    assert row["look_up"]["conclusive"] is False
    response = ola.get(f"{LIST}/{call.id}")
    assert_described(response, "get", ONE)
    one = response.json()
    assert (one["state"], one["attempt"], one["idempotency_key"], one["key_enforced"]) == (
        "unknown", 1, call.key, False,
    )  # fmt: skip


def test_no_token_reads_asks_or_decides(world, agent):
    call = lost(world)
    for response in (
        agent.get("unresolved"),
        agent.get(f"unresolved/{call.id}"),
        agent.post(f"unresolved/{call.id}/ask"),
        agent.post(f"unresolved/{call.id}/decide", {"choice": "leave", "attempt": 1, "reason": "Later."}),
    ):
        assert (response.status_code, error(response)["code"]) == (403, "PERSON_REQUIRED")


def test_asking_is_a_wish(world, ola):
    call = lost(world)
    Dispatch.objects.filter(call_id=call.id, kind="look_up").update(not_before=clock.now().replace(year=2090))
    response = ola.post(f"{LIST}/{call.id}/ask")
    assert_described(response, "post", ONE + "/ask")
    assert (response.status_code, response.json()["choice"]) == (200, "ask")
    assert Dispatch.objects.get(call_id=call.id, kind="look_up").not_before <= clock.now()


def test_each_choice_and_what_its_agent_reads_then(world, shop, ola, agent, stand_at):
    call = proven(world, shop, stand_at)
    read = f"runs/{call.run_id}/calls/{call.call_id}"
    before = agent.get(read)
    assert (before.status_code, before.json()["outcome"], before.json()["retry_safe"]) == (202, "unknown", False)
    response = decide(ola, call, "leave")
    assert_described(response, "post", ONE + "/decide")
    assert agent.get(read).json()["error"] == before.json()["error"]
    assert decide(ola, call, "retry").json()["state"] == "ready"
    told = agent.get(read)
    assert_described(told, "get", "/api/v1/runs/{run_id}/calls/{call_id}")
    assert (told.status_code, told.json()["state"], told.json()["error"]["code"]) == (202, "ready", "SENT_AGAIN")
    lose(world, shop, call)
    assert decide(ola, call, "happened", attempt=2, reference="re_1").status_code == 200
    told = agent.get(read)
    assert_described(told, "get", "/api/v1/runs/{run_id}/calls/{call_id}")
    assert (told.status_code, told.json()["outcome"], told.json()["receipt"]["reference"]) == (200, "committed", "re_1")


def test_the_agent_of_a_call_that_did_not_happen_may_ask_anew(world, shop, ola, agent, stand_at):
    call = proven(world, shop, stand_at)
    assert decide(ola, call, "did_not_happen").status_code == 200
    told = agent.get(f"runs/{call.run_id}/calls/{call.call_id}")
    assert_described(told, "get", "/api/v1/runs/{run_id}/calls/{call_id}")
    found = told.json()
    assert (told.status_code, found["state"], found["outcome"], found["retry_safe"]) == (200, "failed", "none", True)


def test_refusals_have_their_form_and_their_status(world, shop, ola):
    call = unknown(world, shop)
    early = decide(ola, call, "retry")
    assert_described(early, "post", ONE + "/decide")
    found = error(early)
    assert (early.status_code, found["code"], found["outcome"]) == (409, "NOT_CONCLUSIVE", "unknown")
    assert found["retry_after"] >= 1
    for body, code, status in (
        ({"choice": "approve"}, "BODY_INVALID", 422),
        ({"choice": "happened"}, "REFERENCE_REQUIRED", 422),
        ({"choice": "leave", "reason": "\u200b"}, "REASON_REQUIRED", 422),
        ({"choice": "leave", "attempt": 7}, "ATTEMPT_CHANGED", 409),
    ):
        response = decide(ola, call, **body)
        assert (response.status_code, error(response)["code"]) == (status, code)
        assert_described(response, "post", ONE + "/decide")
    reviewer = browser(world.reviewer)
    assert (decide(reviewer, call, "leave").status_code, reviewer.post(f"{LIST}/{call.id}/ask").status_code) == (
        403,
        403,
    )
    guarded = browser(factories.person(world.tenant, ["operator"]), csrf=True)
    assert error(decide(guarded, call, "leave"))["code"] == "CSRF_FAILED"
    assert decide(ola, call, "happened", reference="re_1").status_code == 200
    late = decide(browser(factories.person(world.tenant, ["operator"])), call, "leave")
    assert (late.status_code, error(late)["detail"]["by"]) == (409, "Ola Brandt")
    again = ola.post(f"{LIST}/{call.id}/ask")
    assert (again.status_code, error(again)["code"]) == (409, "NOT_UNKNOWN")
    assert machine(call).reference == "re_1"


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_the_api_neither_approves_nor_rejects_while_the_outcome_is_unknown(world, shop, verdict):
    call = unknown(world, shop)
    body = {"verdict": verdict, "digest": call.digest, "reason": "No."}
    response = browser(world.second_reviewer).post(
        f"/api/v1/proposals/{call.proposal_id}/decide", json.dumps(body), content_type="application/json"
    )
    assert (response.status_code, error(response)["code"]) == (409, "ALREADY_DECIDED")
