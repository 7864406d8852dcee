"""runs/boundaries/direct.py (B1): only what reads, with the server's own credential."""

import time
from pathlib import Path

import pytest
from django.conf import settings

from audit.core.refusal import Refusal
from runs.boundaries import direct
from runs.tools.outcome import Observation
from tests.support.contracts import demo_contract
from tests.support.target import Target

CHARGE = {"amount": 18_900, "amount_refunded": 900, "currency": "aud", "status": "succeeded"}


def call(world, contract, order, **kwargs):
    arguments = {"order_id": order}
    seen = direct.read_state(
        contract, arguments, tenant_id=world.tenant.id, principal={}, deadline=time.monotonic() + 5
    )
    return direct.execute(
        contract,
        arguments,
        tenant_id=world.tenant.id,
        observation=seen,
        key="clr_key",
        deadline=time.monotonic() + 5,
        before_send=lambda: None,
        principal={},
        **kwargs,
    )


def test_it_reads_with_the_tenants_own_credential_and_labels_what_comes_back(world):
    order = world.order()
    with Target(lambda visit: visit.answer_json(CHARGE)) as target:
        outcome = call(world, demo_contract("get_order", target.host), order)
        sent = [visit.headers["authorization"] for visit in target.settled()]
    assert outcome.status == "succeeded"
    assert outcome.result.as_dict()["untrusted"] is True
    assert outcome.result.value["left"] == 18_000
    assert set(sent) == {"Bearer sk_test_5f2c9e8a71b04d36"}


def test_a_tool_with_effects_is_turned_away_and_nothing_is_sent(world):
    with Target(lambda visit: visit.answer_json(CHARGE)) as target:
        contract = demo_contract("refund_order", target.host)
        arguments = {"order_id": world.order(), "amount": 1, "currency": "AUD", "notify": True}
        for attempt in (
            lambda: direct.read_state(
                contract, arguments, tenant_id=world.tenant.id, principal={}, deadline=time.monotonic() + 5
            ),
            lambda: direct.execute(
                contract,
                arguments,
                tenant_id=world.tenant.id,
                observation=Observation({}, {}),
                key="clr_key",
                deadline=time.monotonic() + 5,
                before_send=lambda: None,
                principal={},
            ),
        ):
            with pytest.raises(Refusal) as caught:
                attempt()
            assert caught.value.code == "BOUNDARY_REFUSED"
        assert target.settled() == []


def test_a_result_over_the_cap_is_cut(world):
    order = world.order()
    world.orders[order]["items"] = ["A very long lamp " * 30]
    world.stripe.write_orders(Path(settings.REFERENCE_DIR), world.tenant.slug, world.orders)
    with Target(lambda visit: visit.answer_json(CHARGE)) as target:
        contract = demo_contract("get_order", target.host, lambda document: document.update(output_cap_bytes=256))
        outcome = call(world, contract, order)
    assert (outcome.result.cut, outcome.result.value) == (True, None)


def test_another_tenants_credential_and_tables_are_not_reached(world, payments):
    other = type(world)(payments)
    order = world.order()
    with Target(lambda visit: visit.answer_json(CHARGE)) as target, pytest.raises(Refusal) as caught:
        call(other, demo_contract("get_order", target.host), order)
    assert caught.value.code in ("NOT_FOUND", "REFERENCE_UNAVAILABLE")
