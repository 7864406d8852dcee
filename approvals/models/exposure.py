"""What was started lately, as counters, so that a limit is judged without looking through old calls."""

import uuid

from django.db import models


class ExposureBucket(models.Model):
    """Calls and money of one tool that were started in one hour ("h") or UTC day ("d").

    `subject`: "" for the whole tool, the agent's id, or a digest of the customer as the contract names it. `currency`
    "": calls that carry no amount. Amounts are minor units.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField()
    tool = models.CharField(max_length=64)
    dimension = models.CharField(max_length=8)
    subject = models.CharField(max_length=64)
    currency = models.CharField(max_length=3)
    unit = models.CharField(max_length=1)
    begins_at = models.DateTimeField()
    calls = models.BigIntegerField(default=0)
    amount = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "tenant_id", "tool", "dimension", "subject", "unit", "begins_at", "currency",
                name="approvals_exposure_bucket_once",
            ),
            models.CheckConstraint(
                condition=models.Q(dimension__in=["customer", "agent", "tool"]) & models.Q(unit__in=["h", "d"]),
                name="approvals_exposure_bucket_kind",
            ),
            models.CheckConstraint(
                condition=models.Q(calls__gte=0) & models.Q(amount__gte=0), name="approvals_exposure_bucket_positive"
            ),
        ]  # fmt: skip
        indexes = [models.Index(fields=["unit", "begins_at"], name="approvals_exposure_bucket_old")]


class ExposureEntry(models.Model):
    """One call that was counted, so that it is counted once and can be taken back as it was counted.

    `key` is the call's idempotency key; `counted` false: it was proven that nothing happened.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField()
    key = models.CharField(max_length=80)
    tool = models.CharField(max_length=64)
    agent_id = models.UUIDField()
    customer = models.CharField(max_length=64, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    amount = models.BigIntegerField(default=0)
    at = models.DateTimeField()
    counted = models.BooleanField(default=True)

    class Meta:
        constraints = [models.UniqueConstraint("tenant_id", "key", name="approvals_exposure_entry_once")]
        indexes = [models.Index(fields=["at"], name="approvals_exposure_entry_old")]
