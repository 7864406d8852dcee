"""The catalogue of tools. A version never changes; what is admitted is a version (R10)."""

import uuid

from django.db import models


class Tool(models.Model):
    """A tool's name in a tenant and the version that is admitted now."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField()
    name = models.CharField(max_length=64)
    active_version = models.IntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint("tenant_id", "name", name="approvals_tool_name_once")]


class ToolVersion(models.Model):
    """One immutable contract document. Append-only by trigger."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tool = models.ForeignKey(Tool, on_delete=models.PROTECT, related_name="versions")
    number = models.IntegerField()
    document = models.JSONField()
    digest = models.CharField(max_length=64)
    admitted_by = models.TextField()
    admitted_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint("tool", "number", name="approvals_tool_version_once")]
