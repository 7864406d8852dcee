"""What is shown, hashed and executed are the same bytes (A1, E6, S2, S83, S84, data rule 14)."""

import dataclasses
import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.core.digest import (
    call_bytes,
    check_call_bytes,
    digest,
    idempotency_key,
    parse_call_bytes,
    parse_snapshot,
    snapshot_bytes,
    snapshot_hash,
)
from audit.core.refusal import Conflict
from tests.vectors import load

CALL: dict[str, Any] = {
    "tool": "refund_order",
    "contract_version": 1,
    "target": "payments/order/ord_1",
    "acting_user": "u1",
    "arguments": {"amount": 4500, "order_id": "ord_1"},
}


@pytest.mark.parametrize("vector", load("call_digests"))
def test_the_published_calls_have_their_published_bytes_and_digests(vector):
    data = call_bytes(**vector["call"])
    assert data.decode() == vector["canonical"]
    assert digest(data) == vector["digest"]


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("tool", "refund_orders"),
        ("contract_version", 2),
        ("target", "payments/order/ord_2"),
        ("acting_user", ""),
        ("arguments", {"amount": 450000, "order_id": "ord_1"}),
        ("arguments", {"amount": "4500", "order_id": "ord_1"}),
        ("arguments", {"amount": 4500, "order_id": "ord_1", "note": None}),
        ("arguments", {"amount": 4500, "order_id": "ord_1\u200b"}),
        ("arguments", {}),
    ],
)
def test_any_difference_in_what_is_bound_gives_another_digest(field, other):
    assert digest(call_bytes(**{**CALL, field: other})) != digest(call_bytes(**CALL))


def test_the_order_of_members_makes_no_difference():
    turned = {**CALL, "arguments": dict(reversed(CALL["arguments"].items()))}
    assert call_bytes(**turned) == call_bytes(**CALL)


def test_stored_bytes_give_back_exactly_what_was_bound():
    facts = parse_call_bytes(memoryview(call_bytes(**CALL)))
    assert dataclasses.asdict(facts) == {"format": 1, **CALL}
    assert check_call_bytes(call_bytes(**CALL), digest(call_bytes(**CALL))) == facts


def test_an_edited_row_is_refused_even_where_it_still_reads_well():
    recorded = digest(call_bytes(**CALL))
    edited = call_bytes(**{**CALL, "arguments": {"amount": 450000, "order_id": "ord_1"}})
    with pytest.raises(Conflict) as caught:
        check_call_bytes(edited, recorded)
    assert caught.value.code == "DIGEST_MISMATCH"


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"null", b"\xff", call_bytes(**CALL) + b" ", call_bytes(**CALL).replace(b":1,", b":1.0,"),
     call_bytes(**CALL).replace(b'"format":1', b'"format":2'), call_bytes(**CALL).replace(b'"u1"', b"null"),
     call_bytes(**CALL).replace(b'"contract_version":1', b'"contract_version":true'),
     call_bytes(**CALL)[:-1] + b',"zz":1}', call_bytes(**CALL).replace(b'{"amount":4500,"order_id":"ord_1"}', b"[]"),
     call_bytes(**CALL).replace(b'"amount":4500,', b'"amount":4500,"amount":4500,'), b"[" * 5000],
)  # fmt: skip
def test_bytes_that_call_bytes_would_not_write_are_not_trusted(data):
    with pytest.raises(Conflict) as caught:
        parse_call_bytes(data)
    assert caught.value.code == "CALL_DAMAGED"


def test_the_key_is_the_same_for_the_same_step_and_another_for_every_other():
    key = idempotency_key("run", "step", "refund_order")
    assert key == "clr_" + hashlib.sha256(b"clearance/key/1\0run\0step\0refund_order").hexdigest()[:40]
    assert idempotency_key("run", "step", "refund_order", 1) == key
    others = {
        idempotency_key("run2", "step", "refund_order"),
        idempotency_key("run", "step2", "refund_order"),
        idempotency_key("run", "step", "refund"),
        idempotency_key("run", "step", "refund_order", 2),
        idempotency_key("run", "step", "refund_order", 3),
    }
    assert len(others | {key}) == 6


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), min_size=6, max_size=6
    )
)
def test_two_different_steps_never_share_a_key_by_shifting_letters(parts):
    left, right = tuple(parts[:3]), tuple(parts[3:])
    assert (idempotency_key(*left) == idempotency_key(*right)) == (left == right)


@pytest.mark.parametrize(
    "parts", [("", "s", "t"), ("r", "", "t"), ("r", "s", ""), ("r\0s", "x", "t"), ("r", "s", "t", 0)]
)
def test_a_key_from_an_incomplete_step_is_an_error(parts):
    with pytest.raises(ValueError):
        idempotency_key(*parts)


@pytest.mark.parametrize("state", [None, {}, {"left": 7500, "currency": "AUD", "refunds": [1, {"a": None}]}])
def test_a_snapshot_gives_its_state_back_and_differs_from_every_other(state):
    data = snapshot_bytes(state)
    assert parse_snapshot(memoryview(data)) == state
    assert snapshot_hash(data) == hashlib.sha256(data).hexdigest()
    assert snapshot_hash(data) != snapshot_hash(snapshot_bytes({"left": 1}))


@pytest.mark.parametrize("data", [b"", b"{}", b'{"state": {}}', b'{"state":[]}', b'{"state":{},"x":1}', b"\xff"])
def test_an_edited_snapshot_is_not_trusted(data):
    with pytest.raises(Conflict) as caught:
        parse_snapshot(data)
    assert caught.value.code == "SNAPSHOT_DAMAGED"
