"""POST /api/v1/token."""

from typing import Any

import pytest
from django.test import Client

from access.services.token import token_verify
from tests.api.client import browser, error
from tests.support import factories

pytestmark = pytest.mark.django_db


def post(body: Any, client: Client | None = None) -> Any:
    return (client or Client()).post("/api/v1/token", body, content_type="application/json")


@pytest.fixture
def acme():
    return factories.tenant()


@pytest.fixture
def agent(acme):
    return factories.agent(acme, scopes=["orders:read", "refunds:write"], acts_for=[acme.admin])


def shown(agent: factories.Agent, **more: Any) -> dict[str, Any]:
    return {"client_id": agent.client_id, "client_secret": agent.secret, **more}


def test_a_secret_gets_a_pair(agent):
    response = post(shown(agent))
    assert response.status_code == 200
    body = response.json()
    assert set(body) == {"access_token", "token_type", "expires_in", "refresh_token", "scopes", "session_id"}
    assert (body["token_type"], body["expires_in"]) == ("Bearer", 600)
    assert token_verify(raw=body["access_token"]).id == agent.id
    assert response.headers["Cache-Control"] == "no-store"


def test_scopes_and_a_person_can_be_named(acme, agent):
    body = post(shown(agent, scopes=["orders:read"], on_behalf_of=acme.admin.email)).json()
    actor = token_verify(raw=body["access_token"])
    assert body["scopes"] == ["orders:read"]
    assert (actor.scopes, actor.on_behalf_of) == (frozenset({"orders:read"}), acme.admin.user_id)


@pytest.mark.parametrize("named", [True, False])
def test_a_refresh_token_gets_the_next_pair_once(agent, named):
    first = post(shown(agent)).json()
    body = {"refresh_token": first["refresh_token"]} | ({"grant_type": "refresh_token"} if named else {})
    second = post(body)
    assert second.status_code == 200
    assert second.json()["session_id"] == first["session_id"]
    reused = post(body)
    assert reused.status_code == 401
    assert error(reused)["code"] == "REFRESH_REUSED"
    assert 'error="invalid_token"' in reused.headers["WWW-Authenticate"]


@pytest.mark.parametrize(
    ("body", "missing", "unknown", "wrong"),
    [
        ({}, ["client_id", "client_secret"], [], []),
        ({"client_id": "a"}, ["client_secret"], [], []),
        ({"client_id": "a", "client_secret": "b", "colour": "red"}, [], ["colour"], []),
        ({"client_id": 1, "client_secret": "b"}, [], [], ["client_id"]),
        ({"client_id": None, "client_secret": "b"}, [], [], ["client_id"]),
        ({"client_id": "", "client_secret": "b"}, [], [], ["client_id"]),
        ({"client_id": "a", "client_secret": ["b"]}, [], [], ["client_secret"]),
        ({"client_id": "a", "client_secret": "b", "scopes": "orders:read"}, [], [], ["scopes"]),
        ({"client_id": "a", "client_secret": "b", "scopes": [1]}, [], [], ["scopes.0"]),
        ({"client_id": "a", "client_secret": "b", "scopes": None}, [], [], ["scopes"]),
        ({"client_id": "a", "client_secret": "b", "on_behalf_of": 7}, [], [], ["on_behalf_of"]),
        ({"grant_type": "password", "client_id": "a", "client_secret": "b"}, [], [], ["grant_type"]),
        ({"grant_type": "refresh_token"}, ["refresh_token"], [], []),
        ({"refresh_token": "a", "client_id": "b"}, [], [], ["client_id"]),
        ({"grant_type": "client_credentials", "refresh_token": "a"},
         ["client_id", "client_secret"], [], ["refresh_token"]),
        ({"refresh_token": "a", "scopes": []}, [], [], ["scopes"]),
    ],
)  # fmt: skip
def test_a_body_of_another_shape_is_refused_naming_everything_that_is_wrong(body, missing, unknown, wrong):
    response = post(body)
    assert response.status_code == 422
    found = error(response)
    assert found["code"] == "BODY_INVALID"
    assert found["missing"] == missing
    assert found["detail"]["unknown"] == unknown
    assert sorted(found["detail"]["wrong"]) == wrong
    for name in (*missing, *unknown, *wrong):
        assert name in found["message"]


@pytest.mark.parametrize("body", ["[]", "1", "null", '"text"'])
def test_a_body_that_is_no_object_is_refused(body):
    response = post(body)
    assert (response.status_code, error(response)["code"]) == (422, "JSON_NOT_OBJECT")


def test_wrong_and_unknown_clients_get_the_same_answer(agent):
    answers = [
        post({"client_id": client_id, "client_secret": "wrong"})
        for client_id in (agent.client_id, "agt_unknown", "x" * 500)
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert error(answers[0])["code"] == "CLIENT_REFUSED"


def test_what_the_agent_lacks_is_named(agent):
    response = post(shown(agent, scopes=["orders:read", "admin:all"]))
    assert response.status_code == 403
    assert error(response)["missing"] == ["admin:all"]
    response = post(shown(agent, on_behalf_of="nobody@example.org"))
    assert (response.status_code, error(response)["code"]) == (403, "ACTING_FOR_REFUSED")


def test_a_session_or_a_token_that_comes_along_plays_no_part(acme, agent):
    person = browser(acme.admin, csrf=True)
    assert post(shown(agent), person).status_code == 200
    response = Client().post(
        "/api/v1/token", shown(agent), content_type="application/json", headers={"Authorization": "Bearer nonsense"}
    )
    assert response.status_code == 200


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete", "options", "trace"])
def test_no_other_method_is_taken(method):
    response = getattr(Client(), method)("/api/v1/token")
    assert response.status_code == 405
    assert error(response)["code"] == "METHOD_NOT_ALLOWED"


def test_secrets_in_the_address_are_not_read(agent):
    path = f"/api/v1/token?client_id={agent.client_id}&client_secret={agent.secret}"
    response = Client().post(path, {}, content_type="application/json")
    assert (response.status_code, error(response)["missing"]) == (422, ["client_id", "client_secret"])
