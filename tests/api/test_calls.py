"""POST /api/v1/runs/{run_id}/calls: the envelope (E1), its refusals (E3), repetitions (E7, S2)."""

import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections

from audit.core.canonical import canonical_bytes, sha256_hex
from audit.selectors.entries import EntryFilters, entries_page
from audit.store import clock
from runs.models import Call
from runs.services.wake import run_wake
from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.support import factories

PATH = "/api/v1/runs/{run_id}/calls"


@pytest.fixture
def run(world):
    return world.run()


def refund(order: str = "ord_1029", amount: int = 4_500, **more: Any) -> dict[str, Any]:
    return {
        "call_id": "refund",
        "tool": "refund_order",
        "arguments": {"order_id": order, "amount": amount, "currency": "AUD"},
        **more,
    }


@pytest.fixture
def worker(world, settings):
    """A worker of this process that takes up runs until the test ends."""
    settings.VERDICT_WAIT_SECONDS = 10
    ended = threading.Event()

    def turn() -> None:
        try:
            while not ended.is_set():
                for run_id in Call.objects.values_list("run_id", flat=True).distinct():
                    run_wake(run_id=run_id)
                time.sleep(0.02)
        finally:
            connections.close_all()

    thread = threading.Thread(target=turn, daemon=True)
    thread.start()
    yield
    ended.set()
    thread.join(10)


def test_a_call_without_a_verdict_yet_is_received(agent, run):
    response = agent.post(f"runs/{run.id}/calls", refund(reason="Arrived broken.", trace_id="t-1", message_id="m-1"))
    assert response.status_code == 202
    assert_described(response, "post", PATH)
    call = response.json()
    assert (call["state"], call["final"], call["proposal"], call["error"]) == ("new", False, None, None)
    assert call["idempotency_key"].startswith("clr_")
    stored = Call.objects.get()
    assert (call["digest"], call["id"], call["call_id"]) == (stored.digest, str(stored.pk), "refund")
    assert (stored.reason, stored.trace_id, stored.message_id) == ("Arrived broken.", "t-1", "m-1")


def test_a_call_that_people_decide_comes_back_with_its_proposal(world, agent, run, worker):
    before = clock.now()
    response = agent.post(f"runs/{run.id}/calls", refund(world.order()))
    assert response.status_code == 202
    assert_described(response, "post", PATH)
    call = response.json()
    assert call["state"] == "waiting"
    assert call["proposal"]["digest"] == call["digest"]
    assert call["proposal"]["url"] == f"http://localhost:8000/proposals/{call['proposal']['id']}/"
    assert call["proposal"]["state"] == "pending"
    assert call["proposal"]["expires_at"] > before.isoformat()


def test_a_call_that_needs_nobody_comes_back_with_its_result_labelled_as_content_from_outside(
    world, agent, run, worker
):
    order = world.order(18_900)
    response = agent.post(
        f"runs/{run.id}/calls", {"call_id": "read", "tool": "get_order", "arguments": {"order_id": order}}
    )
    assert response.status_code == 200
    assert_described(response, "post", PATH)
    call = response.json()
    assert (call["state"], call["outcome"], call["retry_safe"]) == ("succeeded", "none", True)
    assert call["result"]["left"] == 18_900
    assert call["result_label"]["untrusted"] is True
    assert call["result_label"]["cut"] is False
    assert "get_order" in call["result_label"]["source"] or world.stripe.host in call["result_label"]["source"]


@pytest.mark.parametrize(
    ("amount", "status", "code"), [(200_000, 403, "DENIED"), (300_001, 422, "AMOUNT_EXCEEDS_LEFT")]
)
def test_a_call_that_is_refused_says_why_with_a_status_of_its_own(world, agent, run, worker, amount, status, code):
    response = agent.post(f"runs/{run.id}/calls", refund(world.order(300_000), amount))
    assert response.status_code == status, response.json()
    assert_described(response, "post", PATH)
    found = error(response)
    assert (found["code"], found["outcome"]) == (code, "none")
    call = response.json()["call"]
    assert (call["state"], call["final"], call["error"]) == ("refused", True, found)
    assert world.stripe.refunds(next(iter(world.orders.values()))["charge"]) == []


