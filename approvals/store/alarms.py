"""Alarms and notices: rows that are written with what they tell of, and the looks that find what is due."""

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection
from django.db.models import F

from access.selectors.addressees import people_with_role
from access.store import mailer
from approvals.models import Alarm, Notice, Proposal
from audit.store import clock
from audit.store.pruning import remove_ended

LEASE = timedelta(minutes=5)
"""Whoever takes notices to mail them has them for so long; then they are due again."""
KEPT_DAYS = {"sent": 30, "stale": 30, "given_up": 90}
"""Days for which a line is kept by what became of it."""
ALARM_KEPT_DAYS = 30
"""Days for which an alarm that is over is kept. It is no evidence: that it began and ended stands in the audit log."""
MOST_PEOPLE = 200
"""More people than this are not mailed about one proposal."""


def open_alarm(proposal: Proposal) -> bool:
    """Note that too few people can decide a locked proposal, and what tells admins. False if that is noted already."""
    if Alarm.objects.filter(proposal=proposal, ended_at=None).exists():
        return False
    now = clock.now()
    Alarm.objects.create(proposal=proposal, round=proposal.round, at=now)
    add_notices(proposal, "alarm", [person for person, _ in people_with_role(proposal.tenant_id, "admin")], now)
    return True


def end_alarm(proposal: Proposal) -> bool:
    """Note that it is over; False if none was open."""
    return Alarm.objects.filter(proposal=proposal, ended_at=None).update(ended_at=clock.ClearanceNow()) == 1


def open_alarms(limit: int) -> list[UUID]:
    """Proposals with an open alarm, the oldest first."""
    found = Alarm.objects.filter(ended_at=None).order_by("id")
    return list(found.values_list("proposal_id", flat=True)[:limit])


def add_notices(proposal: Proposal, kind: str, people: Collection[str], now: datetime) -> int:
    """One line for each of these people, once a round and kind; none where mail is not set up. How many were meant."""
    if not mailer.configured():
        return 0
    rows = [
        Notice(proposal=proposal, round=proposal.round, person_id=UUID(person), kind=kind, at=now, due_at=now)
        for person in list(people)[:MOST_PEOPLE]
    ]
    Notice.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def remind_due(limit: int) -> list[UUID]:
    """Pending proposals whose people are to be reminded, the earliest first. Read without locks."""
    due = Proposal.objects.filter(status="pending", remind_at__isnull=False, remind_at__lte=clock.StatementNow())
    return list(due.order_by("remind_at").values_list("id", flat=True)[:limit])


def people_due(limit: int, *, quiet: timedelta) -> list[UUID]:
    """People with lines that wait to be mailed and who got no mail for as long as `quiet`."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT due.person_id FROM (
              SELECT person_id, min(due_at) AS first FROM approvals_notice
               WHERE ended_at IS NULL AND due_at <= (SELECT clearance_now()) GROUP BY person_id
            ) due
             WHERE NOT EXISTS (SELECT 1 FROM approvals_notice sent
                                WHERE sent.person_id = due.person_id AND sent.outcome = 'sent'
                                  AND sent.ended_at > (SELECT clearance_now()) - %s * interval '1 second')
             ORDER BY due.first LIMIT %s
            """,
            [quiet.total_seconds(), limit],
        )
        return [row[0] for row in cursor.fetchall()]


def take_notices(person_id: UUID, limit: int) -> list[Notice]:
    """The person's lines that are due, the caller's alone until `LEASE` is over; in a transaction."""
    due = Notice.objects.filter(person_id=person_id, ended_at=None, due_at__lte=clock.ClearanceNow())
    rows = due.select_for_update(skip_locked=True, of=("self",)).select_related("proposal").order_by("id")
    taken = list(rows[:limit])
    leased = Notice.objects.filter(pk__in=[row.pk for row in taken])
    leased.update(due_at=clock.ClearanceNow() + LEASE, attempts=F("attempts") + 1)
    return taken


def end_notices(rows: Collection[Notice], outcome: str) -> None:
    """What became of these lines: sent, stale or given_up."""
    waiting = Notice.objects.filter(pk__in=[row.pk for row in rows], ended_at=None)
    waiting.update(ended_at=clock.ClearanceNow(), outcome=outcome)


def put_back(rows: Collection[Notice], wait: timedelta) -> None:
    """They are tried again after so long."""
    waiting = Notice.objects.filter(pk__in=[row.pk for row in rows], ended_at=None)
    waiting.update(due_at=clock.ClearanceNow() + wait)


def forget_old(*, limit: int) -> int:
    """Remove lines that ended long ago, the oldest first, at most so many of each kind; how many."""
    return sum(
        remove_ended("approvals_notice", days=days, limit=limit, where="outcome = %s", values=[outcome])
        for outcome, days in KEPT_DAYS.items()
    )


def forget_old_alarms(*, limit: int) -> int:
    """Remove alarms that were over long ago, the oldest first, at most so many; how many. Open ones are kept."""
    return remove_ended("approvals_alarm", days=ALARM_KEPT_DAYS, limit=limit)
