"""GET /api/v1/audit/entries and /api/v1/audit/export: for auditors in their own session, never for a token."""

import json

import pytest
from django.db import transaction

from audit.core.actor import SYSTEM
from audit.core.filters import EntryFilters
from audit.selectors.entries import entries_page
from audit.services.record import audit_record
from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.support import factories

ENTRIES = "/api/v1/audit/entries"
EXPORT = "/api/v1/audit/export"


@pytest.fixture
def acme(db):
    return factories.tenant()


@pytest.fixture
def auditor(acme):
    return browser(factories.person(acme, roles=["auditor"]))


def record(tenant, object_id="r-1", **fields):
    with transaction.atomic():
        entry = {"object_type": "run", "action": "run.opened", **fields}
        audit_record(actor=SYSTEM("worker", tenant.id), object_id=object_id, **entry)


def lines(response):
    return [json.loads(line) for line in b"".join(response).splitlines()]


def test_a_page_is_as_the_description_says(acme, auditor):
    record(acme, detail={"title": "x\u202ey"}, run_id="r-1")
    response = auditor.get(ENTRIES, {"run": "r-1"})
    assert_described(response, "get", ENTRIES)
    [entry] = response.json()["entries"]
    assert entry["detail"] == {"title": "x\u202ey"}, "unchanged"
    assert entry["action"] == "run.opened"
    assert response.json()["next"] == ""


def test_a_cursor_walks_through_all_of_it_once(acme, auditor):
    for number in range(7):
        record(acme, f"r-{number}")
    seen, cursor = [], ""
    while True:
        page = auditor.get(ENTRIES, {"action": "run.opened", "limit": 3, "cursor": cursor}).json()
        seen += [entry["object_id"] for entry in page["entries"]]
        cursor = page["next"]
        if not cursor:
            break
    assert seen == [f"r-{number}" for number in reversed(range(7))]


def test_names_of_the_people_acted_for_come_along(acme, auditor):
    person = factories.person(acme, roles=["auditor"], name="Jon Hale")
    browser(person).get(ENTRIES)
    actor = factories.agent(acme, acts_for=[person]).actor(on_behalf_of=person.user_id)
    with transaction.atomic():
        audit_record(actor=actor, action="run.opened", object_type="run", object_id="r-1")
    page = auditor.get(ENTRIES, {"action": "run.opened"}).json()
    assert page["names"] == {person.user_id: "Jon Hale"}
    assert len(auditor.get(ENTRIES, {"acting_for": "hale"}).json()["entries"]) >= 1


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"since": "yesterday"}, "FILTER_INVALID"),
        ({"cursor": "x"}, "FILTER_INVALID"),
        ({"verdict": "maybe"}, "FILTER_INVALID"),
        ({"zone": "Nowhere/Land"}, "FILTER_INVALID"),
        ({"actor": "Nobody Known"}, "FILTER_INVALID"),
        ({"page": "2"}, "QUERY_INVALID"),
        ({"limit": "51"}, "QUERY_INVALID"),
        ({"tool": "x" * 201}, "QUERY_INVALID"),
        ({"tool": "x\0y"}, "QUERY_INVALID"),
    ],
)
def test_a_wrong_query_is_told(auditor, query, code):
    response = auditor.get(ENTRIES, query)
    assert response.status_code == 422
    assert error(response)["code"] == code


@pytest.mark.parametrize("path", [ENTRIES, EXPORT])
@pytest.mark.parametrize("role", ["reviewer", "operator"])
def test_other_roles_are_refused_and_it_is_recorded(acme, path, role):
    person = factories.person(acme, roles=[role])
    response = browser(person).get(path)
    assert response.status_code == 403
    assert error(response)["missing"] == ["auditor"]
    [row] = entries_page(acme.id, EntryFilters(actor_id=person.user_id, verdict="refused"))
    assert row.detail["code"] == "ROLE_MISSING"


@pytest.mark.parametrize("path", ["audit/entries", "audit/export"])
def test_a_token_never_opens_it_even_for_an_auditor(acme, path):
    person = factories.person(acme, roles=["auditor", "admin"])
    agent = factories.agent(acme, acts_for=[person])
    response = AgentClient(agent, on_behalf_of=person.user_id).get(path)
    assert response.status_code == 403
    assert error(response)["code"] == "PERSON_REQUIRED"


@pytest.mark.parametrize("path", [ENTRIES, EXPORT])
def test_nobody_is_told_to_sign_in(client, db, path):
    assert error(client.get(path))["code"] == "UNAUTHENTICATED"


def test_an_export_is_a_download_of_what_the_filters_find(acme, auditor):
    record(acme, "r-1")
    record(acme, "c-1", action="call.refused", object_type="call", verdict="refused")
    response = auditor.get(EXPORT, {"action": "run.opened"})
    assert response.headers["Content-Type"].startswith("application/x-ndjson")
    assert response.headers["Content-Disposition"].endswith('.jsonl"')
    *rows, last = lines(response)
    assert [row["object_id"] for row in rows] == ["r-1"]
    assert last["manifest"]["count"] == 1
    assert last["manifest"]["filters"] == {"action": "run.opened"}


@pytest.mark.parametrize("query", [{"since": "yesterday"}, {"format": "pdf"}, {"cursor": "x"}, {"tool": "\0"}])
def test_a_wrong_export_is_told_before_anything_is_sent(auditor, query):
    response = auditor.get(EXPORT, query)
    assert response.status_code == 422
    assert error(response)["message"]
