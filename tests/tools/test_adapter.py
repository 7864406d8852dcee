"""The three operations of the demo's tools against a real payment server."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from approvals.core.policy import Request, evaluate, parse_policy
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict, Invalid, NotFound, Refusal, Unavailable
from runs.tools.adapter import HttpTool
from runs.tools.outcome import Observation, Outcome
from tests.support.contracts import demo_contract
from tests.support.target import Target, closed_port
from tests.tools.conftest import KEY, Shop, arguments, soon

EVERYTHING_ASKS = parse_policy(
    "{version: 1, rules: [{id: refund, tool: '*', effect: ask, approvers: [{group: finance, count: 1}]}]}", "yaml"
)


def refused_by(tool: HttpTool, args: dict[str, Json], state: dict[str, Json]) -> str:
    """The code of the contract's check that refuses this call; "" if it would be held for people."""
    verdict = evaluate(EVERYTHING_ASKS, Request("refund_order", tool.contract, args, state, {}))
    return "" if verdict.effect == "ask" else verdict.code


# --- read state ----------------------------------------------------------------------------------------------------


def test_the_state_of_an_order_is_read_from_the_target_and_the_reference_table(shop: Shop) -> None:
    order = shop.order(189_00)
    shop.stripe.refund(shop.charge(order), 40_00)
    seen = shop.tool().read_state(arguments(order), deadline=soon())
    assert seen.state == {
        "amount": 189_00,
        "refunded": 40_00,
        "charged_in": "aud",
        "status": "succeeded",
        "customer": "Mara Lindqvist",
        "items": ["Lamp"],
        "charge": shop.charge(order),
        "left": 149_00,
        "currency": "AUD",
    }
    assert seen.names == {"order": shop.orders[order]}
    assert seen.received_bytes > 100


def test_an_unknown_order_is_not_found_and_no_request_is_made(shop: Shop) -> None:
    shop.order(100)
    with pytest.raises(NotFound) as refused:
        shop.tool(host=f"127.0.0.1:{closed_port()}").read_state(arguments("ord_1"), deadline=soon())
    assert refused.value.code == "NOT_FOUND"
    assert "ord_1" in refused.value.message


def test_another_tenants_order_is_not_found(shop: Shop) -> None:
    order = shop.order(100)
    shop.stripe.write_orders(shop.folder, "globex", {"ord_9999": {"charge": shop.charge(order)}})
    with pytest.raises(NotFound):
        shop.tool().read_state(arguments("ord_9999"), deadline=soon())


def test_an_order_whose_charge_the_target_does_not_know_is_a_refusal_of_the_target(shop: Shop) -> None:
    order = shop.order(100)
    shop.orders[order]["charge"] = "ch_unknown"
    shop.stripe.write_orders(shop.folder, "acme", shop.orders)
    with pytest.raises(Refusal) as refused:
        shop.tool().read_state(arguments(order), deadline=soon())
    assert refused.value.code == "TARGET_REFUSED"
    assert refused.value.detail == {"http_status": 404, "error_class": "not_found"}
    assert (refused.value.outcome, refused.value.retry_safe) == ("none", False)


def test_a_charge_in_a_currency_the_contract_does_not_name_gives_no_half_state(shop: Shop) -> None:
    order = shop.order(100, "usd")
    with pytest.raises(Invalid) as refused:
        shop.tool().read_state(arguments(order), deadline=soon())
    assert (refused.value.code, refused.value.detail) == ("STATE_INCOMPLETE", {"field": "currency"})


def test_a_place_the_answer_does_not_have_gives_no_half_state(shop: Shop) -> None:
    order = shop.order(100)
    tool = shop.tool(change=lambda document: document["adapter"]["read_state"]["state"].update(status="/nowhere"))
    with pytest.raises(Invalid) as refused:
        tool.read_state(arguments(order), deadline=soon())
    assert refused.value.detail == {"field": "status"}