def test_an_envelope_of_another_shape_is_refused_by_name(agent, run, subtests):
    cases = [
        ({"call_id": ...}, ["call_id"], [], []),
        ({"tool": ..., "arguments": ...}, ["tool", "arguments"], [], []),
        ({"colour": "red"}, [], ["colour"], []),
        ({"on_behalf_of": "x"}, [], ["on_behalf_of"], []),
        ({"call_id": 7}, [], [], ["call_id"]),
        ({"call_id": ""}, [], [], ["call_id"]),
        ({"call_id": "a/b"}, [], [], ["call_id"]),
        ({"call_id": ".."}, [], [], ["call_id"]),
        ({"call_id": "a b"}, [], [], ["call_id"]),
        ({"call_id": "a\n"}, [], [], ["call_id"]),
        ({"call_id": "x" * 129}, [], [], ["call_id"]),
        ({"call_id": "ä"}, [], [], ["call_id"]),
        ({"tool": None}, [], [], ["tool"]),
        ({"message_id": 1}, [], [], ["message_id"]),
        ({"deadline": "2031-01-01 00:00"}, [], [], ["deadline"]),
        ({"arguments_hash": "abc"}, [], [], ["arguments_hash"]),
        ({"reason": "x" * 2001}, [], [], ["reason"]),
        ({"scope": {"colour": "x"}}, [], ["scope.colour"], []),
        ({"scope": "acme"}, [], [], ["scope"]),
    ]
    for change, missing, unknown, wrong in cases:
        with subtests.test(case=repr((change, missing, unknown, wrong))[:80]):
            body = {name: value for name, value in {**refund(), **change}.items() if value is not ...}
            response = agent.post(f"runs/{run.id}/calls", body)
            assert_described(response, "post", PATH)
            found = error(response)
            assert (response.status_code, found["code"]) == (422, "BODY_INVALID")
            assert (found["missing"], found["detail"]["unknown"]) == (missing, unknown)
            assert sorted(found["detail"]["wrong"]) == wrong
            assert Call.objects.count() == 0


def test_what_repeats_the_token_and_the_arguments_is_taken(world, agent, run):
    body = refund()
    body |= {
        "arguments_hash": sha256_hex(canonical_bytes(body["arguments"])),
        "scope": {"tenant": world.tenant.slug, "agent": world.agent.id, "on_behalf_of": world.asker.user_id},
    }
    assert agent.post(f"runs/{run.id}/calls", body).status_code == 202


def test_what_contradicts_the_token_or_the_arguments_is_refused_by_name(agent, run, subtests):
    cases = [
        ({"scope": {"tenant": "globex"}}, "scope.tenant"),
        ({"scope": {"agent": "x"}}, "scope.agent"),
        ({"scope": {"on_behalf_of": ""}}, "scope.on_behalf_of"),
        ({"arguments_hash": "0" * 64}, "arguments_hash"),
    ]
    for more, field in cases:
        with subtests.test(case=repr((more, field))[:80]):
            response = agent.post(f"runs/{run.id}/calls", refund(**more))
            assert_described(response, "post", PATH)
            found = error(response)
            assert (response.status_code, found["code"]) == (422, "ENVELOPE_CONTRADICTS")
            assert found["detail"]["fields"] == [field]
            assert field in found["message"]
            assert Call.objects.count() == 0


def test_another_key_than_the_derived_one_is_refused(agent, run):
    response = agent.post(f"runs/{run.id}/calls", refund(idempotency_key="mine"))
    assert (response.status_code, error(response)["code"]) == (422, "KEY_CONTRADICTS")
    derived = error(response)["detail"]["derived"]
    assert agent.post(f"runs/{run.id}/calls", refund(idempotency_key=derived)).json()["idempotency_key"] == derived


def test_arguments_that_do_not_fit_the_tool_are_refused(agent, run, subtests):
    cases = [None, {}, [], "x", {"order_id": "ord_1"}, {"order_id": "ord_1", "amount": "45"}]
    for arguments in cases:
        with subtests.test(case=repr(arguments)[:80]):
            response = agent.post(f"runs/{run.id}/calls", refund() | {"arguments": arguments})
            assert_described(response, "post", PATH)
            assert response.status_code == 422
            assert error(response)["code"].startswith("ARGUMENTS_")
            assert Call.objects.count() == 0


def test_an_unknown_tool_is_refused_with_those_that_may_be_used(agent, run):
    response = agent.post(f"runs/{run.id}/calls", refund() | {"tool": "transfer_money"})
    assert_described(response, "post", PATH)
    assert (response.status_code, error(response)["code"]) == (404, "UNKNOWN_TOOL")
    assert error(response)["alternatives"] == ["get_order", "refund_order"]


def test_a_missing_scope_is_named_and_the_attempt_recorded(world):
    agent = AgentClient(factories.agent(world.tenant, scopes=["orders:read"]))
    run_id = agent.post("runs", {"title": "x"}).json()["id"]
    response = agent.post(f"runs/{run_id}/calls", refund())
    assert_described(response, "post", PATH)
    found = error(response)
    assert (response.status_code, found["code"], found["missing"]) == (403, "SCOPE_MISSING", ["refunds:write"])
    assert found["alternatives"] == ["get_order"]
    (entry,) = entries_page(world.tenant.id, EntryFilters(action="call.submitted", verdict="refused"))
    assert entry.detail["missing"] == ["refunds:write"]


