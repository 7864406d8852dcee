"""What a policy's next version means for what waits, and what it would have meant for what was."""

import uuid

from django.db import models

REPLAY_STATES = ("waiting", "running", "done", "cancelled", "failed")


class PolicyReach(models.Model):
    """How far a tenant's open proposals were judged again under the version in force (A5).

    Written by whoever publishes, in that transaction; walked to its end in batches by whoever hears of it. First what
    is granted and not executed (by id), then what waits (by its deadline).
    """

    tenant_id = models.UUIDField(primary_key=True)
    number = models.IntegerField()
    done = models.BooleanField(default=False)
    granted_after = models.UUIDField(null=True)
    granted_done = models.BooleanField(default=False)
    waiting_after_at = models.DateTimeField(null=True)
    waiting_after_id = models.UUIDField(null=True)
    judged = models.IntegerField(default=0)
    asked_anew = models.IntegerField(default=0)
    refused = models.IntegerField(default=0)
    # Could not be judged: said in the process's log; what is granted among them is judged when it is executed.
    failed = models.IntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["tenant_id"], name="approvals_policy_reach_open", condition=models.Q(done=False))
        ]


class Judgement(models.Model):
    """What a call was judged by when it was first judged, so that a policy can be tried on it later. Append-only.

    `state` are the snapshot's bytes, null where the tool reads none. The arguments stand with the call itself.
    """

    id = models.BigAutoField(primary_key=True)
    tenant_id = models.UUIDField()
    run_id = models.UUIDField()
    call_id = models.TextField()
    at = models.DateTimeField()
    state = models.BinaryField(null=True)
    principal = models.JSONField(default=dict)
    effect = models.TextField()
    code = models.TextField()
    rule_id = models.TextField(blank=True)
    policy_number = models.IntegerField()

    class Meta:
        constraints = [models.UniqueConstraint("run_id", "call_id", name="approvals_judgement_call_once")]


class PolicyReplay(models.Model):
    """A text tried on past calls, beside the version that was in force when it was asked for. Calls no tool.

    `result` is what `approvals.core.replay` keeps. A worker holds it until `lease_until` under `fence`; whoever comes
    after a worker that died goes on behind (`after_at`, `after_id`).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField()
    draft_id = models.UUIDField(null=True)
    source = models.TextField()
    source_digest = models.CharField(max_length=64)
    against_number = models.IntegerField()
    since = models.DateTimeField()
    until = models.DateTimeField()
    status = models.TextField(default="waiting")
    said = models.TextField(blank=True)
    asked_by = models.TextField()
    asked_by_id = models.TextField()
    asked_at = models.DateTimeField()
    total = models.IntegerField(default=0)
    judged = models.IntegerField(default=0)
    result = models.JSONField(default=dict)
    after_at = models.DateTimeField(null=True)
    after_id = models.UUIDField(null=True)
    fence = models.IntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=REPLAY_STATES), name="approvals_policy_replay_status"),
        ]
        indexes = [
            models.Index(
                fields=["asked_at"],
                name="approvals_policy_replay_open",
                condition=models.Q(status__in=["waiting", "running"]),
            ),
            models.Index(fields=["tenant_id", "draft_id", "-asked_at"], name="approvals_policy_replay_recent"),
        ]