def test_a_target_that_cannot_be_reached_leaves_the_state_unread_and_may_be_asked_again(shop: Shop) -> None:
    order = shop.order(100)
    with pytest.raises(Unavailable) as refused:
        shop.tool(host=f"127.0.0.1:{closed_port()}").read_state(arguments(order), deadline=soon())
    assert refused.value.code == "TARGET_UNREADABLE"
    assert (refused.value.outcome, refused.value.retry_safe) == ("none", True)
    assert refused.value.detail == {"cause": "CONNECT_FAILED", "error_class": "connect_refused"}


@pytest.mark.parametrize(
    "charge", ["../refunds", "..", ".", "", "ch_1?limit=1", "ch_1#x", "ch_1/../../v1/refunds", "%2e%2e"]
)
def test_a_value_cannot_lead_the_request_to_another_place(shop: Shop, charge: str) -> None:
    order = shop.order(100)
    shop.orders[order]["charge"] = charge
    shop.stripe.write_orders(shop.folder, "acme", shop.orders)
    with pytest.raises(Refusal) as refused:
        shop.tool().read_state(arguments(order), deadline=soon())
    if charge in ("", ".", ".."):
        assert refused.value.code == "TEMPLATE_VALUE"
    else:  # it arrived as the id of a charge, and there is none of that name
        assert (refused.value.code, refused.value.detail["http_status"]) == ("TARGET_REFUSED", 404)


# --- execute -------------------------------------------------------------------------------------------------------


def test_a_refund_happens_once_with_our_key_and_what_the_contract_declares(shop: Shop) -> None:
    order = shop.order(189_00)
    tool = shop.tool()
    args = arguments(order, note="scratched & late, 5 % off")
    seen = tool.read_state(args, deadline=soon())
    outcome = tool.execute(args, observation=seen, key=KEY, deadline=soon())
    [refund] = shop.stripe.refunds(shop.charge(order))
    assert outcome.status == "succeeded"
    assert outcome.reference == refund["id"]
    assert (outcome.error_class, outcome.code, outcome.http_status) == ("", "", 200)
    assert (refund["amount"], refund["currency"]) == (50_00, "aud")
    assert refund["metadata"] == {
        "clearance_key": KEY,
        "order": order,
        "notify": "true",
        "note": "scratched & late, 5 % off",
    }
    assert outcome.result is not None
    assert outcome.result.as_dict() == {
        "source": f"refund_order at {shop.stripe.host}",
        "untrusted": True,
        "cut": False,
        "size_bytes": outcome.result_bytes,
        "value": {"refund_id": refund["id"], "amount": 50_00, "currency": "aud", "status": "succeeded"},
    }


def test_one_tool_serves_many_threads_at_once_and_mixes_nothing_up(shop: Shop) -> None:
    order = shop.order(10_000_00)
    tool = shop.tool()
    seen = tool.read_state(arguments(order), deadline=soon())

    def refund(number: int) -> Outcome:
        key = f"clr_thread_{number}"
        return tool.execute(arguments(order, 100 + number), observation=seen, key=key, deadline=soon())

    with ThreadPoolExecutor(20) as pool:
        outcomes = list(pool.map(refund, range(20)))
    booked = {
        made["id"]: (made["amount"], made["metadata"]["clearance_key"])
        for made in shop.stripe.refunds(shop.charge(order))
    }
    assert [booked[outcome.reference] for outcome in outcomes] == [(100 + n, f"clr_thread_{n}") for n in range(20)]


def test_without_a_note_none_is_sent(shop: Shop) -> None:
    order = shop.order(100)
    tool = shop.tool()
    seen = tool.read_state(arguments(order, 100), deadline=soon())
    tool.execute(arguments(order, 100), observation=seen, key=KEY, deadline=soon())
    [refund] = shop.stripe.refunds(shop.charge(order))
    assert "note" not in refund["metadata"]


def test_the_target_takes_more_than_is_left_so_the_check_that_refuses_it_is_ours(shop: Shop) -> None:
    order = shop.order(100_00)
    tool = shop.tool()
    args = arguments(order, 250_00)
    seen = tool.read_state(args, deadline=soon())
    assert refused_by(tool, args, seen.state) == "AMOUNT_EXCEEDS_LEFT"
    # If nothing of ours refused it, the target would pay out two and a half times what was paid.
    assert tool.execute(args, observation=seen, key=KEY, deadline=soon()).status == "succeeded"
    after = tool.read_state(args, deadline=soon())
    assert after.state["left"] == -150_00
    assert refused_by(tool, arguments(order, 1), after.state) == "AMOUNT_EXCEEDS_LEFT"


