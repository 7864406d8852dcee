"""GET /api/v1/proposals."""

from django.test import Client

from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.support import factories

PATH = "/api/v1/proposals"


def test_reviewers_see_what_waits_for_them_as_summaries(world):
    call = world.held()
    response = browser(world.reviewer).get(PATH, {"view": "mine"})
    assert response.status_code == 200
    assert_described(response, "get", PATH)
    page = response.json()
    assert (page["view"], page["next"]) == ("mine", "")
    (row,) = page["proposals"]
    assert (row["id"], row["digest"], row["state"]) == (str(call.proposal_id), call.digest, "pending")
    assert row["amount"] == {"minor": 4500, "currency": "AUD", "text": "A$45.00"}
    assert row["may_decide"] is True
    assert row["url"] == f"http://localhost:8000/proposals/{call.proposal_id}/"
    assert row["run"]["id"] == str(call.run_id)


def test_the_agent_sees_what_it_asked_itself_and_no_other_agent_does(world, agent):
    call = world.held()
    assert [row["id"] for row in agent.get("proposals").json()["proposals"]] == [str(call.proposal_id)]
    assert AgentClient(factories.agent(world.tenant)).get("proposals").json()["proposals"] == []
    assert AgentClient(world.agent).get("proposals").json()["proposals"] == [], "asked for somebody it acts for no more"


def test_views_pages_and_searches(world):
    calls = [world.held() for _ in range(3)]
    client = browser(world.reviewer)
    first = client.get(PATH, {"limit": 2}).json()
    rest = client.get(PATH, {"limit": 2, "cursor": first["next"]}).json()
    assert [len(first["proposals"]), len(rest["proposals"]), rest["next"]] == [2, 1, ""]
    found = {row["id"] for row in first["proposals"] + rest["proposals"]}
    assert found == {str(call.proposal_id) for call in calls}
    world.decide(calls[0], "reject", reason="No.")
    assert len(client.get(PATH, {"view": "all"}).json()["proposals"]) == 2
    (decided,) = client.get(PATH, {"view": "decided"}).json()["proposals"]
    assert (decided["id"], decided["state"]) == (str(calls[0].proposal_id), "rejected")
    assert client.get(PATH, {"search": "nothing like it"}).json()["proposals"] == []


def test_another_query_is_refused(world, subtests):
    cases = [
        ({"view": "everything"}, "QUERY_INVALID"),
        ({"limit": 0}, "QUERY_INVALID"),
        ({"limit": 51}, "QUERY_INVALID"),
        ({"page": 2}, "QUERY_INVALID"),
        ({"cursor": "nonsense"}, "CURSOR_INVALID"),
        ({"search": "a\0"}, "QUERY_INVALID"),
    ]
    for query, code in cases:
        with subtests.test(case=repr((query, code))[:80]):
            response = browser(world.reviewer).get(PATH, query)
            assert_described(response, "get", PATH)
            assert (response.status_code, error(response)["code"]) == (422, code)


def test_another_organisation_sees_nothing_and_nobody_is_asked_to_sign_in(world):
    world.held()
    assert browser(factories.tenant().admin).get(PATH).json()["proposals"] == []
    assert error(Client().get(PATH))["code"] == "UNAUTHENTICATED"


def test_a_bad_row_hides_no_other(world, owner_sql):
    """S87, S84: a row whose bytes are not what was made is listed as such, and the rest as ever."""
    good, bad = world.held(), world.held()
    owner_sql("ALTER TABLE approvals_proposal DISABLE TRIGGER USER")
    owner_sql("UPDATE approvals_proposal SET canonical = '\\xff00' WHERE id = %s", [bad.proposal_id])
    response = browser(world.reviewer).get(PATH)
    assert response.status_code == 200
    assert_described(response, "get", PATH)
    readable = {row["id"]: row["readable"] for row in response.json()["proposals"]}
    assert readable == {str(good.proposal_id): True, str(bad.proposal_id): False}
