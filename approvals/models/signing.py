"""Approvals that a passkey signs: the numbers that are good once, and the signatures beside the decisions."""

import uuid

from django.db import models


class SigningNonce(models.Model):
    """What the server gave for one signature: one person, one session, one round of one proposal, one verdict.
    Used once by a conditional UPDATE; what it stands for never changes (trigger)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    nonce = models.CharField(max_length=64, unique=True)
    proposal = models.ForeignKey("approvals.Proposal", on_delete=models.PROTECT, related_name="+")
    round = models.IntegerField()
    person_id = models.UUIDField()
    session_id = models.CharField(max_length=16)
    digest = models.CharField(max_length=64)
    verdict = models.TextField()
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class Signature(models.Model):
    """A passkey's assertion over one decision, with everything that it takes to verify it without this server.
    Append-only by trigger."""

    decision = models.OneToOneField(
        "approvals.Decision", on_delete=models.PROTECT, primary_key=True, related_name="signature"
    )
    # What the challenge was made from, beside the decision's own digest, round and verdict.
    format = models.IntegerField()
    revision = models.IntegerField()
    nonce = models.CharField(max_length=64, unique=True)
    rp_id = models.TextField()
    origin = models.TextField()
    credential_id = models.BinaryField()
    # COSE, as the passkey's row had it when this was signed.
    public_key = models.BinaryField()
    authenticator_data = models.BinaryField()
    client_data = models.BinaryField()
    signature = models.BinaryField()
