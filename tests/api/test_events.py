"""GET /api/v1/runs/{run_id}/events."""

from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.support import factories

PATH = "/api/v1/runs/{run_id}/events"


def test_a_history_reads_from_its_beginning_and_resumes_without_a_gap(world, agent):
    call = world.held()
    whole = agent.get(f"runs/{call.run_id}/events")
    assert whole.status_code == 200
    assert_described(whole, "get", PATH)
    events = whole.json()["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["kind"] == "run_created"
    assert not whole.json()["more"]
    seen, after = [], 0
    while True:
        part = agent.get(f"runs/{call.run_id}/events", after=after, limit=2).json()
        seen += part["events"]
        after = part["last"]
        if not part["more"]:
            break
    assert seen == events


def test_behind_the_last_event_there_is_nothing_and_the_number_stays(world, agent):
    run = world.run()
    assert agent.get(f"runs/{run.id}/events", after=run.seq).json() == {"events": [], "last": run.seq, "more": False}
    assert agent.get(f"runs/{run.id}/events", after=10**9).json()["last"] == 10**9


def test_another_query_is_refused_by_name(world, agent, subtests):
    cases = [{"after": "x"}, {"after": -1}, {"after": "1.5"}, {"after": 2**63}, {"after": ["1", "2"]}, {"limit": 0},
     {"limit": 501}, {"limit": "NaN"}, {"before": 1}, {"after": ""}]  # fmt: skip
    for query in cases:
        with subtests.test(case=repr(query)[:80]):
            response = agent.get(f"runs/{world.run().id}/events", **query)
            assert_described(response, "get", PATH)
            assert (response.status_code, error(response)["code"]) == (422, "QUERY_INVALID")
            (name,) = query
            assert name in error(response)["message"]


def test_no_event_holds_a_secret(world, agent):
    call = world.held()
    text = agent.get(f"runs/{call.run_id}/events").content.decode()
    for secret in (agent.token, world.agent.secret, "sk_test_"):
        assert secret not in text


def test_people_read_it_and_another_agent_finds_nothing(world):
    run = world.run()
    assert browser(world.reviewer).get(f"/api/v1/runs/{run.id}/events").status_code == 200
    response = AgentClient(factories.agent(world.tenant)).get(f"runs/{run.id}/events")
    assert (response.status_code, error(response)["code"]) == (404, "NOT_FOUND")
