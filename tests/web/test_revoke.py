"""The button that takes an approval back, on the page of a granted proposal."""

import re

import pytest

from approvals.selectors.proposals import proposal_detail
from tests.support import factories
from tests.support.world_fixtures import payments, world
from tests.web.test_guards import read
from tests.web.test_proposal import text

__all__ = ["payments", "world"]
HTMX = {"HX-Request": "true"}


@pytest.fixture
def granted(world):
    call = world.held()
    world.decide(call)
    return call


def test_it_is_offered_to_admins_operators_and_who_approved_it_while_nothing_has_started(world, granted, signed_in):
    operator = factories.person(world.tenant, roles=["operator"])
    for person, offered in (
        (world.tenant.admin, True),
        (operator, True),
        (world.reviewer, True),
        (world.second_reviewer, False),
    ):
        html = text(signed_in(person).get(f"/proposals/{granted.proposal_id}/"))
        assert ("Take the approval back" in read(html)) is offered, person.name
    world.work(granted)
    html = text(signed_in(operator).get(f"/proposals/{granted.proposal_id}/"))
    assert "Take the approval back" not in read(html)


def test_taking_it_back_asks_anew_and_says_by_whom_and_why(world, granted, signed_in):
    admin = signed_in(world.tenant.admin)
    address = f"/proposals/{granted.proposal_id}/"
    said = read(text(admin.post(f"{address}revoke/", {"reason": "Wrong lamp"}, follow=True)))
    assert f"{world.tenant.admin.name} took the approval back: Wrong lamp" in said
    assert "Asked anew, round 2: earlier votes are void." in said
    world.work(granted)
    assert world.look(granted).state == "waiting"


def test_htmx_gets_the_changed_parts(world, granted, signed_in):
    admin = signed_in(world.tenant.admin)
    answer = admin.post(f"/proposals/{granted.proposal_id}/revoke/", {"reason": "Wrong lamp"}, headers=HTMX)
    html = text(answer)
    assert html.lstrip().startswith('<section class="act')
    assert re.search(r'id="p-head"[^>]*hx-swap-oob="true"', html)


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_refusal_is_a_sentence_and_keeps_the_form(world, granted, signed_in, headers):
    admin = signed_in(world.tenant.admin)
    address = f"/proposals/{granted.proposal_id}/revoke/"
    html = text(admin.post(address, {"reason": " "}, headers=headers), status=422)
    assert "Say why" in html
    assert '<details class="verb no-print" open>' in html
    world.work(granted)
    html = text(admin.post(address, {"reason": "Too late"}, headers=headers), status=409)
    assert "It was started already; an effect cannot be called back." in html
    assert proposal_detail(world.admin, granted.proposal_id).afterwards.outcome == "succeeded"
