"""Django's test client as an agent and as a person at a browser use the API."""

import json
from typing import Any

from django.test import Client

from tests.support.factories import Agent, Person


def browser(person: Person | None = None, *, csrf: bool = False) -> Client:
    """A browser, signed in as `person`; `csrf` makes Django enforce CSRF as in production."""
    client = Client(enforce_csrf_checks=csrf)
    if person is not None:
        assert client.login(username=person.email, password=person.password)
        session = client.session
        session["tenant_id"] = person.tenant_id
        session.save()
    return client


def bearer(token: str) -> dict[str, str]:
    """The header of an agent's request."""
    return {"Authorization": f"Bearer {token}"}


class AgentClient:
    """An agent with a token: `get` and `post` below /api/v1/."""

    def __init__(self, agent: Agent, *, on_behalf_of: str | None = None) -> None:
        self.token = agent.token(on_behalf_of=on_behalf_of)
        self.http = Client()

    def get(self, path: str, **query: Any) -> Any:
        """The response."""
        return self.http.get(f"/api/v1/{path}", query, headers=bearer(self.token))

    def post(self, path: str, body: Any = None, **more: Any) -> Any:
        """The response; `body` is JSON, None for none."""
        data = b"" if body is None else json.dumps(body)
        return self.http.post(
            f"/api/v1/{path}", data, content_type="application/json", headers=bearer(self.token), **more
        )


def error(response: Any) -> dict[str, Any]:
    """The error of a response, after a look at its form (E3)."""
    assert response.headers["Content-Type"] == "application/json", response.headers
    body = response.json()
    found = body["error"]
    assert set(found) == {
        "code", "message", "missing", "retry_after", "alternatives", "outcome", "retry_safe", "detail",
    }, found  # fmt: skip
    assert found["message"].endswith((".", "…")), found["message"]
    assert response.status_code >= 400
    return found
