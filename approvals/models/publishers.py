"""Who signs contracts: the publishers' keys, what ended them, and the signatures beside admitted versions."""

import uuid

from django.db import models


class PublisherKey(models.Model):
    """A key by which a publisher signs contracts for one tenant. Append-only by trigger: a key is never another one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField()
    publisher = models.TextField()
    # SubjectPublicKeyInfo (DER) of an Ed25519 key; the fingerprint is its SHA-256.
    public_key = models.BinaryField()
    fingerprint = models.CharField(max_length=64)
    added_by = models.TextField()
    added_by_id = models.TextField()
    added_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint("tenant_id", "fingerprint", name="approvals_publisher_key_once")]


class PublisherKeyEnd(models.Model):
    """That a key was revoked, by whom and why. Append-only by trigger: a revoked key is never good again."""

    key = models.OneToOneField(PublisherKey, on_delete=models.PROTECT, primary_key=True, related_name="end")
    because = models.TextField()
    ended_by = models.TextField()
    ended_by_id = models.TextField()
    ended_at = models.DateTimeField()


class VersionSignature(models.Model):
    """A signature beside an admitted version, in the bytes that came; it is verified whenever it is shown. Append-only
    by trigger. `fingerprint` is what the envelope says of its key, kept for looking up."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    version = models.ForeignKey("approvals.ToolVersion", on_delete=models.PROTECT, related_name="signatures")
    envelope = models.BinaryField()
    fingerprint = models.CharField(max_length=64)
    stored_by = models.TextField()
    stored_by_id = models.TextField()
    stored_at = models.DateTimeField()


class ContractRule(models.Model):
    """What a tenant asks of contracts before they are admitted. Its row is also the lock between an admission and a
    revoked key."""

    tenant_id = models.UUIDField(primary_key=True)
    signed_only = models.BooleanField(db_default=False)
    changed_by = models.TextField(db_default="")
    changed_at = models.DateTimeField(null=True)
