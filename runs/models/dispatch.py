"""Work to be done: the commands that the reducer returned, as rows that workers claim."""

import uuid

from django.db import models

DISPATCH_STATES = ("ready", "claimed", "started", "done", "dead")


class Dispatch(models.Model):
    """One command on its way. Claimed with a fence from a rising sequence and a lease on the database's clock.

    ready → claimed (a worker holds it) → started (the intent is recorded, an effect may exist) → done.
    An expired lease makes *claimed* ready again; *started* never: its outcome is unknown (R7).
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="dispatches", db_index=False)
    call = models.ForeignKey(
        "runs.Call", on_delete=models.PROTECT, null=True, related_name="dispatches", db_index=False
    )
    # evaluate (read the state and judge), dispatch (re-check and send), look_up (ask the target what happened)
    kind = models.TextField()
    status = models.TextField(default="ready")
    not_before = models.DateTimeField()
    attempts = models.IntegerField(default=0)
    max_attempts = models.IntegerField(default=5)
    fence = models.BigIntegerField(default=0)
    worker = models.TextField(blank=True)
    lease_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    request_deadline = models.DateTimeField(null=True)
    # What the effect was sent on: {"state", "names", "read_at"}. A later look-up asks where it was sent, whatever the
    # reference tables say by then.
    observed = models.JSONField(null=True)
    last_error = models.TextField(blank=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=DISPATCH_STATES), name="runs_dispatch_status"),
            # One live command of a kind for a call: a lost hint or a second one makes no second row.
            models.UniqueConstraint(
                "call",
                "kind",
                condition=models.Q(status__in=["ready", "claimed", "started"]),
                name="runs_dispatch_live_once",
            ),
        ]
        indexes = [
            models.Index(fields=["not_before"], name="runs_dispatch_ready", condition=models.Q(status="ready")),
            models.Index(
                fields=["lease_until"],
                name="runs_dispatch_leased",
                condition=models.Q(status__in=["claimed", "started"]),
            ),
            models.Index(fields=["run", "status"], name="runs_dispatch_run", condition=~models.Q(status="done")),
            models.Index(fields=["call"], name="runs_dispatch_call"),
            # What has started since a moment ago: the look before a start (runs.store.resources.was_used).
            models.Index(
                fields=["started_at"], name="runs_dispatch_started", condition=models.Q(started_at__isnull=False)
            ),
        ]


class ResourceLease(models.Model):
    """The order or account that an effect is being made on: held from dispatch to outcome (R9)."""

    tenant_id = models.UUIDField()
    resource = models.TextField()
    dispatch = models.ForeignKey(Dispatch, on_delete=models.PROTECT, related_name="resource_leases")
    taken_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint("tenant_id", "resource", name="runs_resource_lease_once")]
