"""access/services/webhook.py against receivers on ports of their own: signed, tried again, to public machines only."""

import json
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.db import transaction
from standardwebhooks.webhooks import Webhook

from access.core.webhook import TRIES, next_try, url_of
from access.models import WebhookDelivery, WebhookEndpoint
from access.services.webhook import (
    webhook_end,
    webhook_send,
    webhook_set,
    webhook_tell,
    webhook_test,
    webhooks_due,
)
from access.store import outbound
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.selectors.entries import EntryFilters, entries_page
from audit.store import clock
from tests.support import factories


class Receiver(ThreadingHTTPServer):
    """Keeps what it got and answers what a test wants: `answers` one after another, then 204."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list = []
        self.answers: list[int] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook?of=acme"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((self.path, dict(self.headers), body))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 204)
        self.send_header("location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()

    def log_message(self, *_):
        return


@contextmanager
def receiving():
    with Receiver() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def receiver():
    with receiving() as server:
        yield server


@pytest.fixture
def acme(db):
    return factories.tenant()


@pytest.fixture
def inside(settings):
    """The installation lets webhooks go to this machine."""
    settings.WEBHOOK_HOSTS = frozenset({"127.0.0.1"})


def delivery():
    return WebhookDelivery.objects.order_by("id").last()


def due_again():
    WebhookDelivery.objects.filter(state="waiting").update(due_at=clock.now())


@pytest.mark.usefixtures("inside")
def test_an_event_arrives_signed_with_the_secret_that_was_shown_once(acme, receiver):
    secret = webhook_set(actor=acme.admin.actor, url=receiver.url)
    webhook_test(actor=acme.admin.actor)
    assert webhooks_due() == [WebhookEndpoint.objects.get().tenant_id]
    assert webhook_send(tenant_id=delivery().tenant_id) == 1
    [(path, headers, body)] = receiver.got
    assert path == "/hook?of=acme"
    told = Webhook(secret).verify(body, headers)
    assert (told["type"], told["data"]) == ("test", {"by": acme.admin.actor.name})
    assert (delivery().state, delivery().told) == ("delivered", "The receiver answered 204.")
    assert webhooks_due() == []
    logged = str([entry.detail for entry in entries_page(acme.id, EntryFilters())])
    assert secret not in logged
    assert "/hook" not in logged, "a path may hold the receiver's own secret"
    assert secret.encode() not in bytes(WebhookEndpoint.objects.get().ciphertext)


@pytest.mark.usefixtures("inside")
def test_a_new_secret_signs_and_the_one_before_does_not(acme, receiver):
    old = webhook_set(actor=acme.admin.actor, url=receiver.url)
    new = webhook_set(actor=acme.admin.actor, url=receiver.url)
    webhook_test(actor=acme.admin.actor)
    webhook_send(tenant_id=delivery().tenant_id)
    [(_, headers, body)] = receiver.got
    assert Webhook(new).verify(body, headers)
    with pytest.raises(Exception, match="No matching signature"):
        Webhook(old).verify(body, headers)


@pytest.mark.usefixtures("inside")
def test_what_failed_is_tried_again_under_the_same_id_and_given_up_in_the_end(acme, receiver):
    webhook_set(actor=acme.admin.actor, url=receiver.url)
    webhook_test(actor=acme.admin.actor)
    receiver.answers = [500] * (len(TRIES) + 1)
    for attempt in range(len(TRIES) + 1):
        assert webhooks_due(), f"waiting before try {attempt + 1}"
        assert webhook_send(tenant_id=delivery().tenant_id) == 0
        assert webhooks_due() == [], "not at once"
        due_again()
    assert (delivery().state, delivery().attempts, delivery().told) == (
        "given_up",
        len(TRIES) + 1,
        "The receiver answered 500.",
    )
    assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 1


def test_the_waits_grow_and_end():
    waits = [next_try(attempt) for attempt in range(1, len(TRIES) + 2)]
    assert waits[-1] is None
    assert waits[:-1] == sorted(TRIES)


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize("status", [301, 302, 307, 404])
def test_a_redirect_is_not_followed_and_did_not_arrive(acme, receiver, status):
    webhook_set(actor=acme.admin.actor, url=receiver.url)
    webhook_test(actor=acme.admin.actor)
    receiver.answers = [status]
    assert webhook_send(tenant_id=delivery().tenant_id) == 0
    assert len(receiver.got) == 1
    assert delivery().state == "waiting"


@pytest.mark.usefixtures("inside")
def test_a_receiver_that_is_gone_for_good_is_turned_off(acme, receiver):
    webhook_set(actor=acme.admin.actor, url=receiver.url)
    webhook_test(actor=acme.admin.actor)
    receiver.answers = [410]
    webhook_send(tenant_id=delivery().tenant_id)
    assert not WebhookEndpoint.objects.get().active
    assert delivery().state == "given_up"
    with pytest.raises(Conflict):
        webhook_test(actor=acme.admin.actor)


@pytest.mark.usefixtures("inside")
def test_a_broken_endpoint_holds_up_no_other_and_not_its_own_later_turn(acme, receiver):
    other = factories.tenant()
    webhook_set(actor=acme.admin.actor, url="http://127.0.0.1:1/nobody")
    webhook_set(actor=other.admin.actor, url=receiver.url)
    for tenant in (acme, other):
        webhook_test(actor=tenant.admin.actor)
        webhook_test(actor=tenant.admin.actor)
    assert webhook_send(tenant_id=WebhookEndpoint.objects.get(tenant_id=acme.id).tenant_id) == 0
    tried = WebhookDelivery.objects.filter(tenant_id=acme.id, attempts=1)
    assert [row.told for row in tried] == ["It could not be sent (ConnectionRefusedError)."]
    assert webhook_send(tenant_id=WebhookEndpoint.objects.get(tenant_id=other.id).tenant_id) == 2


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/",
        "https://10.0.0.5:8443/x",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://localhost/",
    ],
)
def test_nothing_is_sent_to_a_machine_that_is_not_public(acme, url):
    webhook_set(actor=acme.admin.actor, url=url)
    webhook_test(actor=acme.admin.actor)
    assert webhook_send(tenant_id=delivery().tenant_id) == 0
    assert "which is not a public address. Nothing was sent." in delivery().told


def test_a_public_name_that_leads_inside_is_refused_when_it_is_sent_to(acme, monkeypatch):
    def inward(host, port, **_):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.5", port))]

    webhook_set(actor=acme.admin.actor, url="https://hooks.example.org/x")
    webhook_test(actor=acme.admin.actor)
    monkeypatch.setattr(socket, "getaddrinfo", inward)
    assert webhook_send(tenant_id=delivery().tenant_id) == 0
    assert delivery().told == "hooks.example.org leads to 10.0.0.5, which is not a public address. Nothing was sent."


def test_an_answer_that_never_ends_is_cut_off(monkeypatch):
    monkeypatch.setattr(outbound, "WHOLE_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        told = outbound.post(f"http://127.0.0.1:{server.getsockname()[1]}/", b"{}", {}, allowed={"127.0.0.1"})
    assert (told.status, told.arrived) == (0, False)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://example.org/",
        "https://user:pass@example.org/",
        "https://example.org/#x",
        "https://exam\u0440le.org/",
        "https://example.org/a b",
        "example.org",
        "",
        "https://example.org/" + "x" * 2_000,
        "https://example.org:99999/",
        "https://example.org:0/",
        "https://[1.2.3.4]/",
        "https://[1:2]/",
    ],
)
def test_an_address_that_is_none_is_refused_in_words(acme, url):
    with pytest.raises(Invalid) as caught:
        webhook_set(actor=acme.admin.actor, url=url)
    assert caught.value.code == "WEBHOOK_URL"
    assert not WebhookEndpoint.objects.exists()


def test_only_an_admin_sets_tests_and_ends_it(acme):
    reviewer = factories.person(acme)
    for act in (lambda: webhook_set(actor=reviewer.actor, url="https://example.org/"),
                lambda: webhook_test(actor=reviewer.actor), lambda: webhook_end(actor=reviewer.actor)):  # fmt: skip
        with pytest.raises(Forbidden):
            act()
    with pytest.raises(NotFound):
        webhook_end(actor=acme.admin.actor)


def test_turned_off_it_takes_nothing_more_and_gives_up_what_waits(acme):
    webhook_set(actor=acme.admin.actor, url="https://example.org/")
    webhook_test(actor=acme.admin.actor)
    webhook_end(actor=acme.admin.actor)
    assert delivery().state == "given_up"
    assert webhook_tell(tenant_id=acme.id, kind="test", data={}) is False


def test_an_event_goes_with_the_transaction_that_it_tells_of(acme):
    webhook_set(actor=acme.admin.actor, url="https://example.org/")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        webhook_tell(tenant_id=acme.id, kind="test", data={})
        raise ZeroDivisionError
    assert delivery() is None
    webhook_tell(tenant_id=acme.id, kind="test", data={"name": "Anna \u202eB"})
    assert json.loads(delivery().body)["data"] == {"name": "Anna \u202eB"}
    assert delivery().body.isascii()


def test_a_host_that_the_settings_name_may_be_spoken_to_without_tls():
    assert url_of("http://hooks.internal:8080/x", insecure={"hooks.internal"}) == "http://hooks.internal:8080/x"