def test_exactly_what_is_left_passes_the_checks_and_another_currency_does_not(shop: Shop) -> None:
    order = shop.order(100_00, "eur")
    tool = shop.tool()
    shop.stripe.refund(shop.charge(order), 30_00)
    state = tool.read_state(arguments(order), deadline=soon()).state
    assert refused_by(tool, arguments(order, 70_00, "EUR"), state) == ""
    assert refused_by(tool, arguments(order, 70_01, "EUR"), state) == "AMOUNT_EXCEEDS_LEFT"
    assert refused_by(tool, arguments(order, 70_00, "AUD"), state) == "CURRENCY_MISMATCH"


def test_an_amount_the_target_refuses_is_a_known_refusal_with_its_words_kept_as_evidence(shop: Shop) -> None:
    order = shop.order(100_00)
    tool = shop.tool()
    seen = tool.read_state(arguments(order), deadline=soon())
    outcome = tool.execute(arguments(order, 0), observation=seen, key=KEY, deadline=soon())
    assert (outcome.status, outcome.error_class, outcome.code) == ("refused", "validation", "TARGET_REFUSED")
    assert outcome.http_status == 400
    assert outcome.result is not None
    assert "Bad request" in str(outcome.result.value)
    assert shop.stripe.refunds(shop.charge(order)) == []


def test_a_credential_the_target_does_not_take_is_a_known_refusal(shop: Shop) -> None:
    order = shop.order(100_00)
    good = shop.tool()
    bad = HttpTool(good.contract, credential=lambda: "wrong_0123456789", reference_dir=shop.folder, tenant_slug="acme")
    seen = good.read_state(arguments(order), deadline=soon())
    outcome = bad.execute(arguments(order), observation=seen, key=KEY, deadline=soon())
    assert (outcome.status, outcome.error_class, outcome.http_status) == ("refused", "authentication", 401)
    assert shop.stripe.refunds(shop.charge(order)) == []


def test_a_last_check_that_refuses_leaves_no_refund(shop: Shop) -> None:
    def lost() -> None:
        raise Conflict("Another worker holds this call.", code="FENCE_LOST")

    order = shop.order(100_00)
    tool = shop.tool()
    seen = tool.read_state(arguments(order), deadline=soon())
    outcome = tool.execute(arguments(order), observation=seen, key=KEY, deadline=soon(), before_send=lost)
    assert (outcome.status, outcome.error_class, outcome.code) == ("failed_before_effect", "not_sent", "FENCE_LOST")
    assert outcome.message == "Another worker holds this call."
    assert shop.stripe.refunds(shop.charge(order)) == []


def test_a_placeholder_that_cannot_be_filled_is_before_any_effect(shop: Shop) -> None:
    order = shop.order(100_00)
    outcome = shop.tool().execute(arguments(order), observation=Observation({}, {}), key=KEY, deadline=soon())
    assert (outcome.status, outcome.code) == ("failed_before_effect", "TEMPLATE_NAME_MISSING")
    assert shop.stripe.refunds(shop.charge(order)) == []


def test_the_same_key_sent_twice_doubles_the_refund_at_this_target_and_the_look_up_says_so(shop: Shop) -> None:
    order = shop.order(189_00)
    tool = shop.tool()
    seen = tool.read_state(arguments(order), deadline=soon())
    for _ in range(2):
        assert tool.execute(arguments(order), observation=seen, key=KEY, deadline=soon()).status == "succeeded"
    assert len(shop.stripe.refunds(shop.charge(order))) == 2
    found = tool.look_up(arguments(order), key=KEY, deadline=soon(), observation=seen)
    assert (found.status, found.count, len(set(found.references))) == ("duplicate", 2, 2)


