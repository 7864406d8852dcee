"""POST /api/v1/token: too many refused exchanges, too many sessions of one agent."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from access.services import token_door
from access.services.token import token_issue
from audit.core.refusal import TooMany, Unauthenticated
from audit.selectors.entries import EntryFilters, entries_page
from tests.api.client import error
from tests.support import factories

pytestmark = pytest.mark.django_db
T = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def agent():
    return factories.agent(factories.tenant())


def post(body, address="192.0.2.7"):
    return Client(REMOTE_ADDR=address).post("/api/v1/token", body, content_type="application/json")


def shown(agent, secret=""):
    return {"client_id": agent.client_id, "client_secret": secret or agent.secret}


def test_an_address_that_guesses_is_told_to_wait_with_the_seconds(agent, stand_at):
    stand_at(T)
    answers = [post(shown(agent, "clrs_wrong")) for _ in range(31)]
    assert [answer.status_code for answer in answers] == [401] * 30 + [429]
    found = error(answers[-1])
    assert (found["code"], found["retry_after"], found["retry_safe"]) == ("TOKEN_THROTTLED", 2, True)
    assert answers[-1].headers["Retry-After"] == "2"
    assert post(shown(agent)).status_code == 429, "from there even the right secret waits"
    stand_at(T + timedelta(seconds=2))
    assert post(shown(agent)).status_code == 200


def test_nobody_can_lock_an_agent_out_from_elsewhere(agent):
    for number in range(40):
        post(shown(agent, "clrs_wrong"), address=f"198.51.100.{number % 2}")
    assert post(shown(agent)).status_code == 200


def test_wrong_refresh_tokens_count_too(agent, stand_at):
    stand_at(T)
    for _ in range(30):
        assert post({"refresh_token": "clrt_wrong"}).status_code == 401
    assert post({"refresh_token": "clrt_wrong"}).status_code == 429


def test_right_exchanges_use_nothing_up_of_the_address(agent):
    others = [factories.agent(factories.tenant()) for _ in range(2)]
    for one in [agent, *others] * 15:
        assert post(shown(one)).status_code == 200


def test_an_agent_in_a_loop_is_told_to_keep_its_token(agent, stand_at, monkeypatch):
    stand_at(T)
    monkeypatch.setattr(token_door, "token_issue", lambda **shown: shown)
    for _ in range(120):
        token_door.token_exchange(address="", **shown(agent))
    with pytest.raises(TooMany) as refusal:
        token_door.token_exchange(address="192.0.2.9", **shown(agent))
    assert refusal.value.retry_after == 1
    assert "keep it" in refusal.value.message
    monkeypatch.setattr(token_door, "token_issue", token_issue)
    with pytest.raises(Unauthenticated):
        token_door.token_exchange(address="", client_id="agt_unknown", client_secret="x")


def test_an_attack_is_in_the_log_once(agent, stand_at):
    stand_at(T)
    for _ in range(50):
        post(shown(agent, "clrs_wrong"))
    rows = entries_page("", EntryFilters(action="token.issued", verdict="refused"))
    throttled = [row for row in rows if row.detail["code"] == "TOKEN_THROTTLED"]
    assert [row.detail["address"] for row in throttled] == ["192.0.2.7"]
