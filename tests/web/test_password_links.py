"""Forgotten passwords and single-use links: pages for nobody in particular."""

import re

import pytest
from django.core import mail
from django.test import Client

from access.services import people
from access.store import mailer
from config.env import Mail
from tests.support import factories

NEW = "a-brand-new-passphrase"


@pytest.fixture
def mailing(settings):
    settings.MAIL = Mail("smtp", "", "Clearance <clearance@localhost>", {})


@pytest.fixture
def invited(acme):
    return people.member_add(
        actor=acme.admin.actor, email="ida@acme.example", name="Ida", roles=["reviewer"], invite=True
    )


def send(client, token, new=NEW, again=NEW):
    return client.post("/password/new/", {"link": token, "new": new, "again": again})


def test_a_link_leads_to_a_form_a_password_and_the_sign_in(client, acme, invited):
    page = client.get(f"/password/new/?link={invited.link}")
    assert page.status_code == 200
    text = page.content.decode()
    assert "ida@acme.example" in text
    assert acme.name in text
    assert "at least 12 characters" in text
    assert send(client, invited.link)["Location"] == "/sign-in/"
    assert "Your password is set. Sign in with it." in client.get("/sign-in/").content.decode()
    answer = client.post("/sign-in/", {"username": "ida@acme.example", "password": NEW})
    assert answer["Location"] == "/"


def test_a_scanner_that_follows_the_link_uses_nothing(client, invited):
    for method in (client.get, client.head, client.get):
        assert method(f"/password/new/?link={invited.link}").status_code == 200
    assert send(Client(), invited.link).status_code == 302


def test_a_link_opens_no_session(client, invited):
    client.get(f"/password/new/?link={invited.link}")
    send(client, invited.link)
    assert client.get("/").status_code == 302


@pytest.mark.parametrize("how", ["used", "replaced", "unknown", "empty", "nul"])
def test_a_link_that_is_no_good_says_so_and_what_to_do(client, acme, invited, how):
    token = invited.link
    if how == "used":
        send(client, token)
    elif how == "replaced":
        people.invitation_renew(actor=acme.admin.actor, membership_id=invited.membership_id)
    else:
        token = {"unknown": "x", "empty": "", "nul": "a\0b"}[how]
    for answer in (client.get("/password/new/", {"link": token}), send(client, token)):
        assert answer.status_code == 404
        assert "does not work any more" in answer.content.decode()
        assert "Ask for a new link" in answer.content.decode()


@pytest.mark.parametrize(("new", "again", "words"), [("short", "short", "too short"), (NEW, "other", "not the same")])
def test_a_password_that_is_not_set_leaves_the_link_good(client, invited, new, again, words):
    answer = send(client, invited.link, new, again)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert send(client, invited.link).status_code == 302


def test_setting_a_password_needs_a_csrf_token(invited):
    assert send(Client(enforce_csrf_checks=True), invited.link).status_code == 403


def test_the_sign_in_page_leads_to_a_forgotten_password(client, db):
    assert 'href="/password/forgotten/"' in client.get("/sign-in/").content.decode()


def test_known_and_unknown_addresses_get_the_same_page(committed_db, mailing):
    anna = factories.person(factories.tenant())
    pages = []
    for email in (anna.email, "nobody@example.org"):
        answer = Client().post("/password/forgotten/", {"email": email})
        assert answer.status_code == 200
        pages.append(answer.content.decode().replace(email, "ADDRESS"))
    assert pages[0] == pages[1]
    assert "If ADDRESS has an account here" in pages[0]
    mailer.wait_until_sent()
    assert [sent.to for sent in mail.outbox] == [[anna.email]]


def test_a_mailed_link_sets_the_password_and_ends_every_session(committed_db, mailing):
    anna = factories.person(factories.tenant())
    inside = Client()
    inside.post("/sign-in/", {"username": anna.email, "password": anna.password})
    Client().post("/password/forgotten/", {"email": anna.email})
    mailer.wait_until_sent()
    token = re.search(r"link=(\S+)", mail.outbox[0].body)[1]
    assert anna.password not in mail.outbox[0].body
    assert inside.get("/").status_code == 200
    assert send(Client(), token).status_code == 302
    assert inside.get("/").status_code == 302


def test_too_many_mails_are_a_wait_in_words(client, db, monkeypatch):
    monkeypatch.setattr("access.store.mailer.later", lambda job: True)
    answers = [client.post("/password/forgotten/", {"email": "a@example.org"}) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert "Too many mails were asked for" in answers[-1].content.decode()
    assert int(answers[-1]["Retry-After"]) > 1000


def test_without_mail_the_page_says_whom_to_ask(client, db):
    assert "Mail is not set up here" in client.get("/password/forgotten/").content.decode()


def test_after_ten_wrong_passwords_the_sign_in_says_how_long_to_wait(client, acme):
    anna = factories.person(acme)
    answers = [client.post("/sign-in/", {"username": anna.email, "password": "wrong"}) for _ in range(11)]
    assert [answer.status_code for answer in answers] == [422] * 10 + [429]
    assert "set a new password by mail" in answers[-1].content.decode()
    assert int(answers[-1]["Retry-After"]) > 200


@pytest.mark.parametrize("path", ["/accounts/signup/", "/signup/", "/accounts/login/", "/accounts/password/reset/"])
def test_there_is_no_way_to_sign_up_and_no_second_way_in(client, db, path):
    assert client.get(path).status_code == 404
    assert client.post(path, {"email": "eve@example.org", "password1": NEW, "password2": NEW}).status_code == 404