def test_where_the_target_enforces_our_key_it_also_goes_out_as_a_header() -> None:
    with Target(
        lambda visit: visit.answer_json({"id": "re_1", "amount": 100, "currency": "aud", "status": "succeeded"})
    ) as target:
        for enforced in (True, False):
            tool = _tool_at(target.host, enforced=enforced)
            outcome = tool.execute(
                arguments("ord_1", 100),
                observation=Observation({}, {"order": {"charge": "ch_1"}}),
                key=KEY,
                deadline=soon(),
            )
            assert outcome.status == "succeeded"
        first, second = target.settled()
    assert first.headers["idempotency-key"] == KEY
    assert "idempotency-key" not in second.headers


def _tool_at(host: str, *, enforced: bool) -> HttpTool:
    contract = demo_contract(
        "refund_order", host, lambda document: document["idempotency"].update(enforced_by_target=enforced)
    )
    return HttpTool(
        contract, credential=lambda: "sk_test_0123456789", reference_dir=Path("/nowhere"), tenant_slug="acme"
    )


# --- a tool that only reads ----------------------------------------------------------------------------------------


def test_a_read_only_tool_answers_with_the_fields_its_output_schema_names(shop: Shop) -> None:
    order = shop.order(189_00)
    shop.stripe.refund(shop.charge(order), 9_00)
    tool = shop.tool("get_order")
    seen = tool.read_state({"order_id": order}, deadline=soon())
    outcome = tool.execute({"order_id": order}, observation=seen, key=KEY, deadline=soon())
    assert outcome.status == "succeeded"
    assert outcome.result is not None
    assert outcome.result.value == {
        "amount": 189_00,
        "refunded": 9_00,
        "left": 180_00,
        "currency": "AUD",
        "customer": "Mara Lindqvist",
        "items": ["Lamp"],
        "placed": "2026-11-01",
        "status": "succeeded",
    }


def test_a_read_over_the_tools_own_cap_is_cut_and_marked(shop: Shop) -> None:
    order = shop.order(189_00)
    shop.orders[order]["items"] = [f"Thing {number}" for number in range(1000)]
    shop.stripe.write_orders(shop.folder, "acme", shop.orders)
    tool = shop.tool("get_order", change=lambda document: document.update(output_cap_bytes=1000))
    seen = tool.read_state({"order_id": order}, deadline=soon())
    outcome = tool.execute({"order_id": order}, observation=seen, key=KEY, deadline=soon())
    assert outcome.status == "succeeded"
    assert outcome.result is not None
    form = outcome.result.as_dict()
    assert (form["cut"], form["value"]) == (True, None)
    assert len(str(form["excerpt"]).encode()) <= 1000
    assert str(form["excerpt"]).startswith('{"amount":18900,')
    assert outcome.result_bytes > 10_000


def test_a_read_that_does_not_fit_its_output_schema_gives_no_result_to_trust(shop: Shop) -> None:
    order = shop.order(189_00)
    tool = shop.tool(
        "get_order", change=lambda document: document["output_schema"]["properties"]["amount"].update(type="string")
    )
    seen = tool.read_state({"order_id": order}, deadline=soon())
    outcome = tool.execute({"order_id": order}, observation=seen, key=KEY, deadline=soon())
    assert (outcome.status, outcome.code) == ("unknown", "RESULT_INVALID")


# --- postcondition -------------------------------------------------------------------------------------------------


def test_the_postcondition_holds_after_a_refund_and_not_before(shop: Shop) -> None:
    order = shop.order(189_00)
    tool = shop.tool()
    before = tool.read_state(arguments(order), deadline=soon())
    outcome = tool.execute(arguments(order), observation=before, key=KEY, deadline=soon())
    after = tool.read_state(arguments(order), deadline=soon())
    assert outcome.result is not None
    result = outcome.result.value
    assert isinstance(result, dict)

    def holds(state: dict[str, Json]) -> bool | None:
        return tool.postcondition_holds(
            arguments(order),
            before=before.state,
            after=state,
            result=result,
        )

    assert holds(after.state) is True
    assert holds(before.state) is False
    assert holds({}) is None
