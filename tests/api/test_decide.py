"""POST /api/v1/proposals/{proposal_id}/decide: a person's session, never a token."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from access.services import people
from access.services.delegation import delegation_give
from audit.selectors.entries import EntryFilters, entries_page
from audit.store import clock
from tests.api.client import bearer, browser, error
from tests.api.openapi import assert_described
from tests.support import factories

PATH = "/api/v1/proposals/{proposal_id}/decide"


def decide(client: Client, call: Any, verdict: str = "approve", **more: Any) -> Any:
    body = {"verdict": verdict, "digest": call.digest, **more}
    body = {name: value for name, value in body.items() if value is not ...}
    return client.post(f"/api/v1/proposals/{call.proposal_id}/decide", body, content_type="application/json")


def test_a_reviewer_approves_and_it_happens_once(world):
    order = world.order()
    call = world.held(order)
    response = decide(browser(world.reviewer), call)
    assert response.status_code == 200
    assert_described(response, "post", PATH)
    assert (response.json()["state"], response.json()["repeated"]) == ("granted", False)
    again = decide(browser(world.reviewer), call)
    assert (again.status_code, again.json()["repeated"]) == (200, True)
    world.work(call)
    assert len(world.refunds(order)) == 1


def test_a_reviewer_rejects_with_a_reason(world):
    call = world.held()
    without = decide(browser(world.reviewer), call, "reject")
    assert_described(without, "post", PATH)
    assert (without.status_code, error(without)["code"]) == (422, "REASON_REQUIRED")
    response = decide(browser(world.reviewer), call, "reject", reason="Wrong order.", round=1)
    assert (response.status_code, response.json()["state"]) == (200, "rejected")


def test_no_token_decides_whomever_it_acts_for_and_the_attempt_is_recorded(world):
    call = world.held()
    agent = factories.agent(world.tenant, acts_for=[world.reviewer], scopes=["orders:read", "refunds:write"])
    for token in (
        agent.token(on_behalf_of=world.reviewer.email),
        world.agent.token(on_behalf_of=world.asker.email),
        world.agent.token(),
    ):
        # The session that comes along must not help either: the header decides who calls.
        client = browser(world.reviewer)
        response = client.post(
            f"/api/v1/proposals/{call.proposal_id}/decide",
            {"verdict": "approve", "digest": call.digest},
            content_type="application/json",
            headers=bearer(token),
        )
        assert_described(response, "post", PATH)
        assert (response.status_code, error(response)["code"]) == (403, "PERSON_REQUIRED")
    refused = entries_page(world.tenant.id, EntryFilters(action="proposal.decided", verdict="refused"))
    assert [(row.actor_kind, row.detail["code"]) for row in refused] == [("agent", "PERSON_REQUIRED")] * 3
    assert world.look(call).state == "waiting"


def test_a_foreign_page_cannot_click(world):
    call = world.held()
    response = decide(browser(world.reviewer, csrf=True), call)
    assert_described(response, "post", PATH)
    assert (response.status_code, error(response)["code"]) == (403, "CSRF_FAILED")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded"])
def test_a_form_of_a_foreign_page_cannot_click_either(world, content_type):
    call = world.held()
    client = browser(world.reviewer, csrf=True)
    body = f'{{"verdict":"approve","digest":"{call.digest}"}}'
    response = client.post(f"/api/v1/proposals/{call.proposal_id}/decide", body, content_type=content_type)
    assert response.status_code in (403, 415)
    assert world.look(call).state == "waiting"


def test_reading_decides_nothing(world):
    """S11: GET, HEAD and prefetch change nothing."""
    call = world.held()
    client = browser(world.reviewer)
    for method in ("get", "head", "put", "delete", "options"):
        response = getattr(client, method)(f"/api/v1/proposals/{call.proposal_id}/decide")
        assert response.status_code == 405
    assert world.look(call).state == "waiting"


def test_another_digest_and_another_round_are_conflicts(world):
    call = world.held()
    client = browser(world.reviewer)
    for more, code in (({"digest": "0" * 64}, "DIGEST_CHANGED"), ({"round": 2}, "ROUND_CHANGED")):
        response = decide(client, call, **more)
        assert_described(response, "post", PATH)
        assert (response.status_code, error(response)["code"]) == (409, code)


def test_the_loser_is_told_who_and_when(world):
    call = world.held()
    decide(browser(world.reviewer), call, "reject", reason="Wrong order.")
    response = decide(browser(world.second_reviewer), call)
    assert_described(response, "post", PATH)
    assert (response.status_code, error(response)["code"]) == (409, "ALREADY_DECIDED")
    assert "Rita Reviewer" in error(response)["message"]
    assert error(response)["detail"]["at"]


def test_the_person_acted_for_and_people_of_other_groups_may_not(world):
    call = world.held()
    asker = decide(browser(world.asker), call)
    other = decide(browser(factories.person(world.tenant, groups=["support"])), call)
    for response in (asker, other):
        assert_described(response, "post", PATH)
        assert response.status_code == 403
    assert error(other)["missing"]


def test_another_shape_is_refused_by_name(world, subtests):
    cases = [
        ({"digest": ...}, ["digest"], [], []),
        ({"verdict": ...}, ["verdict"], [], []),
        ({"verdict": "yes"}, [], [], ["verdict"]),
        ({"verdict": True}, [], [], ["verdict"]),
        ({"digest": "abc"}, [], [], ["digest"]),
        ({"digest": "A" * 64}, [], [], ["digest"]),
        ({"round": 0}, [], [], ["round"]),
        ({"round": "x"}, [], [], ["round"]),
        ({"reason": 5}, [], [], ["reason"]),
        ({"by": "Rita"}, [], ["by"], []),
    ]
    for more, missing, unknown, wrong in cases:
        with subtests.test(case=repr((more, missing, unknown, wrong))[:80]):
            call = world.held()
            response = decide(browser(world.reviewer), call, **more)
            assert_described(response, "post", PATH)
            found = error(response)
            assert (response.status_code, found["code"]) == (422, "BODY_INVALID")
            assert (found["missing"], found["detail"]["unknown"], sorted(found["detail"]["wrong"])) == (
                missing, unknown, wrong,
            )  # fmt: skip
            assert world.look(call).state == "waiting"


def test_no_entry_no_decision(world, owner_sql):
    call = world.held()
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    assert decide(browser(world.reviewer), call).status_code >= 500
    owner_sql("GRANT INSERT ON audit_entry TO clr_app")
    assert world.look(call).state == "waiting"


def test_nobody_is_asked_to_sign_in(world):
    call = world.held()
    response = decide(Client(), call)
    assert_described(response, "post", PATH)
    assert (response.status_code, error(response)["code"]) == (401, "UNAUTHENTICATED")


def test_a_delegate_decides_in_their_session_and_one_of_whoever_asked_does_not(world):
    """S7 at the API's door: the person acted for lends their place, and every ban goes with it."""
    end = clock.now() + timedelta(hours=1)
    banned, fit = (factories.person(world.tenant, name=name) for name in ("Dan Banned", "Fay Fit"))
    people.member_change(actor=world.admin, membership_id=world.asker.membership_id, roles=["reviewer"])
    people.group_add(actor=world.admin, group="finance", user_id=world.asker.user_id)
    delegation_give(actor=world.asker.actor, to_user_id=banned.user_id, ends_at=end)
    delegation_give(actor=world.reviewer.actor, to_user_id=fit.user_id, ends_at=end)
    call = world.held()
    refused = decide(browser(banned), call)
    assert_described(refused, "post", PATH)
    assert (refused.status_code, error(refused)["code"]) == (403, "SELF_APPROVAL")
    done = decide(browser(fit), call)
    assert (done.status_code, done.json()["state"]) == (200, "granted")
