"""The catalogue of tools. A version never changes; what is admitted is a version (R10)."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Tool(models.Model):
    """A tool's name in a tenant and the version that is admitted now."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField()
    name = models.CharField(max_length=64)
    active_version = models.IntegerField(null=True)
    # The last change of what is in force, in a word for the list of tools: admitted, returned or retired.
    change = models.TextField(db_default="")
    changed_by = models.TextField(db_default="")
    changed_at = models.DateTimeField(null=True)

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


CANDIDATE_STATES = ("waiting", "admitted", "dropped", "replaced")


class ToolCandidate(models.Model):
    """A contract that somebody stored and nobody uses until an admin admits it. Its text never changes: an edit is
    another candidate. `number` is the version that it became."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField()
    tool = models.CharField(max_length=64)
    # As it was written, comments included; the document beside it is what is admitted.
    source = models.TextField()
    document = models.JSONField()
    digest = models.CharField(max_length=64)
    based_on = models.IntegerField(null=True)
    note = models.TextField(blank=True)
    stored_by = models.TextField()
    stored_by_id = models.TextField()
    stored_at = models.DateTimeField()
    status = models.TextField(default="waiting")
    settled_by = models.TextField(blank=True)
    settled_at = models.DateTimeField(null=True)
    settled_because = models.TextField(blank=True)
    number = models.IntegerField(null=True)
    # The publisher's signature in the bytes that came; put, replaced and taken away only while the candidate waits.
    signature = models.BinaryField(null=True)
    signature_by = models.TextField(db_default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "tenant_id",
                "tool",
                "digest",
                condition=models.Q(status="waiting"),
                name="approvals_candidate_waiting_once",
            ),
            models.CheckConstraint(condition=models.Q(status__in=CANDIDATE_STATES), name="approvals_candidate_status"),
        ]
        indexes = [models.Index(fields=["tenant_id", "tool", "-stored_at"], name="approvals_candidate_recent")]


class AgentTools(models.Model):
    """Which tools an agent is shown, of those that its scopes allow (R10). No row, or `tools` null: all of them."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField()
    agent_id = models.UUIDField()
    tools = ArrayField(models.CharField(max_length=64), null=True)
    changed_by = models.TextField()
    changed_at = models.DateTimeField()
    version = models.IntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint("tenant_id", "agent_id", name="approvals_agent_tools_once")]
