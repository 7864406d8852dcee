"""Scenarios of other systems' bug reports, from the agent's request to the payment server and back (S1, S60 to S83)."""

import json
from typing import Any

import pytest

from audit.core.canonical import canonical_bytes, sha256_hex
from audit.selectors.entries import entries_page
from tests.api.client import AgentClient, bearer, browser, error
from tests.support import factories
from tests.support.target import Target, Visit


@pytest.fixture(autouse=True)
def no_worker_to_wait_for(settings: Any) -> None:
    settings.VERDICT_WAIT_SECONDS = 0


@pytest.fixture
def agent(world):
    return AgentClient(world.agent, on_behalf_of=world.asker.user_id)


def refund(order: str, amount: int = 4_500, call_id: str = "refund", **arguments: Any) -> dict[str, Any]:
    return {
        "call_id": call_id,
        "tool": "refund_order",
        "arguments": {"order_id": order, "amount": amount, "currency": "AUD", **arguments},
    }


def decide(world, call: dict[str, Any], verdict: str, **more: Any) -> Any:
    body = {"verdict": verdict, "digest": call["digest"], **more}
    return browser(world.reviewer).post(
        f"/api/v1/proposals/{call['proposal']['id']}/decide", body, content_type="application/json"
    )


def held(world, agent, run, body: dict[str, Any]) -> dict[str, Any]:
    agent.post(f"runs/{run.id}/calls", body)
    world.work(run)
    call = agent.get(f"runs/{run.id}/calls/{body['call_id']}").json()
    assert call["state"] == "waiting", call
    return call


def test_two_calls_decided_in_reverse_order_each_get_their_own_decision(world, agent):
    """S1: decisions matched by position in a list."""
    run, first_order, second_order = world.run(), world.order(), world.order()
    first = held(world, agent, run, refund(first_order, 1_000, "first"))
    second = held(world, agent, run, refund(second_order, 2_000, "second"))
    assert decide(world, second, "approve").status_code == 200
    assert decide(world, first, "reject", reason="Not the first.").status_code == 200
    world.work(run)
    states = {name: agent.get(f"runs/{run.id}/calls/{name}").json()["state"] for name in ("first", "second")}
    assert states == {"first": "rejected", "second": "succeeded"}
    assert world.refunds(first_order) == []
    assert [refund["amount"] for refund in world.refunds(second_order)] == [2_000]


def test_one_calls_digest_decides_no_other_call(world, agent):
    run = world.run()
    first = held(world, agent, run, refund(world.order(), 1_000, "first"))
    second = held(world, agent, run, refund(world.order(), 2_000, "second"))
    response = decide(world, {**first, "digest": second["digest"]}, "approve")
    assert (response.status_code, error(response)["code"]) == (409, "DIGEST_CHANGED")
    assert agent.get(f"runs/{run.id}/calls/first").json()["state"] == "waiting"


def test_the_backend_sees_its_own_credential_and_nothing_of_the_callers(world, agent):
    """S60: the caller's Authorization, cookies and x-headers never travel on."""

    def orders(visit: Visit) -> None:
        visit.answer_json(
            {"id": "ch_1", "amount": 18_900, "amount_refunded": 0, "currency": "aud", "status": "succeeded"}
        )

    order = world.order()
    with Target(orders) as target:
        world.admit("get_order", host=target.host)
        run = world.run()
        response = agent.http.post(
            f"/api/v1/runs/{run.id}/calls",
            json.dumps({"call_id": "read", "tool": "get_order", "arguments": {"order_id": order}}),
            content_type="application/json",
            headers={
                **bearer(agent.token),
                "Cookie": "sessionid=callers-session; other=callers-cookie",
                "X-Api-Key": "callers-key",
                "X-Forwarded-For": "203.0.113.9",
                "Proxy-Authorization": "Basic callers-proxy",
                "Traceparent": "00-callers-trace-01",
            },
        )
        assert response.status_code == 202, response.content
        world.work(run)
        visits = target.settled()
    assert visits, "the backend was asked"
    for visit in visits:
        seen = visit.head + visit.body
        assert visit.headers["authorization"].startswith("Bearer sk_test_")
        for secret in (agent.token, "callers-", "203.0.113.9", world.agent.secret):
            assert secret not in seen
        assert "cookie" not in visit.headers


@pytest.mark.parametrize("table", ["access_tokensession", "access_agent"])
def test_while_revocation_cannot_be_read_no_side_effect_is_asked_for(world, agent, owner_sql, table):
    """S61: fails closed, and says that nothing was started."""
    run, order = world.run(), world.order()
    owner_sql(f"REVOKE SELECT ON {table} FROM clr_app")
    response = agent.post(f"runs/{run.id}/calls", refund(order))
    assert response.status_code == 503
    found = error(response)
    assert (found["code"], found["outcome"], found["retry_safe"]) == ("RIGHTS_UNREADABLE", "none", True)
    owner_sql(f"GRANT SELECT ON {table} TO clr_app")
    world.work(run)
    assert world.refunds(order) == []
    assert agent.post(f"runs/{run.id}/calls", refund(order)).status_code == 202, "and goes on as soon as it can be"


