"""Looking up our key at a real payment server, which lists ten refunds a page and sorts by whole seconds."""

import time
from typing import Any

from runs.tools.adapter import HttpTool
from tests.support.stripe import KEY as STRIPE_KEY
from tests.support.stripe import LocalStripe
from tests.tools.conftest import KEY, Shop, arguments, soon


def without_limit(document: dict[str, Any]) -> None:
    del document["adapter"]["look_up"]["request"]["query"]["limit"]


def test_a_key_that_took_effect_is_found_with_its_receipt(shop: Shop) -> None:
    order = shop.order(189_00)
    tool = shop.tool()
    reference = shop.stripe.refund(shop.charge(order), 50_00, key=KEY)
    shop.stripe.refund(shop.charge(order), 10_00, key="clr_another")
    shop.stripe.refund(shop.charge(order), 10_00)
    found = tool.look_up(arguments(order), key=KEY, deadline=soon())
    assert (found.status, found.count, found.complete, found.reference) == ("found", 1, True, reference)
    assert found.result is not None
    assert found.result.value == {"refund_id": reference, "amount": 50_00, "currency": "aud", "status": "succeeded"}


def test_thirty_refunds_on_one_charge_are_all_found_over_pages_of_ten(shop: Shop) -> None:
    order = shop.order(3_000_00)
    charge = shop.charge(order)
    keys = [f"clr_{number:02}" for number in range(30)]
    references = {key: shop.stripe.refund(charge, 100, key=key) for key in keys}
    tool = shop.tool(change=without_limit)
    for key in keys:
        found = tool.look_up(arguments(order), key=key, deadline=soon())
        assert (found.status, found.reference, found.pages) == ("found", references[key], 3)
    nothing = tool.look_up(arguments(order), key="clr_30", deadline=soon())
    assert (nothing.status, nothing.count, nothing.complete, nothing.pages) == ("nothing", 0, True, 3)


def test_refunds_made_between_two_pages_hide_none_that_was_there_before(shop: Shop) -> None:
    order = shop.order(3_000_00)
    charge = shop.charge(order)
    wanted = shop.stripe.refund(charge, 100, key=KEY)
    for _ in range(14):
        shop.stripe.refund(charge, 100)
    time.sleep(1.1)  # the server sorts by whole seconds, newest first, and within a second oldest first
    for _ in range(10):
        shop.stripe.refund(charge, 100)
    asked: list[int] = []

    def credential() -> str:
        asked.append(len(asked))
        for _ in range(4):  # somebody refunds at the payment server's own console before each page
            shop.stripe.refund(charge, 100)
        return STRIPE_KEY

    tool = HttpTool(
        shop.tool(change=without_limit).contract, credential=credential, reference_dir=shop.folder, tenant_slug="acme"
    )
    found = tool.look_up(arguments(order), key=KEY, deadline=soon())
    assert (found.status, found.reference, found.complete) == ("found", wanted, True)
    assert len(asked) == found.pages > 2


def test_a_duplicate_far_apart_is_seen_across_pages(shop: Shop) -> None:
    order = shop.order(3_000_00)
    charge = shop.charge(order)
    shop.stripe.refund(charge, 100, key=KEY)
    for number in range(25):
        shop.stripe.refund(charge, 100, key=f"clr_{number}")
    shop.stripe.refund(charge, 100, key=KEY)
    found = shop.tool(change=without_limit).look_up(arguments(order), key=KEY, deadline=soon())
    assert (found.status, found.count, found.complete) == ("duplicate", 2, True)


def test_the_question_goes_where_the_effect_was_sent_even_if_the_table_says_another_charge_now(shop: Shop) -> None:
    order = shop.order(189_00)
    tool = shop.tool()
    seen = tool.read_state(arguments(order), deadline=soon())
    tool.execute(arguments(order), observation=seen, key=KEY, deadline=soon())
    shop.orders[order]["charge"] = shop.stripe.create_charge(189_00)
    shop.stripe.write_orders(shop.folder, "acme", shop.orders)
    assert tool.look_up(arguments(order), key=KEY, deadline=soon(), observation=seen).status == "found"
    assert tool.look_up(arguments(order), key=KEY, deadline=soon()).status == "nothing"


def test_a_look_up_that_cannot_reach_the_target_is_inconclusive_and_never_nothing(
    shop: Shop, stripe: LocalStripe
) -> None:
    order = shop.order(189_00)
    tool = shop.tool()
    stripe.stop()
    try:
        found = tool.look_up(arguments(order), key=KEY, deadline=soon())
    finally:
        stripe.start()
    assert (found.status, found.complete, found.code) == ("inconclusive", False, "CONNECT_FAILED")


def test_a_look_up_of_an_order_that_is_no_longer_in_the_table_is_inconclusive(shop: Shop) -> None:
    shop.order(189_00)
    found = shop.tool().look_up(arguments("ord_1"), key=KEY, deadline=soon())
    assert (found.status, found.code) == ("inconclusive", "NOT_FOUND")
