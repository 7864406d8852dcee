"""POST /api/v1/token/revoke."""

from uuid import uuid4

import pytest
from django.test import Client

from access.services.token import token_verify
from audit.core.refusal import Unauthenticated
from tests.api.client import bearer, browser, error
from tests.support import factories

pytestmark = pytest.mark.django_db
PATH = "/api/v1/token/revoke"


@pytest.fixture
def acme():
    return factories.tenant()


def post(token: str, body: object = None):
    data = {} if body is None else body
    return Client().post(PATH, data, content_type="application/json", headers=bearer(token))


def test_an_agent_ends_the_session_it_is_in(acme):
    pair = factories.agent(acme).pair()
    response = post(pair.access_token)
    assert (response.status_code, response.json()) == (200, {"session_id": pair.session_id, "revoked": True})
    again = post(pair.access_token)
    assert again.status_code == 401
    assert error(again)["code"] == "SESSION_REVOKED"
    assert again.headers["WWW-Authenticate"].startswith("Bearer")


def test_an_agent_ends_another_session_of_its_own(acme):
    agent = factories.agent(acme)
    pair, other = agent.pair(), agent.pair()
    for revoked in (True, False):
        response = post(pair.access_token, {"session_id": other.session_id})
        assert response.json() == {"session_id": other.session_id, "revoked": revoked}


def test_an_admin_ends_any_session_of_the_organisation_from_the_browser(acme):
    pair = factories.agent(acme).pair()
    response = browser(acme.admin).post(
        PATH, {"session_id": pair.session_id, "because": "lost"}, content_type="application/json"
    )
    assert response.status_code == 200, response.json()
    with pytest.raises(Unauthenticated):
        token_verify(raw=pair.access_token)


def test_a_person_has_to_name_the_session(acme):
    response = browser(acme.admin).post(PATH, {}, content_type="application/json")
    assert (response.status_code, error(response)["missing"]) == (422, ["session_id"])


def test_a_browser_needs_its_csrf_token(acme):
    pair = factories.agent(acme).pair()
    client = browser(acme.admin, csrf=True)
    response = client.post(PATH, {"session_id": pair.session_id}, content_type="application/json")
    assert (response.status_code, error(response)["code"]) == (403, "CSRF_FAILED")
    assert token_verify(raw=pair.access_token)


def test_a_reviewer_may_not(acme):
    pair = factories.agent(acme).pair()
    response = browser(factories.person(acme)).post(
        PATH, {"session_id": pair.session_id}, content_type="application/json"
    )
    assert (response.status_code, error(response)["code"]) == (403, "ROLE_MISSING")


def test_foreign_unknown_and_malformed_ids_read_alike(acme):
    other = factories.agent(factories.tenant()).pair()
    neighbour = factories.agent(acme).pair()
    token = factories.agent(acme).token()
    answers = [
        post(token, {"session_id": session_id})
        for session_id in (other.session_id, neighbour.session_id, str(uuid4()), "nonsense")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1


def test_nobody_is_asked_to_sign_in():
    response = Client().post(PATH, {}, content_type="application/json")
    assert (response.status_code, error(response)["code"]) == (401, "UNAUTHENTICATED")
