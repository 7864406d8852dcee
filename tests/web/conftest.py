"""Signed-in browsers without a browser."""

from collections.abc import Callable
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
