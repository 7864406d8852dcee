"""The webhook's page: its secret is shown once, to an admin, in the answer that made it."""

import re

import pytest

from access.models import WebhookDelivery, WebhookEndpoint
from tests.support import factories
from tests.web.test_proposal import text, words

PATH = "/access/webhook/"


@pytest.fixture
def admin(acme, signed_in):
    return signed_in(acme.admin)


def test_the_secret_is_shown_once_and_never_again(admin):
    answer = admin.post(PATH, {"verb": "set", "url": "https://example.org/hook"})
    [secret] = re.findall(r"whsec_[A-Za-z0-9+/=]{40,}", text(answer))
    assert "shown only now" in words(text(answer))
    again = text(admin.get(PATH))
    assert secret not in again
    assert "whsec_" not in again
    assert "https://example.org/hook" in again


def test_an_address_that_is_none_is_refused_and_stays_in_its_field(admin):
    answer = admin.post(PATH, {"verb": "set", "url": "http://example.org/hook"})
    assert answer.status_code == 422
    assert "Events are sent by https only." in words(text(answer, 422))
    assert 'value="http://example.org/hook"' in text(answer, 422)
    assert not WebhookEndpoint.objects.exists()


def test_a_test_event_stands_among_the_deliveries_with_what_came_of_it(admin):
    assert admin.post(PATH, {"verb": "test"}).status_code == 409
    admin.post(PATH, {"verb": "set", "url": "https://example.org/hook"})
    assert admin.post(PATH, {"verb": "test"}).status_code == 302
    WebhookDelivery.objects.update(state="given_up", told="The receiver answered \u202e500.", due_at=None, attempts=7)
    seen = text(admin.get(PATH))
    assert "given up" in words(seen)
    assert "\u202e" not in seen
    assert "7 tries." in words(seen)


def test_turned_off_the_page_says_so(admin):
    admin.post(PATH, {"verb": "set", "url": "https://example.org/hook"})
    assert admin.post(PATH, {"verb": "end"}).status_code == 302
    assert "Nowhere: it is turned off." in words(text(admin.get(PATH)))


@pytest.mark.parametrize("verb", ["set", "test", "end"])
def test_nobody_but_an_admin_comes_here(acme, signed_in, verb):
    client = signed_in(factories.person(acme, roles=["reviewer", "operator", "auditor"]))
    assert client.get(PATH).status_code == 403
    assert client.post(PATH, {"verb": verb, "url": "https://example.org/"}).status_code == 403
    assert not WebhookEndpoint.objects.exists()
