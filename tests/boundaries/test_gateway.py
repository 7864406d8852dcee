"""runs/boundaries/gateway.py (B2): effects, under our key, with the backend's own credential and never the caller's."""

import time

import pytest

from access.services.credentials import credential_store
from audit.core.refusal import Refusal
from runs.boundaries import gateway
from runs.tools.outcome import Observation
from tests.support.contracts import demo_contract
from tests.support.target import Target

CHARGE = {"amount": 18_900, "amount_refunded": 0, "currency": "aud", "status": "succeeded"}
REFUND = {"id": "re_1", "amount": 4_500, "currency": "aud", "status": "succeeded"}


def behaviour(visit):
    visit.answer_json(REFUND if visit.line.startswith("POST") else CHARGE)


def arguments(order):
    return {"order_id": order, "amount": 4_500, "currency": "AUD", "notify": True}


def execute(world, contract, order, **changes):
    if "observation" not in changes:
        changes["observation"] = gateway.read_state(
            contract, arguments(order), tenant_id=world.tenant.id, principal={}, deadline=time.monotonic() + 5
        )
    given = {
        "tenant_id": world.tenant.id,
        "key": "clr_key",
        "deadline": time.monotonic() + 5,
        "before_send": lambda: None,
        "principal": {},
    }
    return gateway.execute(contract, arguments(order), **(given | changes))


def test_the_effect_goes_out_under_our_key_and_the_backends_credential(world):
    order = world.order()
    with Target(behaviour) as target:
        outcome = execute(world, demo_contract("refund_order", target.host), order)
        sent = target.settled()[-1]
    assert (outcome.status, outcome.reference) == ("succeeded", "re_1")
    assert sent.headers["authorization"] == "Bearer sk_test_5f2c9e8a71b04d36"
    assert "metadata%5Bclearance_key%5D=clr_key" in sent.body


def test_the_callers_token_is_nowhere_in_what_goes_out(world):
    """S60: no token is passed through."""
    token = world.agent.token(on_behalf_of=world.asker.user_id)
    with Target(behaviour) as target:
        world.admit("refund_order", host=target.host)
        call = world.held()
        world.decide(call)
        world.work(call)
        assert world.look(call).state in ("succeeded", "unknown")
        everything = b"".join(bytes(visit.raw) for visit in target.settled())
    assert token.encode() not in everything
    assert b"eyJ" not in everything


def test_without_a_key_nothing_is_sent(world):
    order = world.order()
    with Target(behaviour) as target:
        contract = demo_contract("refund_order", target.host)
        with pytest.raises(Refusal) as caught:
            execute(world, contract, order, key="")
        assert caught.value.code == "BOUNDARY_REFUSED"
        assert [visit for visit in target.settled() if visit.line.startswith("POST")] == []


def test_a_last_look_that_says_no_sends_nothing(world):
    order = world.order()

    def too_late():
        raise Refusal("Too late.", code="SEND_TOO_LATE")

    with Target(behaviour) as target:
        outcome = execute(world, demo_contract("refund_order", target.host), order, before_send=too_late)
        assert [visit.raw for visit in target.settled() if visit.line.startswith("POST")] == []
    assert (outcome.status, outcome.code) == ("failed_before_effect", "SEND_TOO_LATE")


def test_a_credential_that_is_replaced_counts_from_the_next_request_on(world):
    order = world.order()
    with Target(behaviour) as target:
        contract = demo_contract("refund_order", target.host)
        execute(world, contract, order)
        credential_store(actor=world.admin, name="payments", secret="sk_test_another_secret")
        execute(world, contract, order)
        sent = [visit.headers["authorization"] for visit in target.settled() if visit.line.startswith("POST")]
    assert sent == ["Bearer sk_test_5f2c9e8a71b04d36", "Bearer sk_test_another_secret"]


def test_a_missing_credential_is_a_failure_before_the_effect(world):
    order = world.order()
    with Target(behaviour) as target:
        contract = demo_contract(
            "refund_order", target.host, lambda document: document["adapter"].update(credential="elsewhere")
        )
        outcome = execute(world, contract, order, observation=Observation(CHARGE, {"order": world.orders[order]}))
        assert [visit.raw for visit in target.settled() if visit.raw] == []
    assert (outcome.status, outcome.code) == ("failed_before_effect", "CREDENTIAL_UNAVAILABLE")


def test_the_credential_is_in_no_event_no_answer_no_audit_entry_and_no_proposal(world, owner_sql):
    """E5."""
    call = world.held()
    world.decide(call)
    world.work(call)
    assert world.look(call).state == "succeeded"
    for table in ("runs_event", "runs_call", "runs_dispatch", "audit_entry", "approvals_proposal", "runs_checkpoint"):
        found = owner_sql(f"SELECT count(*) FROM {table} t WHERE t::text LIKE '%sk_test_5f2c9e8a71b04d36%'")
        assert found == [(0,)], table
