"""The audit log's rows. No foreign key to anything: an entry outlives what it speaks of (data rule 12)."""

from django.db import models


class Entry(models.Model):
    """One thing somebody did or tried to do. Append-only by trigger and by rights; partitioned by month of `at`."""

    pk = models.CompositePrimaryKey("at", "id")
    at = models.DateTimeField()
    id = models.BigIntegerField()
    tenant_id = models.TextField()
    action = models.TextField()
    verdict = models.TextField()
    actor_kind = models.TextField()
    actor_id = models.TextField()
    actor_name = models.TextField()
    on_behalf_of = models.TextField(blank=True)
    via = models.TextField()
    object_type = models.TextField()
    object_id = models.TextField()
    run_id = models.TextField(blank=True)
    call_id = models.TextField(blank=True)
    tool = models.TextField(blank=True)
    detail = models.JSONField()
    result_bytes = models.BigIntegerField(null=True)
    duration_ms = models.IntegerField(null=True)

    class Meta:
        db_table = "audit_entry"
        # Each ends in the order of the log, so that a page of it is a walk along one index.
        indexes = [
            models.Index(fields=["tenant_id", "at", "id"], name="audit_entry_log"),
            models.Index(fields=["id"], name="audit_entry_number"),
            models.Index(fields=["tenant_id", "object_id", "object_type", "at"], name="audit_entry_thing"),
            models.Index(fields=["tenant_id", "run_id", "at"], name="audit_entry_run", condition=~models.Q(run_id="")),
            models.Index(fields=["tenant_id", "actor_id", "at", "id"], name="audit_entry_actor"),
            models.Index(fields=["tenant_id", "action", "at", "id"], name="audit_entry_action"),
            models.Index(
                fields=["tenant_id", "on_behalf_of", "at", "id"],
                name="audit_entry_for",
                condition=~models.Q(on_behalf_of=""),
            ),
            models.Index(
                fields=["tenant_id", "call_id", "at", "id"], name="audit_entry_call", condition=~models.Q(call_id="")
            ),
            models.Index(
                fields=["tenant_id", "tool", "at", "id"], name="audit_entry_tool", condition=~models.Q(tool="")
            ),
            models.Index(
                fields=["tenant_id", "verdict", "at", "id"],
                name="audit_entry_verdict",
                condition=~models.Q(verdict="ok"),
            ),
        ]


class Owed(models.Model):
    """An entry that could not be written when a stopping verb committed; the sweep pays it (data rule 4, S69)."""

    at = models.DateTimeField()
    entry = models.JSONField()
    reason = models.TextField()

    class Meta:
        db_table = "audit_owed"