def test_a_deadline_that_has_passed_is_refused(agent, run):
    late = (clock.now() - timedelta(seconds=1)).isoformat()
    response = agent.post(f"runs/{run.id}/calls", refund(deadline=late))
    assert (response.status_code, error(response)["code"]) == (422, "DEADLINE_PASSED")


def test_the_same_call_again_is_the_same_call_in_its_present_state(world, agent, run):
    order = world.order()
    first = agent.post(f"runs/{run.id}/calls", refund(order))
    world.work(run)
    again = agent.post(f"runs/{run.id}/calls", refund(order))
    assert (first.status_code, again.status_code) == (202, 202)
    assert_described(again, "post", PATH)
    assert again.json()["id"] == first.json()["id"]
    assert (first.json()["state"], again.json()["state"]) == ("new", "waiting")
    assert (first.json()["repeated"], again.json()["repeated"]) == (False, True)
    assert Call.objects.count() == 1
    verdicts = [e.verdict for e in entries_page(world.tenant.id, EntryFilters(action="call.submitted"))]
    assert verdicts == ["duplicate", "ok"]


def test_a_call_that_has_ended_is_repeated_with_its_end(world, agent):
    call = world.held()
    world.decide(call, "reject", reason="Wrong order.")
    world.work(call)
    body = refund() | {"call_id": call.call_id}
    body["arguments"]["order_id"] = next(iter(world.orders))
    response = agent.post(f"runs/{call.run_id}/calls", body)
    assert_described(response, "post", PATH)
    assert response.status_code == 409
    assert response.json()["error"]["code"] == "REJECTED"
    assert "Wrong order" in response.json()["error"]["message"]
    assert response.json()["call"]["state"] == "rejected"


@pytest.mark.parametrize("amount", [49_000, 450_000])
def test_the_same_call_id_with_other_arguments_is_a_conflict_and_recorded(world, agent, run, amount):
    """S2: €49.00 approved, the agent sends the same call id with €490.00."""
    agent.post(f"runs/{run.id}/calls", refund(amount=4_900))
    response = agent.post(f"runs/{run.id}/calls", refund(amount=amount))
    assert_described(response, "post", PATH)
    assert (response.status_code, error(response)["code"]) == (409, "CALL_ID_REUSED")
    assert Call.objects.count() == 1
    (entry,) = entries_page(world.tenant.id, EntryFilters(action="call.submitted", verdict="refused"))
    assert (entry.detail["code"], entry.call_id) == ("CALL_ID_REUSED", "refund")


def test_a_run_that_has_ended_takes_no_call(agent, run):
    agent.post(f"runs/{run.id}/complete")
    response = agent.post(f"runs/{run.id}/calls", refund())
    assert_described(response, "post", PATH)
    assert (response.status_code, error(response)["code"]) == (409, "NOT_IN_THIS_STATE")


def test_a_token_for_another_person_cannot_speak_in_the_run(world, run):
    alone = AgentClient(world.agent)
    response = alone.post(f"runs/{run.id}/calls", refund())
    assert (response.status_code, error(response)["code"]) == (403, "PRINCIPAL_DIFFERS")


def test_another_agent_and_a_person_ask_for_nothing(world, run):
    response = AgentClient(factories.agent(world.tenant)).post(f"runs/{run.id}/calls", refund())
    assert (response.status_code, error(response)["code"]) == (404, "NOT_FOUND")
    person = browser(factories.person(world.tenant, ["reviewer", "operator", "admin"]))
    response = person.post(f"/api/v1/runs/{run.id}/calls", refund(), content_type="application/json")
    assert (response.status_code, error(response)["code"]) == (403, "AGENT_REQUIRED")
    assert Call.objects.count() == 0


def test_no_entry_no_call(agent, run, owner_sql):
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    response = agent.post(f"runs/{run.id}/calls", refund())
    assert response.status_code >= 500
    assert Call.objects.count() == 0


def test_a_bad_call_hides_no_other(world, agent, run):
    """S87: refused at the door, one proposal's content can never blank the queue of the others."""
    for body in (b'{"call_id":"a","tool":"refund_order","arguments":{"x":"\\ud800"}}', b"[" * 5000):
        response = agent.http.post(
            f"/api/v1/runs/{run.id}/calls",
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {agent.token}"},
        )
        assert response.status_code == 422
        assert error(response)["code"].startswith("JSON_")
    assert agent.post(f"runs/{run.id}/calls", refund(world.order())).status_code == 202
