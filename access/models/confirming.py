"""How people show anew that it is they: passkeys, codes of an app, codes for when all else is lost."""

import uuid

from django.conf import settings
from django.db import models

from access.models.people import Tenant

PURPOSES = ("add", "confirm", "sign-in")
DEMANDS = ("nobody", "admins", "deciders", "everybody")
"""Of whom an organisation may want a second step: deciders are reviewers and admins."""


class Passkey(models.Model):
    """A public key whose private half one of a person's devices keeps. Removed ones stay as a row: their credential id
    is never taken again, and what they signed can still be told."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="passkeys")
    credential_id = models.BinaryField(unique=True)
    public_key = models.BinaryField()
    """COSE."""
    sign_count = models.BigIntegerField(default=0)
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    removed_at = models.DateTimeField(null=True)


class SecondFactor(models.Model):
    """A person's app for codes (RFC 6238), and whether a second step is asked for when they sign in."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, primary_key=True, related_name="second_factor"
    )
    at_sign_in = models.BooleanField(default=False)
    ciphertext = models.BinaryField(null=True)
    """The app's secret, sealed like a backend credential; null where there is no app."""
    since = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(default=0)
    """The time step of the newest code that was taken: none is good twice."""
    pending = models.BinaryField(null=True)
    """A sealed secret that was shown and whose first code has not come yet."""
    pending_until = models.DateTimeField(null=True)


class RecoveryCode(models.Model):
    """A code that opens the second step once. Only its hash is kept."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="recovery_codes")
    code_hash = models.CharField(max_length=64)
    made_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    void_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint("user", "code_hash", name="access_recovery_once")]


class Confirmation(models.Model):
    """When somebody last showed anew that it is they, in one browser session. `session_id` is the digest of the
    session's key that actors carry: it names the session and opens none."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="confirmations", db_index=False
    )
    session_id = models.CharField(max_length=16)
    at = models.DateTimeField()
    by = models.CharField(max_length=16)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    """Where alone it counts: an organisation's provider vouches for nobody elsewhere. Null counts everywhere."""

    class Meta:
        constraints = [models.UniqueConstraint("user", "session_id", name="access_confirmation_session_once")]


class PasskeyChallenge(models.Model):
    """What a passkey was asked to sign: good once, for a short time, in the session that it was made for."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    session_id = models.CharField(max_length=16)
    purpose = models.CharField(max_length=16)
    challenge = models.BinaryField(unique=True)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(purpose__in=list(PURPOSES)), name="access_challenge_purpose"),
        ]
        indexes = [models.Index(fields=["expires_at"], name="access_challenge_stale")]


class SecondStepDemand(models.Model):
    """Whom an organisation wants to have a second step, from when on. No row: nobody."""

    tenant = models.OneToOneField(Tenant, on_delete=models.PROTECT, primary_key=True, related_name="+")
    of = models.CharField(max_length=16)
    begins_at = models.DateTimeField()
    set_at = models.DateTimeField()
    set_by = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(of__in=list(DEMANDS)), name="access_demand_of"),
        ]
