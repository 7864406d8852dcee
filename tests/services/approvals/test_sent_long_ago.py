"""Webhooks, mails and alarms of long ago are removed by the sweep; what waits, and what is younger, is kept."""

from datetime import timedelta
from uuid import uuid4

import pytest

from access.models import WebhookDelivery
from access.services.webhook import webhooks_forget_old
from approvals.models import Alarm, Notice
from approvals.services.alarm import alarms_forget_old
from approvals.services.reminder import notices_forget_old
from audit.store import clock
from runs.management.commands.sweep import Sweep
from tests.support.approvals import world


@pytest.fixture
def acme(db):
    return world()


def delivered(acme, state, days):
    now = clock.now()
    ended = None if state == "waiting" else now - timedelta(days=days)
    WebhookDelivery.objects.create(
        tenant_id=acme.tenant.id, message_id=uuid4().hex, kind=f"{state}-{days}", body="{}", at=now, state=state,
        due_at=now if state == "waiting" else None, ended_at=ended,
    )  # fmt: skip


def noticed(held, outcome, days):
    now = clock.now()
    ended = now - timedelta(days=days) if outcome else None
    row = Notice(proposal_id=held.id, round=1, person_id=uuid4(), kind="alarm", at=now - timedelta(days=days))
    row.due_at, row.ended_at, row.outcome = row.at, ended, outcome
    row.save()
    return (outcome, days)


def test_webhooks_are_kept_thirty_days_and_ninety_where_they_were_given_up(acme):
    for state in ("waiting", "delivered", "given_up"):
        for days in (29, 31, 89, 91):
            delivered(acme, state, days)
    assert webhooks_forget_old() == 4
    kept = set(WebhookDelivery.objects.values_list("kind", flat=True))
    assert kept == {
        "delivered-29", "given_up-29", "given_up-31", "given_up-89",
        "waiting-29", "waiting-31", "waiting-89", "waiting-91",
    }  # fmt: skip
    assert webhooks_forget_old() == 0


def test_mails_are_kept_thirty_days_and_ninety_where_they_were_given_up(acme):
    held = acme.hold()
    for outcome in ("", "sent", "stale", "given_up"):
        for days in (29, 31, 91):
            noticed(held, outcome, days)
    assert notices_forget_old() == 5
    kept = set(Notice.objects.filter(kind="alarm").exclude(ended_at=None).values_list("outcome", flat=True))
    assert kept == {"sent", "stale", "given_up"}
    assert Notice.objects.filter(outcome="").count() == 3
    assert Notice.objects.filter(outcome="given_up").count() == 2


def alarmed(held, days, *, ended=True):
    at = clock.now() - timedelta(days=days)
    return Alarm.objects.create(proposal_id=held.id, round=1, at=at, ended_at=at if ended else None).pk


def test_alarms_are_kept_thirty_days_after_their_end_and_open_ones_for_ever(acme):
    held = acme.hold()
    old, older = alarmed(held, 31), alarmed(held, 60)
    kept = {alarmed(held, 29), alarmed(held, 400, ended=False)}
    assert alarms_forget_old(limit=1) == 1
    assert set(Alarm.objects.values_list("pk", flat=True)) == kept | {old} != kept | {older}
    assert alarms_forget_old() == 1
    assert set(Alarm.objects.values_list("pk", flat=True)) == kept
    assert alarms_forget_old() == 0


def test_at_most_so_many_go_at_once_the_oldest_first(acme):
    for days in (40, 50, 60):
        delivered(acme, "delivered", days)
    assert webhooks_forget_old(limit=2) == 2
    assert WebhookDelivery.objects.get().kind == "delivered-40"


def test_the_sweep_does_it(acme):
    delivered(acme, "delivered", 31)
    held = acme.hold()
    noticed(held, "sent", 31)
    alarmed(held, 31)
    for chore in Sweep().chores:
        if "long ago" in chore.name:
            chore.do()
    assert not WebhookDelivery.objects.exists()
    assert not Notice.objects.exists()
    assert not Alarm.objects.exists()
