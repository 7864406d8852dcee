"""Delegations: somebody decides in another's place for a time. And where an organisation is told of things."""

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from access.models.people import Tenant


class Delegation(models.Model):
    """`to_user` decides for `from_user` from `starts_at` until before `ends_at`, by the database's clock (A9).

    Bound by trigger: only a call back is ever written to a row, and once. `groups` are those of the giver it is for;
    none means all. It gives the giver's one vote, never more than the giver has at that moment, and never goes on.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="delegations")
    from_user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="delegations_given")
    to_user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="delegations_held")
    groups = ArrayField(models.SlugField(max_length=63), default=list)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(ends_at__gt=models.F("starts_at")), name="access_delegation_has_length"
            ),
            models.CheckConstraint(
                condition=~models.Q(from_user=models.F("to_user")), name="access_delegation_of_two_people"
            ),
        ]
        indexes = [
            models.Index(
                fields=["to_user", "tenant"],
                name="access_delegation_held",
                condition=models.Q(revoked_at__isnull=True),
            ),
        ]


class WebhookEndpoint(models.Model):
    """Where an organisation's events are sent, signed. The secret is write-only, like a backend credential (E5)."""

    tenant = models.OneToOneField(Tenant, on_delete=models.PROTECT, primary_key=True, related_name="webhook")
    url = models.TextField()
    ciphertext = models.BinaryField()
    active = models.BooleanField(default=True)
    changed_at = models.DateTimeField()
    changed_by_name = models.TextField()


class WebhookDelivery(models.Model):
    """One event on its way to the endpoint: an outbox row, written with what it tells of, sent later."""

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="webhook_deliveries")
    message_id = models.TextField(unique=True)
    kind = models.TextField()
    body = models.TextField()
    at = models.DateTimeField()
    # When it is tried next; whoever takes it moves this on first, so that two sweeps do not send it at once.
    due_at = models.DateTimeField(null=True)
    attempts = models.IntegerField(default=0)
    state = models.TextField(default="waiting")
    told = models.TextField(blank=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=["waiting", "delivered", "given_up"]), name="access_webhook_state"
            ),
            models.CheckConstraint(
                condition=models.Q(state="waiting", due_at__isnull=False) | ~models.Q(state="waiting"),
                name="access_webhook_waits_for_a_time",
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], name="access_webhook_due", condition=models.Q(state="waiting")),
            models.Index(fields=["tenant", "-id"], name="access_webhook_last"),
            # What is old enough to be removed.
            models.Index(
                fields=["state", "ended_at"], name="access_webhook_ended", condition=models.Q(ended_at__isnull=False)
            ),
        ]
