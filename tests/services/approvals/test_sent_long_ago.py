"""Webhooks and mails that were sent long ago are removed by the sweep; what waits, and what is younger, is kept."""

from datetime import timedelta
from uuid import uuid4

import pytest

from access.models import WebhookDelivery
from access.services.webhook import webhooks_forget_old
from approvals.models import Notice
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


def test_at_most_so_many_go_at_once_the_oldest_first(acme):
    for days in (40, 50, 60):
        delivered(acme, "delivered", days)
    assert webhooks_forget_old(limit=2) == 2
    assert WebhookDelivery.objects.get().kind == "delivered-40"


def test_the_sweep_does_it(acme):
    delivered(acme, "delivered", 31)
    noticed(acme.hold(), "sent", 31)
    for chore in Sweep().chores:
        if "long ago" in chore.name:
            chore.do()
    assert not WebhookDelivery.objects.exists()
    assert not Notice.objects.exists()
