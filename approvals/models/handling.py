"""What people do with a proposal before they decide it: edit it, ask its agent, claim it."""

import uuid
from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models


class Revision(models.Model):
    """A proposal that a person's edit made, in the place of `previous`. Append-only by trigger.

    It is a call of its own with its own bytes, digest and key (E6); `step_id` is the call id that the agent gave.
    """

    proposal = models.OneToOneField(
        "approvals.Proposal", on_delete=models.PROTECT, primary_key=True, related_name="revision"
    )
    previous = models.OneToOneField("approvals.Proposal", on_delete=models.PROTECT, related_name="revised_by")
    # Counts from the agent's own call, which is 1.
    number = models.IntegerField()
    step_id = models.TextField()
    editor_id = models.UUIDField()
    editor_name = models.TextField()
    # Whoever edited this revision or one before it: none of them approves it (A9).
    editor_ids = ArrayField(models.UUIDField())
    # [{"path", "label", "from", "to", "was", "becomes"}]: raw JSON values, and how people read them.
    changes = models.JSONField()
    reason = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(number__gte=2), name="approvals_revision_number"),
        ]
        indexes = [GinIndex(fields=["editor_ids"], name="approvals_revision_editors")]


class Question(models.Model):
    """What a reviewer asked the agent about its call, and what it answered. One is open at a time (S20)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    proposal = models.ForeignKey(
        "approvals.Proposal", on_delete=models.PROTECT, related_name="questions", db_index=False
    )
    round = models.IntegerField()
    asked_by_id = models.UUIDField()
    asked_by_name = models.TextField()
    text = models.TextField()
    at = models.DateTimeField()
    # "runs" or "stops": whether the time to decide went on.
    clock = models.TextField()
    # The longest that it may stop the clock; nothing where the clock runs.
    allowed = models.DurationField(default=timedelta(0))
    # When the run's history said it to the agent; NULL until it has (the outbox of questions).
    told_at = models.DateTimeField(null=True)
    answer = models.TextField(blank=True)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "proposal", condition=models.Q(answered_at__isnull=True), name="approvals_question_open_once"
            ),
            models.CheckConstraint(condition=models.Q(clock__in=["runs", "stops"]), name="approvals_question_clock"),
        ]
        indexes = [
            models.Index(fields=["at"], name="approvals_question_untold", condition=models.Q(told_at__isnull=True)),
            models.Index(fields=["proposal", "at"], name="approvals_question_of"),
        ]


class Claim(models.Model):
    """Somebody is looking at it. A word to colleagues that ends by itself; it keeps nobody from deciding."""

    proposal = models.OneToOneField(
        "approvals.Proposal", on_delete=models.CASCADE, primary_key=True, related_name="claim"
    )
    person_id = models.UUIDField()
    person_name = models.TextField()
    at = models.DateTimeField()
    until = models.DateTimeField()
