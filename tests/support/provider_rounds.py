"""A browser's way through an identity provider, step by step, for tests."""

from typing import Any
from urllib.parse import urlsplit

import httpx
from django.conf import settings

from access.services.provider import provider_set
from audit.core.actor import SYSTEM
from tests.support.oidc_provider import CLIENT, SECRET, Provider

LINK = "/account/provider/"


def use(tenant: Any, provider: Provider, *, required: bool = False, domains: str = "acme.example") -> None:
    """The organisation signs in through this provider."""
    provider_set(
        actor=SYSTEM("test", tenant.id), issuer=provider.issuer, client_id=CLIENT, secret=SECRET, domains=domains,
        required=required,
    )  # fmt: skip


def at_provider(address: str) -> str:
    """What the provider sends the browser back to, as a path with its query."""
    sent = httpx.get(address, follow_redirects=False, trust_env=False)
    assert sent.status_code == 302, sent.text
    back = sent.headers["location"]
    assert back.startswith(settings.BASE_URL + "/sign-in/provider/back/")
    return back.removeprefix(settings.BASE_URL)


def gone(client: Any, slug: str = "acme", next_path: str = "/") -> str:
    """The browser is at the provider to come in: the address it was sent to."""
    answer = client.get(f"/sign-in/provider/to/{slug}/", {"next": next_path})
    assert answer.status_code == 302, answer.content
    return answer["Location"]


def confirmed(client: Any, person: Any) -> None:
    """They showed their password anew."""
    assert client.post("/account/confirm/", {"password": person.password}).status_code == 302


def way_of(client: Any, verb: str, next_path: str = "/account/security/") -> str:
    """Where the page that answers the verb leads to at the provider."""
    answer = client.post(LINK, {"verb": verb, "next": next_path})
    assert answer.status_code == 200, answer.content
    return answer.context["way"]


def linked(client: Any, person: Any) -> None:
    """A signed-in person links their account to whoever is signed in at the provider."""
    confirmed(client, person)
    answer = client.get(at_provider(way_of(client, "link")))
    assert (answer.status_code, answer["Location"]) == (302, "/account/security/")


def came_in(client: Any, slug: str = "acme", next_path: str = "/") -> Any:
    """The whole round to come in; the last answer."""
    return client.get(at_provider(gone(client, slug, next_path)))


def query(address: str) -> dict[str, str]:
    """The parameters of an address."""
    return dict(httpx.QueryParams(urlsplit(address).query))
