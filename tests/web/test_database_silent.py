"""A database that was restarted or does not answer: told as such, and over as soon as it is back."""

import pytest
from django.db import OperationalError
from django.db.utils import ConnectionHandler
from django.test import Client

from config import env
from tests.support import databases

PAGES = ["/", "/runs/", "/sign-in/"]


@pytest.fixture
def silent(monkeypatch):
    """The session's row cannot be read, before any view is asked."""

    def broken(*args, **kwargs):
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr("config.middleware.person_of", broken)


@pytest.fixture
def with_cookie():
    client = Client(raise_request_exception=False)
    client.cookies["sessionid"] = "0123456789abcdef"
    return client


@pytest.mark.parametrize("address", PAGES)
def test_a_page_says_that_the_database_does_not_answer(with_cookie, silent, address):
    for headers in ({}, {"HX-Request": "true"}):
        answer = with_cookie.get(address, headers=headers)
        assert answer.status_code == 503
        assert "The database does not answer." in answer.content.decode()
        assert answer["Retry-After"]
        assert "connection unexpectedly" not in answer.content.decode()


def test_the_api_says_it_in_its_own_form(with_cookie, silent):
    answer = with_cookie.get("/api/v1/proposals")
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "UNAVAILABLE"
    assert answer.json()["error"]["outcome"] == "unknown"


@pytest.mark.django_db
def test_a_pool_outlives_a_restart_of_the_server():
    pooled = ConnectionHandler({"default": env.database("DATABASE_URL", pool_max=2)})["default"]
    try:
        with pooled.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            backend = cursor.fetchone()[0]
        pooled.close()  # back into the pool
        databases.superuser(f"SELECT pg_terminate_backend({backend}, 5000)")
        with pooled.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            assert cursor.fetchone()[0] != backend
    finally:
        pooled.close()
        pooled.close_pool()
