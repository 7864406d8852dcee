"""Signed-in browsers without a browser."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture
def signed_in() -> Callable[..., Any]:
    """signed_in(person) is a client that came in through the sign-in form."""
    from django.test import Client

    def sign_in(person: Any, **options: Any) -> Client:
        client = Client(**options)
        form = {"username": person.email, "password": person.password, "zone": "Australia/Sydney"}
        answer = client.post("/sign-in/", form)
        assert answer.status_code == 302, answer.content
        return client

    return sign_in


@pytest.fixture
def acme(db: None) -> Any:
    """An organisation."""
    from tests.support import factories

    return factories.tenant("acme")


@pytest.fixture
def provider() -> Iterator[Any]:
    """An identity provider over real HTTP."""
    from access.store import provider as talk
    from tests.support.oidc_provider import Provider

    talk.forget()
    with Provider() as found:
        yield found
    talk.forget()


@pytest.fixture
def ours(acme: Any, provider: Any) -> Any:
    """An organisation that signs in through it."""
    from tests.support.provider_rounds import use

    use(acme, provider)
    return acme


@pytest.fixture
def mara(ours: Any, provider: Any) -> Any:
    """A member who is linked to the provider's first subject. By hand: the way of it is the matter of other tests."""
    from access.models import IdentityLink
    from audit.store import clock
    from tests.support import factories

    person = factories.person(ours, groups=["finance"], name="Mara Lind")
    IdentityLink.objects.create(
        tenant_id=ours.id, user_id=person.user_id, issuer=provider.issuer, subject=provider.subject,
        created_at=clock.now(),
    )  # fmt: skip
    return person
