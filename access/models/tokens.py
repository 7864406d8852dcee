"""Token sessions and their refresh tokens. Revocation lives here, in PostgreSQL, and fails closed (S61)."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models

from access.models.agents import Agent
from access.models.people import Membership


class TokenSession(models.Model):
    """One exchange of an agent's secret. Every access token names it (`sid`) and is void once it is revoked."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="sessions")
    acting_for = models.ForeignKey(Membership, on_delete=models.PROTECT, null=True, related_name="token_sessions")
    scopes = ArrayField(models.CharField(max_length=100))
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    revoked_because = models.CharField(max_length=200, blank=True)


class RefreshToken(models.Model):
    """Opaque, single use, rotating. A second use revokes the whole session: somebody else holds a copy."""

    session = models.ForeignKey(TokenSession, on_delete=models.PROTECT, related_name="refresh_tokens")
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
