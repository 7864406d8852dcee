"""GET /api/v1/proposals/{proposal_id}."""

from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.support import factories

PATH = "/api/v1/proposals/{proposal_id}"


def test_a_reviewer_reads_the_exact_call(world):
    call = world.held(reason="Arrived\u202e broken.")
    response = browser(world.reviewer).get(f"/api/v1/proposals/{call.proposal_id}")
    assert response.status_code == 200
    assert_described(response, "get", PATH)
    body = response.json()
    assert (body["digest"], body["state"], body["tampered"]) == (call.digest, "pending", "")
    arguments = {row["path"]: row for row in body["content"]["arguments"]}
    assert arguments["/amount"]["raw"] == "4500"
    assert "45.00" in arguments["/amount"]["shown"]
    assert arguments["/notify"]["default"] is True
    assert (body["content"]["held"]["rule"], body["content"]["held"]["notes"]) == ("refund", [])
    assert body["content"]["reason"] == "Arrived[U+202E] broken."
    assert body["people"]["may_decide"] is True


def test_afterwards_it_says_what_became_of_it(world):
    call = world.held()
    world.decide(call)
    world.work(call)
    response = browser(world.reviewer).get(f"/api/v1/proposals/{call.proposal_id}")
    assert_described(response, "get", PATH)
    body = response.json()
    assert (body["state"], body["afterwards"]["outcome"]) == ("granted", "succeeded")
    (vote,) = body["people"]["votes"]
    assert (vote["by"], vote["verdict"], vote["counts"]) == ("Rita Reviewer", "approve", True)


def test_the_agent_reads_its_own_and_cannot_decide(world, agent):
    call = world.held()
    response = agent.get(f"proposals/{call.proposal_id}")
    assert_described(response, "get", PATH)
    assert (response.status_code, response.json()["people"]["may_decide"]) == (200, False)


def test_others_find_nothing(world):
    call = world.held()
    other = AgentClient(factories.agent(world.tenant)).get(f"proposals/{call.proposal_id}")
    stranger = browser(factories.tenant().admin).get(f"/api/v1/proposals/{call.proposal_id}")
    member = browser(factories.person(world.tenant, [])).get(f"/api/v1/proposals/{call.proposal_id}")
    for response in (other, stranger, member):
        assert_described(response, "get", PATH)
        assert (response.status_code, error(response)["code"]) == (404, "NOT_FOUND")


def test_of_an_edited_row_nothing_is_shown_but_that_it_was_edited(world, owner_sql):
    call = world.held()
    owner_sql("ALTER TABLE approvals_proposal DISABLE TRIGGER USER")
    owner_sql(
        "UPDATE approvals_proposal SET canonical = "
        "convert_to(replace(convert_from(canonical, 'UTF8'), '4500', '450000'), 'UTF8') WHERE id = %s",
        [call.proposal_id],
    )
    response = browser(world.reviewer).get(f"/api/v1/proposals/{call.proposal_id}")
    assert_described(response, "get", PATH)
    assert response.json()["content"] is None
    assert response.json()["tampered"]
    assert "450000" not in response.content.decode()
