"""Reminders, escalation and their mails: once a round, one mail a person, nothing decides (A3, A9, S11, S12)."""

from datetime import timedelta

import pytest

from access.models import WebhookDelivery
from access.services.delegation import delegation_give
from access.services.webhook import webhook_set
from approvals.models import Notice, Proposal, Reminder
from approvals.services.reminder import digest_send, digests_due, proposals_remind
from audit.selectors.entries import entries_for_object
from audit.store import clock
from config import env
from tests.support import factories
from tests.support.approvals import STATE, asking, world
from tests.support.smtp import mail_server

ESCALATING = """\
version: 1
rules:
  - {id: refund, tool: refund_order, effect: ask, approvers: [{group: finance, count: 1}], escalate_to: [board]}
"""


@pytest.fixture
def mails(settings, monkeypatch):
    """A mail server, and Clearance set up for it."""
    with mail_server() as running:
        monkeypatch.setenv("CLEARANCE_EMAIL_URL", running.url)
        settings.MAIL = env.mail("CLEARANCE_EMAIL_URL", sender="Clearance <clearance@example.org>")
        settings.MAILERS = {"default": settings.MAIL.mailer}
        yield running


@pytest.fixture
def acme(db, mails):
    return world()


def as_if_asked_earlier(*helds):
    """The same rounds as they are thirteen minutes after they were opened: of fifteen, more than 80 % have passed."""
    now = clock.now()
    for held in helds:
        row = Proposal.objects.get(pk=held.id)
        opened = {"at": (now - timedelta(minutes=13)).isoformat(), "code": "TEST", "message": "Asked anew."}
        Proposal.objects.filter(pk=row.pk).update(
            why=row.why | {"opened_because": opened},
            expires_at=now + timedelta(minutes=2),
            remind_at=now - timedelta(minutes=1),
        )


def send_all():
    return sum(digest_send(person_id=person) for person in digests_due())


def text_of(mail):
    return mail.get_content()


def test_before_its_time_nobody_is_reminded(acme):
    acme.hold()
    assert proposals_remind() == 0
    assert not Notice.objects.exists()


def test_whoever_is_asked_is_reminded_once_and_the_link_only_opens_the_page(acme, mails):
    held = acme.hold()
    as_if_asked_earlier(held)
    assert (proposals_remind(), proposals_remind()) == (1, 0)
    assert send_all() == 2
    # Not Jon, for whom the agent acts, and not Ola, who owns it: neither may decide it.
    assert {mail["To"] for mail in mails.mails} == {acme.mara.email, acme.noor.email}
    said = text_of(mails.mails[0])
    assert any(line.endswith(f"/proposals/{held.id}/") for line in said.splitlines())
    assert "decide/" not in said
    assert "Refund A$45.00" in said
    assert "then it is refused" in said
    assert send_all() == 0
    assert [entry.action for entry in entries_for_object(acme.tenant.id, "proposal", str(held.id))][-1] == (
        "proposal.reminded"
    )


def test_many_proposals_are_one_mail_to_each_and_a_long_list_ends(acme, mails):
    helds = [acme.hold(order_id=f"ord_{number}", amount=1_000 + number) for number in range(33)]
    as_if_asked_earlier(*helds)
    assert proposals_remind() == 33
    assert send_all() == 2
    assert len(mails.mails) == 2
    assert mails.mails[0]["Subject"] == "33 calls in Clearance need people"
    said = text_of(mails.mails[0])
    assert said.count("/proposals/") == 30
    assert "and 3 more" in said


def test_nobody_gets_a_second_mail_at_once(acme, mails):
    first, second = acme.hold(), acme.hold(order_id="ord_2")
    as_if_asked_earlier(first)
    proposals_remind()
    assert send_all() == 2
    as_if_asked_earlier(second)
    assert proposals_remind() == 1
    assert send_all() == 0, "it waits for a minute to have passed"
    assert Notice.objects.filter(ended_at=None).count() == 2


def test_who_has_voted_is_not_reminded_and_what_was_decided_meanwhile_is_not_told(acme, mails):
    acme.publish(asking(("finance", 2)))
    one, two = acme.hold(), acme.hold(order_id="ord_2")
    acme.decide(one, by=acme.mara)
    as_if_asked_earlier(one, two)
    proposals_remind()
    acme.decide(two, "reject", by=acme.mara)
    assert send_all() == 1
    [mail] = mails.mails
    assert mail["To"] == acme.noor.email
    assert str(two.id) not in text_of(mail)
    assert set(Notice.objects.values_list("outcome", flat=True)) == {"sent", "stale"}


def test_the_groups_of_an_escalation_are_told_and_not_asked(acme, mails):
    boss = factories.person(acme.tenant, roles=["operator"], groups=["board"], name="Bo Ard")
    acme.publish(ESCALATING)
    held = acme.hold()
    as_if_asked_earlier(held)
    proposals_remind()
    send_all()
    [mail] = [mail for mail in mails.mails if mail["To"] == boss.email]
    assert "waits for others; you are told" in text_of(mail)


def test_whoever_decides_in_anothers_place_is_reminded_too(acme, mails):
    anna = factories.person(acme.tenant, name="Anna Berg")
    end = clock.now() + timedelta(days=1)
    delegation_give(actor=acme.mara.actor, to_user_id=anna.user_id, ends_at=end)
    as_if_asked_earlier(acme.hold())
    proposals_remind()
    send_all()
    assert anna.email in {mail["To"] for mail in mails.mails}


def test_hidden_characters_are_written_out_in_a_mail(acme, mails):
    held = acme.hold(state={**STATE, "customer": "Anna \u202egreB"})
    as_if_asked_earlier(held)
    proposals_remind()
    send_all()
    said = text_of(mails.mails[0])
    assert "\u202e" not in said
    assert "[U+202E]" in said


def test_a_mail_server_that_refuses_is_tried_again_and_given_up_in_the_end(acme, mails):
    mails.answers["DATA"] = "451 later"
    as_if_asked_earlier(acme.hold())
    proposals_remind()
    for _ in range(5):
        Notice.objects.update(due_at=clock.now())
        assert send_all() == 0
    assert set(Notice.objects.values_list("outcome", flat=True)) == {"given_up"}
    assert digests_due() == []


def test_a_webhook_is_told_with_the_reminder(acme):
    webhook_set(actor=acme.tenant.admin.actor, url="https://example.org/hook")
    held = acme.hold()
    as_if_asked_earlier(held)
    proposals_remind()
    [row] = WebhookDelivery.objects.all()
    assert (row.kind, row.state) == ("proposal.reminded", "waiting")
    assert str(held.id) in row.body


def test_without_mail_nothing_piles_up(acme, settings):
    settings.MAIL = env.mail("CLEARANCE_NO_SUCH_VARIABLE", sender="c@example.org")
    as_if_asked_earlier(acme.hold())
    assert proposals_remind() == 1
    assert not Notice.objects.exists()
    assert Reminder.objects.count() == 1


def test_a_time_that_became_longer_reminds_later(acme):
    held = acme.hold()
    Proposal.objects.filter(pk=held.id).update(remind_at=clock.now() - timedelta(seconds=1))
    assert proposals_remind() == 0
    assert Proposal.objects.get(pk=held.id).remind_at > clock.now() + timedelta(minutes=11)
