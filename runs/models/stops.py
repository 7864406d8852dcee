"""Stops: what people have switched off, until they lift it (kill switches and the pause of all dispatch)."""

import uuid

from django.db import models

STOP_KINDS = ("installation", "tenant", "agent", "tool")


class Stop(models.Model):
    """While it is in force nothing that it covers is dispatched. Kept for ever: a lifted one is the record of itself.

    `subject` is a tool's name or an agent's id, "" for a whole tenant or the whole installation (which has no tenant).
    A trigger keeps everything but the lifting as it was written, and the lifting once it is there.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField(null=True)
    kind = models.TextField()
    subject = models.TextField(blank=True)
    subject_name = models.TextField(blank=True)
    reason = models.TextField()
    set_by = models.TextField()
    set_by_name = models.TextField()
    set_at = models.DateTimeField()
    lifted_at = models.DateTimeField(null=True)
    lifted_by = models.TextField(blank=True)
    lifted_by_name = models.TextField(blank=True)
    lifted_reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(kind__in=STOP_KINDS), name="runs_stop_kind"),
            # Said once for each thing; this partial index is also what every claim and start looks into.
            models.UniqueConstraint(
                fields=["tenant_id", "kind", "subject"],
                condition=models.Q(lifted_at__isnull=True),
                nulls_distinct=False,
                name="runs_stop_in_force_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant_id", "-lifted_at"],
                name="runs_stop_lifted",
                condition=models.Q(lifted_at__isnull=False),
            )
        ]
