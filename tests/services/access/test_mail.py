"""The test button: what a real mail server says is told in words."""

import socket
import ssl

import pytest

from access.services import mail, people
from access.store import mailer
from audit.core.refusal import Forbidden, TooMany, Unavailable
from audit.selectors.entries import EntryFilters, entries_page
from config import env
from tests.support import factories
from tests.support.smtp import mail_server


@pytest.fixture
def acme(db):
    return factories.tenant()


@pytest.fixture
def server():
    with mail_server() as running:
        yield running


@pytest.fixture
def set_up(settings, monkeypatch):
    """set_up(url) is what an installation with this address does."""

    def use(url):
        monkeypatch.setenv("CLEARANCE_EMAIL_URL", url)
        settings.MAIL = env.mail("CLEARANCE_EMAIL_URL", sender="Clearance <clearance@example.org>")
        settings.MAILERS = {"default": settings.MAIL.mailer}

    return use


def test_a_test_mail_reaches_the_admin_who_asked(acme, server, set_up):
    set_up(server.url)
    assert mail.mail_test(actor=acme.admin.actor) == acme.admin.email
    (taken,) = server.mails
    assert taken["To"] == acme.admin.email
    assert taken["From"] == "Clearance <clearance@example.org>"
    assert taken["Subject"] == "Test mail from Clearance"
    assert "http://localhost:8000 reaches you" in taken.get_content()
    entry = entries_page(acme.id, EntryFilters(action="mail.tested"))[0]
    assert (entry.verdict, entry.detail) == ("ok", {"to": acme.admin.email})


@pytest.mark.parametrize(
    ("command", "answer", "words"),
    [
        ("RCPT", "550 no such user here", "the server does not take the recipient (550 no such user here)"),
        ("MAIL", "553 sender not allowed", "the server does not take the sender"),
        ("DATA", "451 disk full", "the server answered 451 disk full"),
        ("EHLO", "421 too busy", "421 too busy"),
    ],
)
def test_what_the_server_refuses_is_told_in_its_own_words(acme, server, set_up, command, answer, words):
    set_up(server.url)
    server.answers[command] = answer
    if command == "EHLO":
        server.answers["HELO"] = answer
    with pytest.raises(Unavailable) as refusal:
        mail.mail_test(actor=acme.admin.actor)
    assert refusal.value.code == "MAIL_REFUSED"
    assert words in refusal.value.message
    assert server.mails == []
    entry = entries_page(acme.id, EntryFilters(action="mail.tested"))[0]
    assert entry.verdict == "refused"


def test_a_server_that_is_not_there_and_one_that_speaks_no_tls_are_told(acme, server, set_up):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        set_up(f"smtp://127.0.0.1:{free.getsockname()[1]}")
        with pytest.raises(Unavailable, match="nobody listens there"):
            mail.mail_test(actor=acme.admin.actor)
    set_up(f"smtps://127.0.0.1:{server.port}")
    with pytest.raises(Unavailable, match=r"encrypted connection failed|hung up"):
        mail.mail_test(actor=acme.admin.actor)
    set_up(f"smtp+starttls://127.0.0.1:{server.port}")
    with pytest.raises(Unavailable, match="cannot do what was asked"):
        mail.mail_test(actor=acme.admin.actor)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError(), "did not answer in time"),
        (socket.gaierror(-2, "Name or service not known"), "name is not known"),
        (ssl.SSLError(1, "WRONG_VERSION_NUMBER"), "encrypted connection failed"),
        (OSError(28, "No space left on device"), "No space left on device."),
    ],
)
def test_what_goes_wrong_on_the_way_is_told(error, words):
    assert words in mailer.error_words(error)


def test_without_a_set_up_nothing_is_tried(acme):
    with pytest.raises(Unavailable) as refusal:
        mail.mail_test(actor=acme.admin.actor)
    assert refusal.value.code == "MAIL_OFF"
    assert "CLEARANCE_EMAIL_URL" in refusal.value.message
    assert not mailer.configured()


def test_only_an_admin_tests_and_not_without_end(acme, server, set_up):
    set_up(server.url)
    with pytest.raises(Forbidden):
        mail.mail_test(actor=factories.person(acme, ["operator", "auditor"]).actor)
    for _ in range(5):
        mail.mail_test(actor=acme.admin.actor)
    with pytest.raises(TooMany):
        mail.mail_test(actor=acme.admin.actor)
    assert len(server.mails) == 5


def test_an_invitation_goes_out_by_mail_with_its_link_and_nothing_else_that_opens(committed_db, server, set_up):
    acme = factories.tenant()
    set_up(server.url)
    row = people.member_add(
        actor=acme.admin.actor, email="ida@acme.example", name="Ida", roles=["reviewer"], invite=True
    )
    assert mail.invitation_send(actor=acme.admin.actor, row=row)
    mailer.wait_until_sent()
    (taken,) = server.mails
    assert taken["To"] == "ida@acme.example"
    assert f"/password/new/?link={row.link}" in taken.get_content()
    assert "password:" not in taken.get_content().lower()


def test_somebody_with_an_account_is_told_without_a_link(committed_db, server, set_up):
    acme, other = factories.tenant(), factories.tenant()
    anna = factories.person(other, name="Anna")
    set_up(server.url)
    row = people.member_add(actor=acme.admin.actor, email=anna.email, name="x", roles=[], invite=True)
    mail.invitation_send(actor=acme.admin.actor, row=row)
    mailer.wait_until_sent()
    assert "link=" not in server.mails[0].get_content()
    assert "/sign-in/" in server.mails[0].get_content()


def test_a_mail_that_fails_in_the_thread_is_logged_without_its_link(committed_db, server, set_up, caplog):
    acme = factories.tenant()
    set_up(server.url)
    server.answers["RCPT"] = "550 no"
    row = people.member_add(actor=acme.admin.actor, email="ida@acme.example", name="Ida", roles=[], invite=True)
    mail.invitation_send(actor=acme.admin.actor, row=row)
    mailer.wait_until_sent()
    assert "A mail could not be sent" in caplog.text
    assert row.link not in caplog.text


def test_when_too_many_mails_wait_the_next_is_dropped_and_said(monkeypatch, caplog):
    import queue

    monkeypatch.setattr("access.store.mailer._jobs", queue.Queue(1))
    monkeypatch.setattr("access.store.mailer._thread", None)
    monkeypatch.setattr("access.store.mailer._work", lambda: None)
    assert mailer.later(lambda: None)
    assert not mailer.later(lambda: None)
    assert "one was dropped" in caplog.text
