"""POST /api/v1/runs."""

from datetime import timedelta

import pytest
from django.test import Client

from audit.core.entry import utc_text
from audit.selectors.entries import EntryFilters, entries_page
from audit.store import clock
from runs.models import Run
from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.support import factories


def test_an_agent_opens_a_run(world, agent):
    response = agent.post("runs", {"title": "Refund a customer"})
    assert response.status_code == 201
    assert_described(response, "post", "/api/v1/runs")
    run = response.json()
    assert run["title"] == "Refund a customer"
    assert run["agent"] == {"id": world.agent.id, "name": "Support agent"}
    assert run["on_behalf_of"] == {"id": world.asker.user_id, "name": "Ada Asker"}
    assert run["url"] == f"http://localhost:8000/runs/{run['id']}/"
    assert not run["repeated"]
    assert Run.objects.get().pk.hex == run["id"].replace("-", "")


def test_an_agent_on_its_own_acts_for_nobody(world):
    response = AgentClient(world.agent).post("runs", {"title": "Tidy up"})
    assert_described(response, "post", "/api/v1/runs")
    assert response.json()["on_behalf_of"] is None


def test_opening_twice_with_one_reference_gives_one_run(world, agent):
    first = agent.post("runs", {"title": "Refund", "client_ref": "ticket-1"})
    again = agent.post("runs", {"title": "Refund", "client_ref": "ticket-1"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert_described(again, "post", "/api/v1/runs")
    assert again.json()["id"] == first.json()["id"]
    assert (first.json()["repeated"], again.json()["repeated"]) == (False, True)
    other = AgentClient(world.agent).post("runs", {"title": "Refund", "client_ref": "ticket-1"})
    assert (other.status_code, error(other)["code"]) == (409, "CLIENT_REF_REUSED")
    assert_described(other, "post", "/api/v1/runs")


@pytest.mark.parametrize(
    ("deadline", "kept"),
    [
        ("2099-12-31T12:00:00+23:59", "2099-12-30T12:01:00Z"),
        ("2099-12-31T00:00:00+00:00:30.5", "2099-12-30T23:59:29.500000Z"),
    ],
)
def test_a_deadline_in_a_zone_that_the_database_cannot_read_is_kept_in_utc(agent, deadline, kept):
    response = agent.post("runs", {"title": "Refund", "deadline": deadline})
    assert (response.status_code, response.json()["deadline"]) == (201, kept)


def test_a_deadline_is_kept_and_one_that_has_passed_is_refused(agent, world):
    later = clock.now() + timedelta(hours=1)
    run = agent.post("runs", {"title": "Refund", "deadline": later.isoformat()}).json()
    assert run["deadline"] == utc_text(later)
    late = agent.post("runs", {"title": "Refund", "deadline": "2020-01-01T00:00:00Z"})
    assert (late.status_code, error(late)["code"]) == (422, "DEADLINE_PASSED")


def test_another_shape_is_refused_by_name(agent, subtests):
    cases = [
        ({}, ["title"], [], []),
        ({"title": ""}, [], [], ["title"]),
        ({"title": 7}, [], [], ["title"]),
        ({"title": "x" * 201}, [], [], ["title"]),
        ({"title": "x", "tenant": "acme"}, [], ["tenant"], []),
        ({"title": "x", "deadline": "tomorrow"}, [], [], ["deadline"]),
        ({"title": "x", "deadline": "2031-01-01T00:00:00"}, [], [], ["deadline"]),
        ({"title": "x", "deadline": 1900000000}, [], [], ["deadline"]),
        ({"title": "x", "deadline": "0001-01-01T00:00:00+14:00"}, [], [], ["deadline"]),
        ({"title": "x", "deadline": "9998-12-31T23:59:59-23:59"}, [], [], ["deadline"]),
        ({"title": "x", "client_ref": None}, [], [], ["client_ref"]),
    ]
    for body, missing, unknown, wrong in cases:
        with subtests.test(case=repr((body, missing, unknown, wrong))[:80]):
            response = agent.post("runs", body)
            assert_described(response, "post", "/api/v1/runs")
            found = error(response)
            assert (response.status_code, found["code"]) == (422, "BODY_INVALID")
            assert (found["missing"], found["detail"]["unknown"]) == (missing, unknown)
            assert sorted(found["detail"]["wrong"]) == wrong
            assert Run.objects.count() == 0


def test_a_person_opens_no_run_and_the_attempt_is_recorded(world):
    response = browser(world.reviewer).post("/api/v1/runs", {"title": "x"}, content_type="application/json")
    assert (response.status_code, error(response)["code"]) == (403, "AGENT_REQUIRED")
    (entry,) = entries_page(world.tenant.id, EntryFilters(action="run.opened"))
    assert (entry.verdict, entry.actor_id) == ("refused", world.reviewer.user_id)


def test_nobody_is_asked_for_a_token(world):
    response = Client().post("/api/v1/runs", {"title": "x"}, content_type="application/json")
    assert_described(response, "post", "/api/v1/runs")
    assert (response.status_code, error(response)["code"]) == (401, "UNAUTHENTICATED")


def test_the_run_belongs_to_the_tokens_tenant_whatever_else_exists(world, agent):
    factories.tenant()
    run_id = agent.post("runs", {"title": "x"}).json()["id"]
    assert str(Run.objects.get(pk=run_id).tenant_id) == world.tenant.id
