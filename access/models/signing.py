"""How people come in: their browsers' sessions, single-use links, and the counters that slow guessing down."""

import uuid

from django.conf import settings
from django.db import models

from access.models.people import Tenant

PURPOSES = ("invitation", "reset")


class BrowserSession(models.Model):
    """What a person's list of sessions shows about one row of Django's session table, and what stays of it after it.

    `tenant` is the organisation that the session works in. The session itself is `django_session`'s row: ending one
    deletes that row, so nothing here can keep it alive.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="browser_sessions")
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="browser_sessions")
    session_key = models.CharField(max_length=40, unique=True)
    address = models.CharField(max_length=45, blank=True)
    browser = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    ended_because = models.CharField(max_length=200, blank=True)
    link = models.ForeignKey(
        "access.IdentityLink", on_delete=models.PROTECT, null=True, related_name="browser_sessions"
    )
    """By which identity at a provider it began; null where a password opened it."""

    class Meta:
        indexes = [
            models.Index(fields=["user"], name="access_browser_open", condition=models.Q(ended_at__isnull=True)),
        ]


class AccountLink(models.Model):
    """A single-use link by which somebody sets their password. Only the hash of its token is kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="links")
    purpose = models.CharField(max_length=16)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    void_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(purpose__in=list(PURPOSES)), name="access_link_purpose"),
        ]
        indexes = [
            models.Index(
                fields=["user"],
                name="access_link_open",
                condition=models.Q(used_at__isnull=True, void_at__isnull=True),
            ),
        ]


class Throttle(models.Model):
    """One counter of attempts (access/core/throttle.py). `key` is a hash: a typed address or password stays nowhere."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=32)
    key = models.CharField(max_length=64)
    full_at = models.DateTimeField()
    told_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint("kind", "key", name="access_throttle_once")]
        indexes = [models.Index(fields=["full_at"], name="access_throttle_stale")]
