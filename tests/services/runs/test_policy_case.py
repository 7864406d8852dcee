"""runs/web/policy_case.py: a test of the policy from any call that it was asked about, held or not."""

import html
import re

import pytest
from django.test import Client

from approvals.selectors.policy_drafts import drafts_open
from approvals.selectors.policy_look import policy_look


@pytest.fixture
def admin(world):
    client = Client()
    person = world.tenant.admin
    assert client.post("/sign-in/", {"username": person.email, "password": person.password}).status_code == 302
    return client


def text(answer):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def test_a_refused_and_an_allowed_call_become_tests_that_pass_and_one_that_waits_leads_to_its_proposal(world, admin):
    run, order = world.run(), world.order(500_000)
    refused = world.refund(run, order, 200_000)
    allowed = world.submit(run, "get_order", {"order_id": order})
    held = world.refund(run, order, 4_500)
    unjudged = world.submit(world.run(), "get_order", {"order_id": order})
    world.work(run)
    assert [world.look(call).state for call in (refused, allowed)] == ["refused", "succeeded"]

    draft = ""
    for call, rule in ((refused, "by refund-by-hand"), (allowed, "by read-orders")):
        address = f"/runs/{run.id}/calls/{call.call_id}/test/"
        assert address in admin.get(f"/runs/{run.id}/calls/").content.decode()
        assert rule in text(admin.get(address))
        effect = "deny" if call is refused else "allow"
        answer = admin.post(address, {"name": f"{effect} this", "effect": effect, "draft": draft})
        assert answer.status_code == 302, text(answer)
        draft = str(drafts_open(world.tenant.id)[0].id)
    [row] = drafts_open(world.tenant.id)
    results = policy_look(world.tenant.id, row.source).tests
    assert [(result.name, result.passed) for result in results] == [("deny this", True), ("allow this", True)], results

    answer = admin.get(f"/runs/{run.id}/calls/{held.call_id}/test/")
    assert answer.headers["Location"] == f"/policies/test-of/{world.look(held).proposal_id}/"
    never = admin.get(f"/runs/{unjudged.run_id}/calls/{unjudged.call_id}/test/")
    assert (never.status_code, "was never asked about this call" in text(never)) == (422, True)
