"""Signing in through an organisation's identity provider (OpenID Connect): which one, who is who there, rounds."""

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from access.models.people import Tenant

PURPOSES = ("sign-in", "link", "confirm")


class IdentityProvider(models.Model):
    """An organisation's one provider. The client secret is write-only, sealed like a backend credential (E5)."""

    tenant = models.OneToOneField(Tenant, on_delete=models.PROTECT, primary_key=True, related_name="provider")
    issuer = models.TextField()
    client_id = models.TextField()
    ciphertext = models.BinaryField()
    domains = ArrayField(models.TextField(), default=list)
    """Of e-mail addresses, by which the sign-in page finds the organisation. They give nobody any right."""
    required = models.BooleanField(default=False)
    active = models.BooleanField(default=True)
    changed_at = models.DateTimeField()
    changed_by_name = models.TextField()


class IdentityLink(models.Model):
    """Who somebody is at a provider: issuer and subject, never an e-mail address. It holds in one organisation only:
    its provider vouches for nobody elsewhere."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="identity_links")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="identity_links")
    issuer = models.TextField()
    subject = models.TextField()
    created_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_because = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "issuer", "subject"],
                name="access_identity_once",
                condition=models.Q(ended_at__isnull=True),
            ),
            models.UniqueConstraint(
                fields=["tenant", "user"], name="access_identity_one_each", condition=models.Q(ended_at__isnull=True)
            ),
        ]


class ProviderRound(models.Model):
    """A browser that was sent to a provider and is not back yet. Used up by the first answer, whatever it says.

    `state_hash` and `browser_hash` are SHA-256: of what the address carries, and of what the browser's session keeps.
    """

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    """Who links or confirms; null for a sign-in, where nobody is known yet."""
    purpose = models.CharField(max_length=16)
    issuer = models.TextField()
    client_id = models.TextField()
    state_hash = models.CharField(max_length=64, unique=True)
    browser_hash = models.CharField(max_length=64)
    nonce = models.CharField(max_length=64)
    verifier = models.CharField(max_length=128)
    """The PKCE code verifier (RFC 7636)."""
    next = models.TextField(blank=True)
    began_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(purpose__in=list(PURPOSES)), name="access_round_purpose"),
        ]
        indexes = [models.Index(fields=["expires_at"], name="access_round_stale")]
