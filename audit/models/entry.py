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
        indexes = [
            models.Index(fields=["tenant_id", "-at"], name="audit_entry_tenant_at"),
            models.Index(fields=["tenant_id", "object_type", "object_id", "at"], name="audit_entry_object"),
            models.Index(fields=["tenant_id", "run_id", "at"], name="audit_entry_run", condition=~models.Q(run_id="")),
        ]


class Owed(models.Model):
    """An entry that could not be written when a stopping verb committed; the sweep pays it (data rule 4, S69)."""

    at = models.DateTimeField()
    entry = models.JSONField()
    reason = models.TextField()

    class Meta:
        db_table = "audit_owed"
