"""What people read after a restore: never that nothing ran where the target shows that it did."""

import pytest

from approvals.selectors.proposals import proposal_detail
from runs.services.restore import database_restored
from runs.services.sweep import sweep_refresh, sweep_wishes
from tests.api.client import browser


@pytest.fixture
def page(world):
    def read(call):
        answer = browser(world.reviewer).get(f"/proposals/{call.proposal_id}/")
        assert answer.status_code == 200
        return answer.content.decode()

    return read


def test_what_waits_since_before_a_restore_says_so_and_what_was_asked_afterwards_does_not(world, page):
    call = world.held()
    database_restored(always=True)
    assert "A backup was restored on" in page(call)
    assert "A backup was restored on" not in page(world.held())


def test_an_approval_that_a_restore_made_void_is_not_told_as_taken_back(world, page):
    call = world.held()
    world.decide(call)
    database_restored(always=True)
    html = page(call)
    assert "Approval void." in html
    assert "The target is asked whether it happened" in html
    assert "Take the approval back" not in html


def test_what_is_found_at_the_target_is_told_as_having_happened_and_never_as_nothing_ran(world, page):
    order = world.order()
    call = world.held(order)
    world.stripe.refund(world.orders[order]["charge"], 4_500, key=call.key)  # in the lost time
    database_restored(always=True)
    for wish in sweep_wishes():
        sweep_refresh(wish=wish)
    html = page(call)
    [refund] = world.refunds(order)
    assert "Had happened already" in html
    assert refund["id"] in html
    assert "othing ran" not in html
    detail = proposal_detail(world.reviewer.actor, call.proposal_id)
    assert detail.status_words.startswith("It had happened")
    listed = browser(world.reviewer).get("/?view=decided").content.decode()
    assert "had happened already" in listed
    assert "refused when judged again" not in listed
