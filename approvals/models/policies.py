"""Policies: one immutable document a version, one active number a tenant."""

import uuid

from django.db import models


class PolicyHead(models.Model):
    """Which version is in force. Locked by whoever publishes, read by every dispatch in its transaction."""

    tenant_id = models.UUIDField(primary_key=True)
    active_number = models.IntegerField()


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

    class Meta:
        constraints = [models.UniqueConstraint("tenant_id", "number", name="approvals_policy_version_once")]
