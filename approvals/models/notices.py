"""What people are told of proposals that wait: reminders, alarms, and the mails of both."""

from django.db import models
from django.db.models import Q

from approvals.models.proposals import Proposal


class Reminder(models.Model):
    """The time to decide is nearly over. Once a proposal and round, by constraint."""

    id = models.BigAutoField(primary_key=True)
    proposal = models.ForeignKey(Proposal, on_delete=models.PROTECT, related_name="reminders")
    round = models.IntegerField()
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint("proposal", "round", name="approvals_reminder_once")]


class Alarm(models.Model):
    """Too few people can decide a proposal that waits (S8). It ends by itself when somebody joins, or when the proposal
    is decided or over."""

    id = models.BigAutoField(primary_key=True)
    proposal = models.ForeignKey(Proposal, on_delete=models.PROTECT, related_name="alarms")
    round = models.IntegerField()
    at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("proposal", condition=Q(ended_at__isnull=True), name="approvals_alarm_open_once")
        ]
        indexes = [
            # What is old enough to be removed.
            models.Index(fields=["ended_at"], name="approvals_alarm_ended", condition=Q(ended_at__isnull=False)),
        ]


class Notice(models.Model):
    """One line of a mail to one person, written with what it tells of and sent later, many lines in one mail."""

    id = models.BigAutoField(primary_key=True)
    proposal = models.ForeignKey(Proposal, on_delete=models.PROTECT, related_name="notices")
    round = models.IntegerField()
    person_id = models.UUIDField()
    kind = models.TextField()
    at = models.DateTimeField()
    due_at = models.DateTimeField()
    attempts = models.IntegerField(default=0)
    ended_at = models.DateTimeField(null=True)
    outcome = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("proposal", "round", "person_id", "kind", name="approvals_notice_once"),
            models.CheckConstraint(
                condition=Q(kind__in=["reminder", "escalation", "alarm"]), name="approvals_notice_kind"
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=["", "sent", "stale", "given_up"]), name="approvals_notice_outcome"
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], name="approvals_notice_due", condition=Q(ended_at__isnull=True)),
            # When somebody was mailed last.
            models.Index(fields=["person_id", "ended_at"], name="approvals_notice_sent", condition=Q(outcome="sent")),
            # What is old enough to be removed.
            models.Index(
                fields=["outcome", "ended_at"], name="approvals_notice_ended", condition=Q(ended_at__isnull=False)
            ),
        ]
