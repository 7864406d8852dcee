"""GET /api/v1/runs/{run_id}/calls/{call_id}, with and without waiting."""

import threading
import time

import pytest
from django.db import connections

from access.services.token import token_revoke
from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.support import factories

PATH = "/api/v1/runs/{run_id}/calls/{call_id}"


def later(seconds: float, function) -> threading.Thread:
    """Run `function` in a thread of its own after a while; its connections are given back."""

    def run() -> None:
        time.sleep(seconds)
        try:
            function()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_call_that_waits_is_read_with_its_proposal(world, agent):
    call = world.held()
    response = agent.get(f"runs/{call.run_id}/calls/{call.call_id}")
    assert response.status_code == 202
    assert_described(response, "get", PATH)
    body = response.json()
    assert (body["state"], body["final"]) == ("waiting", False)
    assert body["proposal"]["id"] == str(call.proposal_id)


def test_a_call_that_was_carried_out_is_read_with_result_and_receipt(world, agent):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    world.work(call)
    response = agent.get(f"runs/{call.run_id}/calls/{call.call_id}")
    assert response.status_code == 200
    assert_described(response, "get", PATH)
    body = response.json()
    (refund,) = world.refunds(order)
    assert (body["state"], body["outcome"], body["final"]) == ("succeeded", "committed", True)
    assert body["result"]["refund_id"] == refund["id"]
    assert body["receipt"]["reference"] == refund["id"]
    assert body["result_label"]["untrusted"] is True
    assert body["proposal"]["state"] == "granted"
    assert body["settled_at"]


@pytest.mark.parametrize("end", ["rejected", "withdrawn", "cancelled"])
def test_a_call_that_ended_otherwise_is_read_with_the_reason(world, agent, end):
    call = world.held()
    if end == "rejected":
        world.decide(call, "reject", reason="Wrong order.")
    elif end == "withdrawn":
        agent.post(f"runs/{call.run_id}/calls/{call.call_id}/withdraw", {})
    else:
        agent.post(f"runs/{call.run_id}/cancel", {})
    world.work(call)
    response = agent.get(f"runs/{call.run_id}/calls/{call.call_id}")
    assert response.status_code == 200
    assert_described(response, "get", PATH)
    body = response.json()
    assert (body["state"], body["final"], body["outcome"], body["result"]) == (end, True, "none", None)
    assert body["error"]["message"]


def test_a_waiter_is_told_as_soon_as_there_is_news(world, agent):
    call = world.held()
    path = f"runs/{call.run_id}/calls/{call.call_id}"

    def decide() -> None:
        world.decide(call, "reject", reason="Wrong order.")
        world.work(call)

    thread = later(0.5, decide)
    begun = time.monotonic()
    response = agent.get(path, wait=30)
    waited = time.monotonic() - begun
    thread.join()
    assert (response.status_code, response.json()["state"]) == (200, "rejected")
    assert 0.4 < waited < 10


def test_a_waiter_without_news_gets_the_call_as_it_stands(world, agent):
    call = world.held()
    begun = time.monotonic()
    response = agent.get(f"runs/{call.run_id}/calls/{call.call_id}", wait=0.6)
    assert 0.5 < time.monotonic() - begun < 5
    assert (response.status_code, response.json()["state"]) == (202, "waiting")


def test_a_final_call_is_not_waited_for(world, agent):
    call = world.held()
    agent.post(f"runs/{call.run_id}/cancel", {})
    begun = time.monotonic()
    assert agent.get(f"runs/{call.run_id}/calls/{call.call_id}", wait=30).status_code == 200
    assert time.monotonic() - begun < 5


def test_a_token_revoked_while_it_waits_is_told_nothing(world, agent):
    call = world.held()

    def revoke_then_reject() -> None:
        actor = world.tenant.admin.actor
        from access.services.token import token_verify

        token_revoke(actor=actor, session_id=token_verify(raw=agent.token).session_id)
        world.decide(call, "reject", reason="Wrong order.")
        world.work(call)

    thread = later(0.5, revoke_then_reject)
    response = agent.get(f"runs/{call.run_id}/calls/{call.call_id}", wait=30)
    thread.join()
    assert (response.status_code, error(response)["code"]) == (401, "SESSION_REVOKED")
    assert "Wrong order" not in response.content.decode()


def test_a_person_who_is_removed_while_they_wait_is_told_nothing(world):
    from access.services.people import member_change

    call = world.held()
    watcher = factories.person(world.tenant, ["auditor"])
    client = browser(watcher)

    def remove_then_reject() -> None:
        member_change(actor=world.admin, membership_id=watcher.membership_id, active=False)
        world.decide(call, "reject", reason="Wrong order.")
        world.work(call)

    thread = later(0.5, remove_then_reject)
    response = client.get(f"/api/v1/runs/{call.run_id}/calls/{call.call_id}?wait=30")
    thread.join()
    assert response.status_code == 401
    assert "Wrong order" not in response.content.decode()


def test_a_wait_that_is_no_time_is_refused(world, agent, subtests):
    cases = ["-1", "NaN", "inf", "soon", "", "1e400"]
    for wait in cases:
        with subtests.test(case=repr(wait)[:80]):
            call = world.held()
            response = agent.get(f"runs/{call.run_id}/calls/{call.call_id}", wait=wait)
            assert_described(response, "get", PATH)
            assert (response.status_code, error(response)["code"]) == (422, "QUERY_INVALID")


def test_people_read_it_and_another_agent_finds_nothing(world):
    call = world.held()
    path = f"runs/{call.run_id}/calls/{call.call_id}"
    assert browser(world.reviewer).get(f"/api/v1/{path}").status_code == 202
    other = AgentClient(factories.agent(world.tenant))
    for asked in (path, f"runs/{call.run_id}/calls/unknown"):
        response = other.get(asked)
        assert_described(response, "get", PATH)
        assert (response.status_code, error(response)["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("call_id", ["%00", "refund%00", "a%0ab", "%ff", "-", "x" * 129])
def test_an_id_that_no_call_can_have_reads_like_an_unknown_one(world, agent, call_id):
    run = world.run()
    for response in (
        agent.get(f"runs/{run.id}/calls/{call_id}"),
        agent.post(f"runs/{run.id}/calls/{call_id}/withdraw", {}),
    ):
        assert (response.status_code, error(response)["code"]) == (404, "NOT_FOUND")
