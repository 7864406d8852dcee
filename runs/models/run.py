"""A run's head, its append-only history, its checkpoints, and the calls as rows for look-ups."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Upper


class Run(models.Model):
    """The head: everything here but `seq` can be folded from the events. Changed only by the append function."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField()
    title = models.TextField()
    agent_id = models.UUIDField()
    agent_name = models.TextField()
    agent_version = models.TextField(blank=True)
    acting_user_id = models.UUIDField(null=True)
    acting_user_name = models.TextField(blank=True)
    token_session_id = models.UUIDField(null=True)
    # The caller's own reference: opening twice with the same one gives the same run.
    client_ref = models.TextField(blank=True)
    reducer_version = models.IntegerField(default=1)
    seq = models.BigIntegerField(default=0)
    status = models.TextField(default="created")
    detail = models.TextField(blank=True)
    deadline = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "agent_id", "client_ref", condition=~models.Q(client_ref=""), name="runs_run_client_ref_once"
            )
        ]
        indexes = [
            models.Index(fields=["tenant_id", "-updated_at"], name="runs_run_recent"),
            models.Index(fields=["tenant_id", "status", "-updated_at"], name="runs_run_status"),
            models.Index(fields=["tenant_id", "agent_id", "-updated_at"], name="runs_run_agent"),
            models.Index("tenant_id", Upper("acting_user_name"), models.F("updated_at").desc(), name="runs_run_acting"),
        ]


class Event(models.Model):
    """One fact. Append-only by trigger; written by the SQL function `runs_append` alone (data rule 1)."""

    pk = models.CompositePrimaryKey("run_id", "seq")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="events", db_index=False)
    seq = models.BigIntegerField()
    kind = models.TextField()
    schema = models.IntegerField(default=1)
    actor = models.JSONField()
    body = models.JSONField()
    at = models.DateTimeField()


class Checkpoint(models.Model):
    """The folded state at a sequence number, so that a long history need not be folded from its start (R1)."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="checkpoints", db_index=False)
    seq = models.BigIntegerField()
    reducer_version = models.IntegerField()
    state = models.JSONField()
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint("run", "seq", name="runs_checkpoint_once")]


class Call(models.Model):
    """One tool call as the agent named it, with the bytes that every later step works from.

    `state`, `answer` and `version` follow the run's events in the same transaction; the rest never changes
    (a trigger refuses it: S84 is then an owner's deed, which the digest catches).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="calls", db_index=False)
    tenant_id = models.UUIDField()
    call_id = models.TextField()
    message_id = models.TextField(blank=True)
    trace_id = models.TextField(blank=True)
    tool = models.TextField()
    contract_version = models.IntegerField()
    canonical = models.BinaryField()
    given = models.BinaryField()
    digest = models.CharField(max_length=64)
    key = models.TextField()
    target = models.TextField()
    resource = models.TextField()
    reason = models.TextField(blank=True)
    scopes = ArrayField(models.TextField(), default=list)
    token_session_id = models.UUIDField(null=True)
    deadline = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    state = models.TextField(default="new")
    proposal_id = models.UUIDField(null=True)
    # What the agent is told: result, refusal or unknown outcome in the form of E3.
    answer = models.JSONField(null=True)
    settled_at = models.DateTimeField(null=True)
    version = models.IntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint("run", "call_id", name="runs_call_once")]
        indexes = [
            models.Index(
                fields=["proposal_id"], name="runs_call_proposal", condition=models.Q(proposal_id__isnull=False)
            ),
            models.Index(fields=["tenant_id", "tool", "run"], name="runs_call_tool"),
            # A policy is tried on the calls of a span, in their order.
            models.Index(fields=["tenant_id", "created_at", "id"], name="runs_call_past"),
        ]