def test_a_revoked_token_asks_reads_and_waits_for_nothing(world, agent):
    """S61, G1: at the next call, at every address."""
    run = world.run()
    held(world, agent, run, refund(world.order()))
    assert agent.post("token/revoke", {}).status_code == 200
    for response in (
        agent.post("runs", {"title": "x"}),
        agent.get(f"runs/{run.id}"),
        agent.get(f"runs/{run.id}/events"),
        agent.post(f"runs/{run.id}/calls", refund("ord_1", call_id="more")),
        agent.get(f"runs/{run.id}/calls/refund", wait=5),
        agent.get("proposals"),
        agent.get("tools"),
    ):
        assert (response.status_code, error(response)["code"]) == (401, "SESSION_REVOKED")


def test_a_session_revoked_after_approval_stops_the_call(world, agent):
    """R18, S81: authorisation revoked between the decision and the dispatch."""
    run, order = world.run(), world.order()
    call = held(world, agent, run, refund(order))
    decide(world, call, "approve")
    agent.post("token/revoke", {})
    world.work(run)
    assert world.refunds(order) == []
    other = AgentClient(world.agent, on_behalf_of=world.asker.user_id)
    told = other.get(f"runs/{run.id}/calls/refund").json()
    assert (told["state"], told["error"]["code"], told["outcome"]) == ("refused", "SESSION_REVOKED", "none")


def test_while_the_audit_log_cannot_be_written_no_effect_starts_and_stopping_works(world, agent, owner_sql):
    """S69."""
    run, order = world.run(), world.order()
    call = held(world, agent, run, refund(order))
    assert decide(world, call, "approve").status_code == 200
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    world.work(run)
    assert world.refunds(order) == [], "approved, but without its entry nothing is sent"
    response = agent.post(f"runs/{run.id}/cancel", {"reason": "Enough."})
    assert response.status_code == 200
    assert agent.post("token/revoke", {}).status_code == 200
    owed = {action for (action,) in owner_sql("SELECT entry->>'action' FROM audit_owed")}
    assert {"run.cancelled", "session.revoked"} <= owed
    owner_sql("GRANT INSERT ON audit_entry TO clr_app")
    world.work(run)
    assert world.refunds(order) == [], "and what was stopped stays stopped"


def test_secrets_in_arguments_reach_no_entry_and_change_no_digest(world, agent):
    """S71, E5: nested, by name and in free text; `note` is redacted by the tool's own path."""
    run, order = world.run(), world.order()
    secret = "sk_live_" + "a1b2c3d4e5f6g7h8"
    body = refund(order, note=f"Use {secret} and password=hunter22xyz")
    body["reason"] = f"The token is {secret}."
    call = held(world, agent, run, body)
    decide(world, call, "reject", reason=f"Never send {secret}.")
    world.work(run)
    log = "".join(f"{row.object_id}{row.detail}" for row in entries_page(world.tenant.id))
    assert secret not in log
    assert "hunter22xyz" not in log
    effective = {**body["arguments"], "notify": True}
    bound = {
        "format": 1, "tool": "refund_order", "contract_version": 1, "target": f"payments/order/{order}",
        "acting_user": world.asker.user_id, "arguments": effective,
    }  # fmt: skip
    assert call["digest"] == sha256_hex(canonical_bytes(bound)), "the digest covers what was sent, unredacted"


@pytest.mark.parametrize(
    ("amount", "code"),
    [
        ("9007199254740993", "JSON_NUMBER_RANGE"),
        ("19.99000000000000000001", "JSON_NUMBER_INEXACT"),
        ("4500.5", "ARGUMENTS_INVALID"),
        ("NaN", "JSON_NOT_FINITE"),
        ('4500,"amount":450000', "JSON_DUPLICATE_KEY"),
    ],
)
def test_a_number_that_could_be_read_two_ways_is_refused_at_the_door(world, agent, amount, code):
    """S83."""
    run = world.run()
    body = json.dumps(refund(world.order())).replace("4500", amount)
    response = agent.http.post(
        f"/api/v1/runs/{run.id}/calls", body, content_type="application/json", headers=bearer(agent.token)
    )
    assert (response.status_code, error(response)["code"]) == (422, code)


@pytest.mark.parametrize("amount", ["4500.0", "45e2", "4.5E+3", "4500"])
def test_every_way_to_write_a_number_is_one_call(world, agent, amount):
    run = world.run()
    body = refund("ord_1029")
    first = agent.post(f"runs/{run.id}/calls", body)
    again = agent.http.post(
        f"/api/v1/runs/{run.id}/calls",
        json.dumps(body).replace("4500", amount),
        content_type="application/json",
        headers=bearer(agent.token),
    )
    assert again.status_code == 202
    assert (again.json()["digest"], again.json()["repeated"]) == (first.json()["digest"], True)


def test_an_agent_of_another_organisation_with_the_same_names_meets_nothing_of_ours(world, agent):
    other = factories.tenant()
    theirs = AgentClient(factories.agent(other, name="Support agent"))
    run_id = theirs.post("runs", {"title": "Refund a customer", "client_ref": "ticket-1"}).json()["id"]
    response = theirs.post(f"runs/{run_id}/calls", refund(world.order()))
    assert (response.status_code, error(response)["code"]) == (404, "UNKNOWN_TOOL")
    assert error(response)["alternatives"] == []
