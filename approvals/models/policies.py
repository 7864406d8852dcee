"""Policies: one immutable document a version, one active number a tenant."""

import uuid

from django.db import models


class PolicyHead(models.Model):
    """Which version is in force. Locked by whoever publishes, read by every dispatch in its transaction."""

    tenant_id = models.UUIDField(primary_key=True)
    active_number = models.IntegerField()
    # True: whoever publishes is another admin than the one who asked for it.
    second_admin = models.BooleanField(db_default=False)
    # Who wants that rule gone. It ends when another admin says so too: alone, nobody gets around it.
    second_admin_end_by = models.TextField(db_default="")
    second_admin_end_by_id = models.TextField(db_default="")


class PolicyVersion(models.Model):
    """A published policy: the source as it was written and its parsed form. Append-only by trigger."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField()
    number = models.IntegerField()
    source = models.TextField()
    document = models.JSONField()
    digest = models.CharField(max_length=64)
    published_by = models.TextField()
    published_at = models.DateTimeField()
    reason = models.TextField(db_default="")
    # The other admin, who asked for it to be published; "" where none was needed.
    asked_by = models.TextField(db_default="")
    # The version whose source this one took up again (a roll back is a new version); 0 for none.
    taken_from = models.IntegerField(db_default=0)

    class Meta:
        constraints = [models.UniqueConstraint("tenant_id", "number", name="approvals_policy_version_once")]


class PolicyDraft(models.Model):
    """A text that may become a version. It holds no authority, so it may be wrong, and what was typed is never lost.

    `revision` counts the saved texts and is what two savers are told apart by. A draft is never removed: it is open,
    published or discarded, and a discarded one can be read.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField()
    name = models.TextField()
    source = models.TextField()
    # The number of the version that it was made from; 0 before the first one.
    based_on = models.IntegerField()
    revision = models.IntegerField(default=1)
    status = models.TextField(default="open")
    saved_by = models.TextField()
    saved_by_id = models.TextField()
    saved_at = models.DateTimeField()
    # Who asks another admin to publish this very revision; a change of the text takes the question back.
    asked_by = models.TextField(default="")
    asked_by_id = models.TextField(default="")
    asked_at = models.DateTimeField(null=True)
    asked_reason = models.TextField(default="")
    taken_from = models.IntegerField(default=0)
    # The version it became; 0 while it is none.
    published_number = models.IntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=["open", "published", "discarded"]),
                name="approvals_policy_draft_status",
            ),
        ]
        indexes = [
            models.Index(
                "tenant_id",
                models.F("saved_at").desc(),
                name="approvals_policy_draft_open",
                condition=models.Q(status="open"),
            ),
        ]
